"""The contract that every service implements, and the types it uses.

Overriding an optional method declares the capability: `Service.capabilities` has what a class implements, and a
connection can only remove from it. The engine uses `capabilities`; it never checks which service it is.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, TypeAlias, TypeVar

from dam_sync.model.asset import Asset, AssetId, Draft, Entry, FileRef, Marker, Patch, Placement, Relation
from dam_sync.model.audience import Audience
from dam_sync.model.capabilities import Capabilities, Feature, Operation
from dam_sync.model.costs import Amounts, PlanMemory
from dam_sync.model.counts import Counts
from dam_sync.model.error_origin import naming_service, naming_service_in_items
from dam_sync.model.errors import NotFound, Unsupported
from dam_sync.model.exposure_options import NO_EXPOSURE_OPTIONS, ExposureOption, ExposureOptions
from dam_sync.model.library import Library
from dam_sync.model.limits import CountedCalls, Limits, MeasuredPace
from dam_sync.model.ports import Content, IsReferenced, Journal, Stream
from dam_sync.model.probed import Account, Toggles
from dam_sync.model.schema import Schema
from dam_sync.model.validator import NO_VALIDATOR, Validator
from dam_sync.model.values import Json, Term
from dam_sync.model.webhooks import Delivery, Endpoint, Hint, Subscribed
from dam_sync.model.writes import Change, Membership

Cursor: TypeAlias = Mapping[str, Json]
Calls: TypeAlias = Mapping[str, int]
"""API calls by endpoint, `{"POST /v2/uploads": 1}`; storage and CDN requests are not API calls."""


@dataclass(frozen=True, slots=True)
class Window:
    """What to enumerate: changed in [since, until), both open when None. `since=None` is the whole library.

    ids_only: what is listed is only to be counted: no further call is made to complete an asset.
    """

    since: datetime | None = None
    until: datetime | None = None
    ids_only: bool = False


@dataclass(frozen=True, slots=True)
class Shard:
    """One piece of a library, read by one crawl: `params` are JSON of the service, `expected` the number of rows if
    counted."""

    id: str
    params: Mapping[str, Json] = field(default_factory=dict)
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of a shard and the cursor after them; a None cursor ends the shard."""

    entries: tuple[Entry, ...]
    cursor: Cursor | None


@dataclass(frozen=True, slots=True)
class Published:
    """The public links of an asset, by rendition, and the asset as far as it says who sees it: status and rights."""

    asset: Asset
    links: Mapping[str, str]


Method = TypeVar("Method", bound=Callable[..., object])


def changes_nothing(method: Method) -> Method:
    """Marks a method that makes calls and changes nothing at the service: a dry run passes it on."""
    setattr(method, "changes_nothing", True)  # noqa: B010 - mypy knows no attributes of functions
    return method


TRASH = "trash"  # the status of an asset in the trash
ITERATORS = frozenset({"shards", "crawl", "members", "terms", "containers"})  # methods that return one


