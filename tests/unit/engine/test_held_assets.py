"""Of large assets few are in memory at one time; small ones are not held up."""

from __future__ import annotations

import asyncio

import pytest

from dam_sync.engine.run.held_assets import HeldAssets
from dam_sync.model.asset import Asset, AssetId, Revision
from dam_sync.model.weights import weight_of

MOST = 10_000


def asset(name: str, size: int) -> Asset:
    return Asset(AssetId(name), Revision("1"), fields={"text": "x" * size})


async def most_held(number: int, size: int) -> int:
    """How many of these are held at once at most, if each is written some turns after it was read."""
    held, now, most = HeldAssets(MOST), set[str](), 0

    async def moved(name: str) -> None:
        nonlocal most
        async with held.reading():
            await asyncio.sleep(0)
            now.add(name)
            held.keep(AssetId(name), asset(name, size))
        most = max(most, len(now))
        for _ in range(20):
            await asyncio.sleep(0)
        now.discard(name)
        held.drop(AssetId(name))

    async with asyncio.TaskGroup() as group:
        first = group.create_task(moved("first"))
        await first
        for each in range(number):
            group.create_task(moved(str(each)))
    assert held.bytes == 0
    return most


@pytest.mark.parametrize("number", [12, 48])
async def test_memory_does_not_follow_the_number_of_large_assets(number: int) -> None:
    assert await most_held(number, MOST // 3) == 2
    assert await most_held(number, 2 * MOST) == 1


async def test_small_assets_are_read_at_once() -> None:
    assert await most_held(12, MOST // 100) == 12


async def test_one_that_failed_leaves_its_room() -> None:
    held = HeldAssets(MOST)
    for each in ("1", "2"):
        async with asyncio.timeout(10):
            async with held.reading():
                held.keep(AssetId(each), asset(each, 2 * MOST))
            held.drop(AssetId(each))
            held.drop(AssetId(each))


def test_a_weight_follows_the_texts() -> None:
    assert weight_of(asset("1", 4_000_000)) - weight_of(asset("1", 1_000_000)) == 3_000_000
