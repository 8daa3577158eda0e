"""Who calls: API keys, sessions that end, refreshing, OAuth (wire D 1)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass

from dam_sync.emulators.d_templates.options import Options
from dam_sync.emulators.d_templates.records import Refusal, User, broken, failed, refused
from dam_sync.emulators.kit.environment import Environment, Json

ACCESS_SECONDS = 3600
REFRESH_SECONDS = 30 * 86_400
CODE_SECONDS = 600
LOAD_BALANCER = "<html><head><title>403 Forbidden</title></head><body><h1>403 Forbidden</h1></body></html>"


@dataclass(slots=True)
class Login:
    """A password login or an OAuth grant: what its refresh token is good for, and until when (epoch seconds)."""

    user: User
    until: float
    oauth: bool = False
    over: bool = False


@dataclass(slots=True)
class Access:
    """A live pair of tokens."""

    login: Login
    expires: float
    access: str
    refreshes: bool = True


class Accounts:
    """Keys, sessions and grants. Methods raise Refusal as the service refuses."""

    def __init__(self, world: Environment, options: Options, users: Mapping[str, User]) -> None:
        self._world, self._options, self.users = world, options, users
        self._key = hashlib.sha256(f"tokens {world.seed}".encode()).digest()
        self._tokens: dict[str, Access] = {}
        self._logins: dict[str, Login] = {}
        self._codes: dict[str, tuple[User, str, float]] = {}
        self._count = 0
        owner = users[options.username]
        for token in options.refresh_tokens:
            self._logins[token] = Login(owner, self._now() + 10 * 365 * 86_400, oauth=True)

    def caller(self, key: str, authorization: str, access: str) -> User:
        """Who makes a business call. Raises Refusal 403 for the key, 401 for the token."""
        found = self._tokens.get(authorization.removeprefix("Bearer ").strip())
        if not (found and found.login.oauth and not key):
            self.check_key(key)
        if found is None or found.login.over or found.expires <= self._now():
            raise refused(401, "Unauthorized")
        if "access_token" in self._options.plays and not found.login.oauth and access != found.access:
            raise refused(401, "Unauthorized")
        return found.login.user

    def check_key(self, key: str) -> None:
        """Raises Refusal 403."""
        if not hmac.compare_digest(key.encode(), self._options.api_key.encode()):
            raise refused(403, "Forbidden")

    def token(self, sent: Mapping[str, Json]) -> Json:
        """A new session, or a refreshed one (wire D 1.3, 1.4)."""
        session = sent.get("session")
        if isinstance(session, dict) and session.get("refreshToken"):
            return self._refreshed(session)
        if not sent.get("username"):
            raise failed(400, "Invalid Authentication Parameters")
        if not sent.get("password"):
            raise failed(401, "Missing required parameter PASSWORD")
        user = self.users.get(str(sent["username"]))
        if user is None or not hmac.compare_digest(user.password.encode(), str(sent["password"]).encode()):
            raise failed(401, "Incorrect username or password.")
        login = Login(user, self._now() + REFRESH_SECONDS)
        refresh = self._opaque("refresh")
        self._logins[refresh] = login
        return self._session(login, refresh)

    def expire(self, sent: Mapping[str, Json]) -> Json:
        """All three tokens are good no more (wire D 1.5)."""
        if not sent.get("clientId") or not sent.get("userPoolId"):
            raise broken()
        session = sent.get("session")
        held = session if isinstance(session, dict) else {}
        login = self._logins.get(str(held.get("refreshToken", "")))
        found = self._tokens.get(str(held.get("authorization", "")))
        if login is None or login.over or found is None or found.login is not login:
            raise failed(401, "Failed to Expire Session and Logout 1")
        login.over = True
        return {**sent, "session": {**held, "authorization": "", "accessToken": ""}}

    def impersonate(self, sent: Mapping[str, Json], caller: User) -> Json:
        """Deprecated; not refreshable (wire D 1.7)."""
        user = self.users.get(str(sent.get("username", "")))
        if user is None or not caller.admin:
            raise failed(422, "User cannot be impersonated")
        return self._session(Login(user, self._now()), "")

    def authorize(self, query: Mapping[str, str], authorization: str) -> str:
        """Where a browser is sent back to, with a code. Raises Refusal 403 for somebody who is not signed in."""
        found = self._tokens.get(authorization.removeprefix("Bearer ").strip())
        known = query.get("client_id", "") in self._options.clients
        if found is None or found.login.over or found.expires <= self._now() or not known:
            raise Refusal(403, LOAD_BALANCER)
        code = self._opaque("code")
        self._codes[code] = (found.login.user, query["client_id"], self._now() + CODE_SECONDS)
        state = f"&state={query['state']}" if "state" in query else ""
        return f"{query.get('redirect_uri', '')}?code={code}{state}"

    def exchange(self, form: Mapping[str, str], authorization: str) -> Json:
        """The OAuth token call; form encoded (wire D 1.6). Raises Refusal 403 of the load balancer, or 400."""
        client, secret = form.get("client_id", ""), form.get("client_secret", "")
        if authorization.startswith("Basic "):
            client, _, secret = base64.b64decode(authorization[6:]).decode().partition(":")
        known = self._options.clients.get(client)
        if known is None or not hmac.compare_digest(known.encode(), secret.encode()):
            raise Refusal(403, LOAD_BALANCER)
        if form.get("grant_type") == "refresh_token":
            refresh = form.get("refresh_token", "")
            login = self._logins.get(refresh)
            if login is None or not login.oauth or login.over or login.until <= self._now():
                raise Refusal(400, {"error": "invalid_grant"})
            return self._granted(login, refresh)
        if form.get("grant_type") != "authorization_code":
            raise Refusal(400, {"error": "unsupported_grant_type"})
        user, wanted, until = self._codes.pop(form.get("code", ""), (None, "", 0.0))
        if user is None or wanted != client or until <= self._now():
            raise Refusal(400, {"error": "invalid_grant"})
        login, refresh = Login(user, self._now() + REFRESH_SECONDS, oauth=True), self._opaque("refresh")
        self._logins[refresh] = login
        return self._granted(login, refresh)

    def _granted(self, login: Login, refresh: str) -> Json:
        access = self._jwt(login.user, "access")
        self._tokens[access] = Access(login, self._now() + ACCESS_SECONDS, access)
        return {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": ACCESS_SECONDS,
            "refresh_token": refresh,
            "scope": "read write admin",
        }

    def _refreshed(self, session: Mapping[str, Json]) -> Json:
        refresh = str(session["refreshToken"])
        login = self._logins.get(refresh)
        if login is None or login.over or login.oauth or login.until <= self._now() or not session.get("accessToken"):
            raise failed(401, "Incorrect username or password.")
        return self._session(login, "" if "refresh_blank" in self._options.plays else refresh)

    def _session(self, login: Login, refresh: str) -> Json:
        authorization, access = self._jwt(login.user, "id"), self._jwt(login.user, "access")
        expires = int(self._now()) + ACCESS_SECONDS
        self._tokens[authorization] = Access(login, expires, access)
        return {
            "endpointUrl": f"{self._world.api_origin}/v1",
            "clientId": "3l2k9example",
            "userPoolId": "eu-1_AbCdEf123",
            "username": login.user.username,
            "password": "",
            "session": {
                "authorization": authorization,
                "accessToken": access,
                "refreshToken": refresh,
                "expireEpoch": expires * 1000,
            },
        }

    def _jwt(self, user: User, use: str) -> str:
        self._count += 1
        now = int(self._now())
        claims = {"sub": user.id, "token_use": use, "iat": now, "exp": now + ACCESS_SECONDS, "jti": str(self._count)}
        body = f"{_b64({'alg': 'RS256', 'typ': 'JWT'})}.{_b64(claims)}"
        return f"{body}.{_text(hmac.new(self._key, body.encode(), hashlib.sha256).digest())}"

    def _opaque(self, what: str) -> str:
        self._count += 1
        text = f"{what} {self._count}"
        return "eyJjdHkiOiJKV1QiLCJlbmMi." + _text(hmac.new(self._key, text.encode(), hashlib.sha512).digest())

    def _now(self) -> float:
        return self._world.now().timestamp()


def profile_of(user: User, customer: str) -> Json:
    """`GET /user` (wire D 1.7)."""
    return {
        "userId": user.id,
        "customerId": customer,
        "emailId": user.email,
        "username": user.username,
        "firstName": user.first,
        "lastName": user.last,
        "roleId": user.id,
        "status": "enabled",
        "groups": list(user.groups),
    }


def _b64(claims: Json) -> str:
    return _text(json.dumps(claims, separators=(",", ":")).encode())


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
