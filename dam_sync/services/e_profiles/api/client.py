"""One connection to a tenant of service E: its credential, its calls."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from urllib.parse import urlsplit

from dam_sync.aio.just_read import JustRead
from dam_sync.http.auth.base import Bearer, HeaderAuth, RotatingToken, TokenAsBasic
from dam_sync.http.client import Client, ClientConfig, Request, Response
from dam_sync.http.dates import http_date, parse_timestamp
from dam_sync.http.rates.announced import calls_per_second
from dam_sync.http.retry import standard
from dam_sync.model.clock import Clock
from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError, Conflict, ContractBroken, NotFound
from dam_sync.model.limits import Limits
from dam_sync.model.values import Json
from dam_sync.model.waits import sleep_for
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.options import ProfilesOptions, ProfilesToken, limits_of

RECENT = 4096  # uploads remembered as fresh, at most


@dataclass(slots=True)
class ProfilesApi:
    """The calls of one connection, and which assets it uploaded a moment ago."""

    client: Client
    auth: HeaderAuth
    clock: Clock
    options: ProfilesOptions
    limits: Limits
    tenant_url: str
    read_only: bool
    tells_archived: bool  # whether archived assets are told from others, which costs searches; not by a run that writes
    just_read: JustRead[Json]  # assets of a target, with what `expand` asks for
    keep_waiting: Callable[[], None]  # see `Context.keep_waiting`
    shows_sizes: bool = True  # as far as is known, of files in bytes
    shows_tags: bool = True  # as far as is known; a release from before them refuses to expand them
    _recent: OrderedDict[str, float] = field(default_factory=OrderedDict)

    @classmethod
    def open(cls, context: Context) -> ProfilesApi:
        """Raises ConfigError for URLs, options or a credential that cannot be used."""
        options: ProfilesOptions = context.options
        limits = limits_of(context, options)
        auth = authenticator_of(context)
        wiring = ClientConfig.of(context, facts.NAME, auth, facts.RULES, limits.pace)
        bases = {**wiring.bases, "tenant": _tenant_url(context)}
        wiring = replace(wiring, bases=bases, retry_after=retry_after, headers=options.headers, announced=announced)
        client = Client(wiring)
        read = JustRead[Json](context.clock)
        urls, only = _tenant_url(context), context.read_only
        tells = only and not context.planning
        return cls(client, auth, context.clock, options, limits, urls, only, tells, read, context.keep_waiting)

    async def get(self, operation: str, path: str, params: Sequence[tuple[str, str]] = (), *, asset: str = "") -> Json:
        """JSON read from v2, or from v1 where the path says so."""
        return (await self.client.send(self.reading(operation, path, params, asset=asset))).json()

    def reading(self, operation: str, path: str, params: Sequence[tuple[str, str]] = (), *, asset: str = "") -> Request:
        """A GET request on the right base."""
        return Request(operation, "GET", path, params=tuple(params), asset=asset, base=_base(path))

    async def expanding(self, request: Request) -> Response:
        """Send a request that may expand tags. A release from before them refuses that as any unknown word (wire E 7,
        10), and is asked without it, now and from then on."""
        bare = _without_tags(request)
        if not self.shows_tags or bare is request or not request.retryable:
            return await self.client.send(request if self.shows_tags else bare)
        reply = await self.client.send(replace(request, accept=request.accept | {400}))
        if reply.status != 400:
            return reply
        reply = await self.client.send(bare)  # raises if the tags were not what it refused
        self.shows_tags = False
        return reply

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
                return await self.expanding(request)
            except (NotFound, Conflict):
                await sleep_for(self.clock, wait, "a new asset", "target")
        return await self.expanding(request)

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


def authenticator_of(context: Context) -> HeaderAuth:
    """The authenticator of the job's flow. Raises ConfigError."""
    auth = context.auth
    if isinstance(auth, ProfilesToken):
        return TokenAsBasic(auth.token) if auth.form == "basic" else Bearer(auth.token)
    if context.credentials is None:
        raise ConfigError("a rotating refresh token needs a credential store")
    return RotatingToken(
        context.base_url.rstrip("/") + facts.TOKEN_PATH,
        auth.client_id,
        auth.client_secret,
        auth.refresh_token,
        context.credentials,
        f"{facts.NAME}-{urlsplit(_tenant_url(context)).hostname}-{auth.client_id}",
        context.clock,
    )


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds until the next call may pass: `X-Ratelimit-Reset`, a timestamp, else `Retry-After` (wire E 7). It is
    by the service's clock, so it is compared with `Date`; RESET_MOST at most, because clocks may be wrong."""
    try:
        reset = parse_timestamp(headers.get("x-ratelimit-reset"))
    except ContractBroken:
        reset = None
    if reset is not None:
        server_time = http_date(headers.get("date", "")) or now
        return min(facts.RESET_MOST, max(0.0, (reset - server_time).total_seconds()))
    return standard(headers, now)


def announced(headers: Mapping[str, str]) -> float | None:
    """The calls per second that a response announces, as in `50/second`; None for another form."""
    calls, _, unit = headers.get(facts.RATE_HEADER, "").partition("/")
    return calls_per_second(calls.strip(), facts.RATE_UNITS.get(unit.strip(), ""))


def _without_tags(request: Request) -> Request:
    """The same request without tags in `expand`; the request itself if they are not there."""
    asked = dict(request.params).get("expand", "").split(",")
    kept = [name for name in asked if name not in facts.NEWER_EXPANDS]
    if len(kept) == len(asked):
        return request
    others = tuple((name, text) for name, text in request.params if name != "expand")
    return replace(request, params=(*others, *((("expand", ",".join(kept)),) if kept else ())))


def _base(path: str) -> str:
    return "tenant" if path.startswith("/api/rest/") else ""


def _tenant_url(context: Context) -> str:
    if not context.tenant_url:
        raise ConfigError("`tenant_url` is missing: categories and metadata types are read from the tenant's own host")
    return context.tenant_url
