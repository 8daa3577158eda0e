"""One connection to a tenant of service E: its options, its credential, its calls."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast
from urllib.parse import urlsplit

from dam_sync.http.auth.base import Authenticator, Bearer, RotatingToken, TokenAsBasic
from dam_sync.http.client import Client, ClientConfig, Request, Response
from dam_sync.http.dates import http_date, parse_timestamp
from dam_sync.http.retry import standard
from dam_sync.model.clock import Clock
from dam_sync.model.errors import ConfigError, Conflict, ContractBroken, NotFound
from dam_sync.model.limits import Limits
from dam_sync.model.service import Context
from dam_sync.model.values import Json
from dam_sync.services.e_profiles import facts

RECENT = 4096  # uploads remembered as fresh, at most


@dataclass(frozen=True, slots=True)
class Options:
    """What the job says about this tenant; see KIND.settings."""

    version_policy: str = "none"
    enumerate: str = "slices"
    chunked: bool = True
    profiles: Mapping[str, str] = field(default_factory=dict)  # by metadata type; "" is for any
    closed_profiles: Mapping[str, str] = field(default_factory=dict)  # the same
    everybody: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    index_lag: float = facts.LAG.total_seconds()
    form: str = "bearer"
    documents: bool = False
    public_links: bool = False

    @classmethod
    def of(cls, context: Context) -> Options:
        """The options of a job, checked. Raises ConfigError."""
        given = context.options
        return cls(
            version_policy=_one_of(given, "version_policy", facts.POLICIES),
            enumerate=_one_of(given, "enumerate", ("slices", "scroll")),
            chunked=_switch(given, "chunked", "auto"),
            profiles=_by_type(given.get("upload_profile")),
            closed_profiles=_by_type(given.get("closed_profile")),
            everybody=frozenset(_words(given.get("everybody"))),
            headers=_toggles(given),
            index_lag=_seconds(given.get("index_lag", facts.LAG.total_seconds())),
            form=_one_of({**given, **context.auth}, "form", ("bearer", "basic")),
            documents=_switch(given, "attachments", "off"),
            public_links=_switch(given, "public_links", "off"),
        )

    @property
    def expand(self) -> str:
        """What an asset is read with."""
        return facts.EXPAND_LINKS if self.public_links else facts.EXPAND

    @property
    def versioning(self) -> bool:
        """Whether an upload under an existing name makes a version."""
        return self.version_policy in facts.VERSIONING


def limits_of(context: Context, options: Options) -> Limits:
    """The documented limits, slowed down or, as far as documented, sped up by what the job asks for."""
    rate = min(facts.RATE, context.calls_per_second or facts.SELF_THROTTLE)
    at_once = min(facts.CHUNKS_MOST, max(1, context.concurrency or facts.AT_ONCE))
    pace = replace(facts.LIMITS.pace, per_second=rate, at_once=at_once, storage_at_once=max(1, at_once // 2))
    if options.chunked:
        return replace(facts.LIMITS, pace=pace)
    return replace(facts.LIMITS, pace=pace, single_bytes=facts.FORM_BYTES, parts=None, largest_bytes=facts.FORM_BYTES)


@dataclass(slots=True)
class Line:
    """The calls of one connection, and which assets it uploaded a moment ago."""

    client: Client
    auth: Authenticator
    clock: Clock
    options: Options
    limits: Limits
    tenant_url: str
    read_only: bool
    _recent: OrderedDict[str, float] = field(default_factory=OrderedDict)

    @classmethod
    def open(cls, context: Context) -> Line:
        """Raises ConfigError for addresses, options or a credential that cannot be used."""
        options = Options.of(context)
        limits = limits_of(context, options)
        auth = credential_of(context, options)
        wiring = ClientConfig.of(context, facts.NAME, auth, facts.RULES, limits.pace)
        bases = {**wiring.bases, "tenant": _tenant_url(context)}
        client = Client(replace(wiring, bases=bases, retry_after=retry_after, headers=options.headers))
        return cls(client, auth, context.clock, options, limits, _tenant_url(context), context.read_only)

    async def get(self, operation: str, path: str, params: Sequence[tuple[str, str]] = (), *, asset: str = "") -> Json:
        """JSON read from v2, or from v1 where the path says so."""
        return (await self.client.send(self.reading(operation, path, params, asset=asset))).json()

    def reading(self, operation: str, path: str, params: Sequence[tuple[str, str]] = (), *, asset: str = "") -> Request:
        """A GET request on the right base."""
        return Request(operation, "GET", path, params=tuple(params), asset=asset, base=_base(path))

    async def write(
        self, operation: str, path: str, body: Json, *, asset: str = "", repeatable: bool = True
    ) -> Response:
        """Send JSON with the operation's method."""
        method = operation.partition(" ")[0]
        request = Request(operation, method, path, json=body, asset=asset, repeatable=repeatable, base=_base(path))
        return await self.send_fresh(request) if self.is_recent(asset) else await self.client.send(request)

    async def send_fresh(self, request: Request) -> Response:
        """Send about an asset that was just made: a 404 or 409 within the first minute is asked again (wire E 6.2)."""
        for wait in facts.FRESH_WAITS:
            try:
                return await self.client.send(request)
            except (NotFound, Conflict):
                await self.clock.sleep(wait)
        return await self.client.send(request)

    def uploaded(self, asset: str) -> None:
        """Remember that this asset was uploaded now."""
        self._recent[asset] = self.clock.monotonic()
        self._recent.move_to_end(asset)
        while len(self._recent) > RECENT:
            self._recent.popitem(last=False)

    def age(self, asset: str) -> float | None:
        """Seconds since this connection uploaded the asset; None if it did not, or long ago."""
        since = self._recent.get(asset)
        return None if since is None else self.clock.monotonic() - since

    def is_recent(self, asset: str) -> bool:
        """Whether the asset may not be settled yet."""
        age = self.age(asset)
        return age is not None and age < facts.FRESH_SECONDS


