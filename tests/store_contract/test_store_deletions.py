"""Assets that left the source, and those in the trash of the target, as the state stores them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dam_sync.model.asset import AssetId, Entry, Placement, Revision
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import REMOVED, Outcome
from dam_sync.model.parking import OtherCause, ParkReason
from dam_sync.model.service import Batch, Shard
from dam_sync.model.state_server import StateServer
from dam_sync.store.rows import IN_TRASH, UNLISTED, Deletion
from dam_sync.store.store import SqlStore
from tests.support.state.clock_and_rows import SetClock

LEASE = timedelta(minutes=5)
SINCE = datetime(2026, 3, 1, tzinfo=UTC)
PRESS = Placement("category", ("Press",), "c1")


@pytest.fixture
async def store(place: Path | StateServer) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(place, SetClock())
    yield opened
    await opened.close()


def gone(source: str, reason: str = UNLISTED, listings: int = 1) -> Deletion:
    return Deletion(source, f"t-{source}", reason, SINCE, listings, 1, "scope")


async def begun(store: SqlStore) -> int:
    return (await store.begin("job", "run")).id


async def listed(store: SqlStore, run: int, *names: str, deleted: bool = False) -> None:
    entries = tuple(Entry(AssetId(name), Revision("1"), deleted=deleted) for name in names)
    await store.record(run, Shard("all"), Batch(entries, None), ())


async def completed(store: SqlStore, run: int, outcome: Outcome) -> None:
    for work in await store.claim(run, 9, LEASE):
        await store.complete(work, outcome)


async def moved(store: SqlStore, *names: str) -> int:
    """A run that lists these and links them."""
    run = await begun(store)
    await listed(store, run, *names)
    for work in await store.claim(run, len(names), LEASE):
        await store.complete(work, Outcome("created", link=LinkRow(work.asset, f"t-{work.asset}")))
    return run


async def removed(store: SqlStore, run: int, *names: str) -> None:
    await store.queue_removals(run, names)
    await completed(store, run, Outcome(REMOVED))


async def test_what_may_be_deleted_is_missed_in_the_trash_or_known(store: SqlStore) -> None:
    await store.finish(await moved(store, "a", "b", "c", "d"), {})
    run = await begun(store)
    await listed(store, run, "a")
    await listed(store, run, "b", deleted=True)
    await listed(store, run, "d")
    await store.keep_deletions([gone("d")], ())
    sightings = await store.sightings("", 9, run)
    assert [(seen.source, seen.in_trash) for seen in sightings] == [("b", True), ("c", False), ("d", False)]
    assert [seen.known for seen in sightings] == [None, None, gone("d")]
    assert [seen.seen_run == run for seen in sightings] == [True, False, True]
    assert [seen.source for seen in await store.sightings("", 9, None)] == ["b", "d"]
    assert [seen.source for seen in await store.sightings("b", 1, run)] == ["c"]


async def test_deletions_are_stored_replaced_and_deleted(store: SqlStore) -> None:
    await moved(store, "a", "b", "c")
    for _ in range(2):
        await store.keep_deletions([gone("a"), gone("b")], ["c"])
    await store.keep_deletions([gone("b", IN_TRASH, 0)], ["a"])
    assert await store.deletions() == [gone("b", IN_TRASH, 0)]
    await store.keep_deletions([gone("a"), gone("z")], ())
    assert [each.source for each in await store.deletions()] == ["a", "b"], "what is not linked is not to be removed"
    assert [each.source for each in await store.deletions("a", 1)] == ["b"]
    for _ in range(2):
        await store.forget_deletions()
    assert await store.deletions() == []


async def test_what_exists_after_all_is_neither_missing_nor_in_the_trash(store: SqlStore) -> None:
    run = await moved(store, "a", "b")
    await listed(store, run, "a", "b", deleted=True)
    await store.keep_deletions([gone("a", IN_TRASH), gone("b", IN_TRASH)], ())
    for _ in range(2):
        await store.keep_existing(["a"])
    assert [seen.source for seen in await store.sightings("", 9, run)] == ["b"]
    assert [each.source for each in await store.deletions()] == ["b"]


async def test_what_is_parked_for_a_cause_is_left_out(store: SqlStore) -> None:
    run = await moved(store, "a", "b")
    await store.keep_deletions([gone("a"), gone("b")], ())
    await store.queue_removals(run, ["a"])
    await completed(store, run, Outcome("parked", cause=OtherCause("changed")))
    assert [each.source for each in await store.deletions(without=OtherCause("changed"))] == ["b"]
    assert [each.source for each in await store.deletions(without=OtherCause("another cause"))] == ["a", "b"]


async def test_the_sample_of_existing_assets_is_spread_and_has_none_that_is_missing(store: SqlStore) -> None:
    names = [f"{number:02}" for number in range(20)]
    assert await store.sample_existing(3) == ()
    await moved(store, *names)
    await store.keep_deletions([gone(name) for name in names[:10]], ())
    assert await store.sample_existing(5) == ("10", "12", "14", "16", "18")
    assert await store.sample_existing(99) == tuple(names[10:])
    await store.keep_deletions([gone(name) for name in names], ())
    assert await store.sample_existing(5) == ()


async def test_a_removed_asset_loses_its_link_which_is_archived(store: SqlStore) -> None:
    run = await moved(store, "a", "b")
    await store.keep_deletions([gone("a")], ())
    await listed(store, run, "a")
    waiting = Outcome("updated", placements=((PRESS, AssetId("t-a"), True),), relations=(("view", AssetId("b")),))
    await completed(store, run, waiting)
    await store.queue_removals(run, ["a"])
    await store.queue_removals(run, ["a"])
    (work,) = await store.claim(run, 9, LEASE)
    assert (work.asset, work.deleted) == ("a", True)
    await store.complete(work, Outcome(REMOVED))
    await store.complete(work, Outcome(REMOVED))
    assert (await store.links(["a", "b"])).keys() == {"b"}
    assert await store.deletions() == []
    assert await store.next_placements(9) is None
    assert await store.next_relations(9) == []
    assert (await store.tally(run))[REMOVED] == 1
    kept = (await store.trashed(["a", "b"]))[AssetId("a")]
    assert (kept.link, kept.run, kept.retried) == (LinkRow("a", "t-a"), run, False)
    assert await store.trashed_at(["t-a", "t-b"]) == {"t-a": kept}
    assert await store.trashed_count() == 1


async def test_an_asset_that_this_state_never_listed_can_be_removed(store: SqlStore) -> None:
    """It was linked by an adoption."""
    await store.put_link(LinkRow("a", "t-a"))
    run = await begun(store)
    await removed(store, run, "a")
    assert (await store.links(["a"]), await store.trashed_count()) == ({}, 1)


async def test_what_was_taken_out_of_the_trash_is_linked_as_before(store: SqlStore) -> None:
    whole = LinkRow("a", "t-a", "r", "f", "d", "a.jpg", "V4", {"md5": "0f"}, 3, ("k",), draft={"fields": {}})
    await store.put_link(whole)
    await removed(store, await begun(store), "a")
    run = await begun(store)
    await listed(store, run, "a")
    for _ in range(2):
        await store.put_back(AssetId("a"))
    assert (await store.links(["a"]), await store.trashed_count()) == ({"a": whole}, 0)
    assert await store.sightings("", 9, run) == [], "it was listed"


async def test_what_is_linked_again_while_it_is_listed_is_listed_and_counts_once(store: SqlStore) -> None:
    """The item of an asset that was parked is claimed before the listing finds the asset linked and unchanged."""
    await moved(store, "a", "b")
    await removed(store, await begun(store), "a")
    run = await begun(store)
    await listed(store, run, "a", "b")
    await completed(store, run, Outcome("parked", ParkReason.STILL_IN_TRASH))
    await store.finish(run, {})
    await store.unpark([ParkReason.STILL_IN_TRASH])
    run = await begun(store)
    (work,) = await store.claim(run, 9, LEASE)
    await store.put_back(AssetId("a"))
    entries = tuple(Entry(AssetId(name), Revision("1")) for name in ("a", "b"))
    await store.record(run, Shard("all"), Batch(entries, None), [AssetId("a"), AssetId("b")])
    await store.complete(work, Outcome("unchanged", link=LinkRow("a", "t-a")))
    assert await store.sightings("", 9, run) == [], "it was listed"
    tally = await store.tally(run)
    assert (tally["listed"], tally["unchanged"]) == (2, 2)


async def test_a_new_link_clears_what_is_known_of_the_trash(store: SqlStore) -> None:
    run = await moved(store, "a")
    await removed(store, run, "a")
    await listed(store, run, "a")
    await completed(store, run, Outcome("created", link=LinkRow("a", "another")))
    assert (await store.trashed(["a"]), await store.trashed_count()) == ({}, 0)


@pytest.mark.parametrize(("cause", "retried"), [(ParkReason.STILL_IN_TRASH, True), (OtherCause("another"), False)])
async def test_a_retry_says_that_it_may_be_created_again(store: SqlStore, cause: str, retried: bool) -> None:
    run = await moved(store, "a")
    await removed(store, run, "a")
    await listed(store, run, "a")
    await completed(store, run, Outcome("parked", cause=cause))
    assert await store.unpark([cause]) == 1
    assert (await store.trashed(["a"]))[AssetId("a")].retried is retried
    await removed(store, run, "a")
    assert (await store.trashed(["a"]))[AssetId("a")].retried is retried, "there was no link to be kept aside"


async def test_losses_of_the_first_visit_stay_after_a_second_one_of_the_same_run(store: SqlStore) -> None:
    first, second = ({"path": path, "rule": "left out", "detail": ""} for path in ("asset", "fields.note"))
    run = await moved(store, "a")
    for again in ("while it is written", "later"):
        (entry,) = (Entry(AssetId("a"), Revision(again)),)
        await store.record(run, Shard("all"), Batch((entry,), None), ())
        for work in await store.claim(run, 1, LEASE):
            await store.record(run, Shard("all"), Batch((Entry(AssetId("a"), Revision(f"{again} 2")),), None), ())
            await store.complete(work, Outcome("updated", losses=[first, second]))
        await completed(store, run, Outcome("unchanged", losses=[second]))
        assert sorted(path for path, *_ in await store.losses(run)) == ["asset", "fields.note"]
