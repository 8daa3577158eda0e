"""How long the index of the target may still be behind what earlier runs wrote."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.read.index import lag_left
from dam_sync.model.limits import Limits
from dam_sync.model.service_time import RunTime
from dam_sync.store.rows import Run
from dam_sync.store.store import SqlStore
from tests.support.run_double import run_double
from tests.support.state.clock_and_rows import SetClock, changed

LAG = 600.0


@dataclass
class Desk:
    """As much of a run's context as is looked at."""

    store: SqlStore
    clock: SetClock
    run: Run
    limits: Limits = field(default_factory=lambda: Limits(lag=timedelta(seconds=LAG)))

    @property
    def time(self) -> RunTime:
        """Without services whose clocks could differ."""
        return RunTime(self.clock)

    async def left(self) -> float:
        context = run_double(target=self, time=self.time)
        return await lag_left(context.target, RunState(self.store, self.run))


async def test_a_first_run_waits_for_nothing(store: SqlStore, clock: SetClock) -> None:
    assert await Desk(store, clock, await store.begin("job", "run")).left() == 0


async def test_the_run_that_ended_last_counts_whenever_it_began(store: SqlStore, clock: SetClock) -> None:
    first = await store.begin("job", "run")
    await store.stop(first.id, "Ctrl-C")
    await store.finish((await store.begin("job", "gc")).id, {}, listed=False)
    clock.skip(LAG)
    await store.finish((await store.begin("job", "run")).id, {})
    clock.skip(100)
    assert await Desk(store, clock, await store.begin("job", "run")).left() == LAG - 100


async def test_what_a_run_wrote_before_it_was_interrupted_counts(store: SqlStore, clock: SetClock) -> None:
    await store.stop((await store.begin("job", "run")).id, "Ctrl-C")
    clock.skip(1)
    assert await Desk(store, clock, await store.begin("job", "run")).left() == LAG


async def test_a_killed_run_counts_until_its_last_heartbeat(store: SqlStore, clock: SetClock) -> None:
    killed = await store.begin("job", "run")
    clock.skip(50)
    await store.beat(killed.id)
    gone = await asyncio.create_subprocess_exec("true")
    await gone.wait()
    await changed(store, f"UPDATE run SET pid = {gone.pid}, owner = 'killed'")
    store._database.run = 0
    clock.skip(100)
    assert await Desk(store, clock, Run(9, "job", "verify", clock.now())).left() == LAG - 100
