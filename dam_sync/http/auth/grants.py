"""Further credentials: a login token in a header of its own, and grants of servers that keep one token for a client
and user."""

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
    Fixed,
    Granted,
    SignedToken,
    bearer,
    mark_of,
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
AGREE_AGAIN = "let the user agree again in the browser and put the new code or refresh token into the job file"


class HeaderToken(Fixed):
    """A token that lives until it is revoked, in a header of its own (wire B 1.3)."""

    def __init__(self, header: str, token: str) -> None:
        super().__init__({header: token}, token)


@dataclass(frozen=True, slots=True)
class Device:
    """Who asks for a login token: the same user, application and device get the same token again."""

    header: str
    application: str = "dam-sync"
    device: str = "dam-sync"
    permission: str = "rw"


class LoginToken(Granted):
    """A login token that user and password fetch when it is first needed, and again when it was revoked (wire B 1.3).

    Fetching it twice gives the same one. Raises Denied when user or password are refused.
    """

    def __init__(self, token_url: str, basic: Basic, device: Device, clock: Clock) -> None:
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
            raise ContractBroken("the token answer is no token", operation=reply.operation)
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
        """As every grant carries them."""
        secret = {"client_secret": self.client_secret} if self.client_secret else {}
        return {"client_id": self.client_id, **secret}


class _SharedGrant(Granted):
    """A token of a server that keeps one for a client and user: asked again it gives the same one with what is left of
    its life, and a renewal ends the old one for everybody (wire B 1.4)."""

    def __init__(self, client: OAuthClient, clock: Clock) -> None:
        super().__init__(client.token_url, clock)
        self._client = client
        hide(client.client_secret)

    def _take(self, reply: Response) -> None:
        """The answer in use; a token with little life left is used to its end, for asking gives the same one."""
        self._use(reply, reply.json())
        left = None if self._renew_at is None else (self._renew_at - self._clock.monotonic()) / RENEW_AT
        if left is not None and left < ENDING:
            self._renew_at = self._clock.monotonic() + left


class JwtBearerGrant(_SharedGrant):
    """Signs an assertion for a user and changes it for an access token (wire B 1.4). Raises Denied, ConfigError."""

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
class Consent:
    """What a user's agreement left us: a refresh token, or a code that is good once and for minutes."""

    refresh_token: str = field(default="", repr=False)
    code: str = field(default="", repr=False)
    redirect_uri: str = ""
    code_verifier: str = field(default="", repr=False)

    @property
    def mark(self) -> str:
        """Tells one consent of the job file from another, without being it."""
        return mark_of(f"{self.refresh_token}\n{self.code}")

    @property
    def code_fields(self) -> dict[str, str]:
        """What changes the code for tokens."""
        given = {"code": self.code, "redirect_uri": self.redirect_uri, "code_verifier": self.code_verifier}
        return {"grant_type": "authorization_code", **{name: text for name, text in given.items() if text}}


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the vault holds: both tokens and the instant at which the access token is to be renewed."""

    refresh_token: str
    access_token: str
    renew_at: datetime | None


class SharedConsent(_SharedGrant):
    """An authorization code, then refresh tokens, of which each renewal ends the old pair (wire B 1.4).

    Both tokens are in the vault before they are used, so that processes with the same vault share one pair: whoever
    finds a newer pair there takes it, and one that lost the race takes the winner's. A consent newly put into the job
    file comes before what the vault holds of an older one. Raises Denied when the newest is refused.
    """

    def __init__(
        self, client: OAuthClient, consent: Consent, vault: CredentialStore, vault_name: str, clock: Clock
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

    def _fields(self, kept: _Kept | None) -> Fields:
        refresh_token = kept.refresh_token if kept else self._consent.refresh_token
        if refresh_token:
            return {"grant_type": "refresh_token", **self._client.fields, "refresh_token": refresh_token}
        return {**self._client.fields, **self._consent.code_fields}

    def _refused(self, reply: Response) -> Denied:
        return refusal_of(reply, AGREE_AGAIN)

    def _is_news(self, kept: _Kept) -> bool:
        """Whether another process left an access token that we have not used, and that is good."""
        if not kept.access_token or bearer(kept.access_token) == dict(self._headers):
            return False
        return kept.renew_at is None or kept.renew_at > self._clock.now()

    def _take_kept(self, kept: _Kept) -> None:
        left = None if kept.renew_at is None else (kept.renew_at - self._clock.now()).total_seconds()
        self._headers = bearer(kept.access_token)
        self._renew_at = None if left is None else self._clock.monotonic() + left

    async def _keep(self, reply: Response, kept: _Kept | None) -> None:
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

    async def _loaded(self) -> _Kept | None:
        stored = await self._vault.load(self._vault_name)
        if stored is None:
            return None
        try:
            data = json.loads(stored)
            until = parse_instant(data["renew_at"]) if data.get("renew_at") else None
            kept = _Kept(str(data["refresh_token"]), str(data.get("access_token") or ""), until)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        hide(kept.refresh_token, kept.access_token)
        return kept if data.get("given") == self._consent.mark else None


def _until(given: Json, now: datetime) -> datetime | None:
    """When to renew a token that lives so many seconds."""
    life = seconds_of(given)
    try:
        return None if life is None else now + timedelta(seconds=life) * RENEW_AT
    except OverflowError:
        return None
