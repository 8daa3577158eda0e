"""Values stored and loaded: frozen, so that nobody holds a live row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from dam_sync.model.asset import Asset, AssetId, Placement
from dam_sync.model.service import Cursor, Shard
from dam_sync.model.values import Json


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job; `resumed` if it was begun before; `owner` is the token of the process that holds it."""

    id: int
    number: int
    job: str
    command: str
    started_at: datetime
    resumed: bool = False
    owner: str = ""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the history. state: running, stopped, done; `outcome` is the argument of `finish`, or why it stopped."""

    id: int
    number: int
    command: str
    started_at: datetime
    ended_at: datetime | None
    state: str
    outcome: Json
    job: str = ""


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
    """The journal entries of one scope as stored, as long as that is `certain`."""

    journal: dict[str, CompletedWork] = field(default_factory=dict)
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Work:
    """One asset to process, under a lease.

    seq: its place in the listing; a later listing of the same asset has a higher one. payload: the asset, if the
    listing contained it. attempt: counts claims from 1 since it was listed or put back by `unpark`. begun: whether
    steps of an earlier attempt were kept when it was claimed. passing: in how many runs in a row it was parked for a
    failure that may be temporary. steps: journal entries made since then, if there were none before.
    """

    seq: int
    asset: AssetId
    revision: str
    payload: Asset | None = None
    deleted: bool = False
    attempt: int = 0
    begun: bool = False
    passing: int = 0
    journal: Memory = field(default_factory=Memory, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A source asset and its target asset.

    versions: keys of the files written, oldest first. attachments: keys of those added. relations: `[kind, source id]`
    of those queued. draft: what was last written, as JSON. made_at: when the target asset was created, as long as its
    service may still remove it; None once it stays. evidence: what the
    last verification proved about it, the weakest of its files; proofs: for each file, by its key.
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


MADE = ("created", "updated")
"""Actions by which an asset stays counted if the run comes back to it and there is nothing to do."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a work item ended: created, updated, unchanged, removed, skipped or parked with its reason.

    placements: (container, target asset, add or remove) to be written in bulk later; relations: (kind, other source
    id). named: by what people recognize the asset, for a parked one. passing: parked for a failure that may be
    temporary.
    """

    action: str
    cause: str = ""
    message: str = ""
    hint: str = ""
    operation: str = ""
    losses: Json = None
    evidence: str = ""
    link: LinkRow | None = None
    passing: bool = False
    placements: tuple[tuple[Placement, AssetId, bool], ...] = ()
    relations: tuple[tuple[str, AssetId], ...] = ()
    named: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ParkedRow:
    """A parked asset. named: file name, title and URL at the source, if known when it was parked."""

    asset: str
    cause: str
    operation: str
    message: str
    hint: str
    named: Mapping[str, str] = field(default_factory=dict)


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
