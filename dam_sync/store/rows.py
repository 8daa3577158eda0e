"""Values stored and loaded: frozen, so that nobody holds a live row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from dam_sync.model.account import AccountKey
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.journal import ResultsUnderWay
from dam_sync.model.link import LinkRow
from dam_sync.model.parking import Cause, ParkCause
from dam_sync.model.service import Cursor, Shard
from dam_sync.model.values import Json

AT_TARGET: Final = "target:"
"""And the id of an asset of the target: the owner of a file name that was listed there."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job. id: the number that people see; `resumed` if it was begun before; `owner` is the token of the
    process that holds it."""

    id: int
    job: str
    command: str
    started_at: datetime
    resumed: bool = False
    owner: str = ""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the history. id: its number; state: running, stopped, done; outcome: the argument of `finish`, or
    why it stopped; beat_at, host, pid: the last heartbeat, and the process that holds it."""

    id: int
    command: str
    started_at: datetime
    ended_at: datetime | None
    state: str
    outcome: Json
    job: str = ""
    beat_at: datetime | None = None
    host: str = ""
    pid: int = 0


@dataclass(frozen=True, slots=True)
class ShardRow:
    """A shard of a run and its progress."""

    shard: Shard
    cursor: Cursor | None
    done: bool


@dataclass(frozen=True, slots=True)
class CompletedWork:
    """A journal entry as stored; its result is JSON text."""

    state: str
    at: str
    result: str


@dataclass(slots=True)
class Memory:
    """The journal entries of one scope as stored, as long as that is `certain`. results: those that are being stored;
    None: a result is durable when it is recorded."""

    journal: dict[str, CompletedWork] = field(default_factory=dict)
    certain: bool = True
    results: ResultsUnderWay | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """One asset to process, under a lease.

    seq: its place in the listing; a later listing of the same asset has a higher one. payload: the asset, if the
    listing contained it. attempt: counts claims from 1 since it was listed or put back by `unpark`. begun: whether
    steps of an earlier attempt were kept when it was claimed. passing: in how many runs in a row it was parked for a
    failure that may be temporary. parked_for: the cause for which an earlier run parked it, if nobody said since then
    that it is corrected. steps: journal entries made since then, if there were none before.
    """

    seq: int
    asset: AssetId
    revision: str
    payload: Asset | None = None
    deleted: bool = False
    attempt: int = 0
    begun: bool = False
    passing: int = 0
    parked_for: ParkCause | None = None
    journal: Memory = field(default_factory=Memory, compare=False, repr=False)


class DeletionReason(StrEnum):
    """Why a linked asset counts as deleted at the source."""

    TRASH = "trash"  # it was listed there
    UNLISTED = "unlisted"  # it was not listed at all


IN_TRASH, UNLISTED = DeletionReason.TRASH, DeletionReason.UNLISTED


@dataclass(frozen=True, slots=True)
class Deletion:
    """A linked asset that is gone from the source, and was not removed at the target yet. reason: `IN_TRASH` or
    `UNLISTED`; since: when it was first seen so; listings: complete listings in a row that lacked it, `run` the last;
    scope: a digest of what was listed and by whom."""

    source: str
    target: str
    reason: DeletionReason
    since: datetime
    listings: int
    run: int
    scope: str


@dataclass(frozen=True, slots=True)
class Sighting:
    """What the listings say about a linked asset that may be deleted. seen_run: the last run that listed it; in_trash:
    it was listed as deleted; known: as found before."""

    source: str
    target: str
    seen_run: int
    in_trash: bool
    known: Deletion | None = None


@dataclass(frozen=True, slots=True)
class TrashedLink:
    """The link of an asset that a run moved to the trash of the target. retried: the operator retried it after it was
    listed again and could not be taken out of the trash."""

    link: LinkRow
    run: int
    at: str
    retried: bool = False


@dataclass(frozen=True, slots=True)
class Removal:
    """A source asset whose target asset the service removed. file: the key of its file, empty if it had none."""

    source: str
    target: str
    file: str
    message: str


@dataclass(frozen=True, slots=True)
class OnProbation:
    """How many target assets are on probation, and when the first and the last of them were created."""

    number: int = 0
    first: datetime | None = None
    last: datetime | None = None


READ_AGAIN = "(read again)"  # revision of work that no listing of its run returned


@dataclass(frozen=True, slots=True)
class WorkRecord:
    """A completed work item, as reports need it. losses: path, rule and detail of each; filename, target: of its link,
    empty without one."""

    seq: int
    asset: str
    revision: str
    action: str
    cause: Cause | None
    message: str
    losses: Sequence[Mapping[str, str]]
    account: Mapping[AccountKey, int]
    digest: str
    named: Mapping[str, str]
    filename: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class ParkedRow:
    """A parked asset. named: file name, title and URL at the source, if known when it was parked."""

    asset: str
    cause: ParkCause
    operation: str
    message: str
    hint: str
    named: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CauseRow:
    """Parked assets, or refused memberships or relations, of one cause, call and hint. asset, message: of the first of
    them, by its id at the source."""

    cause: ParkCause
    operation: str
    hint: str
    count: int
    asset: str
    message: str

    @property
    def example(self) -> str:
        """The asset with its message, to be read."""
        return f"{self.asset}: {self.message}"


@dataclass(frozen=True, slots=True)
class HeldBackRow:
    """Losses of parked assets that say the same; what an earlier release parked says nothing but its rule."""

    rule: str
    remedies: Sequence[str]
    groups: Sequence[str]
    closes: bool
    assets: int


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A relation pending until both ends exist; a target id is empty while that end is not linked."""

    seq: int
    owner: str
    kind: str
    other: str
    owner_target: str = ""
    other_target: str = ""


@dataclass(frozen=True, slots=True)
class UnwrittenRelations:
    """Relations that are not written, for one reason; an empty one: an end was not moved. closes_circle: one more
    would, so that no run can write them."""

    reason: str
    number: int
    closes_circle: bool = False


@dataclass(frozen=True, slots=True)
class KeptReport:
    """A report in the state, without its body. run: the run, or the last one before a verification; version: of the
    program that made it; result: in a word, such as `parked` or `equal`; bytes: compressed."""

    id: int
    run: int
    kind: str
    at: datetime
    version: str
    result: str
    bytes: int


@dataclass(frozen=True, slots=True)
class CorrectionRow:
    """A value for which an asset is parked, and what a person gave in its place. path: the line of the mapping; failed:
    the value, empty for the line as a whole; rule: why it failed; corrected: texts, none if nobody gave any; at: when
    it failed, or was corrected."""

    asset: str
    path: str
    failed: str
    rule: str
    corrected: tuple[str, ...] = ()
    at: str = ""
