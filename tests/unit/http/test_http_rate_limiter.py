"""The rate limiter never lets too many calls into any second, wastes little, slows down on refusals and recovers."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.http.rates.limiters import LATE, AdaptiveRateLimiter, BandwidthLimiter
from dam_sync.model.errors import Throttled
from tests.support.stepped_clock import SteppedClock


async def releases(bucket: AdaptiveRateLimiter, calls: int, workers: int = 16) -> list[float]:
    taken: list[float] = []

    async def work() -> None:
        while len(taken) < calls:
            taken.append((await bucket.take()).released)

    await asyncio.gather(*(work() for _ in range(workers)))
    return sorted(taken)


def most_in_a_second(instants: list[float]) -> int:
    most = first = 0
    for last, instant in enumerate(instants):
        while instant - instants[first] >= 1.0:
            first += 1
        most = max(most, last - first + 1)
    return most


@pytest.mark.parametrize("rate", [1.0, 2.5, 7.0, 50.0, 500.0])
async def test_at_the_limit_never_over_it(rate: float) -> None:
    taken = await releases(AdaptiveRateLimiter(rate, SteppedClock(auto=True)), int(rate * 20) + 20)
    assert most_in_a_second(taken) <= -(-rate // 1)
    used = (len(taken) - 1) / (taken[-1] - taken[0])
    assert rate * 0.92 <= used <= rate


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), rate=st.sampled_from([5.0, 50.0, 200.0]))
def test_delays_on_the_way_of_80_ms_do_not_bunch_calls_into_one_second(seed: int, rate: float) -> None:
    chance = random.Random(seed)
    taken = asyncio.run(releases(AdaptiveRateLimiter(rate, SteppedClock(auto=True)), int(rate * 5)))
    arrivals = sorted(instant + chance.uniform(0, LATE) for instant in taken)
    assert most_in_a_second(arrivals) <= rate


async def test_late_wake_ups_cost_nothing_and_break_nothing() -> None:
    clock = SteppedClock()
    bucket = AdaptiveRateLimiter(50.0, clock)
    taken: list[float] = []

    async def work() -> None:
        while True:
            taken.append((await bucket.take()).released)

    workers = [asyncio.ensure_future(work()) for _ in range(16)]
    chance = random.Random(1)
    while clock.monotonic() < 10:
        await clock.advance(0.02)
        clock.skip(chance.uniform(0, 0.004))  # the loop was busy: everybody wakes late
    for worker in workers:
        worker.cancel()
    assert most_in_a_second(taken) <= 50
    assert len(taken) >= 0.92 * 50 * 10


async def test_a_stall_of_our_own_is_not_made_good_by_a_burst() -> None:
    clock = SteppedClock()
    bucket = AdaptiveRateLimiter(50.0, clock)
    taken: list[float] = []

    async def work() -> None:
        while True:
            taken.append((await bucket.take()).released)

    workers = [asyncio.ensure_future(work()) for _ in range(40)]
    for _ in range(20):
        await clock.advance(0.3)
        clock.skip(0.7)
    for worker in workers:
        worker.cancel()
    assert len(taken) > 200
    assert most_in_a_second(taken) <= 50


async def test_idle_time_is_not_saved_up() -> None:
    clock = SteppedClock(auto=True)
    bucket = AdaptiveRateLimiter(10.0, clock)
    await bucket.take()
    clock.skip(100)
    assert most_in_a_second(await releases(bucket, 40)) <= 10


async def test_without_a_limit_nothing_waits() -> None:
    clock = SteppedClock()
    await releases(AdaptiveRateLimiter(None, clock), 1000)
    assert clock.slept == []


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), rate=st.sampled_from([5.0, 50.0, 200.0]), answers=st.floats(0.0, 0.3))
def test_responses_show_when_calls_were_counted(seed: int, rate: float, answers: float) -> None:
    """A call is counted some time between its sending and its response, or within 80 ms where that is slow."""
    chance = random.Random(seed)
    clock = SteppedClock(auto=True)
    bucket = AdaptiveRateLimiter(rate, clock)
    arrivals: list[float] = []

    async def work() -> None:
        while len(arrivals) < rate * 4:
            turn = await bucket.take()
            arrivals.append(turn.released + chance.uniform(0, min(LATE, answers)))
            await clock.sleep(answers)
            turn.responded = clock.monotonic()

    async def run() -> None:
        await asyncio.gather(*(work() for _ in range(int(rate * (answers + 0.1)) + 1)))

    asyncio.run(run())
    assert most_in_a_second(sorted(arrivals)) <= rate
    assert (len(arrivals) - 1) / (max(arrivals) - min(arrivals)) >= 0.9 * rate


async def test_a_refusal_cuts_the_rate_to_50_percent_and_it_recovers() -> None:
    clock = SteppedClock(auto=True)
    bucket = AdaptiveRateLimiter(50.0, clock)
    first = await bucket.take()
    bucket.slow_down(first, 7.0)
    assert bucket.rate == 25.0
    assert bucket.pause_left() == pytest.approx(7.0)
    assert (await bucket.take()).released - first.released >= 7.0
    seconds = clock.monotonic()
    while bucket.rate is not None and bucket.rate < 50.0:
        await bucket.take()
        bucket.succeeded()
        assert clock.monotonic() - seconds < 120
    assert clock.monotonic() - seconds > 10


async def test_failures_that_need_not_be_about_the_rate_take_a_tenth_of_it() -> None:
    clock = SteppedClock(auto=True)
    bucket = AdaptiveRateLimiter(5.0, clock)
    turn = await bucket.take()
    turn.failing = True
    bucket.slow_down(turn, None)
    assert bucket.rate == 4.5
    for number in range(2_000):  # one of eight fails, however few are sent
        turn = await bucket.take()
        turn.failing = True
        if number % 8:
            bucket.succeeded(turn)
        else:
            bucket.slow_down(turn, None)
    assert bucket.rate is not None
    assert bucket.rate > 1.5


async def test_a_failure_does_not_forget_which_rate_was_too_fast() -> None:
    clock = SteppedClock(auto=True)
    bucket = AdaptiveRateLimiter(50.0, clock)
    bucket.slow_down(await bucket.take(), None)
    for _ in range(10):
        bucket.succeeded()  # the rate that was too fast, 50, is the limit here: the next refusal is at about 25
    bucket.slow_down(await bucket.take(), None)
    turn = await bucket.take()
    turn.failing = True
    bucket.slow_down(turn, None)
    while bucket.rate is not None and bucket.rate < 23.0:
        bucket.succeeded()
    before = bucket.rate
    for _ in range(20):
        bucket.succeeded()
    assert before is not None
    assert bucket.rate is not None
    assert bucket.rate - before < 20 * 0.01, "slowly near 25, which was too fast"


async def test_a_burst_of_refusals_is_one_event() -> None:
    clock = SteppedClock(auto=True)
    bucket = AdaptiveRateLimiter(50.0, clock)
    for turn in [await bucket.take() for _ in range(16)]:
        bucket.slow_down(turn, None)
    assert bucket.rate == 25.0
    later = await bucket.take()
    bucket.slow_down(later, None)
    assert bucket.rate == 12.5


async def test_waiting_calls_go_at_the_new_rate() -> None:
    clock = SteppedClock(auto=True)
    bucket = AdaptiveRateLimiter(50.0, clock)
    first = await bucket.take()
    waiting = asyncio.gather(*(bucket.take() for _ in range(30)))
    await asyncio.sleep(0)
    bucket.slow_down(first, 2.0)
    taken = sorted(turn.released for turn in await waiting)
    assert taken[0] - first.released >= 2.0
    assert (len(taken) - 1) / (taken[-1] - taken[0]) <= 25.0


async def test_an_unknown_limit_is_learnt_and_forgotten() -> None:
    clock = SteppedClock(auto=True)
    bucket = AdaptiveRateLimiter(None, clock)
    for _ in range(60):
        turn = await bucket.take()
        await clock.sleep(1 / 60)
    bucket.slow_down(turn)
    assert bucket.rate is not None
    assert 25 <= bucket.rate <= 31
    for _ in range(200_000):
        bucket.succeeded()
    assert bucket.rate is None


async def test_the_slowest_rate_is_not_zero() -> None:
    clock = SteppedClock(auto=True)
    bucket = AdaptiveRateLimiter(1.0, clock)
    for _ in range(20):
        bucket.slow_down(await bucket.take())
    assert bucket.rate is not None
    assert bucket.rate > 0.1


async def test_a_cancelled_wait_leaves_the_others_in_peace() -> None:
    clock = SteppedClock(auto=True)
    bucket = AdaptiveRateLimiter(10.0, clock)
    await bucket.take()
    waiting = [asyncio.ensure_future(bucket.take()) for _ in range(10)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert sum(1 for task in waiting if not task.cancelled()) == 9


async def test_bytes_flow_no_faster_than_allowed() -> None:
    clock = SteppedClock(auto=True)
    flow = BandwidthLimiter(1_000_000.0, clock)
    await asyncio.gather(*(flow.pass_on(100_000) for _ in range(51)))
    assert clock.monotonic() == pytest.approx(5.0)


async def test_bytes_without_a_limit_do_not_wait() -> None:
    clock = SteppedClock()
    await BandwidthLimiter(None, clock).pass_on(10**12)
    assert clock.slept == []


@pytest.mark.parametrize("wrong", [0.0, -1.0])
def test_no_rate_is_no_rate(wrong: float) -> None:
    with pytest.raises(ValueError, match="per second"):
        AdaptiveRateLimiter(wrong, SteppedClock())
    with pytest.raises(ValueError, match="per second"):
        BandwidthLimiter(wrong, SteppedClock())


@pytest.mark.parametrize("rate", [None, 1.0])
async def test_calls_that_wait_already_end_when_a_pause_turns_out_longer_than_anybody_waits(rate: float | None) -> None:
    clock = SteppedClock(auto=True)
    bucket = AdaptiveRateLimiter(rate, clock)
    permit = await bucket.take()
    bucket.slow_down(permit, 5.0)
    waiting = [asyncio.ensure_future(bucket.take()) for _ in range(3)]
    await asyncio.sleep(0)
    bucket.slow_down(permit, 86_400.0)
    for each in await asyncio.gather(*waiting, return_exceptions=True):
        assert isinstance(each, Throttled)
        assert each.retry_after == pytest.approx(86_400, abs=10)
    assert clock.monotonic() < 60
