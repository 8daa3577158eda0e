"""Who calls: Basic credentials, tokens signed with the shared key, optionally tokens of the identity provider."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping

from dam_sync.emulators.a_hypermedia.errors import Refusal
from dam_sync.emulators.a_hypermedia.options import Options
from dam_sync.emulators.a_hypermedia.records import User
from dam_sync.emulators.kit.environment import Environment, Json

_HASHES = {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}
_SKEW_S = 60
OIDC_LIFE_S = 300
OIDC_CLIENT = ("client-1", "client-secret-1")


class Gate:
    """Checks the Authorization header of each call against the users."""

    def __init__(self, world: Environment, options: Options, users: Mapping[str, User]) -> None:
        self.world, self.options, self.users = world, options, users
        self._tokens: dict[str, float] = {}

    def user(self, header: str, interface: str = "") -> User:
        """The caller. Raises 401."""
        if not header:
            raise Refusal(401, "security-notAuthorized", "Credentials are needed.")
        scheme, _, rest = header.partition(" ")
        if scheme.lower() == "basic":
            user = self._basic(rest.strip())
        elif scheme.lower() == "bearer":
            user = self._bearer(rest.strip())
        else:
            raise _refused()
        if not user.active:
            raise Refusal(401, "error.account.to_be_validated", "The account awaits validation.")
        if interface and self.options.interfaces and interface not in self.options.interfaces:
            raise Refusal(401, "user-access-forbidden-for-ui", "The user may not use this interface.")
        return user

    def issue(self, client: str, secret: str) -> str | None:
        """An access token of the identity provider for client credentials; None if they are wrong."""
        if not self.options.oidc or (client, secret) != OIDC_CLIENT:
            return None
        token = f"oidc.{self.world.word(40)}"
        self._tokens[token] = self.world.now().timestamp() + OIDC_LIFE_S
        return token

    def _basic(self, encoded: str) -> User:
        try:
            login, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise _refused() from None
        user = self.users.get(login)
        if user is None or not hmac.compare_digest(user.password.encode(), password.encode()):
            raise _refused()
        return user

    def _bearer(self, token: str) -> User:
        if token in self._tokens:
            if self._tokens[token] <= self.world.now().timestamp():
                raise _refused()
            return self.users[self.options.login]
        if not self.options.jwt or not self.options.at_least("4.28.0"):
            raise _refused()
        claims = self._claims(token)
        now = self.world.now().timestamp()
        issued, expires = claims.get("iat"), claims.get("exp")
        if not isinstance(issued, (int, float)) or not isinstance(expires, (int, float)):
            raise _refused()
        user = self.users.get(str(claims.get("login")))
        if expires <= now or issued > now + _SKEW_S or claims.get("client_id") != self.options.client_id or not user:
            raise _refused()
        return user

    def _claims(self, token: str) -> Mapping[str, Json]:
        try:
            head, body, signature = token.split(".")
            made_with = _HASHES[json.loads(_decoded(head))["alg"]]
            claims = json.loads(_decoded(body))
            given = _decoded(signature)
        except (ValueError, KeyError, TypeError):
            raise _refused() from None
        right = hmac.new(self.options.jwt_key.encode(), f"{head}.{body}".encode(), made_with).digest()
        if not hmac.compare_digest(right, given) or not isinstance(claims, dict):
            raise _refused()
        return claims


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _refused() -> Refusal:
    return Refusal(401, "security-invalidAuthorization", "The authorization is incomplete, invalid or expired.")
