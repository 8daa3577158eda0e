"""A worker that was taken for lost and still lives records nothing, and sends nothing for long."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dam_sync.model.asset import AssetId, Entry, Revision
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import SafetyStop, StoreUnreachable, Throttled, WorkerLost
from dam_sync.model.service import Batch, Shard
from dam_sync.model.state_server import StateServer
from dam_sync.store.rows import Run, Work
from dam_sync.store.store import SqlStore
from tests.support.postgres import emptied

LEASE = timedelta(minutes=10)


async def claimed(server: StateServer) -> tuple[SqlStore, Run, Work]:
    """The coordinator, its run, and an asset that it claimed."""
    store = await SqlStore.open(server, SYSTEM_CLOCK)
    run = await store.begin("job", "run")
    await store.set_shards(run.id, [Shard("all")], complete=True)
    await store.record(run.id, Shard("all"), Batch((Entry(AssetId("1"), Revision("a")),), None), ())
    (work,) = await store.claim(run.id, 1, LEASE)
    return store, run, work


async def made() -> str:
    return "target-1"


async def test_a_worker_whose_asset_was_taken_back_makes_no_call() -> None:
    server = emptied("dam_sync_zombie")
    store, run, work = await claimed(server)
    zombie, _ = await SqlStore.join(server, SYSTEM_CLOCK, run.id, run.owner, 2)
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
    other, _ = await SqlStore.join(server, SYSTEM_CLOCK, run.id, run.owner, 2)
    with pytest.raises(WorkerLost):
        await zombie.take_over(work, "first")  # the order of an attempt that is over
    await other.take_over(again, "second")
    with pytest.raises(WorkerLost):
        await zombie.take_over(again, "first")  # Dask ran the task twice
    with pytest.raises(WorkerLost):
        await journal.discard("*")
    assert await other.journal(again, run.id).run("create", call) == "target-1"
    assert calls == ["call"]
    for each in (zombie, other, store):
        await each.close()


async def test_an_asset_that_was_taken_back_unbegun_is_not_begun_later() -> None:
    server = emptied("dam_sync_zombie")
    store, run, work = await claimed(server)
    zombie, _ = await SqlStore.join(server, SYSTEM_CLOCK, run.id, run.owner, 1)
    assert not await store.take_back(work)
    with pytest.raises(WorkerLost):
        await zombie.take_over(work, "late")
    await zombie.close()
    await store.close()


async def test_places_are_limited_and_end_with_their_sessions() -> None:
    server = emptied("dam_sync_zombie")
    store, run, _ = await claimed(server)
    one, place = await SqlStore.join(server, SYSTEM_CLOCK, run.id, run.owner, 1)
    assert place == 0
    with pytest.raises(StoreUnreachable, match="all 1 places"):
        await SqlStore.join(server, SYSTEM_CLOCK, run.id, run.owner, 1)
    await one.close()
    two, place = await SqlStore.join(server, SYSTEM_CLOCK, run.id, run.owner, 1)
    assert place == 0
    await two.close()
    await store.close()


async def test_a_worker_leaves_a_run_that_ended() -> None:
    server = emptied("dam_sync_zombie")
    store, run, _ = await claimed(server)
    worker, _ = await SqlStore.join(server, SYSTEM_CLOCK, run.id, run.owner, 1)
    seen = await worker.look("")
    worker.prove_held()
    assert await worker.look(seen) == seen
    await store.stop(run.id, "stopped")
    with pytest.raises(SafetyStop):
        await worker.look(seen)
    with pytest.raises(SafetyStop):
        await SqlStore.join(server, SYSTEM_CLOCK, run.id, run.owner, 2)
    await worker.close()
    await store.close()


async def test_a_worker_without_a_new_heartbeat_sends_nothing_that_writes() -> None:
    server = emptied("dam_sync_zombie")
    store, run, _ = await claimed(server)
    worker, _ = await SqlStore.join(server, SYSTEM_CLOCK, run.id, run.owner, 1)
    seen = await worker.look("")
    assert worker._database.beat_at is not None
    worker._database.beat_at -= timedelta(seconds=16)
    await worker.look(seen)
    with pytest.raises(Throttled):
        worker.prove_held()
    await store.beat(run.id)
    await worker.look(seen)
    worker.prove_held()
    await worker.close()
    await store.close()
