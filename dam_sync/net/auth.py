"""Credentials: what to send, and how to get a fresh one when it no longer holds."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import httpx
import jwt

from dam_sync.model.clock import Clock
from dam_sync.model.errors import ConfigError, Denied, Transient
from dam_sync.model.service import Vault
from dam_sync.net.address import checked_url
from dam_sync.net.redact import host_of

RESIGN_AT = 0.8  # of a token's life
ALGORITHMS = ("HS256", "HS384", "HS512")
TOKEN_SECONDS = 30.0


class Authenticator(ABC):
    """Headers of a credential; nothing of it is ever shown."""

    @abstractmethod
    async def headers(self) -> Mapping[str, str]:
        """What to send with the next call."""

    async def renew(self, seen: Mapping[str, str]) -> bool:
        """A call with `seen` was refused: whether a fresher credential is there now. One renewal at a time."""
        return False

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class Basic(Authenticator):
    """User and password, in UTF-8."""

    def __init__(self, user: str, password: str) -> None:
        self._value = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    async def headers(self) -> Mapping[str, str]:
        """See `Authenticator.headers`."""
        return {"Authorization": self._value}


class Bearer(Authenticator):
    """A token that lives until somebody revokes it."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def headers(self) -> Mapping[str, str]:
        """See `Authenticator.headers`."""
        return {"Authorization": f"Bearer {self._token}"}


class TokenAsBasic(Basic):
    """A token in the form `token:x-oauth-basic`."""

    def __init__(self, token: str) -> None:
        super().__init__(token, "x-oauth-basic")


class SignedToken(Authenticator):
    """A token we sign ourselves with a shared key, anew at 80 % of its life. HMAC algorithms only."""

    def __init__(self, claims: Mapping[str, str], key: str, algorithm: str, lifetime: timedelta, clock: Clock) -> None:
        if algorithm not in ALGORITHMS:
            raise ConfigError(f"a token cannot be signed with {algorithm}", hint=f"use one of {', '.join(ALGORITHMS)}")
        self._claims = dict(claims)
        self._key = key
        self._algorithm = algorithm
        self._lifetime = lifetime
        self._clock = clock
        self._token = ""
        self._fresh_until: datetime | None = None

    async def headers(self) -> Mapping[str, str]:
        """See `Authenticator.headers`."""
        now = self._clock.now()
        if self._fresh_until is None or now >= self._fresh_until:
            self._sign(now)
        return {"Authorization": f"Bearer {self._token}"}

    async def renew(self, seen: Mapping[str, str]) -> bool:
        """Signs again, once for each refused token; a clock that is off shows here."""
        if seen.get("Authorization") == f"Bearer {self._token}":
            before = self._token
            self._sign(self._clock.now())
            return self._token != before
        return True

    def _sign(self, now: datetime) -> None:
        claims: dict[str, Any] = {**self._claims, "iat": int(now.timestamp())}
        claims["exp"] = int((now + self._lifetime).timestamp())
        self._token = jwt.encode(claims, self._key, algorithm=self._algorithm)
        self._fresh_until = now + self._lifetime * RESIGN_AT


class _Fetched(Authenticator):
    """A token got from a token endpoint; one renewal at a time, everybody else waits for it."""

    def __init__(self, token_url: str, clock: Clock) -> None:
        self._token_url = checked_url(token_url, "token_url")
        self._clock = clock
        self._token = ""
        self._fresh_until: datetime | None = None
        self._renewing = asyncio.Lock()

    async def headers(self) -> Mapping[str, str]:
        """See `Authenticator.headers`. Raises Denied when no token is to be had."""
        if not self._token or (self._fresh_until is not None and self._clock.now() >= self._fresh_until):
            await self.renew({"Authorization": f"Bearer {self._token}"})
        return {"Authorization": f"Bearer {self._token}"}

    async def renew(self, seen: Mapping[str, str]) -> bool:
        """Fetch a fresh token unless somebody did meanwhile."""
        async with self._renewing:  # token renewal is the one network call made under a lock
            if seen.get("Authorization") == f"Bearer {self._token}":
                await self._fetch()
        return True

    async def _fetch(self) -> None:
        raise Denied("no token can be fetched")

    async def _ask(self, **body: Any) -> Mapping[str, Any]:
        """The token endpoint's answer. Raises Denied when it refuses, Transient when it cannot be reached."""
        where = host_of(self._token_url)
        try:
            async with httpx.AsyncClient(timeout=TOKEN_SECONDS, follow_redirects=False) as client:
                reply = await client.post(self._token_url, **body)
        except httpx.HTTPError as error:
            raise Transient(f"the token service at {where} cannot be reached: {type(error).__name__}") from error
        if reply.status_code >= 500 or reply.status_code == 429:
            raise Transient(f"the token service at {where} answered {reply.status_code}")
        try:
            answer = reply.json() if reply.is_success else {}
        except ValueError:
            answer = {}
        if not isinstance(answer, dict) or not answer.get("access_token"):
            raise Denied(f"the token service at {where} gave no token (status {reply.status_code})", hint=self._hint())
        return answer

    def _hint(self) -> str:
        return "check client id and secret in the job file"

    def _take(self, answer: Mapping[str, Any]) -> None:
        self._token = str(answer["access_token"])
        lifetime = answer.get("expires_in")
        seconds = float(lifetime) * RESIGN_AT if isinstance(lifetime, int | float) else None
        self._fresh_until = self._clock.now() + timedelta(seconds=seconds) if seconds else None


class ClientCredentials(_Fetched):
    """OAuth 2 client credentials, form-encoded, as OpenID Connect realms take it."""

    def __init__(self, token_url: str, client_id: str, client_secret: str, scope: str, clock: Clock) -> None:
        super().__init__(token_url, clock)
        self._form = {
            "grant_type": "client_credentials",
            "client_id": client_id,
            "client_secret": client_secret,
            "scope": scope,
        }

    async def _fetch(self) -> None:
        self._take(await self._ask(data=self._form))


class RotatingToken(_Fetched):
    """OAuth 2 with a refresh token that serves once: the new one is stored durably before it is used."""

    def __init__(
        self,
        token_url: str,
        client_id: str,
        client_secret: str,
        refresh_token: str,
        vault: Vault,
        vault_name: str,
        clock: Clock,
    ) -> None:
        super().__init__(token_url, clock)
        self._client = {"client_id": client_id, "client_secret": client_secret}
        self._given = refresh_token
        self._vault = vault
        self._name = f"{vault_name}:{hashlib.sha256(refresh_token.encode()).hexdigest()[:12]}"

    async def _fetch(self) -> None:
        newest = await self._vault.load(self._name) or self._given
        body = {**self._client, "grant_type": "refresh_token", "refresh_token": newest}
        answer = await self._ask(json=body)
        fresh = answer.get("refresh_token")
        if fresh:
            await self._vault.save(self._name, str(fresh))
        self._take(answer)

    def _hint(self) -> str:
        return "the refresh token was used or revoked; consent again and put the new one into the job's secret"
