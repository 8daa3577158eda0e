"""The contract that every service fulfils, and what it is given.

Overriding an optional method declares the capability: `Service.capabilities` has what a class implements, and a
connection can only remove from it. The engine asks `capabilities`; it never asks which service it is.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from dam_sync.model.asset import Asset, AssetId, Draft, Entry, FileRef, Marker, Patch, Placement, Relation
from dam_sync.model.audience import Audience
from dam_sync.model.capabilities import Capabilities, Feature, Operation
from dam_sync.model.clock import Clock, SystemClock
from dam_sync.model.errors import DamSyncError, InternalError, NotFound, Unsupported
from dam_sync.model.limits import Limits, MeasuredPace, OrphanRetention, Pace
from dam_sync.model.ports import Budget, Content, CredentialStore, IsReferenced, Journal, Stream, Transport
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json, Term

Cursor: TypeAlias = Mapping[str, Json]
Calls: TypeAlias = Mapping[str, int]
"""API calls by endpoint, `{"POST /v2/uploads": 1}`; storage and CDN requests are not API calls."""


@dataclass(frozen=True, slots=True)
class Window:
    """What to enumerate: changed in [since, until), both open when None. `since=None` is the whole library."""

    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Shard:
    """One piece of a library, read by one crawl: `params` are the service's own JSON, `expected` rows where counted."""

    id: str
    params: Mapping[str, Json] = field(default_factory=dict)
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of a shard and the cursor behind them; a None cursor says the shard is done."""

    entries: tuple[Entry, ...]
    cursor: Cursor | None


@dataclass(frozen=True, slots=True)
class Membership:
    """A container and some of its members, for services that keep membership on the container."""

    placement: Placement
    assets: tuple[AssetId, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """What `probe()` proved. tenant: a stable name of the instance. total: assets this credential sees, where counted.

    Lacking rights and abilities are told in `notes`, in words for the operator.
    """

    tenant: str
    user: str = ""
    release: str = ""
    total: int | None = None
    clock_skew: timedelta = timedelta(0)
    notes: tuple[str, ...] = ()


Change: TypeAlias = Draft | Patch | FileRef | Term | Placement | Membership | Relation
"""What a forecast is asked about: a Draft is `create` with `size` bytes, a FileRef `replace`, a Patch `update`, a Term
`ensure_term` of a missing term, a Placement `ensure_container` of one missing level, a Relation `relate`, a Membership
`place`, and with the kind `attachment` one `attach`."""


BUGS = (ArithmeticError, AttributeError, LookupError, NameError, RecursionError, TypeError, ValueError)
"""What a fault of ours raises; what reading an answer raises was made ContractBroken where it was read."""
TRASH = "trash"  # the status of an asset in the trash
GIVING = frozenset({"shards", "crawl", "members", "terms", "containers"})  # methods that give one after the other


def _told(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The method, its errors told with the service's name, also those that no call was needed for."""

    @functools.wraps(method)
    async def told(self: Service, *args: Any, **kwargs: Any) -> Any:
        try:
            return await method(self, *args, **kwargs)
        except DamSyncError as error:
            error.within(service=self.kind)
            raise
        except BUGS as error:
            raise _internal(self.kind, error) from error

    return told


