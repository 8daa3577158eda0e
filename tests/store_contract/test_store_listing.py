"""What a run lists: rows and cursors together, each asset once, and flat in memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from dam_sync.model.asset import Asset, AssetId, Entry, Revision
from dam_sync.model.clock import SystemClock
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ParkReason, SkipReason
from dam_sync.model.service import Batch, Shard
from dam_sync.model.state_server import StateServer
from dam_sync.store.rows import READ_AGAIN, ShardRow
from dam_sync.store.store import SqlStore
from tests.support.pairs import EVERYTHING
from tests.support.state.clock_and_rows import changed

STORES = ("sqlite", "postgres")
LEASE = timedelta(minutes=5)
ONE, TWO = Shard("one", {"from": "2024"}, 3), Shard("two")


def entries(*names: str, revision: str = "r1") -> tuple[Entry, ...]:
    return tuple(Entry(AssetId(name), Revision(revision)) for name in names)


@pytest.fixture
async def store(place: Path | StateServer) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(place, SystemClock())
    yield opened
    await opened.close()


async def test_shards_are_added_and_keep_how_far_they_were_read(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    await store.set_shards(run, [ONE], complete=False)
    assert not await store.shards_complete(run)
    await store.record(run, ONE, Batch(entries("a"), {"page": 2}), ())
    await store.set_shards(run, [ONE, TWO], complete=True)
    assert await store.shards_complete(run)
    assert await store.shards(run) == [ShardRow(ONE, {"page": 2}, False), ShardRow(TWO, None, False)]
    await store.record(run, ONE, Batch((), None), ())
    assert (await store.shards(run))[0] == ShardRow(ONE, None, True)


async def test_a_listing_not_to_be_believed_is_read_again(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    await store.set_shards(run, [ONE], complete=True)
    await store.record(run, ONE, Batch(entries("a"), None), ())
    await store.forget_shards(run)
    await store.forget_shards(run)
    assert (await store.shards(run), await store.shards_complete(run)) == ([], False)
    await store.set_shards(run, [ONE], complete=True)
    await store.record(run, ONE, Batch(entries("a", "b"), None), ())
    assert (await store.tally(run))["listed"] == 2
    assert len(await store.claim(run, 9, LEASE)) == 2


async def test_an_asset_in_two_windows_is_one_row(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    await store.record(run, ONE, Batch(entries("a", "b", "a"), {"page": 2}), ())
    await store.record(run, TWO, Batch(entries("b", "c"), None), ())
    first, *_ = await store.claim(run, 1, LEASE)
    await store.complete(first, Outcome("created", link=LinkRow("a", "t1")))
    await store.record(run, TWO, Batch(entries("a"), None), ())
    await store.record(run, TWO, Batch(entries("a"), None), {AssetId("a")})
    tally = await store.tally(run)
    assert (tally["listed"], tally["created"], tally["open"], tally["unchanged"]) == (3, 1, 2, 0)
    assert [work.asset for work in await store.claim(run, 9, LEASE)] == ["b", "c"]


async def test_a_changed_revision_in_the_same_run_opens_the_row_again(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    await store.record(run, ONE, Batch(entries("a"), None), ())
    (work,) = await store.claim(run, 1, LEASE)
    await store.complete(work, Outcome("created", link=LinkRow("a", "t1", "r1")))
    await store.record(run, TWO, Batch(entries("a", revision="r2"), None), ())
    (again,) = await store.claim(run, 1, LEASE)
    assert again.revision == "r2"
    assert again.seq > work.seq
    assert (await store.tally(run))["listed"] == 1


@pytest.mark.parametrize("first", ["created", "updated"])
@pytest.mark.parametrize("late", [False, True])
async def test_what_a_run_did_is_counted_though_it_finds_the_same_asset_unchanged_later(
    store: SqlStore, first: str, late: bool
) -> None:
    """Listed again behind that, or while somebody was at it."""
    run = (await store.begin("museum", "run")).id
    await store.record(run, ONE, Batch(entries("a"), None), ())
    (work,) = await store.claim(run, 1, LEASE)
    for settled in (late, not late):
        if settled:
            await store.complete(work, Outcome(first, link=LinkRow("a", "t1", "r1")))
        else:
            await store.record(run, TWO, Batch(entries("a", revision="r2"), None), ())
    (work,) = await store.claim(run, 1, LEASE)
    assert (await store.tally(run))["open"] == 1
    await store.complete(work, Outcome("unchanged", link=LinkRow("a", "t1", "r2")))
    tally = await store.tally(run)
    assert (tally["listed"], tally["open"], tally[first]) == (1, 0, 1)


async def test_what_another_run_did_is_not_counted_in_this_one(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    await store.record(run, ONE, Batch(entries("a"), None), ())
    (work,) = await store.claim(run, 1, LEASE)
    await store.record(run, TWO, Batch(entries("a", revision="r2"), None), ())
    await store.complete(work, Outcome("created", link=LinkRow("a", "t1", "r1")))
    await store.stop(run, "Ctrl-C")
    later = (await store.begin("museum", "again")).id
    (work,) = await store.claim(later, 1, LEASE)
    await store.complete(work, Outcome("unchanged", link=LinkRow("a", "t1", "r2")))
    tally = await store.tally(later)
    assert (tally["created"], tally["unchanged"]) == (0, 1)


async def test_what_is_parked_in_the_end_is_counted_so(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    await store.record(run, ONE, Batch(entries("a"), None), ())
    (work,) = await store.claim(run, 1, LEASE)
    await store.complete(work, Outcome("created", link=LinkRow("a", "t1", "r1")))
    await store.record(run, TWO, Batch(entries("a", revision="r2"), None), ())
    (work,) = await store.claim(run, 1, LEASE)
    await store.complete(work, Outcome("parked", cause=ParkReason.CONFLICTING))
    tally = await store.tally(run)
    assert (tally["created"], tally["parked"]) == (0, 1)


async def test_unchanged_rows_are_seen_and_counted_once(store: SqlStore) -> None:
    for name in "abc":
        await store.put_link(LinkRow(name, f"t-{name}"))
    run = (await store.begin("museum", "run")).id
    for _ in range(2):
        await store.record(run, ONE, Batch(entries("a", "b"), None), {AssetId("a"), AssetId("b")})
    tally = await store.tally(run)
    assert (tally["listed"], tally["unchanged"], tally["open"]) == (2, 2, 0)
    assert await store.gone(run, 9) == (1, ["c"])
    assert await store.gone(run, 0) == (1, [])
    await store.put_link(LinkRow("a", "t-a", evidence="V4"))
    assert await store.gone(run, 9) == (1, ["c"])


async def test_what_a_run_creates_is_not_missing_for_it(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    await store.record(run, ONE, Batch(entries("a"), None), ())
    (work,) = await store.claim(run, 1, LEASE)
    await store.complete(work, Outcome("created", link=LinkRow("a", "t1")))
    assert await store.gone(run, 9) == (0, [])


async def test_assets_are_read_again_once_in_a_run(store: SqlStore) -> None:
    """Linked ones and those that were not selected; a listed one is no longer counted as unchanged."""
    first = (await store.begin("museum", "run")).id
    await store.record(first, ONE, Batch(entries("n", "p", "d"), None), ())
    for work in await store.claim(first, 9, LEASE):
        cause = {"n": SkipReason.NOT_SELECTED, "p": ParkReason.INVALID_VALUE, "d": SkipReason.DELETED}[work.asset]
        await store.complete(work, Outcome("parked" if work.asset == "p" else "skipped", cause=cause))
    await store.finish(first, None)
    for name in "abd":
        await store.put_link(LinkRow(name, f"t-{name}", source_revision="r1"))
    run = (await store.begin("museum", "run")).id
    await store.record(run, ONE, Batch(entries("a"), None), {AssetId("a")})
    asked = ["a", "b", "d", "n", "p", "x"]
    assert await store.read_again(run, asked, unlisted=False) == 1
    assert await store.read_again(run, asked) == 2
    assert await store.read_again(run, asked, deleted=True) == 1
    assert await store.read_again(run, asked, deleted=True) == 0
    tally = await store.tally(run)
    assert (tally["listed"], tally["unchanged"], tally["open"]) == (4, 0, 4)
    works = await store.claim(run, 9, LEASE)
    found = sorted((work.asset, work.revision, work.deleted) for work in works)
    assert found == [(name, READ_AGAIN, False) for name in "abdn"]
    assert await store.linked_assets("a", 1) == ["b"]


async def test_skipping_never_closes_a_row_that_asks_for_work(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    await store.record(run, ONE, Batch(entries("a"), None), ())
    await store.stop(run, "Ctrl-C")
    later = (await store.begin("museum", "again")).id
    await store.record(later, ONE, Batch(entries("a", "x"), None), {AssetId("a"), AssetId("x")})
    assert [work.asset for work in await store.claim(later, 9, LEASE)] == ["a"]
    assert (await store.tally(later))["unchanged"] == 1


async def test_payloads_can_be_left_out(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    asset = Asset(AssetId("a"), Revision("r1"), filename="été.jpg", tags=frozenset({"sea"}))
    whole = Entry(asset.id, asset.revision, asset=asset)
    trashed = Entry(AssetId("b"), Revision("r1"), deleted=True)
    await store.record(run, ONE, Batch((whole, trashed), None), (), payloads=False)
    first, second = await store.claim(run, 2, LEASE)
    assert (first.payload, first.deleted, second.deleted) == (None, False, True)
    await store.release([first, second])
    await store.record(run, TWO, Batch((Entry(asset.id, Revision("r2"), asset=asset),), None), ())
    *_, last = await store.claim(run, 2, LEASE)
    assert last.payload == asset


@pytest.mark.parametrize("place", STORES if EVERYTHING else STORES[:1], indirect=True)
async def test_memory_is_flat_however_much_is_listed(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    page = 500

    async def record_pages(first: int, last: int) -> None:
        for number in range(first, last):
            names = [f"asset-{number * page + row}" for row in range(page)]
            await store.record(run, ONE, Batch(entries(*names), {"page": number}), ())

    await record_pages(0, 10)
    tracemalloc.start()
    try:
        await record_pages(10, 20)
        tracemalloc.reset_peak()
        few = tracemalloc.get_traced_memory()[1]
        await record_pages(20, 100)
        many = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (await store.tally(run))["listed"] == 50_000
    assert many < few + 4 * 1024 * 1024


async def test_a_listing_whose_parts_are_missing_is_not_complete(store: SqlStore) -> None:
    """Earlier programs forgot the parts of an interrupted run when another command ended."""
    run = (await store.begin("museum", "run")).id
    await store.set_shards(run, [Shard("s")], complete=True)
    await changed(store, "DELETE FROM shard")
    assert not await store.shards_complete(run)
