"""Users, tokens and OAuth of an emulated tenant of service E (spec 002, Authentication, E; wire E 1)."""

from __future__ import annotations

import base64
import binascii
import hmac
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from dam_sync.emulators.e_profiles.options import Options
from dam_sync.emulators.e_profiles.records import ALL_ORDERS, ALL_SIGHT, Refusal, User
from dam_sync.emulators.kit.environment import Environment, Json

ACCESS_SECONDS = 28_800
REFRESH_SECONDS = 182 * 86400
CODE_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Grant:
    """Whom a token or code speaks for; expires in epoch seconds, None for never."""

    user: User
    expires: float | None
    client: str = ""


class Accounts:
    """Everything that gets somebody in."""

    def __init__(self, world: Environment, options: Options) -> None:
        self._world = world
        self._tenant = options.tenant
        self._clients = options.clients
        self.users = _users(options)
        self.owner = self.users[0]
        self._access: dict[str, Grant] = {options.token: Grant(self.owner, None)}
        prefix = f"wat_{options.tenant}_"
        if options.token.startswith(prefix):
            old_form = f"{options.tenant}/{options.token.removeprefix(prefix)}"
            self._access[old_form] = Grant(self.owner, None)
        for user, given in zip(self.users[1:], options.users, strict=True):
            self._access[str(given["token"])] = Grant(user, None)
        self._codes: dict[str, Grant] = {}
        unused = self._now() + REFRESH_SECONDS
        client = next(iter(options.clients), "")
        refreshing = (*options.refresh_tokens, *options.consents)
        self._refresh = {token: Grant(self.owner, unused, client) for token in refreshing}
        self._consents = frozenset(options.consents)

    def user(self, header: str) -> tuple[User, str]:
        """Who calls, and with which token. Raises Refusal 401."""
        token = _token_of(header)
        grant = self._access.get(token)
        if grant is None or (grant.expires is not None and grant.expires <= self._now()):
            raise Refusal(401, "unauthorized", "The access token is missing, invalid or expired")
        return grant.user, token

    def consent(self, client: str) -> str:
        """The code that the consent page hands out. Raises Refusal 400 for an unknown client."""
        if client not in self._clients:
            raise Refusal(400, "invalid_client", "Unknown client")
        code = f"wac_{self._tenant}_{self._world.word(16)}"
        self._codes[code] = Grant(self.owner, self._now() + CODE_SECONDS, client)
        return code

    def exchange(self, sent: Mapping[str, Json]) -> Json:
        """The v2 token call. Raises Refusal 400 or 401; a code or refresh token is good once."""
        client = str(sent.get("client_id", ""))
        known = self._check_client(client, str(sent.get("client_secret", "")), 401)
        match sent.get("grant_type"):
            case "authorization_code":
                grant = self._spend(self._codes, sent.get("authorization_code"), client, 400)
            case "refresh_token" if known.get("refresh"):
                grant = self._spend(self._refresh, sent.get("refresh_token"), client, 400)
            case _:
                raise Refusal(400, "unsupported_grant_type", "This grant is not offered")
        return self._pair(grant.user, client, refreshes=bool(known.get("refresh")))

    def exchange_v1(self, header: str, sent: Mapping[str, Json]) -> Json:
        """The v1 token call: the client in a Basic header, tokens that never expire. Raises Refusal 403."""
        client, _, secret = _basic(header).partition(":")
        self._check_client(client, secret, 403)
        if sent.get("grant_type") != "authorization_code":
            raise Refusal(400, "unsupported_grant_type", "This grant is not offered")
        grant = self._spend(self._codes, sent.get("authorization_code"), client, 403)
        return {"access_token": self._new_access(grant.user, None, client)}

    def revoke(self, token: str) -> None:
        """The token is good no more."""
        self._access.pop(token, None)

    def _pair(self, user: User, client: str, *, refreshes: bool) -> Json:
        expires = self._now() + ACCESS_SECONDS if refreshes else None
        answer: dict[str, Json] = {"access_token": self._new_access(user, expires, client), "token_type": "Bearer"}
        if refreshes:
            token = f"wrt_{self._tenant}_{self._world.word(16)}"
            self._refresh[token] = Grant(user, self._now() + REFRESH_SECONDS, client)
            answer |= {"refresh_token": token, "expires_in": ACCESS_SECONDS}
        return answer

    def _new_access(self, user: User, expires: float | None, client: str) -> str:
        token = f"wat_{self._tenant}_{self._world.word(12)}"
        self._access[token] = Grant(user, expires, client)
        return token

    def _spend(self, grants: dict[str, Grant], token: Json, client: str, status: int) -> Grant:
        grant = grants.get(str(token))
        if grant is None or grant.client != client:
            raise Refusal(status, "invalid_grant", "The code or token is unknown or was used before")
        if token not in self._consents:
            del grants[str(token)]
        if grant.expires is not None and grant.expires <= self._now():
            raise Refusal(status, "invalid_grant", "The code or token has expired")
        return grant

    def _check_client(self, client: str, secret: str, status: int) -> Mapping[str, Json]:
        known = self._clients.get(client)
        if known is None or not hmac.compare_digest(str(known["secret"]).encode(), secret.encode()):
            raise Refusal(status, "invalid_client", "Unknown client or wrong secret")
        return known

    def _now(self) -> float:
        return self._world.now().timestamp()


def profile_of(user: User) -> Json:
    """The response of `GET /v2/user` (wire E 1.4)."""
    empty = ("title", "company", "phone", "street_address", "city", "state_or_province", "postal_code", "country")
    return {
        "id": user.id,
        "uuid": user.id,
        "username": user.name,
        "email": f"{user.name}@example.test",
        "first_name": user.name.title(),
        "last_name": "User",
        **dict.fromkeys(empty),
    }


def _users(options: Options) -> list[User]:
    owner = User(_user_id(options.tenant, "dam-sync"), "dam-sync")
    return [owner, *(_user(options.tenant, given) for given in options.users)]


def _user(tenant: str, given: Mapping[str, Json]) -> User:
    groups = given.get("groups")
    return User(
        _user_id(tenant, given["name"]),
        given["name"],
        None if groups is None else frozenset(groups),
        frozenset(given.get("sees", ALL_SIGHT)),
        frozenset(given.get("orders", ALL_ORDERS)),
        bool(given.get("original", True)),
    )


def _user_id(tenant: str, name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{name}.{tenant}"))


def _token_of(header: str) -> str:
    kind, _, rest = header.partition(" ")
    if kind.lower() == "bearer":
        return rest.strip()
    if kind.lower() == "basic":
        token, _, word = _basic(header).rpartition(":")
        return token if word == "x-oauth-basic" else ""
    return ""


def _basic(header: str) -> str:
    kind, _, rest = header.partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(rest.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
