"""Values stored and loaded: frozen, so that nobody holds a live row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from dam_sync.model.account import AccountKey
from dam_sync.model.asset import Asset, AssetId, Placement
from dam_sync.model.correction import FailedValue
from dam_sync.model.journal import ResultsUnderWay
from dam_sync.model.journal_names import kind_of
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


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A source asset and its target asset.

    versions: keys of the files written, oldest first. attachments: keys of those added. A key of a file that left the
    source and stays at the target begins with `LEFT`. attached: name, size and digests of each as it was sent; `named`:
    its name at the source, if that changed since. relations: `[kind, source id]` of those queued, the kind marked in
    the same way. draft: what was last written, as JSON. made_at: when the target asset was created, as long as its
    service may still remove it; None once it stays. proofs: what was proved about each file, by its key; evidence: of
    its other files, and of an asset without any. kept: after a conflict, what the target has instead of the value of
    the draft, by path.
    """

    source: str
    target: str
    source_revision: str = ""
    source_fingerprint: str = ""
    draft_fingerprint: str = ""
    filename: str = ""
    evidence: str = "V0"
    digests: Mapping[str, str] = field(default_factory=dict)
    size: int | None = None
    versions: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    draft: Json = None
    made_at: datetime | None = None
    proofs: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, Json] = field(default_factory=dict)
    attached: Mapping[str, Json] = field(default_factory=dict)

    def proof_of(self, key: str) -> str:
        """The evidence of the file with this key: what was proved about it, else that of a file nothing is known of."""
        return self.proofs.get(key, self.evidence)

    @property
    def weakest(self) -> str:
        """The evidence of the asset: the weakest of its files at the source."""
        keys = (key for key in (*self.versions, *self.attachments) if not key.startswith(LEFT))
        return min(map(self.proof_of, keys), default=self.evidence)


TERM, CONTAINER = "term", "container"
PLACED = "placed"  # a container that only the mapping names, as a counterpart of itself: other jobs leave it its name


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A term or container of the source, and the one of the target that stands for it.

    part: TERM, CONTAINER or PLACED; scope: the rule of the mapping by which the term was found, or the kind of
    container at the source; source: its id there. origin: its path at the source when it was last met, for a term
    without levels its label. place: the vocabulary or the kind at the target; target: its id there. wanted: the path
    that the mapping wants, of a term the one that a run gave it, or found first; name: its path at the target, both as
    of then. former: ids that it had at the target before it was renamed.
    mapping: a digest of the rule. run: the run that renamed it last, 0 for none.
    """

    part: str
    scope: str
    source: str
    origin: tuple[str, ...]
    place: str
    target: str
    wanted: tuple[str, ...]
    name: tuple[str, ...]
    former: tuple[str, ...] = ()
    mapping: str = ""
    run: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is the counterpart of."""
        return self.part, self.scope, self.source

    @property
    def is_mixed_up(self) -> bool:
        """Whether an earlier release took another term for this one: their labels, joined by a slash, are the same."""
        return self.part == TERM and self.origin != self.name and "/".join(self.origin) == "/".join(self.name)

    @property
    def may_be_misplaced(self) -> bool:
        """Whether an earlier release may have created the term at the top, because it took another one for its
        parent."""
        return self.part == TERM and len(self.origin) > 1 and self.name == self.origin[-1:]


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """A value of a parked asset that changed at both services. written, source, target: last written and now, in the
    form of a draft as JSON; state: a digest of both sides; why: why no policy decided it; decision: of a person, empty,
    `source` or `target`; filename: of the asset."""

    asset: str
    path: str
    written: Json
    source: Json
    target: Json
    state: str
    why: str = ""
    decision: str = ""
    filename: str = ""


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


LEFT = "left:"
"""Before the key of a file that left the source and stays at the target."""
READ_AGAIN = "(read again)"  # revision of work that no listing of its run returned
MADE = ("created", "updated")
"""Actions by which an asset stays counted if the run comes back to it and there is nothing to do; as the first of them
also if it is updated then."""


REMOVED = "removed"
"""The action of an asset that is gone from the source and was moved to the trash of the target."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a work item ended: created, updated, unchanged, removed, skipped or parked with its reason.

    placements: (container, target asset, add or remove) to be written in bulk later; relations: (kind, other source
    id, add or remove). named: by what people recognize the asset: its name, of a parked one also title and URL.
    passing: parked for a failure that may be temporary. conflicts: those for which it is parked. account: what became
    of its values, and what the field rules gave; digest: of the operation, without ids assigned by the target. wave:
    the wave that it was found to belong to, empty for none; None if it was not sorted.
    """

    action: str
    cause: Cause | None = None
    message: str = ""
    hint: str = ""
    operation: str = ""
    losses: Json = None
    evidence: str = ""
    link: LinkRow | None = None
    passing: bool = False
    placements: tuple[tuple[Placement, AssetId, bool], ...] = ()
    relations: tuple[tuple[str, AssetId, bool], ...] = ()
    conflicts: tuple[ConflictRow, ...] = ()
    failed: tuple[FailedValue, ...] = ()
    named: Mapping[str, str] = field(default_factory=dict)
    account: Mapping[AccountKey, int] = field(default_factory=dict)
    digest: str = ""
    wave: str | None = None


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
    """Parked assets, or refused memberships or relations, of one cause, call and hint. example: one of them with its
    message."""

    cause: ParkCause
    operation: str
    hint: str
    count: int
    example: str


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
class LedgerRow:
    """One write, made or planned. `at` is RFC 3339 text; seq counts from 1. The other columns are those of
    `LedgerTable`."""

    seq: int
    run: int
    operation: str
    asset: str
    target: str
    detail: Json
    at: str
    changes: Mapping[str, Json] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)
    digest: str = ""
    size: int | None = None
    version: str = ""
    seconds: float | None = None

    @property
    def kind(self) -> str:
        """What was written: a `WriteKind`, or the first words of what a rollback did."""
        return kind_of(self.operation)


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