def credential_of(context: Context, options: Options) -> Authenticator:
    """The authenticator of the job's flow. Raises ConfigError."""
    auth = context.auth
    match auth.get("flow"):
        case "token":
            token = _needed(auth, "token")
            return TokenAsBasic(token) if options.form == "basic" else Bearer(token)
        case "oauth":
            if context.vault is None:
                raise ConfigError("the refresh token rotates and there is no place to keep it")
            return RotatingToken(
                context.base_url.rstrip("/") + facts.TOKEN_PATH,
                _needed(auth, "client_id"),
                _needed(auth, "client_secret"),
                _needed(auth, "refresh_token"),
                context.vault,
                f"{facts.NAME}-{urlsplit(_tenant_url(context)).hostname}-{auth['client_id']}",
                context.clock,
            )
        case flow:
            raise ConfigError(f"service {facts.NAME} knows no auth flow {flow!r}", hint="use `token` or `oauth`")


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds until the next call may pass: `X-Ratelimit-Reset`, an instant, else `Retry-After` (wire E 7). It is of
    the service's clock, so that one's `Date` tells how far ahead it is; RESET_MOST at most, for clocks may be wrong."""
    try:
        reset = parse_timestamp(headers.get("x-ratelimit-reset"))
    except ContractBroken:
        reset = None
    if reset is not None:
        told = http_date(headers.get("date", "")) or now
        return min(facts.RESET_MOST, max(0.0, (reset - told).total_seconds()))
    return standard(headers, now)


def _base(path: str) -> str:
    return "tenant" if path.startswith("/api/rest/") else ""


def _tenant_url(context: Context) -> str:
    if not context.tenant_url:
        raise ConfigError("`tenant_url` is missing: categories and metadata types are read from the tenant's own host")
    return context.tenant_url


def _needed(auth: Mapping[str, str], name: str) -> str:
    value = auth.get(name)
    if not value:
        raise ConfigError(f"auth.{name} is missing")
    return value


def _one_of(given: Mapping[str, object], name: str, allowed: Sequence[str]) -> str:
    value = str(given.get(name) or allowed[0])
    if value not in allowed:
        raise ConfigError(f"option {name} takes {', '.join(allowed)}, not {value!r}")
    return value


def _switch(given: Mapping[str, object], name: str, default: str) -> bool:
    value = given.get(name, default)
    if value in (True, "auto", "on"):
        return True
    if value in (False, "off"):
        return False
    raise ConfigError(f"option {name} takes on or off, not {value!r}")


def _seconds(value: object) -> float:
    try:
        seconds = float(cast("str", value))
    except (TypeError, ValueError):
        seconds = -1.0
    if seconds < 0:
        raise ConfigError(f"option index_lag takes seconds, not {value!r}")
    return seconds


def _by_type(value: object) -> dict[str, str]:
    """A name for each metadata type, or one for all, under an empty key."""
    if isinstance(value, Mapping):
        return {str(kind): str(name) for kind, name in value.items()}
    return {"": str(value)} if value else {}


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    return [str(word) for word in cast("Sequence[object]", value or ())]


def _toggles(given: Mapping[str, object]) -> dict[str, str]:
    toggles = given.get("toggles")
    if not toggles:
        return {}
    words = toggles if isinstance(toggles, str) else ",".join(str(word) for word in cast("Sequence[str]", toggles))
    return {str(given.get("toggle_header") or facts.TOGGLE_HEADER): words}
