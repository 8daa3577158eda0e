"""One connection to a server of service B: its options, its credential, its calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import cast
from urllib.parse import quote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dam_sync.http.auth.base import Authenticator, Basic, ClientCredentials, SignedToken
from dam_sync.http.auth.grants import (
    Consent,
    Device,
    HeaderToken,
    JwtBearerGrant,
    LoginToken,
    OAuthClient,
    SharedConsent,
)
from dam_sync.http.client import Client, ClientConfig, Request, Response
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.clock import Clock
from dam_sync.model.errors import ConfigError, ContractBroken, InvalidValue, NotFound
from dam_sync.model.limits import Limits
from dam_sync.model.schema import FieldKind
from dam_sync.model.service import Context
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts

WHOLE = {"properties": "*", "fetch-document": "versionLabel,lock", "enrichers-document": "acls"}  # wire B 1.6, 3
NO_DROP = {"X-Batch-No-Drop": "true"}  # wire B 6.2: or the batch goes with any call that names it
KINDS = ("date", "long_text", "html", "email", "url", "text")
_VOID = 204
_ID = re.compile(r"[0-9A-Za-z_.-]{1,64}")
_TOKEN_LIFE = timedelta(minutes=10)  # wire B 1.4: sign short


@dataclass(frozen=True, slots=True)
class Options:
    """What the job says about this server; see KIND.settings."""

    root: str = ""
    folder: str = facts.FOLDER
    type: str = "File"
    types: tuple[str, ...] = ()
    release_field: str = "dc:issued"
    expiry_field: str = "dc:expired"
    status_field: str = ""
    states: Mapping[str, str] = field(default_factory=lambda: dict(facts.STATES))
    transitions: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: dict(facts.TRANSITIONS))
    groups: frozenset[str] | None = None
    everybody: frozenset[str] = frozenset({facts.EVERYONE})
    relations: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, FieldKind] = field(default_factory=dict)
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    increment: str = "Minor"
    repository: str = ""
    timeout_header: str = facts.TIMEOUT_HEADER
    public_links: bool = False
    sections: bool = False

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Options:
        """The options of a job, checked. Raises ConfigError."""
        groups = given.get("groups")
        return cls(
            root=_path(given.get("root")),
            folder=str(given.get("folder") or facts.FOLDER).strip("/"),
            type=str(given.get("type") or "File"),
            types=tuple(_words(given.get("types"))),
            release_field=str(given.get("release_field") or "dc:issued"),
            expiry_field=str(given.get("expiry_field") or "dc:expired"),
            status_field=str(given.get("status_field") or ""),
            states={**facts.STATES, **_texts(given, "states")},
            transitions=_transitions(given),
            groups=None if groups is None else frozenset(_words(groups)),
            everybody=frozenset({facts.EVERYONE, *_words(given.get("everybody"))}),
            relations=_relations(given.get("relations")),
            kinds=_kinds(given),
            zone=_zone(given.get("timezone")),
            increment=_one_of(given, "increment", ("Minor", "Major")),
            repository=str(given.get("repository") or ""),
            timeout_header=str(given.get("timeout_header") or facts.TIMEOUT_HEADER),
            public_links=_switch(given, "public_links"),
            sections=_switch(given, "sections"),
        )


@dataclass(slots=True)
class Line:
    """The calls of one connection."""

    client: Client
    clock: Clock
    options: Options
    limits: Limits
    base_url: str
    read_only: bool
    grant: str

    @classmethod
    def open(cls, context: Context) -> Line:
        """Raises ConfigError for an address, options or a credential that cannot be used."""
        options = Options.of(context.options)
        pace = context.paced(facts.LIMITS.pace)
        wiring = ClientConfig.of(context, facts.NAME, credential_of(context), facts.RULES, pace)
        wiring = replace(wiring, headers={"Accept": "application/json"})  # wire B 7.2: or refused values are not named
        limits = replace(facts.LIMITS, pace=pace)
        base = context.base_url.rstrip("/")
        grant = _grant(context.auth) if context.auth.get("flow") == "oauth" else ""
        return cls(Client(wiring), context.clock, options, limits, base, context.read_only, grant)

    async def get(
        self,
        operation: str,
        path: str,
        params: Sequence[tuple[str, str]] = (),
        *,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """JSON that was read."""
        request = Request(operation, "GET", path, params=tuple(params), headers=headers or {})
        return (await self.client.send(request)).json()

    async def document(self, uid: str) -> Json:
        """A document, whole. Raises NotFound."""
        request = Request(facts.GET_ID, "GET", document_path(uid), headers=WHOLE, asset=uid)
        return (await self.client.send(request)).json()

    async def at_path(self, path: str, hidden: Json = None) -> Json:
        """The document at a path, whole, or None; the repository answers, so what was just written is seen.

        `hidden`, where given, is the answer for one that we may not read; else that raises Denied (wire B 7.3).
        """
        segments = "/".join(quote(part, safe="") for part in path.strip("/").split("/"))
        accept = frozenset({404} if hidden is None else {403, 404})
        request = Request(facts.GET_PATH, "GET", f"{facts.API}/path/{segments}", headers=WHOLE, accept=accept)
        reply = await self.client.send(request)
        if reply.status == 403:
            return hidden
        return None if reply.status == 404 else reply.object()

    async def operate(self, operation: str, given: Json, params: Mapping[str, Json], **how: object) -> Response:
        """Run an operation on `given` (`doc:…`, `docs:…` or nothing). Raises InvalidValue for text that the server
        would run as a script, ContractBroken for an answer that is neither void nor documents (wire B 6.1)."""
        for text in _all_texts(params):
            if text.lstrip().startswith("expr:"):
                raise InvalidValue("a text that starts with `expr:` would be run by the server; refused")
        body = {"params": dict(params), "context": {}}
        if given:
            body["input"] = given
        path = f"{facts.API}/automation/{operation}"
        request = Request(facts.OPERATION + operation, "POST", path, json=body)
        reply = await self.client.send(replace(request, **cast("dict[str, Json]", how)))
        if 200 <= reply.status < 300 and reply.status != _VOID:
            _refuse_nothing_done(reply)
        return reply


@interprets_response
def _refuse_nothing_done(reply: Response) -> None:
    """An answer that something on the way gave does not say that the operation ran."""
    said = reply.json()
    if not isinstance(said, dict) or said.get("entity-type") not in ("document", "documents"):
        raise ContractBroken(
            "answered without the documents, so nothing says that it was done",
            service=reply.service,
            operation=reply.operation,
            asset=reply.asset,
            hint="a proxy may have answered in the service's place; run the same command again, it will be done anew",
        )


def document_path(uid: str, *more: str) -> str:
    """`/api/v1/id/{uid}/…`. Raises NotFound for what can be no id."""
    if not _ID.fullmatch(uid) or not uid.strip("."):
        raise NotFound("no document has such an id", asset=uid, operation=facts.GET_ID)
    return "/".join((f"{facts.API}/id", uid, *more))


def credential_of(context: Context) -> Authenticator:
    """The authenticator of the job's flow (spec 001, Authentication, Service B). Raises ConfigError."""
    auth, base = context.auth, context.base_url.rstrip("/")
    match auth.get("flow"):
        case "basic":
            return Basic(_login(auth), _needed(auth, "password"))
        case "token":
            return _login_token(auth, base, context.clock)
        case "signed_token":
            return _signer(auth, context.clock)
        case "oauth":
            return _oauth(context, base)
        case flow:
            raise ConfigError(f"auth.flow {flow!r} is none of basic, token, signed_token, oauth")