def _told_all(method: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
    """The same for a method that gives one after the other."""

    @functools.wraps(method)
    async def told(self: Service, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        items = method(self, *args, **kwargs)
        try:
            async for item in items:
                yield item
        except DamSyncError as error:
            error.within(service=self.kind)
            raise
        except BUGS as error:
            raise _internal(self.kind, error) from error
        finally:
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()

    return told


def _internal(kind: str, error: Exception) -> InternalError:
    internal = InternalError.of(error)
    internal.within(service=kind)
    return internal


class Service(ABC):
    """One connected library. Methods raise the errors of `model.errors`, with their context filled in."""

    kind: ClassVar[str] = ""
    declared: ClassVar[Capabilities] = Capabilities()
    """What services of this class can do at most: features and limits as in its `facts.py`; the operations are added
    from the methods that it overrides."""
    _capabilities: Capabilities = declared

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        overridden = (each for each in Operation if getattr(cls, each.value) is not getattr(Service, each.value))
        cls.declared = cls._capabilities = replace(cls.declared, operations=frozenset(overridden))
        for name, method in list(vars(cls).items()):
            if name in vars(Service) and inspect.iscoroutinefunction(method):
                setattr(cls, name, _told(method))
            elif name in GIVING and inspect.isfunction(method):
                setattr(cls, name, _told_all(method))

    @property
    def capabilities(self) -> Capabilities:
        """What this connection can do; it may have lost some of it after `probe()` and again after `schema()`."""
        return self._capabilities

    def remove_capabilities(self, *operations: Operation, writes: Iterable[Feature] = ()) -> None:
        """Removes operations, and the writing of features, from what this connection can do. Nothing adds any."""
        self._capabilities = self._capabilities.without(*operations, writes=writes)

    @property
    def limits(self) -> Limits:
        """The limits of `capabilities`. A connection sets its own: what the job asks for, what `probe()` found."""
        return self.capabilities.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._capabilities = replace(self._capabilities, limits=limits)

    @property
    @abstractmethod
    def calls(self) -> Calls:
        """API calls sent so far, by endpoint."""

    @property
    def measured_pace(self) -> MeasuredPace:
        """How fast it calls."""
        return MeasuredPace(self.limits.pace)

    @abstractmethod
    async def probe(self) -> Account:
        """Prove the credential on something it must see; an empty list proves nothing. Raises Denied."""

    @abstractmethod
    async def schema(self) -> Schema:
        """Fields, vocabularies, required flags of this instance."""

    async def adopt_schema(self, source: Schema) -> None:
        """Told the source's schema, before a target's own is asked for. A service that can take any field declares
        what it lacks, at the latest with its first write; others ignore it. Writes nothing where the connection is
        read-only; safe to repeat."""
        return

    @abstractmethod
    def shards(self, window: Window) -> AsyncIterator[Shard]:
        """Disjoint, covering, each within limits.reach."""

    @abstractmethod
    def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """Stable order; each batch resumable from its cursor. Raises TruncatedListing when rows are missing."""

    @abstractmethod
    async def open(self, file: FileRef, offset: int = 0) -> Stream:
        """Bytes from offset; renews expired links itself. Safe to repeat."""

    def opening(self, file: FileRef) -> Calls:
        """API calls that `open` from the first byte will cost, for a plan; none where links come with listings."""
        return {}

    @abstractmethod
    async def close(self) -> None:
        """Give back connections; safe to repeat."""

    @abstractmethod
    async def fetch(self, asset: AssetId) -> Asset:
        """The whole record, when an Entry did not carry it. Raises NotFound."""

    async def missing(self, assets: Sequence[AssetId], since: datetime) -> frozenset[AssetId]:
        """Which of these, most of them made since then, are not there; a service that can tell it by fewer calls than
        one for each asset overrides this. What lies in the trash is not there."""
        gone = []
        for asset in assets:
            try:
                there = (await self.fetch(asset)).status != TRASH
            except NotFound:
                there = False
            gone += [] if there else [asset]
        return frozenset(gone)

    async def find(self, marker: Marker) -> AssetId | None:
        """The asset we created for this marker, if it exists; waits out the index lag before saying None."""
        raise Unsupported("cannot find by marker")

    def members(self) -> AsyncIterator[Membership]:
        """All memberships, for services whose assets do not carry them."""
        raise Unsupported("assets carry their memberships")

    def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """Every term, parents before children."""
        raise Unsupported("no vocabularies")

    def containers(self) -> AsyncIterator[Placement]:
        """Every container with its id, parents before children."""
        raise Unsupported("no containers")

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """A new asset, complete but for what `place`, `attach` and `relate` do; the order is the service's."""
        raise Unsupported("cannot create assets")

    def audience(self, draft: Draft) -> Audience:
        """Who would see an asset created from this draft, or updated to it, by its status, dates, groups, containers
        and profile and by the tenant's defaults where the draft says nothing. `schema()` was read before; no call is
        sent. `groups` are names of the target. What the service does not tell counts as seen by everybody."""
        return Audience(hidden="closed") if draft.closed else Audience()

    async def unknown_groups(self, names: frozenset[str]) -> frozenset[str]:
        """Which of these users and groups the service does not know, where `Schema.groups` lists none; each is looked
        up once. Safe to repeat."""
        return frozenset()

    async def update(self, asset: AssetId, patch: Patch) -> None:
        """Only what the patch names changes; safe to repeat."""
        raise Unsupported("cannot update assets")

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """A new file version, which becomes the current one."""
        raise Unsupported("cannot add file versions")

    async def remove(self, asset: AssetId) -> None:
        """To the trash, never beyond; safe to repeat."""
        raise Unsupported("cannot remove assets")

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """The existing or new term; `term.parent` is the target's id of the parent. Looks before it writes unless the
        listing it holds is its own and current; safe to repeat."""
        raise Unsupported("cannot write vocabularies")

    async def ensure_terms(self, vocabulary: str, terms: Sequence[Term]) -> tuple[Term, ...]:
        """`ensure_term` for several terms of which none is above another, in the same order; a service that adds many
        by one call overrides this and `forecast_terms`."""
        return tuple([await self.ensure_term(vocabulary, term) for term in terms])

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        """The existing or new container; `parent` is the target's id of the parent, which exists. Looks before it
        writes, as `ensure_term` does; safe to repeat."""
        raise Unsupported("cannot write containers")

    async def place(self, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]) -> None:
        """Bulk membership, at most limits.member_batch assets a call; safe to repeat. A service without it places
        assets itself in `create` and `update`."""
        raise Unsupported("cannot place in bulk")

    async def attach(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """One attachment."""
        raise Unsupported("cannot hold attachments")

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        """One relation, `relation.target` an id of this service; safe to repeat."""
        raise Unsupported("cannot hold relations")

    async def find_partial(self, marker: Marker, journal: Journal) -> AssetId | None:
        """What a `create` with this mark and these steps began and will not finish; None where it made nothing."""
        return await self.find(marker)

    async def sweep(self, recorded: IsReferenced) -> int:
        """End the uploads whose links are still kept though no work goes on with them, and forget the links; how many
        of them a process that was killed had left open. No call where nothing is left; safe to repeat."""
        return 0

    def forecast(self, change: Change, size: int = 0) -> Calls:
        """API calls that writing this will cost, `schema()` having been read."""
        raise Unsupported("cannot tell its costs")

    def forecast_terms(self, terms: Sequence[Term]) -> Calls:
        """API calls that `ensure_terms` of missing terms will cost."""
        calls = Counter[str]()
        for term in terms:
            calls.update(self.forecast(term))
        return calls


@dataclass(frozen=True, slots=True)
class Context:
    """What a service is given when it is connected: URLs, a resolved credential, tools and ports.

    auth: an instance of one of `Connector.auth`, with secrets in clear, never logged; None where the connector needs
    none. options: an instance of `Connector.options`. base_url is empty where a job may leave it out; folder: that of
    the job file, against which paths in options are meant.
    """

    base_url: str
    auth: Any = field(default=None, repr=False)
    options: Any = None
    tenant_url: str = ""
    folder: Path = Path()
    clock: Clock = field(default_factory=SystemClock)
    transport: Transport | None = None  # used instead of the network, never closed by the service
    vault: CredentialStore | None = None
    budget: Budget | None = None
    calls_per_second: float | None = None
    concurrency: int | None = None
    bandwidth: float | None = None  # bytes a second over storage and API bodies together
    read_only: bool = False  # the source, and both sides of a dry run: write calls are refused before they are sent
    max_calls: int | None = None
    attempts: int | None = None  # how often one call is sent at most; None: the client's own number
    may_write: Callable[[], None] | None = None  # asked before a call that may write is sent; raises when it must not

    def paced(self, pace: Pace) -> Pace:
        """The pace with what the operator asks for instead, where he asks for anything."""
        per_second, at_once = self.calls_per_second or pace.per_second, self.concurrency or pace.at_once
        return replace(pace, per_second=per_second, at_once=at_once)


@dataclass(frozen=True, slots=True)
class Assumption:
    """A numbered guess about what the documents leave open."""

    number: int
    text: str
    where: str  # section of the wire contract


@dataclass(frozen=True, slots=True)
class AssumedWrite:
    """A form of request that writes and that no document shows. number: of its Assumption; form: the call and what is
    assumed of it; verified_by: how its first use in a run is checked, and what is done where it has no effect."""

    number: int
    form: str
    verified_by: str


@dataclass(frozen=True, slots=True)
class Connector:
    """What a service package exports as CONNECTOR, and an entry point of the group `dam_sync.services` refers to.

    service: imports and returns the class that is connected; called when it is needed, so that a job file is checked
    without HTTP libraries. options: a model derived from `dam_sync.config.options.Options`. auth: a model derived from
    `AuthMethod` for each `auth.flow`; none where the service takes no credentials. schemes: those a `base_url` may
    have; base_url_optional: whether a job may leave it out. leaves: what a killed run leaves there, once the next one
    is through.
    """

    name: str
    summary: str
    service: Callable[[], type[Service]]
    options: type[Any]
    auth: Mapping[str, type[Any]] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()
    needs_tenant_url: bool = False
    schemes: tuple[str, ...] = ("https", "http")
    base_url_optional: bool = False
    leaves: tuple[OrphanRetention, ...] = ()
    assumed_writes: tuple[AssumedWrite, ...] = ()
    not_moved: tuple[str, ...] = ()

    @property
    def capabilities(self) -> Capabilities:
        """What the service can do at most, as its reference documentation says."""
        return self.service().declared

    def connect(self, context: Context) -> Service:
        """The service, connected; no call is made yet. Raises ConfigError."""
        make: Callable[[Context], Service] = self.service()
        return make(context)
