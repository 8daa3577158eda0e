"""Further authentication methods: a login token in a header of its own, and grants of servers that keep one token per
client and user."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias
from urllib.parse import urlencode

from dam_sync.http.auth.base import (
    REFUSED,
    RENEW_AT,
    Basic,
    GrantedToken,
    SignedToken,
    StaticHeaders,
    bearer,
    fingerprint_of,
    refusal_of,
    seconds_of,
)
from dam_sync.http.messages import Request, Response
from dam_sync.http.redaction import hide
from dam_sync.model.clock import Clock
from dam_sync.model.errors import ContractBroken, Denied
from dam_sync.model.ports import CredentialStore
from dam_sync.model.values import Json, instant_text, parse_instant

Fields: TypeAlias = Mapping[str, str]
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ENDING = 300.0  # seconds of life, below which the same token is not asked for again
AGREE_AGAIN = "let the user consent again in the browser and put the new code or refresh token into the job file"


class HeaderToken(StaticHeaders):
    """A token valid until revoked, in a header of its own (wire B 1.3)."""

    def __init__(self, header: str, token: str) -> None:
        super().__init__({header: token}, token)


@dataclass(frozen=True, slots=True)
class DeviceIdentity:
    """Who requests a login token: the same user, application and device get the same token again."""

    header: str
    application: str = "dam-sync"
    device: str = "dam-sync"
    permission: str = "rw"


class LoginToken(GrantedToken):
    """A login token, requested with user and password on first use and again after it was revoked (wire B 1.3). Safe to
    repeat: the server returns the same token. Raises Denied when user or password are refused."""

    def __init__(self, token_url: str, basic: Basic, device: DeviceIdentity, clock: Clock) -> None:
        super().__init__(token_url, clock)
        self._basic = basic
        self._device = device

    async def _renewed(self) -> None:
        device = self._device
        asked = {
            "applicationName": device.application,
            "deviceId": device.device,
            "deviceDescription": device.application,
            "permission": device.permission,
        }
        request = Request(
            operation="GET /authentication/token",
            method="GET",
            path=f"{self._token_url}?{urlencode(asked)}",
            headers=await self._basic.headers(),
            accept=REFUSED,
        )
        reply = await self._send(request)
        token = reply.body.decode("utf-8", "replace").strip()
        if reply.status in REFUSED:
            raise refusal_of(reply, "check login and password in the job file")
        if reply.is_html or not token or len(token.split()) != 1:
            raise ContractBroken("the token response is not a token", operation=reply.operation)
        hide(token)
        self._headers = {device.header: token}
        self._renew_at = None


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A registered client; the secret is empty for a public one."""

    token_url: str
    client_id: str
    client_secret: str = field(default="", repr=False)

    @property
    def fields(self) -> dict[str, str]:
        """The form fields of every grant."""
        secret = {"client_secret": self.client_secret} if self.client_secret else {}
        return {"client_id": self.client_id, **secret}


class _SharedGrant(GrantedToken):
    """A token of a server that keeps one per client and user: a second request returns the same token with its
    remaining lifetime, and a renewal invalidates the old one for everybody (wire B 1.4)."""

    def __init__(self, client: OAuthClient, clock: Clock) -> None:
        super().__init__(client.token_url, clock)
        self._client = client
        hide(client.client_secret)

    def _take(self, reply: Response) -> None:
        """Use this response. A token with little lifetime left is used until it expires, because a request returns the
        same one."""
        self._use(reply, reply.json())
        left = None if self._renew_at is None else (self._renew_at - self._clock.monotonic()) / RENEW_AT
        if left is not None and left < ENDING:
            self._renew_at = self._clock.monotonic() + left


class JwtBearerGrant(_SharedGrant):
    """Signs an assertion for a user and exchanges it for an access token (wire B 1.4). Raises Denied, ConfigError."""

    def __init__(self, client: OAuthClient, signer: SignedToken, clock: Clock) -> None:
        super().__init__(client, clock)
        self._signer = signer

    async def _renewed(self) -> None:
        signed = await self._signer.headers()
        assertion = signed["Authorization"].partition(" ")[2]
        hide(assertion)
        fields = {"grant_type": JWT_BEARER, **self._client.fields, "assertion": assertion}
        reply = await self._ask(fields, form=True)
        if reply.status in REFUSED:
            raise refusal_of(reply, "check client_id, client_secret, login and key in the job file")
        self._take(reply)