def _login_token(auth: Mapping[str, str], base: str, clock: Clock) -> Authenticator:
    header = auth.get("header") or facts.TOKEN_HEADER
    if token := auth.get("token"):
        return HeaderToken(header, token)
    basic = Basic(_login(auth), _needed(auth, "password"))
    device = Device(header, auth.get("application") or "dam-sync", auth.get("device") or "dam-sync")
    return LoginToken(f"{base}/authentication/token", basic, device, clock)


def _signer(auth: Mapping[str, str], clock: Clock) -> SignedToken:
    """Subject is the user; the issuer is a constant of the product, its verifier looks at neither (wire B)."""
    claims = {"sub": _login(auth), "iss": auth.get("issuer") or "dam-sync"}
    if audience := auth.get("audience"):
        claims["aud"] = audience
    return SignedToken(claims, _needed(auth, "key"), auth.get("algorithm") or "HS512", _TOKEN_LIFE, clock)


def _oauth(context: Context, base: str) -> Authenticator:
    auth, clock = context.auth, context.clock
    url = auth.get("token_url") or f"{base}/oauth2/token"
    client = OAuthClient(url, _needed(auth, "client_id"), auth.get("client_secret") or "")
    match _grant(auth):
        case "client_credentials":
            return ClientCredentials(url, client.client_id, _needed(auth, "client_secret"), "", clock)
        case "jwt_bearer":
            return JwtBearerGrant(client, _signer(auth, clock), clock)
        case _:
            if context.vault is None:
                raise ConfigError("tokens that rotate need a place to be kept")
            consent = Consent(
                auth.get("refresh_token") or "",
                auth.get("code") or "",
                auth.get("redirect_uri") or "",
                auth.get("code_verifier") or "",
            )
            if not (consent.refresh_token or consent.code):
                raise ConfigError("auth.refresh_token or auth.code is missing")
            name = f"{facts.NAME}-{urlsplit(base).hostname}-{client.client_id}"
            return SharedConsent(client, consent, context.vault, name, clock)


