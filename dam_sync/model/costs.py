"""What writes and the opening of files cost: a table of calls by part, and what a plan counted of it before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias, TypeVar

from dam_sync.model.asset import Draft, FileRef, Patch, Placement, Relation
from dam_sync.model.limits import Limits
from dam_sync.model.values import Term
from dam_sync.model.writes import (
    Attachment,
    CarriedMemberships,
    Change,
    Membership,
    Opening,
    PartRemoval,
    Renaming,
    TrashMove,
    VersionReturn,
)

K = TypeVar("K", bound=Hashable)


class CostPart(StrEnum):
    """The parts that are counted for every service, each with what it counts. A service may add parts of its own."""

    CREATE = "an asset that is created"
    FETCHED = "a new asset whose file the target fetches itself"
    FILE = "a file that is sent, also an attachment"
    WHOLE = "a file that is sent in one request"
    CHUNKED = "a file that is sent in chunks"
    CHUNK = "a chunk"
    BYTES = "a byte of a file that is sent"
    VERSION = "a file version that is added"
    FIRST_VERSION = "of these: the first one of an asset that the run has just created"
    RESTORED_VERSION = "an older version that becomes the current one"
    UPDATE = "an asset that is updated"
    FIELDS = "an update with field values"
    FILENAME = "an update with a file name"
    TAGS_ADDED = "a create or an update that adds tags"
    TAGS_REMOVED = "an update that removes tags"
    TERM = "a term that is created"
    TERM_LEVEL = "terms of one level that are created together"
    RENAMED_TERM = "a term that is renamed"
    CONTAINER = "a container that is created"
    RENAMED_CONTAINER = "a container that is renamed"
    MEMBERS = "members of a container, as many as `Limits.member_batch` allows in one call"
    CARRIED = "a container of an asset that got a new version"
    ATTACHMENT = "an attachment"
    DETACHED = "an attachment that is moved to the trash"
    RELATION = "a relation"
    UNRELATED = "a relation that is removed"
    TRASHED = "an asset that is moved to the trash"
    UNTRASHED = "an asset that is taken out of the trash"
    OPENED = "a file that is opened"
    LINKED = "a file to which a link is given"


@dataclass(frozen=True, slots=True)
class Cost:
    """Calls that a part of a write takes. times: negative for those that were counted with an earlier write and are not
    needed then; kind: only for containers of this kind, and what is put into them; unread: not if the asset was
    read just before."""

    part: str
    call: str
    times: int = 1
    kind: str = ""
    unread: bool = False


Costs: TypeAlias = tuple[Cost, ...]
Amounts: TypeAlias = Counter[str]
"""How many of each part something has."""


@dataclass(slots=True)
class _Shared:
    """What several have in common: how many, of which size together, under which names."""

    number: int = 0
    size: int = 0
    names: set[str] = field(default_factory=set)


class PlanMemory:
    """What a plan counted so far of what happens once in a run, or once for several. `together` has what the assets
    that are created at the same time have in common."""

    def __init__(self) -> None:
        self.together = self
        self._counted: set[Hashable] = set()
        self._shared: dict[Hashable, list[_Shared]] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._counted

    def new(self, keys: Iterable[K]) -> set[K]:
        """Those of these that were not counted before; they are from now on."""
        fresh = {key for key in keys if key not in self._counted}
        self._counted |= fresh
        return fresh

    def first(self, key: Hashable) -> bool:
        """Whether this was not counted before; it is from now on."""
        return bool(self.new((key,)))

    def join(self, key: Hashable, most: int, *, size: int = 0, bytes_most: int | None = None, name: str = "") -> int:
        """How many were in the one of this key that one more goes into; 0 begins another. One takes at most `most`,
        with `bytes_most` together, and no two of one name. What does not fit any more is closed."""
        known = self._shared.setdefault(key, [])
        for one in (*known,):
            if one.number >= most or (bytes_most is not None and one.size + size > bytes_most):
                known.remove(one)
            elif not name or name not in one.names:
                return _added(one, size, name)
        known.append(_Shared())
        return _added(known[-1], size, name)


def _added(one: _Shared, size: int, name: str) -> int:
    one.number, one.size = one.number + 1, one.size + size
    one.names |= {name} if name else set()
    return one.number - 1


def counted(change: Change, size: int | None, limits: Limits) -> Amounts:
    """What can be counted without knowing the service. size: bytes of the file of a Draft or an Attachment."""
    return COUNTED[type(change)](change, size, limits)


def kind_of(change: Change) -> str:
    """The kind of container that a change is about; empty if it is about none."""
    match change:
        case Placement():
            return change.kind
        case Membership():
            return change.placement.kind
        case Renaming(part=Placement() as place):
            return place.kind
        case _:
            return ""


def file_amounts(size: int, limits: Limits) -> Amounts:
    """A file that is sent."""
    bounds = limits.parts_for(size)
    found = Counter({CostPart.FILE: 1, CostPart.WHOLE: int(not bounds), CostPart.BYTES: size})
    if bounds:
        found.update({CostPart.CHUNKED: 1, CostPart.CHUNK: len(bounds.split(size))})
    return Counter(found)


def _draft(change: Draft, size: int | None, limits: Limits) -> Amounts:
    found = Counter[str]() if size is None else file_amounts(size, limits)
    return found + Counter({CostPart.CREATE: 1, CostPart.TAGS_ADDED: int(bool(change.tags))})


def _version(change: FileRef, size: int | None, limits: Limits) -> Amounts:
    return file_amounts(change.size or size or 0, limits) + Counter({CostPart.VERSION: 1})


def _patch(change: Patch, size: int | None, limits: Limits) -> Amounts:
    found = {
        CostPart.UPDATE: not change.empty,
        CostPart.FIELDS: bool(change.fields),
        CostPart.FILENAME: change.filename is not None,
        CostPart.TAGS_ADDED: bool(change.tags_add),
        CostPart.TAGS_REMOVED: bool(change.tags_remove),
    }
    return Counter({part: 1 for part, has in found.items() if has})


def _renaming(change: Renaming, size: int | None, limits: Limits) -> Amounts:
    return Counter({CostPart.RENAMED_TERM if isinstance(change.part, Term) else CostPart.RENAMED_CONTAINER: 1})


def _members(change: Membership, size: int | None, limits: Limits) -> Amounts:
    return Counter({CostPart.MEMBERS: -(-len(change.assets) // limits.member_batch)})


def _removal(change: PartRemoval, size: int | None, limits: Limits) -> Amounts:
    return Counter({CostPart.DETACHED if isinstance(change.part, FileRef) else CostPart.UNRELATED: 1})


def _trash(change: TrashMove, size: int | None, limits: Limits) -> Amounts:
    return Counter({CostPart.TRASHED if change.restored is None else CostPart.UNTRASHED: 1})


def _attachment(change: Attachment, size: int | None, limits: Limits) -> Amounts:
    return file_amounts(size or 0, limits) + Counter({CostPart.ATTACHMENT: 1})


def _just(part: CostPart) -> Callable[..., Amounts]:
    return lambda change, size, limits: Counter({part: 1})


COUNTED: Mapping[type, Callable[..., Amounts]] = {
    Draft: _draft,
    Patch: _patch,
    FileRef: _version,
    Term: _just(CostPart.TERM),
    Placement: _just(CostPart.CONTAINER),
    Renaming: _renaming,
    Membership: _members,
    CarriedMemberships: lambda change, size, limits: Counter({CostPart.CARRIED: len(change.containers)}),
    Attachment: _attachment,
    Relation: _just(CostPart.RELATION),
    PartRemoval: _removal,
    TrashMove: lambda change, size, limits: Counter(
        {CostPart.TRASHED if change.restored is None else CostPart.UNTRASHED: 1}
    ),
    VersionReturn: _just(CostPart.RESTORED_VERSION),
    Opening: lambda change, size, limits: Counter({CostPart.LINKED if change.link else CostPart.OPENED: 1}),
}