class Service(ABC):
    """One connected library. Methods raise the errors of `model.errors`; the service's name is filled in, and any other
    exception that is a bug becomes an InternalError."""

    kind: ClassVar[str] = ""
    keyed_endpoints: ClassVar[bool] = True
    """Whether the URL of an endpoint ends in a key made of its secret; not where the service chooses the secret."""
    declared: ClassVar[Capabilities] = Capabilities()
    """The most that services of this class can do: features and limits from its `facts.py`; operations are added
    from the methods that it overrides."""
    _capabilities: Capabilities = declared

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        overridden = (each for each in Operation if getattr(cls, each.value) is not getattr(Service, each.value))
        cls.declared = cls._capabilities = replace(cls.declared, operations=frozenset(overridden))
        for name, method in list(vars(cls).items()):
            if name in vars(Service) and inspect.iscoroutinefunction(method):
                setattr(cls, name, naming_service(method))
            elif name in ITERATORS and inspect.isfunction(method):
                setattr(cls, name, naming_service_in_items(method))

    @property
    def capabilities(self) -> Capabilities:
        """What this connection can do; `probe()` and `schema()` may remove some of them."""
        return self._capabilities

    def remove_capabilities(
        self, *operations: Operation, writes: Iterable[Feature] = (), reads: Iterable[Feature] = ()
    ) -> None:
        """Removes operations, and the writing and reading of features, from what this connection can do. Nothing adds
        capabilities."""
        self._capabilities = self._capabilities.without(*operations, writes=writes, reads=reads)

    @property
    def limits(self) -> Limits:
        """The limits of `capabilities`. A connection sets its own, from the job and from `probe()`."""
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
    @changes_nothing
    async def probe(self) -> Account:
        """Prove the credential on something it must see; an empty list proves nothing. Raises Denied."""

    @changes_nothing
    async def counted_calls(self) -> CountedCalls | None:
        """What the service counted of a monthly allowance, to be shown; one call at most, which is not counted. None if
        it counts nothing, or does not show it."""
        return None

    @changes_nothing
    async def toggles(self, *, needed: bool = False) -> Toggles | None:
        """The opt-in behaviors that the service lists, to be shown; one call. None if it has none. needed: also if no
        option of this job depends on one, and then without a call."""
        return None

    @changes_nothing
    async def library(self) -> Library | None:
        """Which library this is, to be compared with that of another connection; None while it is not known. Before
        `probe()` only what is known without a call; afterwards it sends none that `schema()` does not send."""
        return None

    @abstractmethod
    @changes_nothing
    async def schema(self) -> Schema:
        """Fields, vocabularies, required flags of this instance."""

    async def adopt_schema(self, source: Schema) -> None:
        """Called with the source's schema before `schema()` of a target. A service that can take any field adds what it
        lacks, at the latest with its first write; others ignore it. Does not write if the connection is read-only.
        Safe to repeat."""
        return

    @abstractmethod
    def shards(self, window: Window) -> AsyncIterator[Shard]:
        """The parts of the library to crawl: every asset is in exactly one, and each part is within `limits.reach`."""

    @abstractmethod
    def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """The entries of a shard after the cursor, in a stable order. Raises TruncatedListing if rows are missing."""

    @abstractmethod
    @changes_nothing
    async def open(self, file: FileRef, offset: int = 0, validator: Validator = NO_VALIDATOR) -> Stream:
        """The bytes of a file from `offset`; expired links are renewed. validator: of the version whose rest is wanted,
        for services that answer only with that one; whoever calls compares it with that of the stream. Safe to
        repeat."""

    @abstractmethod
    @changes_nothing
    async def close(self) -> None:
        """Closes the connections. Safe to repeat."""

    @abstractmethod
    @changes_nothing
    async def fetch(self, asset: AssetId) -> Asset:
        """The complete asset; used if an Entry has none, and by verification. Raises NotFound."""

    @changes_nothing
    async def missing(self, assets: Sequence[AssetId], since: datetime) -> frozenset[AssetId]:
        """Which of these assets do not exist or are in the trash. Most were created after `since`. A service that needs
        fewer calls than one for each asset overrides this."""
        gone = []
        for asset in assets:
            try:
                there = not await self.is_trashed(asset)
            except NotFound:
                there = False
            gone += [] if there else [asset]
        return frozenset(gone)

    def in_trash(self) -> Mapping[AssetId, str] | None:
        """What the last listing saw in the trash, if it read all of it, else None: assets, with a text that depends on
        what of them is there. Only of a service where they leave the trash without a new date. Sends no call."""
        return None

    @changes_nothing
    async def incomplete(self, assets: Sequence[AssetId], since: datetime) -> frozenset[AssetId]:
        """Which of these assets, created after `since`, exist and have an upload that is not complete. Only a service
        whose `limits.queue_window` is not zero overrides this. Safe to repeat."""
        return frozenset()

    @changes_nothing
    async def is_trashed(self, asset: AssetId) -> bool:
        """Whether an asset is in the trash; overridden where `fetch` needs several calls. Raises NotFound."""
        return (await self.fetch(asset)).status == TRASH

    @changes_nothing
    async def find(self, marker: Marker) -> AssetId | None:
        """The asset that was created for this marker; waits for the lag of the index before it returns None."""
        raise Unsupported("cannot find by marker")

    @changes_nothing
    async def look_for(self, marker: Marker) -> AssetId | None:
        """An asset with this marker, as the service shows it now: nothing is waited for. It may be in the trash.
        Overridden where `find` waits. Raises InvalidValue for a marker that cannot be searched for."""
        return await self.find(marker)

    def token_of(self, marker: Marker) -> str:
        """The token (see `Asset`) of an asset that is created for this marker; empty if the service leaves none."""
        return ""

    def members(self) -> AsyncIterator[Membership]:
        """All memberships, for services whose assets do not carry them."""
        raise Unsupported("assets carry their memberships")

    def members_of(self, assets: Collection[AssetId]) -> AsyncIterator[Membership]:
        """Those of `members` that are about these assets, where `Capabilities.members_by_asset`. An asset that is gone
        is in none."""
        raise Unsupported("cannot read the memberships of single assets")

    @changes_nothing
    async def counts(self, fields: Sequence[str]) -> Counts:
        """What the service counts itself, by a few calls; also how many assets have a value in each of these fields."""
        raise Unsupported("does not count")

    def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """Every term, parents before children."""
        raise Unsupported("no vocabularies")

    def containers(self) -> AsyncIterator[Placement]:
        """Every container, with its id, parents before children."""
        raise Unsupported("no containers")

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """Creates an asset with all that `place`, `attach` and `relate` do not write; the first call writes the marker.
        Calls that must not happen twice go through the journal."""
        raise Unsupported("cannot create assets")

    def audience(self, draft: Draft) -> Audience:
        """Who would see an asset created from this draft or updated to it, by its status, dates, groups, containers and
        profile, and by the defaults of the tenant. Called after `schema()`; sends no call. `groups` are names of the
        target. What the service does not say counts as visible to everybody."""
        return Audience(hidden="closed") if draft.closed else Audience()

    def closing_option(self, draft: Draft) -> ExposureOption | None:
        """For want of which option an asset created from this draft could be seen at first, or cannot be hidden; None
        if it can be created unseen, or if the service hides no assets at all. Called after `schema()`; sends no
        call."""
        return None

    def exposure_options(self) -> ExposureOptions:
        """The options of a job that decide who sees assets here. Called after `schema()`; sends no call."""
        return NO_EXPOSURE_OPTIONS

    def bare_filename(self, draft: Draft) -> str:
        """The file name of an asset made from this draft without a file; empty if only a file brings one."""
        return draft.filename

    @changes_nothing
    async def unknown_languages(self) -> Sequence[str]:
        """Which languages that an option of the job names the service does not have; asked when a job is checked."""
        return ()

    @changes_nothing
    async def unknown_groups(self, names: frozenset[str]) -> frozenset[str]:
        """Which of these users and groups the service does not know; asked if `Schema.groups` is None."""
        return frozenset()

    @changes_nothing
    async def unknown_people(self, names: frozenset[str]) -> frozenset[str]:
        """Which of these users, names in fields of kind `person`, the service does not know and would refuse."""
        return frozenset()

    async def update(self, asset: AssetId, patch: Patch) -> None:
        """Changes what the patch names and nothing else. Safe to repeat."""
        raise Unsupported("cannot update assets")

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """Adds a file version, which becomes the current one."""
        raise Unsupported("cannot add file versions")

    async def give_first_file(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """`replace` for an asset that was made without a file: no file is under way, so nothing is waited for."""
        await self.replace(asset, content, journal)

    async def restore_version(self, asset: AssetId, version: FileRef) -> None:
        """Makes an older file version that `fetch` returns the current one again. The one that was current stays in
        the history. Other values may become those of that version. Raises NotFound without it. Safe to repeat."""
        raise Unsupported("cannot make an older file version the current one")

    async def remove(self, asset: AssetId) -> None:
        """Moves an asset to the trash; never deletes it permanently. Safe to repeat."""
        raise Unsupported("cannot remove assets")

    async def restore(self, asset: AssetId, draft: Draft) -> None:
        """Takes an asset that `remove` moved there out of the trash. draft: what it was when we last wrote it; used by
        a service whose trash forgets the status. Raises NotFound if it is not there any more. Safe to repeat."""
        raise Unsupported("cannot take assets out of the trash")

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """The existing or new term; `term.parent` is the target's id of the parent. Reads the vocabulary before it
        writes, unless it has a current listing. Safe to repeat."""
        raise Unsupported("cannot write vocabularies")

    async def ensure_terms(self, vocabulary: str, terms: Sequence[Term]) -> tuple[Term, ...]:
        """`ensure_term` for several terms, none of which is an ancestor of another, in the same order. A service that
        adds several in one call overrides this; its costs are those of a `TERM_LEVEL`."""
        return tuple([await self.ensure_term(vocabulary, term) for term in terms])

    def new_term(self, term: Term) -> Term:
        """What `ensure_term` returns for a missing term, but for its id: a service may show it in a language of its
        own. Sends no call."""
        return term

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        """The existing or new container; `parent` is the target's id of its parent, which exists. Reads before it
        writes, as `ensure_term` does. Safe to repeat."""
        raise Unsupported("cannot write containers")

    def learn_term(self, vocabulary: str, term: Term) -> None:
        """Another process created this term, or renamed it: take it over into what was read before. Sends no call."""
        return

    def learn_container(self, container: Placement) -> None:
        """`learn_term` for a container."""
        return

    async def rename_term(self, vocabulary: str, term: Term, renamed: Term) -> Term:
        """Gives a term of the target the label of `renamed`, and its `labels` where the term has several languages; its
        place stays. Returns the term as it is then: its id may have changed. The label is free among its siblings.
        Safe to repeat. Raises NotFound, Unsupported for a term that cannot be renamed."""
        raise Unsupported("cannot rename terms")

    async def rename_container(self, container: Placement, path: Sequence[str], parent: str | None = None) -> Placement:
        """Gives a container of the target the last name of `path`; `parent` is the target's id of another parent that
        it is moved to (empty: the top), None if it stays where it is. The name is free there. Safe to repeat. Raises
        NotFound, Unsupported for a kind that `Capabilities.renames` or `Capabilities.moves` does not name."""
        raise Unsupported("cannot rename containers")

    async def place(self, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]) -> None:
        """Adds assets to a container and removes others, at most `limits.member_batch` in one call. Safe to repeat.
        `Capabilities.memberships` says which kinds of container are filled by it."""
        raise Unsupported("cannot place in bulk")

    async def carry_memberships(self, asset: AssetId, containers: Sequence[Placement]) -> None:
        """Called once an asset that was in these containers has a new version. Services whose containers list versions
        put the new one in the place of those before; an asset that others took out stays out. Safe to repeat."""
        return

    async def attach(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """Adds an attachment to an asset."""
        raise Unsupported("cannot hold attachments")

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        """Adds a relation; `relation.target` is an id of this service. Safe to repeat."""
        raise Unsupported("cannot hold relations")

    async def detach(self, asset: AssetId, file: FileRef, journal: Journal) -> None:
        """Moves one attachment that holds this file (with its name, its size, and its digest if both are known) to the
        trash; a service that could only delete it permanently does not offer this. Does nothing if there is none,
        because somebody removed or replaced it; never removes the file of the asset. Safe to repeat with the same
        journal."""
        raise Unsupported("cannot move attachments to the trash")

    async def unrelate(self, asset: AssetId, relation: Relation) -> None:
        """Removes a relation; does nothing if there is none. `relation.target` is an id of this service. Safe to
        repeat."""
        raise Unsupported("cannot remove relations")

    @changes_nothing
    async def public_links(self, asset: AssetId) -> Mapping[str, str]:
        """URLs of an asset that open without a credential and do not expire, by rendition (`original` for the file
        itself); none if it is not published. Raises NotFound."""
        raise Unsupported("has no public links that last")

    @changes_nothing
    async def published(self, asset: AssetId) -> Published:
        """`public_links`, and who sees the asset now; overridden where `fetch` needs several calls. Raises NotFound."""
        return Published(await self.fetch(asset), await self.public_links(asset))

    @changes_nothing
    async def download_link(self, file: FileRef, lasts: timedelta) -> str:
        """A URL of the bytes of a file that anybody can open for at least `lasts` from now, without a credential or a
        header of ours; empty if there is none. It is a secret, on a host that `open` would ask. Raises NotFound. Safe
        to repeat."""
        raise Unsupported("has no links to files that others can open")

    async def subscribe(self, endpoint: Endpoint) -> Subscribed:
        """Subscribes an endpoint to the changes of all assets; what is subscribed already is kept. Safe to repeat.
        Raises ConfigError if deliveries cannot be verified with the secret, Conflict for a subscription of others."""
        raise Unsupported("has no webhooks")

    async def unsubscribe(self, endpoint: Endpoint) -> int:
        """Removes all subscriptions of an endpoint; returns how many there were. Safe to repeat."""
        raise Unsupported("has no webhooks")

    async def send_test(self, endpoint: Endpoint) -> bool:
        """Asks the service for a test delivery to a subscribed endpoint; False if it offers none."""
        return False

    def hint_of(self, delivery: Delivery, endpoint: Endpoint) -> Hint | None:
        """What a delivery says; None if it is not genuine. Sends no call. Raises ContractBroken for an unknown
        shape."""
        raise Unsupported("has no webhooks")

    @changes_nothing
    async def hinted(self, names: Sequence[str]) -> frozenset[AssetId]:
        """The assets that hints name by these ids; some of those that are gone may be absent."""
        return frozenset(AssetId(name) for name in names)

    @changes_nothing
    async def find_partial(self, marker: Marker, journal: Journal, *, unmarked: bool = False) -> AssetId | None:
        """The asset that an interrupted `create` with this marker and this journal left behind, or None.

        unmarked: also one that has nothing of ours yet but its content, and that no journal knows.
        """
        return await self.find(marker)

    async def end_shared(self) -> None:
        """Ends what several assets share, such as an upload batch; called when a run has written its last asset. The
        estimate of the first asset that needs it counts it. Best effort; safe to repeat."""
        return

    async def sweep(self, recorded: IsReferenced) -> int:
        """Ends uploads that were recorded as open and that no work item refers to (see `recorded`), and forgets them.
        Returns how many a killed process had left open. Safe to repeat; sends no call if nothing is left."""
        return 0

    def amounts(self, change: Change, counted: Amounts, planned: PlanMemory) -> Amounts:
        """How much a write, or the opening of a file, has here of each part that `Capabilities.costs` names. counted:
        the parts that need no knowledge of the service, see `CostPart`; planned: what the plan counted before. Raises
        Rejected for what will be refused before its first call. Called after `schema()`; sends no call."""
        return counted