@dataclass(frozen=True, slots=True)
class UserConsent:
    """The result of a user's consent: a refresh token, or a code that is valid once for some minutes."""

    refresh_token: str = field(default="", repr=False)
    code: str = field(default="", repr=False)
    redirect_uri: str = ""
    code_verifier: str = field(default="", repr=False)

    @property
    def mark(self) -> str:
        """A digest that distinguishes consents without revealing them."""
        return fingerprint_of(f"{self.refresh_token}\n{self.code}")

    @property
    def code_fields(self) -> dict[str, str]:
        """The form fields that exchange the code for tokens."""
        given = {"code": self.code, "redirect_uri": self.redirect_uri, "code_verifier": self.code_verifier}
        return {"grant_type": "authorization_code", **{name: text for name, text in given.items() if text}}


@dataclass(frozen=True, slots=True)
class _StoredTokens:
    """What the credential store holds: both tokens, and when the access token has to be renewed."""

    refresh_token: str
    access_token: str
    renew_at: datetime | None


class SharedConsent(_SharedGrant):
    """An authorization code, then refresh tokens; each renewal invalidates the old pair (wire B 1.4). Both tokens are
    saved in the credential store before they are used, so that processes share one pair: whoever finds a newer pair
    takes it, and one that lost the race takes the winner's. A new consent in the job file takes precedence over stored
    tokens of an older one. Raises Denied when the newest is refused."""

    def __init__(
        self, client: OAuthClient, consent: UserConsent, vault: CredentialStore, vault_name: str, clock: Clock
    ) -> None:
        super().__init__(client, clock)
        self._consent = consent
        self._vault = vault
        self._vault_name = vault_name
        hide(consent.refresh_token, consent.code, consent.code_verifier)

    async def _renewed(self) -> None:
        kept = await self._loaded()
        if kept is not None and self._is_news(kept):
            self._take_kept(kept)
            return
        reply = await self._ask(self._fields(kept), form=True)
        if reply.status in REFUSED:
            newer = await self._loaded()
            if newer is None or newer == kept or not self._is_news(newer):
                raise self._refused(reply)
            self._take_kept(newer)
            return
        await self._keep(reply, kept)

    def _fields(self, kept: _StoredTokens | None) -> Fields:
        refresh_token = kept.refresh_token if kept else self._consent.refresh_token
        if refresh_token:
            return {"grant_type": "refresh_token", **self._client.fields, "refresh_token": refresh_token}
        return {**self._client.fields, **self._consent.code_fields}

    def _refused(self, reply: Response) -> Denied:
        return refusal_of(reply, AGREE_AGAIN)

    def _is_news(self, kept: _StoredTokens) -> bool:
        """Whether another process stored a valid access token that we have not used."""
        if not kept.access_token or bearer(kept.access_token) == dict(self._headers):
            return False
        return kept.renew_at is None or kept.renew_at > self._clock.now()

    def _take_kept(self, kept: _StoredTokens) -> None:
        left = None if kept.renew_at is None else (kept.renew_at - self._clock.now()).total_seconds()
        self._headers = bearer(kept.access_token)
        self._renew_at = None if left is None else self._clock.monotonic() + left

    async def _keep(self, reply: Response, kept: _StoredTokens | None) -> None:
        data = reply.json()
        found = data if isinstance(data, dict) else {}
        access, refresh = str(found.get("access_token") or ""), str(found.get("refresh_token") or "")
        refresh = refresh or (kept.refresh_token if kept else self._consent.refresh_token)
        hide(access, refresh)
        until = _until(found.get("expires_in"), self._clock.now())
        told = {
            "given": self._consent.mark,
            "refresh_token": refresh,
            "access_token": access,
            "renew_at": instant_text(until) if until else None,
        }
        if access:
            await self._vault.save(self._vault_name, json.dumps(told))
        self._use(reply, data)

    async def _loaded(self) -> _StoredTokens | None:
        stored = await self._vault.load(self._vault_name)
        if stored is None:
            return None
        try:
            data = json.loads(stored)
            until = parse_instant(data["renew_at"]) if data.get("renew_at") else None
            kept = _StoredTokens(str(data["refresh_token"]), str(data.get("access_token") or ""), until)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        hide(kept.refresh_token, kept.access_token)
        return kept if data.get("given") == self._consent.mark else None


def _until(given: Json, now: datetime) -> datetime | None:
    """When to renew a token with this lifetime in seconds."""
    life = seconds_of(given)
    try:
        return None if life is None else now + timedelta(seconds=life) * RENEW_AT
    except OverflowError:
        return None
