"""The context of one run: both services, the store, the mapping, the policy and its progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.context.planned import PlannedWork
from dam_sync.engine.context.pulls import Pulls
from dam_sync.engine.context.value_samples import ValueSamples
from dam_sync.engine.context.waves import WaveRun
from dam_sync.mapping.crosswalk import Crosswalk, Drafted
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Asset, AssetId, Draft, FileLink, FileRef
from dam_sync.model.clock import Clock
from dam_sync.model.errors import StopKind, StopRequested
from dam_sync.model.policy import REPAIR, Policy
from dam_sync.model.ports import Content
from dam_sync.model.probed import Account
from dam_sync.model.rotation import Rotation
from dam_sync.model.run_options import MOVING, Progress, RunOptions, StopToken
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.service_time import RunTime
from dam_sync.model.shared_target import UNSHARED, SharedTarget
from dam_sync.model.values import Person, instant_text
from dam_sync.store.note_keys import PHASE

if TYPE_CHECKING:  # a job file is checked without a database layer
    from dam_sync.engine.context.writers import RemoteWriters
    from dam_sync.store.rows import Run, Work
    from dam_sync.store.store import SqlStore

LEASE = timedelta(minutes=10)


class Contents(Protocol):
    """Opens files of one side."""

    def __call__(self, file: FileRef, name: str, link: FileLink | None = None) -> AbstractAsyncContextManager[Content]:
        """The bytes of a file under a new name, checked. link: where the target may fetch them itself; then they are
        opened only if it does not."""
        ...


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a run stops by itself, on the monotonic scale of its clock, and what it says then."""

    at: float
    reason: str = "stopped at the time limit"
    kind: StopKind = StopKind.DURATION


@dataclass(slots=True)
class Tallies:
    """What the report of a run has beside the outcomes of its assets. orphans_aborted: uploads that a killed run left
    open; partial_creates_trashed: of a killed run, their source asset is gone; retried: parked assets, by reason;
    read_again: assets read by their ids, by reason; listed: rows that this process listed, also those that are not in
    the sample of a plan; accepted: findings of guards that the operator accepted."""

    orphans_aborted: int = 0
    partial_creates_trashed: int = 0
    retried: Counter[str] = field(default_factory=Counter)
    read_again: Counter[str] = field(default_factory=Counter)
    listed: int = 0
    accepted: list[str] = field(default_factory=list)

    def accept(self, findings: Iterable[str]) -> None:
        """Record findings; safe to repeat."""
        self.accepted.extend(one for one in findings if one not in self.accepted)