def _grant(auth: Mapping[str, str]) -> str:
    """The grant the job names, or the only one that its parameters fit."""
    named = (auth.get("grant") or "").replace("-", "_")
    if named in ("authorization_code", "refresh_token", "jwt_bearer", "client_credentials"):
        return named
    if named:
        raise ConfigError(f"auth.grant {named!r} is none of authorization_code, jwt_bearer, client_credentials")
    if auth.get("refresh_token") or auth.get("code"):
        return "authorization_code"
    return "jwt_bearer" if auth.get("key") else "client_credentials"


def _login(auth: Mapping[str, str]) -> str:
    return auth.get("login") or auth.get("username") or auth.get("user") or _needed(auth, "login")


def _needed(auth: Mapping[str, str], name: str) -> str:
    value = auth.get(name)
    if not value:
        raise ConfigError(f"auth.{name} is missing")
    return value


def _path(value: object) -> str:
    parts = [part for part in str(value or "").split("/") if part]
    return "" if not value else "/" + "/".join(parts)


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    return [str(word) for word in cast("Sequence[object]", value or ())]


def _texts(given: Mapping[str, object], name: str) -> dict[str, str]:
    value = given.get(name) or {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"option {name} takes keys and values")
    return {str(key): str(text) for key, text in value.items()}


def _transitions(given: Mapping[str, object]) -> dict[str, dict[str, str]]:
    """`{from: {to: transition}}`, added to those of the default life cycle."""
    value = given.get("transitions") or {}
    if not isinstance(value, Mapping) or not all(isinstance(ways, Mapping) for ways in value.values()):
        raise ConfigError("option transitions takes, for each state, the states behind it and their transitions")
    found = {state: dict(ways) for state, ways in facts.TRANSITIONS.items()}
    for state, ways in value.items():
        found.setdefault(str(state), {}).update({str(to): str(name) for to, name in ways.items()})
    return found


def _relations(value: object) -> dict[str, str]:
    """Kinds and their predicates; a kind alone is its own predicate."""
    if isinstance(value, Mapping):
        return {str(kind): str(predicate) for kind, predicate in value.items()}
    return {word: word for word in _words(value)}


def _kinds(given: Mapping[str, object]) -> dict[str, FieldKind]:
    found = _texts(given, "kinds")
    for key, kind in found.items():
        if kind not in KINDS:
            raise ConfigError(f"option kinds takes {', '.join(KINDS)}, not {kind!r} for {key}")
    return {key: FieldKind(kind) for key, kind in found.items()}


def _zone(value: object) -> ZoneInfo:
    try:
        return ZoneInfo(str(value or "UTC"))
    except (ZoneInfoNotFoundError, ValueError):
        raise ConfigError(f"option timezone is no known zone: {value!r}", hint="for example Europe/Paris") from None


def _switch(given: Mapping[str, object], name: str) -> bool:
    value = given.get(name) or "off"
    if value not in (True, "on", "off"):
        raise ConfigError(f"option {name} takes on or off, not {value!r}")
    return value != "off"


def _one_of(given: Mapping[str, object], name: str, allowed: Sequence[str]) -> str:
    value = str(given.get(name) or allowed[0]).capitalize()
    if value not in allowed:
        raise ConfigError(f"option {name} takes {', '.join(allowed)}, not {value!r}")
    return value


@interprets_response
def _all_texts(data: Json) -> list[str]:
    if isinstance(data, str):
        return [data]
    if isinstance(data, Mapping):
        return [text for part in data.values() for text in _all_texts(part)]
    if isinstance(data, list | tuple):
        return [text for part in data for text in _all_texts(part)]
    return []
