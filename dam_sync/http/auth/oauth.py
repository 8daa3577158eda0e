"""Further authentication methods: a login token in a header of its own, and grants of servers that keep one token per
client and user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import urlencode

from dam_sync.http.auth.base import (
    REFUSED,
    RENEW_AT,
    Basic,
    GrantedToken,
    SignedToken,
    StaticHeaders,
    StoredGrant,
    StoredTokens,
    fingerprint_of,
    refusal_of,
)
from dam_sync.http.messages import Request, Response
from dam_sync.http.redaction import hide, hide_issued
from dam_sync.model.clock import Clock
from dam_sync.model.errors import ContractBroken
from dam_sync.model.ports import CredentialStore

Fields: TypeAlias = Mapping[str, str]
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ENDING = 300.0  # seconds of lifetime, below which the same token is not requested again
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
    repeat: the server returns the same token. Raises Denied if user or password are refused."""

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
        hide_issued(token)
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
        hide_issued(assertion)
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
    def fingerprint(self) -> str:
        """A digest that distinguishes consents without revealing them."""
        return fingerprint_of(f"{self.refresh_token}\n{self.code}")

    @property
    def code_fields(self) -> dict[str, str]:
        """The form fields that exchange the code for tokens."""
        given = {"code": self.code, "redirect_uri": self.redirect_uri, "code_verifier": self.code_verifier}
        return {"grant_type": "authorization_code", **{name: text for name, text in given.items() if text}}


class SharedConsent(_SharedGrant, StoredGrant):
    """An authorization code, then refresh tokens; each renewal invalidates the old pair (wire B 1.4). A new consent in
    the job file takes precedence over stored tokens of an older one."""

    _hint = AGREE_AGAIN

    def __init__(
        self,
        client: OAuthClient,
        consent: UserConsent,
        credential_store: CredentialStore,
        stored_name: str,
        clock: Clock,
    ) -> None:
        super().__init__(client, clock)
        self._consent = consent
        self._stored = StoredTokens(credential_store, stored_name, consent.fingerprint)
        hide(consent.refresh_token, consent.code, consent.code_verifier)

    @property
    def _given(self) -> str:
        return self._consent.refresh_token

    async def _request(self, stored: Fields | None) -> Response:
        return await self._ask(self._fields(self._spent(stored)), form=True)

    def _fields(self, refresh_token: str) -> Fields:
        if refresh_token:
            return {"grant_type": "refresh_token", **self._client.fields, "refresh_token": refresh_token}
        return {**self._client.fields, **self._consent.code_fields}
