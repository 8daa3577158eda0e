"""The queue of assets that webhooks named: each delivery once, each asset once, until a run has read it."""

from __future__ import annotations

from dam_sync.model.webhooks import Hint
from dam_sync.store.hints import HintBounds, Receipt
from dam_sync.store.store import SqlStore
from tests.support.state.clock_and_rows import SetClock

QUEUED, DUPLICATE, IGNORED, FULL = Receipt.QUEUED, Receipt.DUPLICATE, Receipt.IGNORED, Receipt.FULL


async def test_a_delivery_counts_once_and_so_does_an_asset_that_waits(store: SqlStore, clock: SetClock) -> None:
    assert await store.add_hints([Hint("1", "b"), Hint("1", "b"), Hint("2", "b"), Hint("3")]) == [
        QUEUED, DUPLICATE, QUEUED, IGNORED
    ]  # fmt: skip
    clock.skip(1)
    assert await store.add_hints([Hint("4", "a")]) == [QUEUED]
    assert await store.take_hints(10) == ["b", "a"]
    await store.hints_done(["b", "a"])
    assert await store.take_hints(10) == []
    assert await store.add_hints([Hint("1", "b"), Hint("2", "b"), Hint("3")]) == [DUPLICATE] * 3
    assert await store.take_hints(10) == []


async def test_what_a_killed_process_took_is_taken_again(store: SqlStore) -> None:
    await store.add_hints([Hint("1", "a"), Hint("2", "b")])
    assert await store.take_hints(1) == ["a"]
    assert await store.take_hints(2) == ["a", "b"]


async def test_a_change_while_an_asset_is_read_waits_again(store: SqlStore) -> None:
    await store.add_hints([Hint("1", "a")])
    assert await store.take_hints(1) == ["a"]
    await store.add_hints([Hint("2", "a"), Hint("3", "a")])
    await store.hints_done(["a"])
    assert await store.take_hints(1) == ["a"]
    await store.hints_done(["a"])
    assert await store.take_hints(1) == []


async def test_assets_and_deliveries_are_bounded(store: SqlStore, clock: SetClock) -> None:
    few = HintBounds(waiting=5, kept=12)
    found = await store.add_hints([Hint(f"w{n}", str(n)) for n in range(7)], few)
    assert found == [QUEUED] * 5 + [FULL] * 2
    for number in range(40):
        clock.skip(1)
        assert await store.add_hints([Hint(f"x{number}", "3")], few) == [QUEUED]
    assert (await store.show())["rows"]["hint"] == 12
    assert await store.add_hints([Hint("x39", "3"), Hint("x0", "3")], few) == [DUPLICATE, QUEUED]
    assert await store.take_hints(9) == list("01234")
    assert await store.deliveries_since(clock.now()) == 2