@dataclass(slots=True)
class RunContext:
    """Everything one run needs, assembled by `api`."""

    job: str
    source: Service
    target: Service
    store: SqlStore
    crosswalk: Crosswalk
    source_schema: Schema
    target_schema: Schema
    source_account: Account
    target_account: Account
    policy: Policy
    clock: Clock
    time: RunTime  # by which assets are shown and removed
    contents: Contents  # of the source's files
    target_contents: Contents
    pulls: Pulls
    run: Run
    counterparts: Counterparts  # by what names terms and containers go now: without them nothing can be compared
    on_server: bool = False  # the state, also where a dry run works on a copy in a file
    source_scope: str = ""  # a digest of what the job lists at the source
    dry: bool = False  # the target only simulates writes
    moving: str = MOVING  # the phase shown while assets are processed
    alike: bool = False  # both sides are services of one kind
    options: RunOptions = field(default_factory=RunOptions)
    repair: bool = False  # as asked by `options`, or by those of the run that is resumed
    rotation: Rotation | None = None  # the part of the library that this run compares
    deadline: Deadline | None = None
    wave: WaveRun | None = None  # of a job with waves
    tallies: Tallies = field(default_factory=Tallies)
    samples: ValueSamples = field(default_factory=ValueSamples)
    corrected: bool | None = None  # whether people gave values; None: not asked yet
    planned: PlannedWork | None = None  # the plan that this run follows
    shared: SharedTarget = UNSHARED  # with other processes that write into the target
    workers: RemoteWriters | None = None  # the processes that write, if it is not this one
    due_by: datetime | None = None  # deletions whose grace period ended by then were counted against the limit
    target_looked_through: bool = False  # by this process: it has no asset of ours without a link, or it was accepted
    used_up: StopRequested | None = None  # why no call is sent any more: a budget of calls

    @property
    def stop(self) -> StopToken:
        """How the run is asked to stop."""
        return self.options.stop_token

    @property
    def ends(self) -> bool:
        """Whether to start nothing new."""
        return bool(self.stop.reason) or self.used_up is not None

    @property
    def hurries(self) -> bool:
        """Whether to release also what was only read ahead."""
        return self.stop.hurry or self.used_up is not None

    @property
    def progress(self) -> Progress:
        """Counters to be shown."""
        return self.options.progress

    async def enter(self, phase: str) -> None:
        """Show a phase, and keep it for `status`: also for the one after the process was killed."""
        if self.progress.phase != phase:
            self.progress.phase = phase
            since = instant_text(self.clock.now().replace(microsecond=0))
            await self.store.set_meta(PHASE, {"run": self.run.id, "phase": phase, "since": since})

    @property
    def passed_deadline(self) -> Deadline | None:
        """The deadline once it has passed."""
        return self.deadline if self.deadline is not None and self.clock.monotonic() >= self.deadline.at else None

    def refuse_stopped(self) -> None:
        """Raises StopRequested once the run is asked to stop, or has no call left."""
        if self.used_up is not None:
            raise self.used_up
        if self.stop.reason:
            raise self.stop.error("run the same command again to continue")

    def refuse_hurried(self) -> None:
        """Raises StopRequested once what was begun is to be released, too."""
        if self.hurries:
            self.refuse_stopped()

    def note_key(self, key: str) -> str:
        """The key of a note of which each wave has its own."""
        return key if self.wave is None else self.wave.note_key(key)

    async def agree(self, work: Work, digest: str) -> str:
        """The digest of what is about to be done. Raises SafetyStop if the run follows a plan that says otherwise. What
        an earlier attempt began was compared then."""
        if self.planned is not None and not work.begun:
            await self.planned.require(work.asset, digest)
        return digest

    async def draft(self, asset: Asset, marker: str, terms: Mapping[str, TermIndex]) -> Drafted:
        """The asset as mapped: see `drafted_for`."""
        return await drafted_for(self.target, self.target_schema, await self.mapping_of(asset.id), asset, marker, terms)

    async def mapping_of(self, asset: AssetId) -> Crosswalk:
        """The mapping, with the values that people gave for this asset."""
        if self.corrected is None:
            self.corrected = (await self.store.correction_count())[0] > 0
        if not self.corrected:
            return self.crosswalk
        return replace(self.crosswalk, corrections=await self.store.corrections_of(asset))

    async def lag_left(self) -> float:
        """Seconds for which the target's index may still be behind earlier runs; 0 if there were none."""
        last = await self.last_ended()
        since = (self.time.earliest() - last).total_seconds() if last is not None else None
        lag = self.target.limits.lag.total_seconds()
        return 0.0 if since is None else min(lag, max(0.0, lag - since))  # the clock of that run may have been ahead

    async def last_ended(self) -> datetime | None:
        """When an earlier run, or an earlier part of this one, may have written last; None if there were none. Of one
        that was killed the last heartbeat is known; of this one, if it is resumed, only that it was before now."""
        own = (self.run.id, self.run.started_at)  # the number alone may be that of a verification, which is not stored
        earlier = [row for row in await self.store.runs() if (row.id, row.started_at) != own or self.run.resumed]
        return max((row.ended_at or row.beat_at or row.started_at for row in earlier), default=None)

    def compares(self, asset: str) -> bool:
        """Whether this run reads the asset at the target because its part of the library is due."""
        return self.reads_target and self.rotation is not None and self.rotation.is_due(asset)

    @property
    def reads_target(self) -> bool:
        """Whether this run compares assets with what the target has."""
        return self.repair or (self.rotation is not None and self.policy.drift != "ignore")

    @property
    def repairs(self) -> bool:
        """Whether this run restores what was changed at the target."""
        return self.repair or (self.rotation is not None and self.policy.drift == REPAIR)

    @property
    def readers(self) -> int:
        """Assets read at once."""
        return self.source.limits.pace.most

    @property
    def writers(self) -> int:
        """Assets written at once."""
        return self.target.capabilities.writers if self.workers is None else self.workers.at_once

    @property
    def calls(self) -> dict[str, dict[str, int]]:
        """API calls of all processes of the run, by side and endpoint."""
        found = {"source": Counter(self.source.calls), "target": Counter(self.target.calls)}
        for side, calls in self.workers.calls.items() if self.workers is not None else ():
            found[side].update(calls)
        return {side: dict(calls) for side, calls in found.items()}


async def drafted_for(
    target: Service, schema: Schema, crosswalk: Crosswalk, asset: Asset, marker: str, terms: Mapping[str, TermIndex]
) -> Drafted:
    """The asset as mapped; groups and users unknown to the target are dropped or park it, according to their rule."""
    names = crosswalk.groups_of(asset, terms) if schema.groups is None else frozenset()
    unknown = await target.unknown_groups(names) if names else frozenset()
    drafted = crosswalk.draft(asset, marker, terms, unknown)
    people = _people(drafted.draft)
    strangers = await target.unknown_people(people) if people else frozenset()
    return crosswalk.draft(asset, marker, terms, unknown, strangers) if strangers else drafted


def _people(draft: Draft) -> frozenset[str]:
    """The names of the persons in its fields."""
    values = (value if isinstance(value, tuple) else (value,) for value in draft.fields.values())
    return frozenset(each.name for some in values for each in some if isinstance(each, Person))
