"""Authentication methods: httpx flows that see the prepared request. Most set headers, renewed by one caller for all.

A method that signs requests derives from `httpx.Auth` and sets its headers in `auth_flow`: `request.method`, `url` and
`headers` are those that are sent; `request.content` is the body if the class says `requires_request_body`. The flow
gets the response and may yield the same request again, as for a challenge or a renewed token.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal, Protocol, TypeAlias, runtime_checkable
from urllib.parse import urlencode, urlsplit

import httpx
import jwt
from jwt.warnings import InsecureKeyLengthWarning

from dam_sync.http.error_rules import explanation, shown_code
from dam_sync.http.messages import Request, Response
from dam_sync.http.redaction import excerpt, hide, hide_issued
from dam_sync.model.clock import Clock
from dam_sync.model.errors import ConfigError, ContractBroken, Denied
from dam_sync.model.ports import CredentialStore
from dam_sync.model.values import Json, instant_text, parse_instant

Authenticator: TypeAlias = httpx.Auth
Exchange: TypeAlias = Callable[[Request], Awaitable[Response]]
"""Sends a request without credentials, on behalf of an authenticator."""

ALGORITHMS = ("HS256", "HS384", "HS512")
RENEW_AT = 0.8  # of a token's life
SPENT_TOKENS = 5  # of one renewal: others may have stored a newer token meanwhile
RENEWALS = 3  # of one call: a token may live shorter than an upload takes
REFUSED = frozenset({400, 401, 403})
_SHOWN = 300  # characters of a refusal
CONSENT_AGAIN = "consent again in the browser and put the new refresh token into the job file"


@runtime_checkable
class TokenRequester(Protocol):
    """An authenticator that requests tokens over HTTP through the client it is attached to."""

    def attach(self, exchange: Exchange) -> None:
        """Set the function that sends token requests; called once, by the client."""
        ...


class HeaderAuth(httpx.Auth, ABC):
    """A credential in headers, whatever the request. If the service refuses it (401), it is renewed, up to
    RENEWALS times for one request."""

    @abstractmethod
    async def headers(self) -> Mapping[str, str]:
        """Headers of a valid credential. Raises Denied, Transient."""

    async def renew(self, seen: Mapping[str, str]) -> bool:
        """Called when the service refused the headers `seen`; returns whether there are new ones. Concurrent callers
        share one renewal."""
        return False

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        for _ in range(RENEWALS):
            seen = await self.headers()
            put_credential(seen, request.headers)
            response = yield request
            if response.status_code != httpx.codes.UNAUTHORIZED or not await self.renew(seen):
                return
        put_credential(await self.headers(), request.headers)
        yield request


class StaticHeaders(HeaderAuth):
    """Headers that never change; their secrets are redacted everywhere."""

    def __init__(self, headers: Mapping[str, str], *secrets: str) -> None:
        hide(*secrets)
        if not all(text.isascii() and text.isprintable() for text in headers.values()):
            hint = "enter the secret again, without whitespace, line breaks or other extra characters"
            raise ConfigError("a secret under `auth` contains a character that cannot be sent in a header", hint=hint)
        self._headers = headers

    def __repr__(self) -> str:
        return f"{type(self).__name__}(***)"

    async def headers(self) -> Mapping[str, str]:
        return self._headers


class Basic(StaticHeaders):
    """User and password with every request."""

    def __init__(self, user: str, password: str) -> None:
        pair = _pair(user, password)
        super().__init__({"Authorization": f"Basic {pair}"}, pair, password)


class Bearer(StaticHeaders):
    """A token that does not expire."""

    def __init__(self, token: str) -> None:
        super().__init__(bearer(token), token)


class TokenAsBasic(StaticHeaders):
    """Basic authentication with a token as user name (wire E 1.1)."""

    def __init__(self, token: str) -> None:
        pair = _pair(token, "x-oauth-basic")
        super().__init__({"Authorization": f"Basic {pair}"}, pair, token)


class SignedToken(HeaderAuth):
    """A token signed by the client, renewed at 80 % of its lifetime (wire A 1.3). Raises ConfigError for an algorithm
    other than HS256, HS384, HS512."""

    def __init__(self, claims: Mapping[str, str], key: str, algorithm: str, lifetime: timedelta, clock: Clock) -> None:
        if algorithm not in ALGORITHMS:
            raise ConfigError(f"auth.algorithm must be one of {', '.join(ALGORITHMS)}, not {algorithm!r}")
        if not key:
            raise ConfigError("auth.key is empty")
        self._claims = dict(claims)
        self._key = key
        self._algorithm = algorithm
        self._lifetime = lifetime
        self._clock = clock
        self._headers: Mapping[str, str] = {}
        self._renew_at = clock.now()
        hide(key)

    def __repr__(self) -> str:
        return f"SignedToken({self._algorithm}, ***)"

    async def headers(self) -> Mapping[str, str]:
        if not self._headers or self._clock.now() >= self._renew_at:
            self._sign()
        return self._headers

    async def renew(self, seen: Mapping[str, str]) -> bool:
        if dict(seen) == dict(self._headers):
            self._sign()
        return True

    def _sign(self) -> None:
        now = self._clock.now()
        issued = int(now.timestamp())
        claims = {**self._claims, "iat": issued, "exp": issued + int(self._lifetime.total_seconds())}
        with warnings.catch_warnings():  # the service issues the key, whatever its length
            warnings.simplefilter("ignore", InsecureKeyLengthWarning)
            token = jwt.encode(claims, self._key, algorithm=self._algorithm)
        self._headers = bearer(token)
        self._renew_at = now + self._lifetime * RENEW_AT


class GrantedToken(HeaderAuth):
    """Headers from a token server, renewed at 80 % of their lifetime or when refused, by one caller at a time."""

    def __init__(self, token_url: str, clock: Clock) -> None:
        self._token_url = token_url
        self._clock = clock
        self._exchange: Exchange | None = None
        self._renewing = asyncio.Lock()
        self._headers: Mapping[str, str] = {}
        self._renew_at: float | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({urlsplit(self._token_url).hostname}, ***)"

    def attach(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def headers(self) -> Mapping[str, str]:
        if not self._is_good():
            async with self._renewing:
                if not self._is_good():
                    await self._renewed()
        return self._headers

    async def renew(self, seen: Mapping[str, str]) -> bool:
        async with self._renewing:
            if dict(seen) == dict(self._headers):
                await self._renewed()
        return True

    def _is_good(self) -> bool:
        return bool(self._headers) and (self._renew_at is None or self._clock.monotonic() < self._renew_at)

    async def _renewed(self) -> None:
        raise ConfigError("this credential cannot be renewed")

    async def _ask(self, fields: Mapping[str, str], form: bool) -> Response:
        body = urlencode(fields).encode() if form else json.dumps(dict(fields)).encode()
        kind = "application/x-www-form-urlencoded" if form else "application/json"
        return await self._send(
            replace(self._call(), body=body, headers={"Content-Type": kind, "Accept": "application/json"})
        )

    def _call(self) -> Request:
        """A request to the token server, without its body."""
        return Request(
            operation=f"POST {urlsplit(self._token_url).path}",
            method="POST",
            path=self._token_url,
            repeatable=True,  # a lost response does no harm; a rotated token is refused with an error
            reads=True,
            accept=REFUSED,
        )

    async def _send(self, request: Request) -> Response:
        if self._exchange is None:
            raise ContractBroken("this credential is not attached to a client yet")
        return await self._exchange(request)

    def _use(self, reply: Response, data: Json) -> None:
        token = data.get("access_token") if isinstance(data, dict) else None
        if not isinstance(token, str) or not token:
            raise ContractBroken("the token response has no access_token", operation=reply.operation)
        hide_issued(token)
        life = seconds_of(data.get("expires_in"))
        self._renew_at = None if life is None else self._clock.monotonic() + life * RENEW_AT
        self._headers = bearer(token)

    def _is_new(self, stored: Mapping[str, str]) -> bool:
        """Whether another process stored a valid access token that we have not used."""
        token = stored.get("access_token", "")
        if not token or bearer(token) == dict(self._headers):
            return False
        try:
            until = _stored_until(stored)
        except ValueError:
            return False
        return until is None or until > self._clock.now()

    def _use_stored(self, stored: Mapping[str, str]) -> None:
        until = _stored_until(stored)
        left = None if until is None else (until - self._clock.now()).total_seconds()
        self._headers = bearer(stored["access_token"])
        self._renew_at = None if left is None else self._clock.monotonic() + left


class ClientCredentials(GrantedToken):
    """OAuth client credentials grant, sent as a form (wire A 1.4). Raises Denied if the server refuses them."""

    def __init__(self, token_url: str, client_id: str, client_secret: str, scope: str, clock: Clock) -> None:
        super().__init__(token_url, clock)
        self._fields = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": client_secret}
        if scope:
            self._fields["scope"] = scope
        hide(client_secret)

    async def _renewed(self) -> None:
        reply = await self._ask(self._fields, form=True)
        if reply.status in REFUSED:
            raise refusal_of(reply, "check client_id, client_secret and scope in the job file")
        self._use(reply, reply.json())


class StoredGrant(GrantedToken):
    """Tokens that a renewal replaces. Both are saved in the credential store before they are used; processes that share
    it renew one at a time, and use the access token of whoever did. Raises Denied if the newest refresh token is
    refused."""

    _stored: StoredTokens
    _hint: str

    async def _renewed(self) -> None:
        async with self._stored.renewing():
            await self._renewed_alone()

    async def _renewed_alone(self) -> None:
        """Alone, but for processes that do not know the lock: whatever they stored is tried before giving up."""
        refusal, spent = None, None
        for _ in range(SPENT_TOKENS):
            stored = await self._stored.load()
            if stored is not None and self._is_new(stored):
                return self._use_stored(stored)
            if refusal is not None and stored == spent:
                break
            reply, spent = await self._request(stored), stored
            if reply.status not in REFUSED:
                return await self._save(reply, self._spent(stored))
            refusal = refusal_of(reply, self._hint)
        raise refusal or Denied("no token was granted", hint=self._hint)

    @abstractmethod
    async def _request(self, stored: Mapping[str, str] | None) -> Response:
        """Spend the stored refresh token, or what the job file gives."""

    def _spent(self, stored: Mapping[str, str] | None) -> str:
        return stored["refresh_token"] if stored else self._given

    @property
    @abstractmethod
    def _given(self) -> str:
        """The refresh token of the job file."""

    async def _save(self, reply: Response, spent: str) -> None:
        data = reply.json()
        found = data if isinstance(data, dict) else {}
        fresh = found.get("refresh_token")
        newest = fresh if isinstance(fresh, str) and fresh else spent
        if found.get("access_token"):
            await self._stored.save(stored_pair(found, newest, self._clock.now()))
        elif newest != spent:
            await self._stored.save({"refresh_token": newest})
        self._take(reply)

    def _take(self, reply: Response) -> None:
        self._use(reply, reply.json())


class RotatingToken(StoredGrant):
    """OAuth refresh tokens that are valid once (wire E 1.2). A new refresh token in the job file takes precedence over
    stored descendants of an older one."""

    _hint = CONSENT_AGAIN

    def __init__(  # noqa: PLR0913, RUF100 -- one flow, spelled as the job file spells it
        self,
        token_url: str,
        client_id: str,
        client_secret: str,
        refresh_token: str,
        credential_store: CredentialStore,
        stored_name: str,
        clock: Clock,
        encoding: Literal["json", "form"] = "json",
    ) -> None:
        super().__init__(token_url, clock)
        self._fields = {"client_id": client_id, "client_secret": client_secret, "grant_type": "refresh_token"}
        self._refresh_token = refresh_token
        self._stored = StoredTokens(credential_store, stored_name, fingerprint_of(refresh_token))
        self._form = encoding == "form"
        hide(client_secret, refresh_token)

    @property
    def _given(self) -> str:
        return self._refresh_token

    async def _request(self, stored: Mapping[str, str] | None) -> Response:
        return await self._ask({**self._fields, "refresh_token": self._spent(stored)}, self._form)


class StoredTokens:
    """Rotated tokens in the credential store; those that descend from another credential than `given` are ignored, and
    stay there: they may be those of another tenant behind the same host."""

    def __init__(self, store: CredentialStore, name: str, given: str) -> None:
        self._store = store
        self._name = f"{name}-{given}"
        self._former = name  # where earlier releases stored them
        self._given = given

    def renewing(self) -> AbstractAsyncContextManager[None]:
        """One process at a time."""
        return self._store.renewing(self._name)

    async def load(self) -> dict[str, str] | None:
        """The newest ones by name, `refresh_token` always among them; None if there are none that can be used."""
        return await self._loaded(self._name) or await self._loaded(self._former)

    async def _loaded(self, name: str) -> dict[str, str] | None:
        try:
            stored = json.loads(await self._store.load(name) or "")
            tokens = {name: str(text) for name, text in stored.items() if text is not None}
            hide_issued(tokens["refresh_token"], tokens.get("access_token", ""))
        except (ValueError, KeyError, AttributeError):
            return None
        return tokens if tokens.get("given") == self._given else None

    async def save(self, tokens: Mapping[str, str | None]) -> None:
        """Raises what the credential store raises; then the tokens must not be used."""
        hide_issued(tokens["refresh_token"] or "", tokens.get("access_token") or "")
        await self._store.save(self._name, json.dumps({"given": self._given, **tokens}))


def stored_pair(data: Mapping[str, Json], refresh_token: str, now: datetime) -> dict[str, str | None]:
    """Both tokens of a response as they are stored."""
    until = _until(data.get("expires_in"), now)
    renew_at = instant_text(until) if until else None
    return {"refresh_token": refresh_token, "access_token": str(data["access_token"]), "renew_at": renew_at}


def _stored_until(stored: Mapping[str, str]) -> datetime | None:
    """When to renew a stored access token; None if it does not expire."""
    return parse_instant(stored["renew_at"]) if stored.get("renew_at") else None


def _until(given: Json, now: datetime) -> datetime | None:
    """When to renew a token with this lifetime in seconds."""
    life = seconds_of(given)
    try:
        return None if life is None else now + timedelta(seconds=life) * RENEW_AT
    except OverflowError:
        return None


def put_credential(credential: Mapping[str, str], headers: MutableMapping[str, str]) -> None:
    """Set the headers of a credential, whose names are kept in lower case. Raises ContractBroken for a token that
    cannot be sent."""
    for name, text in credential.items():
        if not (text.isascii() and text.isprintable()):
            raise ContractBroken("the service issued a token that cannot be sent in a header")
        headers[name.lower()] = text


def bearer(token: str) -> dict[str, str]:
    """The headers that carry an access token."""
    return {"Authorization": f"Bearer {token}"}


def _pair(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def fingerprint_of(secret: str) -> str:
    """A digest that distinguishes secrets without revealing them."""
    return hashlib.sha256(secret.encode()).hexdigest()[:16]


def seconds_of(value: Json) -> float | None:
    """A number of seconds; some servers write `3599.0` or a text (wire B 1.4)."""
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def refusal_of(reply: Response, hint: str) -> Denied:
    """The error for a refusal by the token server."""
    message, code = explanation(reply.headers, reply.body)
    text = refusal_text("the token server refused", reply.status, message)
    error = Denied(text, service=reply.service, operation=reply.operation, code=shown_code(code), hint=hint)
    error.status = reply.status
    return error


def refusal_text(text: str, status: int, message: str) -> str:
    """Text of a refusal: who refused, status and message, redacted and shortened."""
    full = f"{text} ({status}{': ' + message if message else ''})"
    return excerpt(full, _SHOWN)
