"""A worker that was taken for lost and still lives records nothing, and sends nothing for long."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta

import pytest

from dam_sync.model.asset import AssetId, Entry, Revision
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import SafetyStop, StoreUnreachable, Throttled, WorkerLost
from dam_sync.model.service import Batch, Shard
from dam_sync.model.state_server import StateServer
from dam_sync.store.rows import Run, Work
from dam_sync.store.store import SqlStore
from tests.support.state.postgres import emptied

LEASE = timedelta(minutes=10)


@dataclass(frozen=True)
class Running:
    """A run: the store of its coordinator, and an asset that was claimed."""

    server: StateServer
    store: SqlStore
    run: Run
    work: Work
    stack: AsyncExitStack

    async def join(self, places: int = 1) -> tuple[SqlStore, int]:
        """The store of a worker of so many, and its place."""
        worker, place = await SqlStore.join(self.server, SYSTEM_CLOCK, self.run.id, self.run.owner, places)
        self.stack.push_async_callback(worker.close)
        return worker, place


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    server = emptied("dam_sync_zombie")
    async with AsyncExitStack() as stack:
        store = await SqlStore.open(server, SYSTEM_CLOCK)
        stack.push_async_callback(store.close)
        run = await store.begin("job", "run")
        await store.set_shards(run.id, [Shard("all")], complete=True)
        await store.record(run.id, Shard("all"), Batch((Entry(AssetId("1"), Revision("a")),), None), ())
        (work,) = await store.claim(run.id, 1, LEASE)
        yield Running(server, store, run, work, stack)


async def made() -> str:
    return "target-1"


async def test_a_worker_whose_asset_was_taken_back_makes_no_call(running: Running) -> None:
    store, run, work = running.store, running.run, running.work
    zombie, _ = await running.join(2)
    await zombie.take_over(work, "first")
    journal, calls = zombie.journal(work, run.id), list[str]()

    async def call() -> str:
        calls.append("call")
        return await made()

    assert await journal.run("create", call, reconcile=made) == "target-1"
    assert await store.take_back(work)
    with pytest.raises(WorkerLost):
        await journal.run("version", call)
    assert calls == ["call"]
    await store.retry(work, 0.0)
    (again,) = await store.claim(run.id, 1, LEASE)
    assert again.begun
    other, _ = await running.join(2)
    with pytest.raises(WorkerLost):
        await zombie.take_over(work, "first")  # the order of an attempt that is over
    await other.take_over(again, "second")
    with pytest.raises(WorkerLost):
        await zombie.take_over(again, "first")  # Dask ran the task twice
    with pytest.raises(WorkerLost):
        await journal.discard("*")
    assert await other.journal(again, run.id).run("create", call) == "target-1"
    assert calls == ["call"]


async def test_an_asset_that_was_taken_back_unbegun_is_not_begun_later(running: Running) -> None:
    zombie, _ = await running.join()
    assert not await running.store.take_back(running.work)
    with pytest.raises(WorkerLost):
        await zombie.take_over(running.work, "late")


async def test_places_for_processes_are_limited_and_end_with_their_sessions(running: Running) -> None:
    one, place = await running.join()
    assert place == 0
    with pytest.raises(StoreUnreachable, match="all 1 places"):
        await running.join()
    await one.close()
    _, place = await running.join()
    assert place == 0


async def test_a_worker_leaves_a_run_that_ended(running: Running) -> None:
    worker, _ = await running.join()
    seen = await worker.look("")
    worker.prove_held()
    assert await worker.look(seen) == seen
    await running.store.stop(running.run.id, "stopped")
    with pytest.raises(SafetyStop):
        await worker.look(seen)
    with pytest.raises(SafetyStop):
        await running.join(2)


async def test_a_worker_without_a_new_heartbeat_sends_nothing_that_writes(running: Running) -> None:
    worker, _ = await running.join()
    seen = await worker.look("")
    assert worker._database.beat_at is not None
    worker._database.beat_at -= timedelta(seconds=16)
    await worker.look(seen)
    with pytest.raises(Throttled):
        worker.prove_held()
    await running.store.beat(running.run.id)
    await worker.look(seen)
    worker.prove_held()
