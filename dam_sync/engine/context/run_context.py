"""The context of one run: the parts of it that the engine works with, each with a subject of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.context.job_mapping import JobMapping
from dam_sync.engine.context.libraries import Contents, Source, Target
from dam_sync.engine.context.phases import Phases
from dam_sync.engine.context.planned import PlannedWork
from dam_sync.engine.context.pulls import Pulls
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.run_task import RunTask
from dam_sync.engine.context.stopping import Deadline, Stopping
from dam_sync.engine.context.value_samples import ValueSamples
from dam_sync.engine.context.waves import WaveRun
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.asset import AssetId
from dam_sync.model.clock import Clock
from dam_sync.model.errors import StopRequested
from dam_sync.model.policy import Policy
from dam_sync.model.probed import Account
from dam_sync.model.rotation import Rotation
from dam_sync.model.run_options import Progress, RunOptions, StopToken
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.service_time import RunTime
from dam_sync.model.shared_target import SharedTarget

if TYPE_CHECKING:  # a job file is checked without a database layer
    from dam_sync.engine.context.writers import RemoteWriters
    from dam_sync.store.rows import Run, Work
    from dam_sync.store.store import SqlStore

LEASE = timedelta(minutes=10)


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
    """Everything one run needs, assembled by `api`. It is for what does a whole command; what does less takes the parts
    that it works with."""

    source_end: Source
    target_end: Target
    mapping: JobMapping
    state: RunState
    task: RunTask
    stopping: Stopping
    phases: Phases
    clock: Clock
    pulls: Pulls
    tallies: Tallies = field(default_factory=Tallies)
    workers: RemoteWriters | None = None  # the processes that write, if it is not this one
    due_by: datetime | None = None  # deletions whose grace period ended by then were counted against the limit

    def with_state(self, store: SqlStore, run: Run) -> RunContext:
        """The same with another state, and another place in it."""
        state = replace(self.state, store=store, run=run)
        phases, mapping = replace(self.phases, state=state), replace(self.mapping, store=store)
        return replace(self, state=state, phases=phases, mapping=mapping)

    @property
    def writers(self) -> int:
        """Assets written at once."""
        return self.target_end.service.capabilities.writers if self.workers is None else self.workers.at_once

    @property
    def calls(self) -> dict[str, dict[str, int]]:
        """API calls of all processes of the run, by side and endpoint."""
        found = {"source": Counter(self.source_end.service.calls), "target": Counter(self.target_end.service.calls)}
        for side, calls in self.workers.calls.items() if self.workers is not None else ():
            found[side].update(calls)
        return {side: dict(calls) for side, calls in found.items()}

    # -- former names

    @property
    def source(self) -> Service:
        """Former name."""
        return self.source_end.service

    @property
    def source_schema(self) -> Schema:
        """Former name."""
        return self.source_end.schema

    @property
    def source_account(self) -> Account:
        """Former name."""
        return self.source_end.account

    @property
    def contents(self) -> Contents:
        """Former name."""
        return self.source_end.contents

    @property
    def source_scope(self) -> str:
        """Former name."""
        return self.source_end.scope

    @property
    def readers(self) -> int:
        """Former name."""
        return self.source_end.readers

    @property
    def target(self) -> Service:
        """Former name."""
        return self.target_end.service

    @property
    def target_schema(self) -> Schema:
        """Former name."""
        return self.target_end.schema

    @property
    def target_account(self) -> Account:
        """Former name."""
        return self.target_end.account

    @property
    def target_contents(self) -> Contents:
        """Former name."""
        return self.target_end.contents

    @property
    def counterparts(self) -> Counterparts:
        """Former name."""
        return self.target_end.counterparts

    @property
    def time(self) -> RunTime:
        """Former name."""
        return self.target_end.time

    @property
    def shared(self) -> SharedTarget:
        """Former name."""
        return self.target_end.shared

    @property
    def alike(self) -> bool:
        """Former name."""
        return self.target_end.alike

    @property
    def target_looked_through(self) -> bool:
        """Former name."""
        return self.target_end.looked_through

    @property
    def crosswalk(self) -> Crosswalk:
        """Former name."""
        return self.mapping.crosswalk

    @property
    def samples(self) -> ValueSamples:
        """Former name."""
        return self.mapping.samples

    @property
    def store(self) -> SqlStore:
        """Former name."""
        return self.state.store

    @property
    def run(self) -> Run:
        """Former name."""
        return self.state.run

    @property
    def on_server(self) -> bool:
        """Former name."""
        return self.state.on_server

    @property
    def options(self) -> RunOptions:
        """Former name."""
        return self.task.options

    @property
    def policy(self) -> Policy:
        """Former name."""
        return self.task.policy

    @property
    def repair(self) -> bool:
        """Former name."""
        return self.task.repair

    @property
    def rotation(self) -> Rotation | None:
        """Former name."""
        return self.task.rotation

    @property
    def wave(self) -> WaveRun | None:
        """Former name."""
        return self.task.wave

    @property
    def planned(self) -> PlannedWork | None:
        """Former name."""
        return self.task.planned

    @property
    def dry(self) -> bool:
        """Former name."""
        return self.task.dry

    @property
    def reads_target(self) -> bool:
        """Former name."""
        return self.task.reads_target

    @property
    def repairs(self) -> bool:
        """Former name."""
        return self.task.repairs

    @property
    def stop(self) -> StopToken:
        """Former name."""
        return self.stopping.token

    @property
    def ends(self) -> bool:
        """Former name."""
        return self.stopping.ends

    @property
    def hurries(self) -> bool:
        """Former name."""
        return self.stopping.hurries

    @property
    def deadline(self) -> Deadline | None:
        """Former name."""
        return self.stopping.deadline

    @property
    def passed_deadline(self) -> Deadline | None:
        """Former name."""
        return self.stopping.passed_deadline

    @property
    def used_up(self) -> StopRequested | None:
        """Former name."""
        return self.stopping.used_up

    @property
    def progress(self) -> Progress:
        """Former name."""
        return self.phases.progress

    @property
    def moving(self) -> str:
        """Former name."""
        return self.phases.moving

    async def mapping_of(self, asset: AssetId) -> Crosswalk:
        """Former name."""
        return await self.mapping.of(asset)

    async def last_ended(self) -> datetime | None:
        """Former name."""
        return await self.state.last_ended()

    def compares(self, asset: str) -> bool:
        """Former name."""
        return self.task.compares(asset)

    def note_key(self, key: str) -> str:
        """Former name."""
        return self.task.note_key(key)

    async def agree(self, work: Work, digest: str) -> str:
        """Former name."""
        return await self.task.agree(work, digest)

    def refuse_stopped(self) -> None:
        """Former name."""
        self.stopping.refuse_stopped()

    def refuse_hurried(self) -> None:
        """Former name."""
        self.stopping.refuse_hurried()

    async def enter(self, phase: str) -> None:
        """Former name."""
        await self.phases.enter(phase)
