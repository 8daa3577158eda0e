"""One connection to an instance of service D: its options, its credential, its calls and what their refusals mean."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import chain, repeat
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote, urlsplit

from dam_sync.http.auth.base import Authenticator, RotatingToken
from dam_sync.http.auth.session import SessionLogin
from dam_sync.http.client import Client, ClientConfig, Request, Response
from dam_sync.http.error_rules import explanation
from dam_sync.http.interpreting import interprets_response
from dam_sync.http.redaction import hide, redact
from dam_sync.model.clock import Clock
from dam_sync.model.errors import ConfigError, Conflict, DamSyncError, Denied, InvalidValue, NotFound, Rejected
from dam_sync.model.limits import Limits
from dam_sync.model.ports import CredentialStore
from dam_sync.model.service import Context
from dam_sync.model.values import Json
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.forms import Named
from dam_sync.services.d_templates.wire import is_id

K = TypeVar("K")
V = TypeVar("V")

_RIGHTS = (
    "give the integration user the right by the security templates of asset or collection, then `errors JOB --retry`"
)
# wire D 7: a 403 means five things; its text tells which
_REFUSALS: tuple[tuple[str, type[DamSyncError]], ...] = (
    ("invalid response from create asset", NotFound),
    ("not found", NotFound),
    ("does not exist", NotFound),
    ("already exists", Conflict),
    ("failed to undelete", Conflict),
    ("invalid", InvalidValue),
    ("failed to parse", InvalidValue),
    ("unexpected end of json", InvalidValue),
)


class Recent(Generic[K, V]):
    """The `most` things that were used last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[K, V] = OrderedDict()

    def __repr__(self) -> str:
        return f"Recent({len(self._kept)})"

    def get(self, key: K) -> V | None:
        """What is known of a key."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: K, value: V) -> None:
        """Remember it, forget the one that was not used for longest."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def drop(self, key: K) -> None:
        """Forget it."""
        self._kept.pop(key, None)

    @property
    def all(self) -> Mapping[K, V]:
        """Everything that is remembered."""
        return dict(self._kept)

    @property
    def empty(self) -> bool:
        """Whether nothing was ever remembered."""
        return not self._kept


@dataclass(frozen=True, slots=True)
class Options:
    """What the job says about this instance; see KIND.settings."""

    named: Named = field(default_factory=Named)
    security: str = ""
    restricted: str = ""  # the security template of closed assets
    everybody: frozenset[str] = frozenset()  # security templates that stand for all users
    relations: bool = True
    lag: float = facts.LAG.total_seconds()
    prefix: str = "/v1"
    collection_template: str = ""
    sessions: bool = False  # small files get an upload id too

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Options:
        """The options of a job, checked as far as they can be without a call. Raises ConfigError."""
        text = {key: str(value or "").strip() for key, value in given.items()}
        prefix = text.get("api_path", "/v1") if "api_path" in given else "/v1"
        return cls(
            Named(*(text.get(f"{name}_field", "") for name in ("release", "expiry", "status", "tags"))),
            security=text.get("security", ""),
            restricted=text.get("restricted_security", ""),
            everybody=_words(given.get("everybody")),
            relations=_switch(given.get("relations", True)),
            lag=_seconds(given.get("index_lag", facts.LAG.total_seconds())),
            prefix="/" + prefix.strip("/") if prefix.strip("/") else "",
            collection_template=text.get("collection_template", ""),
            sessions=_small(text.get("small_uploads", "") or "auto"),
        )


