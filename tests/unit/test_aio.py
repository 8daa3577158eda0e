"""Polling ends with a result or when time is up; a bounded cache forgets what was used least recently."""

from __future__ import annotations

import pytest

from dam_sync.aio.lru import LruCache
from dam_sync.aio.polling import poll_until
from tests.support.stepped_clock import SteppedClock


@pytest.mark.parametrize(("delay", "waited"), [(0.0, [0.0, 1.0, 3.0, 5.0]), (3.0, [3.0, 4.0, 5.0])])
async def test_polling_waits_by_its_pauses_and_asks_a_last_time_when_time_is_up(
    delay: float, waited: list[float]
) -> None:
    clock = SteppedClock(auto=True)
    begun, asked = clock.monotonic(), []

    async def ask() -> None:
        asked.append(clock.monotonic() - begun)

    assert await poll_until(clock, ask, 5.0, (1.0, 2.0), delay=delay) is None
    assert asked == waited


async def test_polling_ends_with_the_first_result() -> None:
    results = iter([None, 0, 1])

    async def ask() -> int | None:
        return next(results)

    assert await poll_until(SteppedClock(auto=True), ask, 60.0, (1.0,)) == 0
    assert list(results) == [1]


def test_a_cache_forgets_what_was_used_least_recently() -> None:
    cache = LruCache[str, int](2)
    cache.put("one", 1)
    cache.put("two", 2)
    assert cache.get("one") == 1
    cache.put("three", 3)
    assert cache.snapshot() == {"one": 1, "three": 3}
    assert cache.get("two") is None
    assert cache.drop("one") == 1
    assert cache.drop("one") is None
    assert "three" in cache
    assert len(cache) == 1
