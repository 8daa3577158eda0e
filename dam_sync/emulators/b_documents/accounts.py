"""Who calls: Basic, login tokens, signed tokens, OAuth tokens (wire B 1.2 to 1.4). All expire by the world's time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass

from dam_sync.emulators.b_documents.options import Options
from dam_sync.emulators.b_documents.people import People
from dam_sync.emulators.b_documents.records import User
from dam_sync.emulators.kit.environment import Environment, Json

TOKEN_HEADER = "x-authentication-token"


class OAuthError(Exception):
    """An error of the token endpoint."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


@dataclass(slots=True)
class Grant:
    """The one token of a client and a user."""

    client: str
    user: str
    access: str
    refresh: str
    until: float


@dataclass(slots=True)
class Code:
    """An authorization code, spent once."""

    client: str
    user: str
    redirect: str
    challenge: str
    method: str
    until: float


class Accounts:
    """Checks credentials and returns tokens."""

    def __init__(self, world: Environment, people: People, options: Options) -> None:
        self._world, self._people, self._options = world, people, options
        self.clients: dict[str, dict[str, Json]] = {key: dict(facts) for key, facts in options.clients.items()}
        self.logins: dict[str, tuple[str, str, str]] = {
            token: (user, "preset", token) for token, user in options.tokens.items()
        }
        self.grants: dict[tuple[str, str], Grant] = {}
        self.codes: dict[str, Code] = {}
        for refresh, (client, user) in options.refresh_tokens.items():
            self.grants[client, user] = Grant(client, user, self._word(32), refresh, 0.0)

    def user(self, headers: Mapping[str, str], query: Mapping[str, str], path: str) -> User | None:
        """The caller; None when nothing sent is good."""
        if query.get("access_token"):
            return self._bearer(query["access_token"], path)
        login = headers.get(TOKEN_HEADER) or query.get("token") or _cookie(headers.get("cookie", ""))
        if login:
            known = self.logins.get(login)
            return self._people.users.get(known[0]) if known else None
        scheme, _, rest = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":
            return self.basic(rest.strip())
        return self._bearer(rest.strip(), path) if scheme.lower() == "bearer" else None

    def basic(self, encoded: str) -> User | None:
        """The user of Basic credentials; an empty password counts as none."""
        try:
            name, colon, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        user = self._people.users.get(name)
        right = user is not None and bool(colon and password) and hmac.compare_digest(user.password, password)
        return user if right else None

    # login tokens

    def login_token(self, user: User, application: str, device: str) -> str:
        """The token of a user, application and device; the same again for the same."""
        for token, key in self.logins.items():
            if key == (user.name, application, device):
                return token
        rng = self._world.rng
        token = f"{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}-{rng.getrandbits(64):016x}"
        self.logins[token] = (user.name, application, device)
        return token

    def revoke(self, user: User, application: str, device: str) -> bool:
        """Whether there was one."""
        found = [token for token, key in self.logins.items() if key == (user.name, application, device)]
        for token in found:
            del self.logins[token]
        return bool(found)

    # OAuth

    def authorize(self, query: Mapping[str, str], user: User) -> str:
        """The address to send the user to; empty for the consent page. Raises OAuthError."""
        client = self.clients.get(query.get("client_id", ""))
        if client is None:
            raise OAuthError("invalid_request", "Invalid client_id")
        known = list(client.get("redirects", ()))
        redirect = query.get("redirect_uri") or (known[0] if known else "")
        local = redirect.startswith(("http://localhost", "http://127.0.0.1"))
        if redirect not in known or (redirect.startswith("http://") and not local):
            raise OAuthError("invalid_request", "Invalid redirect_uri")
        if query.get("response_type") != "code":
            raise OAuthError("unsupported_response_type", "Unknown response_type")
        if not client.get("auto_grant") and (query["client_id"], user.name) not in self.grants:
            return ""
        code = self._word(10)
        self.codes[code] = Code(
            query["client_id"], user.name, query.get("redirect_uri", ""), query.get("code_challenge", ""),
            query.get("code_challenge_method", "plain"), self._now() + self._options.code_life,
        )  # fmt: skip
        state = f"&state={query['state']}" if query.get("state") else ""
        return f"{redirect}{'&' if '?' in redirect else '?'}code={code}{state}"

    def token(self, given: Mapping[str, str]) -> Json:
        """What the token endpoint answers. Raises OAuthError."""
        kind = given.get("grant_type", "")
        client = self._client(given, required=kind == "client_credentials")
        match kind:
            case "authorization_code":
                return self._shown(self._by_code(given, client))
            case "refresh_token":
                return self._shown(self._refreshed(given, client))
            case "urn:ietf:params:oauth:grant-type:jwt-bearer":
                user = self._signed(given.get("assertion", ""), "")
                if user is None:
                    raise OAuthError("invalid_grant", "Invalid assertion")
                return self._shown(self._grant(client, user.name))
            case "client_credentials" if self._options.at_least("2025.3"):
                if client not in self._people.users:
                    raise OAuthError("invalid_client", "No user for this client")
                return self._shown(self._grant(client, client), refresh=False)
        raise OAuthError("unsupported_grant_type", f"Unsupported grant type: {kind}")

    def _client(self, given: Mapping[str, str], *, required: bool) -> str:
        key = given.get("client_id", "")
        client = self.clients.get(key)
        if not key:
            raise OAuthError("invalid_request", "Missing client_id")
        secret = str(client.get("secret", "")) if client else ""
        sent = given.get("client_secret", "")
        if client is None or (secret and sent != secret) or (required and not secret):
            raise OAuthError("invalid_client", "Disabled or invalid client")
        return key

    def _by_code(self, given: Mapping[str, str], client: str) -> Grant:
        code = self.codes.pop(given.get("code", ""), None)
        if code is None or code.client != client or self._now() > code.until:
            raise OAuthError("invalid_grant", "Invalid authorization code")
        if code.redirect and given.get("redirect_uri", "") != code.redirect:
            raise OAuthError("invalid_grant", "Invalid redirect_uri")
        if code.challenge and _challenge(given.get("code_verifier", ""), code.method) != code.challenge:
            raise OAuthError("invalid_grant", "Invalid code verifier")
        return self._grant(client, code.user)

    def _refreshed(self, given: Mapping[str, str], client: str) -> Grant:
        wanted = given.get("refresh_token", "")
        if not wanted:
            raise OAuthError("invalid_request", "Missing refresh_token")
        for grant in self.grants.values():
            if grant.refresh == wanted and grant.client == client:
                return self._renew(client, grant.user)
        raise OAuthError("invalid_grant", "Cannot refresh token")

    def _grant(self, client: str, user: str) -> Grant:
        """The same token while it is valid, else a new one."""
        known = self.grants.get((client, user))
        return known if known and known.until > self._now() else self._renew(client, user)

    def _renew(self, client: str, user: str) -> Grant:
        until = self._now() + self._options.token_life
        self.grants[client, user] = made = Grant(client, user, self._word(32), self._word(64), until)
        return made

    def _shown(self, grant: Grant, *, refresh: bool = True) -> Json:
        left = int(grant.until - self._now() - 0.001)
        expires: Json = float(left) if "float_expiry" in self._options.plays else left
        more = {"refresh_token": grant.refresh} if refresh else {}
        return {"access_token": grant.access, **more, "token_type": "bearer", "expires_in": expires}

    def _bearer(self, token: str, path: str) -> User | None:
        if token.count(".") == 2:
            return self._signed(token, path)
        for grant in self.grants.values():
            if grant.access == token and grant.until > self._now():
                return self._people.users.get(grant.user)
        return None

    def _signed(self, token: str, path: str) -> User | None:
        """The user of a token signed with the shared secret: HS512, expiry, and a path it is bound to."""
        head, _, signature = token.rpartition(".")
        try:
            header = json.loads(_decoded(head.partition(".")[0]))
            claims = json.loads(_decoded(head.partition(".")[2]))
            good = hmac.new(self._options.jwt_secret.encode(), head.encode(), hashlib.sha512).digest()
            right = header.get("alg") == "HS512" and hmac.compare_digest(_decoded(signature), good)
        except (ValueError, AttributeError):
            return None
        expired = claims.get("exp") is not None and float(claims["exp"]) <= self._now()
        bound = claims.get("aud")
        elsewhere = bool(path) and isinstance(bound, str) and not path.lstrip("/").startswith(bound.lstrip("/"))
        return None if not right or expired or elsewhere else self._people.users.get(str(claims.get("sub", "")))

    def _word(self, length: int) -> str:
        return self._world.word(length)

    def _now(self) -> float:
        return self._world.now().timestamp()


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _challenge(verifier: str, method: str) -> str:
    if method != "S256":
        return verifier
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _cookie(header: str) -> str:
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name.lower() == TOKEN_HEADER:
            return value
    return ""
