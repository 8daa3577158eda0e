"""Polling ends with a result or when time is up; a bounded cache forgets what was used least recently; a blocking call
ends before its caller does."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from dam_sync.aio.just_read import SECONDS, JustRead
from dam_sync.aio.lru import LruCache
from dam_sync.aio.polling import LOOK_SECONDS, poll_until, while_wanted
from dam_sync.aio.single_flight import SingleFlight
from dam_sync.aio.task_group import TaskGroup
from dam_sync.aio.threads import run_sync
from dam_sync.model.errors import InternalError
from tests.support.stepped_clock import SteppedClock


@pytest.mark.parametrize(("delay", "waited"), [(0.0, [0.0, 1.0, 3.0, 5.0]), (3.0, [3.0, 4.0, 5.0])])
async def test_polling_waits_by_its_pauses_and_asks_a_last_time_when_time_is_up(
    delay: float, waited: list[float]
) -> None:
    clock = SteppedClock(auto=True)
    begun, asked = clock.monotonic(), []

    async def ask() -> None:
        asked.append(clock.monotonic() - begun)

    assert await poll_until(clock, ask, 5.0, (1.0, 2.0), "a thing", delay=delay) is None
    assert asked == waited


async def test_polling_ends_with_the_first_result() -> None:
    results = iter([None, 0, 1])

    async def ask() -> int | None:
        return next(results)

    assert await poll_until(SteppedClock(auto=True), ask, 60.0, (1.0,), "a thing") == 0
    assert list(results) == [1]


class NotWanted(Exception):
    """Nobody waits any more."""


@pytest.mark.parametrize("delay", [0.0, 600.0])
async def test_polling_ends_soon_when_nobody_waits_any_more(delay: float) -> None:
    clock = SteppedClock(auto=True)
    begun = clock.monotonic()

    async def ask() -> None:
        return None

    def look() -> None:
        if clock.monotonic() - begun > 100:
            raise NotWanted

    with pytest.raises(NotWanted):
        await poll_until(clock, ask, 7200.0, (600.0,), "a thing", delay=delay, look=look)
    assert clock.monotonic() - begun <= 100 + 2 * LOOK_SECONDS


@pytest.mark.parametrize("fails", [False, True])
async def test_a_call_is_cancelled_when_nobody_waits_for_it_any_more(fails: bool) -> None:
    looks: list[None] = []
    ended = asyncio.Event()

    async def call() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
            if fails:
                raise OSError("broken")

    def look() -> None:
        looks.append(None)
        if len(looks) > 3:
            raise NotWanted

    with pytest.raises(NotWanted):
        await while_wanted(call(), look, every=0.01)
    assert ended.is_set()


async def test_the_result_of_a_wanted_call_is_returned_and_its_error_raised() -> None:
    async def call(error: Exception | None) -> int:
        await asyncio.sleep(0)
        if error is not None:
            raise error
        return 7

    assert await while_wanted(call(None), lambda: None) == 7
    with pytest.raises(OSError, match="broken"):
        await while_wanted(call(OSError("broken")), lambda: None)


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


@pytest.mark.parametrize("fails", [False, True])
async def test_a_blocking_call_ends_before_its_caller_is_cancelled(
    fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    began, ends, ended = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        began.set()
        ends.wait(60)
        ended.set()
        if fails:
            raise OSError("no room left")

    task = asyncio.create_task(run_sync(call))
    await asyncio.to_thread(began.wait, 60)
    task.cancel()
    await asyncio.sleep(0)
    ends.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
    del task
    gc.collect()
    assert "never retrieved" not in caplog.text


async def test_what_was_just_read_is_returned_once_and_not_when_it_is_old() -> None:
    clock = SteppedClock()
    read = JustRead[str](clock)
    read.put("a", "first")
    assert (read.take("a"), read.take("a"), read.take("b")) == ("first", None, None)
    read.put("a", "second")
    await clock.advance(SECONDS + 1)
    assert read.take("a") is None


async def test_a_task_that_is_cancelled_by_nobody_fails_its_group() -> None:
    other = asyncio.get_running_loop().create_future()

    async def wait() -> None:
        await other

    other.cancel()
    with pytest.raises(ExceptionGroup) as failed:
        async with TaskGroup() as group:
            group.start(wait)
    (error,) = failed.value.exceptions
    assert isinstance(error, InternalError)
    assert isinstance(error.problem, asyncio.CancelledError)


async def test_a_task_that_is_cancelled_ends_quietly() -> None:
    async with TaskGroup() as group:
        for started in (True, False):
            task = group.start(asyncio.sleep, 600)
            if started:
                await asyncio.sleep(0)
            task.cancel()


async def test_a_value_that_was_forgotten_while_it_was_loaded_is_loaded_again() -> None:
    gates, loads = [asyncio.Event(), asyncio.Event()], iter((1, 2, 3))

    async def load() -> int:
        number = next(loads)
        await gates[number - 1].wait()
        return number

    flight = SingleFlight(load)
    first = asyncio.ensure_future(flight.get())
    await asyncio.sleep(0)
    again = asyncio.ensure_future(flight.again())
    await asyncio.sleep(0)
    for gate in gates:
        gate.set()
    assert (await again, await first, flight.now) == (2, 2, 2)


async def test_a_value_that_was_set_while_another_was_loaded_stays() -> None:
    gate = asyncio.Event()

    async def load() -> int:
        await gate.wait()
        return 1

    flight = SingleFlight(load)
    got = asyncio.ensure_future(flight.get())
    await asyncio.sleep(0)
    flight.put(7)
    gate.set()
    assert (await got, flight.now) == (7, 7)
