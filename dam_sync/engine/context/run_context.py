"""The context of one run: the parts of it that the engine works with, each with a subject of its own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from dam_sync.engine.context.accepted import Accepted
from dam_sync.engine.context.job_mapping import JobMapping
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.phases import Phases
from dam_sync.engine.context.pulls import Pulls
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.run_task import RunTask
from dam_sync.engine.context.stopping import Stopping
from dam_sync.model.clock import Clock

if TYPE_CHECKING:  # a job file is checked without a database layer
    from dam_sync.engine.context.writers import RemoteWriters
    from dam_sync.store.rows import Run
    from dam_sync.store.store import SqlStore

LEASE = timedelta(minutes=10)


@dataclass(slots=True)
class Tallies:
    """What the report of a run has beside the outcomes of its assets. orphans_aborted: uploads that a killed run left
    open; partial_creates_trashed: of a killed run, their source asset is gone; retried: parked assets, by reason;
    read_again: assets read by their ids, by reason; listed: rows that this process listed, also those that are not in
    the sample of a plan."""

    orphans_aborted: int = 0
    partial_creates_trashed: int = 0
    retried: Counter[str] = field(default_factory=Counter)
    read_again: Counter[str] = field(default_factory=Counter)
    listed: int = 0


@dataclass(slots=True)
class RunContext:
    """Everything one run needs, assembled by `api`. It is for what does a whole command; what does less takes the parts
    that it works with."""

    source: Source
    target: Target
    mapping: JobMapping
    state: RunState
    task: RunTask
    stopping: Stopping
    phases: Phases
    accepted: Accepted
    clock: Clock
    pulls: Pulls
    tallies: Tallies = field(default_factory=Tallies)
    workers: RemoteWriters | None = None  # the processes that write, if it is not this one

    def with_state(self, store: SqlStore, run: Run) -> RunContext:
        """The same with another state, and another place in it. What is learnt with it of the libraries, and of what
        the run is to do, stays there; what the operator accepted is common to both."""
        state, task = replace(self.state, store=store, run=run), replace(self.task)
        return replace(
            self,
            source=replace(self.source),
            target=replace(self.target),
            mapping=replace(self.mapping, store=store),
            state=state,
            task=task,
            phases=replace(self.phases, state=state),
            accepted=replace(self.accepted, task=task, state=state),
        )

    @property
    def writers(self) -> int:
        """Assets written at once."""
        return self.target.service.capabilities.writers if self.workers is None else self.workers.at_once

    @property
    def calls(self) -> dict[str, dict[str, int]]:
        """API calls of all processes of the run, by side and endpoint."""
        found = {"source": Counter(self.source.service.calls), "target": Counter(self.target.service.calls)}
        for side, calls in self.workers.calls.items() if self.workers is not None else ():
            found[side].update(calls)
        return {side: dict(calls) for side, calls in found.items()}
