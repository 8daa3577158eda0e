"""A simulated target: the same engine runs over it, nothing is written, and the calls are estimated."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count

from dam_sync.aio.lru import LruCache
from dam_sync.model.asset import Asset, AssetId, Draft, FileLink, FileRef, Patch, Placement, Relation
from dam_sync.model.errors import IntegrityError
from dam_sync.model.estimator import Estimator
from dam_sync.model.ports import Content, IsReferenced, Journal
from dam_sync.model.read_through import ReadThrough
from dam_sync.model.schema import Schema
from dam_sync.model.service import Calls, Service
from dam_sync.model.values import Term
from dam_sync.model.writes import (
    Attachment,
    CarriedMemberships,
    Change,
    Membership,
    PartRemoval,
    Renaming,
    TrashMove,
    VersionReturn,
)

INVENTED = "planned-"  # begins the ids of what was not created
GROWN_KEPT = 1_000  # assets of which it is remembered that they got a version: those written at the same time
READ_KEPT = 1_000  # assets of which it is remembered that they were read: those written next


class DryTarget(ReadThrough):
    """Passes reads through; writes send nothing, return invented ids and are added to `estimated`.

    making: calls among them for terms and containers; finishing: for memberships and relations. versions: file versions
    that were added; grown: new assets that got some. began: the `moment`, a time and the source's calls until then, of
    the first write.
    """

    kind = "dry"

    def __init__(self, target: Service, moment: Callable[[], tuple[float, int]]) -> None:
        super().__init__(target)
        self._moment = moment
        self._numbers = count(1)
        self.estimated: Counter[str] = Counter()
        self._estimator = Estimator(target)
        self._just_read = LruCache[AssetId, bool](READ_KEPT)  # and not written since
        self.making = self.finishing = self.versions = self.grown = 0
        self._grown = LruCache[AssetId, bool](GROWN_KEPT)
        self.began: tuple[float, int] | None = None

    @classmethod
    def of(cls, target: Service, moment: Callable[[], tuple[float, int]]) -> DryTarget:
        """Of this target; type checkers do not see what is passed on."""
        return cls(target, moment)

    async def adopt_schema(self, source: Schema) -> None:
        """Passed on: nothing is written before the first write."""
        await self._wrapped.adopt_schema(source)

    async def fetch(self, asset: AssetId) -> Asset:
        found = await self._wrapped.fetch(asset)
        self._just_read.put(asset, True)
        return found

    async def is_trashed(self, asset: AssetId) -> bool:
        found = await self._wrapped.is_trashed(asset)
        self._just_read.put(asset, True)
        return found

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        if content is not None and content.link is not None:
            self._count(lambda estimator: estimator.fetched(draft))
        else:
            self._estimate(draft, content.size if content else None)
        return AssetId(self._name())

    async def update(self, asset: AssetId, patch: Patch) -> None:
        self._estimate(patch, just_read=self._take_read(asset))

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        self.versions += 1
        file = FileRef("", content.name, content.size)
        if asset.startswith(INVENTED) and self._grown.get(asset) is None:
            self._grown.put(asset, True)
            self.grown += 1
            self._count(lambda estimator: estimator.first_version(file))
        else:
            self._estimate(file, just_read=self._take_read(asset))

    async def give_first_file(self, asset: AssetId, content: Content, journal: Journal) -> None:
        await self.replace(asset, content, journal)

    async def restore_version(self, asset: AssetId, version: FileRef) -> None:
        self._estimate(VersionReturn(version))

    async def remove(self, asset: AssetId) -> None:
        self.finishing += self._estimate(TrashMove(asset))

    async def restore(self, asset: AssetId, draft: Draft) -> None:
        self._estimate(TrashMove(asset, draft))

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        return (await self.ensure_terms(vocabulary, (term,)))[0]

    async def ensure_terms(self, vocabulary: str, terms: Sequence[Term]) -> tuple[Term, ...]:
        self.making += self._count(lambda estimator: estimator.terms(terms))
        return tuple(replace(self._wrapped.new_term(term), id=self._name()) for term in terms)

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        placement = Placement(kind, tuple(path), self._name())
        self.making += self._estimate(placement)
        return placement

    async def rename_term(self, vocabulary: str, term: Term, renamed: Term) -> Term:
        self.making += self._estimate(Renaming(term))
        return replace(term, label=renamed.label, path=(*term.path[:-1], renamed.label), labels=renamed.labels)

    async def rename_container(self, container: Placement, path: Sequence[str], parent: str | None = None) -> Placement:
        self.making += self._estimate(Renaming(container))
        return replace(container, path=tuple(path))

    async def place(self, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]) -> None:
        self.finishing += self._estimate(Membership(container, (*add, *remove)))

    async def carry_memberships(self, asset: AssetId, containers: Sequence[Placement]) -> None:
        self._estimate(CarriedMemberships(tuple(containers)))

    async def attach(self, asset: AssetId, content: Content, journal: Journal) -> None:
        self._estimate(Attachment(content.name), content.size)

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        self.finishing += self._estimate(relation)

    async def detach(self, asset: AssetId, file: FileRef, journal: Journal) -> None:
        self._estimate(PartRemoval(file))

    async def unrelate(self, asset: AssetId, relation: Relation) -> None:
        self.finishing += self._estimate(PartRemoval(relation))

    async def end_shared(self) -> None:
        return

    async def sweep(self, recorded: IsReferenced) -> int:
        return 0

    subscribe, unsubscribe, send_test = Service.subscribe, Service.unsubscribe, Service.send_test  # not in a plan

    def _estimate(self, change: Change, size: int | None = None, *, just_read: bool = False) -> int:
        """Add the calls that the write will take."""
        return self._count(lambda estimator: estimator.write(change, size, just_read=just_read))

    def _take_read(self, asset: AssetId) -> bool:
        """Whether the asset was read and not written since: its first write may not read it again."""
        return self._just_read.drop(asset) is not None

    def _count(self, estimate: Callable[[Estimator], Calls]) -> int:
        self.began = self.began or self._moment()
        calls = estimate(self._estimator)
        self.estimated.update(calls)
        return sum(calls.values())

    def _name(self) -> str:
        return f"{INVENTED}{next(self._numbers)}"


@dataclass(frozen=True, slots=True)
class DryContent:
    """Stands for bytes that are not downloaded."""

    name: str
    size: int
    media_type: str = "application/octet-stream"
    digests: Mapping[str, str] = field(default_factory=dict)
    link: FileLink | None = None

    async def read(self, start: int, stop: int) -> bytes:
        """There are none."""
        raise IntegrityError("a dry run has no bytes")

    def blocks(self, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes]:
        """There are none."""
        raise IntegrityError("a dry run has no bytes")

    async def version(self) -> str:
        """Of nothing that is sent."""
        return ""

    async def check(self) -> None:
        """Nothing to check."""


@dataclass(slots=True)
class DryFiles:
    """Estimates the calls of opening each file instead of downloading it. size: bytes of all files that go through us;
    largest: of the largest; fetched: files that the target fetches itself, fetched_size: their bytes."""

    source: Service
    estimator: Estimator = field(init=False)
    estimated: Counter[str] = field(default_factory=Counter)
    opened: int = 0
    size: int = 0
    largest: int = 0
    fetched: int = 0
    fetched_size: int = 0

    def __post_init__(self) -> None:
        self.estimator = Estimator(self.source)

    @asynccontextmanager
    async def contents(self, file: FileRef, name: str, link: FileLink | None = None) -> AsyncIterator[Content]:
        """See `Session.contents`."""
        if link is not None:
            self.estimated.update(self.estimator.link(file) or {})
            self.fetched += 1
            self.fetched_size += file.size or 0
            yield DryContent(name, file.size or 0, file.media_type, link=link)
            return
        self.estimated.update(self.estimator.open(file))
        self.opened += 1
        self.size += file.size or 0
        self.largest = max(self.largest, file.size or 0)
        yield DryContent(name, file.size or 0, file.media_type)