@dataclass(frozen=True, slots=True)
class Line:
    """The calls of one connection."""

    client: Client
    clock: Clock
    options: Options
    limits: Limits
    host: str
    vault: CredentialStore | None

    @classmethod
    def open(cls, context: Context) -> Line:
        """Raises ConfigError for an address, option or credential that cannot be used."""
        options = Options.of(context.options)
        at_once = max(1, context.concurrency or facts.AT_ONCE)
        rate = context.calls_per_second
        pace = replace(facts.LIMITS.pace, per_second=rate, at_once=at_once, storage_at_once=max(1, at_once // 2))
        kept = replace(pace, per_second=rate or facts.RATE)
        wiring = ClientConfig.of(context, facts.NAME, credential_of(context, options), facts.RULES, kept)
        headers = {"X-API-Key": _needed(context.auth, "api_key"), "Accept": "application/json"}
        wiring = replace(wiring, headers=headers)
        limits = replace(facts.LIMITS, pace=pace, lag=timedelta(seconds=options.lag))
        host = urlsplit(context.base_url).netloc
        return cls(Client(wiring), context.clock, options, limits, host, context.vault)

    def request(self, operation: str, identity: str = "", *, asset: str = "", **more: Any) -> Request:
        """A request by its endpoint template. Raises NotFound for an id that can be none."""
        method, _, template = operation.partition(" ")
        if "{id}" in template and not is_id(identity):
            raise NotFound(f"{identity[:60]!r} is no id of this service", operation=operation, asset=asset or identity)
        path = self.options.prefix + template.removeprefix("/v1").replace("{id}", quote(identity, safe=""))
        return Request(operation, method, path, asset=asset, **more)

    async def send(self, request: Request) -> Response:
        """One call; its 403 is told by what it says. Raises Denied, NotFound, Rejected, InvalidValue, Conflict."""
        if 403 in request.accept:
            return await self.client.send(request)
        reply = await self.client.send(replace(request, accept=request.accept | {403}))
        if reply.status == 403:
            raise refusal(reply)
        return reply

    async def ask(self, operation: str, identity: str = "", *, asset: str = "", **more: Any) -> Json:
        """One call that reads, its answer as JSON."""
        request = self.request(operation, identity, asset=asset, **{"reads": True, "repeatable": True, **more})
        return (await self.send(request)).json()

    async def write(
        self, operation: str, identity: str, body: Json, *, asset: str = "", again: bool = True
    ) -> Response:
        """One call that writes; `again`: may be sent twice."""
        return await self.send(self.request(operation, identity, asset=asset, json=body, repeatable=again))

    async def until(
        self, ask: Callable[[], Awaitable[V | None]], seconds: float, waits: tuple[float, ...], *, first: bool = True
    ) -> V | None:
        """The first answer that is not None; asked a last time when `seconds` are over. Unless `first`, it waits
        before it asks at all."""
        end = self.clock.monotonic() + seconds
        pauses = chain(waits, repeat(waits[-1]))
        if not first:
            await self.clock.sleep(min(next(pauses), seconds))
        while (answer := await ask()) is None and (left := end - self.clock.monotonic()) > 0:
            await self.clock.sleep(min(next(pauses), left))
        return answer


@interprets_response
def refusal(reply: Response) -> DamSyncError:
    """What a 403 means (wire D 7): the API key, no such thing, a bad body, or no right to this one."""
    message, _ = explanation(reply.headers, reply.body)
    said = message.casefold()
    context = {"service": reply.service, "operation": reply.operation, "asset": reply.asset}
    text = redact(f"answered 403 Forbidden: {message}")[:300] if message else "answered 403 Forbidden"
    if said == "forbidden":
        hint = "the API key is missing, unknown or of another environment: check api_key in the job file"
        return Denied(f"the API key was refused ({text})", hint=hint, **context)
    for words, error in _REFUSALS:
        if words in said:
            return error(text, **context)
    if reply.asset or reply.operation in facts.OF_ONE_COLLECTION or (reply.operation == facts.CREATE and message):
        return Rejected(text, hint=_RIGHTS, **context)
    return Denied(text, hint="give the role of the integration user the privilege for this call", **context)


def credential_of(context: Context, options: Options) -> Authenticator:
    """The flow of the job file (wire D 1.3, 1.6). Raises ConfigError."""
    auth, base = context.auth, context.base_url.rstrip("/")
    hide(_needed(auth, "api_key"))
    match auth.get("flow"):
        case "session":
            token_url = f"{base}{options.prefix}/auth/token"
            return SessionLogin(token_url, _needed(auth, "username"), _needed(auth, "password"), context.clock)
        case "oauth":
            if context.vault is None:
                raise ConfigError("the refresh token may rotate and there is no place to keep it")
            return RotatingToken(
                auth.get("token_url") or f"{base}/v2/oauth/token",
                _needed(auth, "client_id"),
                _needed(auth, "client_secret"),
                _needed(auth, "refresh_token"),
                context.vault,
                f"{facts.NAME}-{urlsplit(base).hostname}-{auth['client_id']}",
                context.clock,
                encoding="form",
            )
        case flow:
            raise ConfigError(f"service {facts.NAME} knows no auth flow {flow!r}", hint="use `session` or `oauth`")


def _needed(auth: Mapping[str, str], name: str) -> str:
    value = auth.get(name)
    if not value:
        raise ConfigError(f"auth.{name} is missing")
    return value


def _words(given: object) -> frozenset[str]:
    words = given.split(",") if isinstance(given, str) else cast("Sequence[object]", given or ())
    return frozenset(str(word).strip() for word in words if str(word).strip())


def _switch(value: object) -> bool:
    if value in (True, "on"):
        return True
    if value in (False, "off"):
        return False
    raise ConfigError(f"option relations takes on or off, not {value!r}", service=facts.NAME)


def _small(value: str) -> bool:
    if value not in ("auto", "session"):
        raise ConfigError(f"option small_uploads takes auto or session, not {value!r}", service=facts.NAME)
    return value == "session"


def _seconds(value: object) -> float:
    try:
        return max(0.0, float(str(value)))
    except ValueError:
        raise ConfigError(f"option index_lag takes seconds, not {value!r}", service=facts.NAME) from None
