"""Processes that share a schedule of permits use its rate, and never exceed it together."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dam_sync.http.rates.leased import EARLY, FRESH, LeasedRateLimiter
from dam_sync.http.rates.limiters import LATE, RESERVE, WINDOW, Permit
from dam_sync.http.rates.server_time import DRIFT, ServerTime
from dam_sync.model.errors import Throttled
from dam_sync.model.permits import AHEAD, LeaseRequest
from dam_sync.store.server.permit_schedule import share_of
from tests.support.state.permit_schedule import EPOCH, Lessee, OwnClock, SharedSchedule
from tests.support.stepped_clock import SteppedClock
from tests.unit.http.test_http_rate_limiter import most_in_a_second

RATE = 50.0


@contextmanager
def sharing(clock: SteppedClock) -> Iterator[SharedSchedule]:
    shared = SharedSchedule(clock)
    try:
        yield shared
    finally:
        shared.close()


class Process:
    """One process: its limiter, with a clock and a way to the schedule of its own, and the times of its calls."""

    def __init__(self, shared: SharedSchedule, chance: random.Random, rate: float | None, delay: float = 0.005) -> None:
        self.clock, self.chance, self.delay = shared.clock, chance, delay
        self.lessee = Lessee(shared, chance.uniform(0, delay), chance.uniform(0, delay))
        self.limiter = LeasedRateLimiter(rate, OwnClock(shared.clock, chance.uniform(-1e6, 1e6)), self.lessee)
        self.counted: list[float] = []
        self.permits: list[Permit] = []

    async def work(self, until: float, response: float) -> None:
        """Call after call; the service counts each some time before its response, or within 80 ms."""
        while self.clock.monotonic() < until:
            permit = await self.limiter.take()
            self.permits.append(permit)
            arrives = self.chance.uniform(0, min(LATE, response))
            self.counted.append(self.clock.monotonic() + arrives)
            await self.clock.sleep(response)
            permit.responded = self.limiter._clock.monotonic()
            self.limiter.succeeded(permit)
            if self.limiter.has_news:
                await self.limiter.publish()


def run(processes: list[Process], until: float, response: float, tasks: int = 8) -> list[float]:
    """The times at which the service counted the calls of all."""

    async def everybody() -> None:
        await asyncio.gather(*(each.work(until, response) for each in processes for _ in range(tasks)))

    asyncio.run(everybody())
    return sorted(at for each in processes for at in each.counted)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    number=st.integers(1, 6),
    rate=st.sampled_from([1.0, 2.5, 50.0, 200.0]),
    response=st.floats(0.001, 0.3),
)
def test_no_second_has_more_calls_than_the_limit(seed: int, number: int, rate: float, response: float) -> None:
    chance = random.Random(seed)
    with sharing(SteppedClock(auto=True)) as shared:
        counted = run([Process(shared, chance, rate) for _ in range(number)], max(3.0, 6 / rate), response)
    assert most_in_a_second(counted) <= -(-rate // 1)


@pytest.mark.parametrize("response", [0.005, 0.02, 0.06])
@pytest.mark.parametrize("number", [1, 2, 4, 9])
def test_processes_use_the_limit_together(number: int, response: float) -> None:
    chance = random.Random(number)
    with sharing(SteppedClock(auto=True)) as shared:
        processes = [Process(shared, chance, RATE, delay=0.003) for _ in range(number)]
        counted = run(processes, 20.0, response)
    settled = [at for at in counted if at >= 3.0]  # before, how long responses take is not known
    used = (len(settled) - 1) / (settled[-1] - settled[0]) / RATE
    assert used >= min(0.96, 1 / (WINDOW + response + 0.03))
    assert most_in_a_second(counted) <= RATE
    least = min(len(each.counted) for each in processes)
    assert least >= 0.5 * len(counted) / number  # nobody starves
    assert shared.leases <= len(counted)  # several permits by one statement


@settings(max_examples=200, deadline=None)
@given(
    steps=st.lists(st.tuples(st.floats(0, 0.3), st.integers(0, 30), st.floats(0, 0.2)), max_size=60),
    rate=st.sampled_from([1.0, 7.5, 50.0, 200.0]),
)
def test_permits_are_never_nearer_than_the_rate_and_never_far_ahead(
    steps: list[tuple[float, int, float]], rate: float
) -> None:
    clock, spacing, due = SteppedClock(), 1 / (rate * (1 - RESERVE)), []
    with sharing(clock) as shared:
        for passes, permits, late in steps:
            clock.skip(passes)
            reported = (len(due) - 1, due[-1] + late) if due and late else None
            lease = shared.lease(LeaseRequest(permits, spacing, int(-(-rate // 1)), WINDOW, late=reported))
            assert len(lease.due) <= permits
            assert lease.first == len(due)
            assert all(at <= EPOCH + clock.monotonic() + AHEAD + 1e-6 for at in lease.due)
            assert all(at >= EPOCH + clock.monotonic() - 1e-6 for at in lease.due)
            due += lease.due
    assert all(later - earlier >= spacing - 1e-5 for earlier, later in pairwise(due))


def test_the_permit_a_window_after_a_late_call_keeps_its_distance() -> None:
    clock, spacing = SteppedClock(), 1 / (RATE * (1 - RESERVE))
    with sharing(clock) as shared:
        due: list[float] = []
        while len(due) < 120:
            late = (30, due[30] + 0.3) if 31 <= len(due) <= 60 else None
            due += shared.lease(LeaseRequest(5, spacing, 50, WINDOW, late=late)).due
            clock.skip(0.05)
    assert due[80] >= due[30] + 0.3 + WINDOW - 1e-5


def test_a_process_that_dies_with_its_permits_only_wastes_them() -> None:
    chance = random.Random(4)
    with sharing(SteppedClock(auto=True)) as shared:
        dead = Process(shared, chance, RATE)
        spacing = 1 / (RATE * (1 - RESERVE))
        kept = shared.lease(LeaseRequest(25, spacing, 50, WINDOW)).due
        counted = run([dead, Process(shared, chance, RATE)], 10.0, 0.01)
    assert len(kept) == 25
    assert min(counted) + EPOCH >= kept[-1] + spacing - 1e-5
    assert len(counted) >= 0.95 * RATE * (10.0 - 25 * spacing)


def test_a_slower_process_slows_the_others_down_while_it_sends() -> None:
    chance = random.Random(5)
    with sharing(SteppedClock(auto=True)) as shared:
        both = run([Process(shared, chance, RATE), Process(shared, chance, 10.0)], 10.0, 0.01)
        assert most_in_a_second(both[15:]) <= 11
        shared.clock.skip(5)
        alone = run([Process(shared, chance, RATE)], shared.clock.monotonic() + 5.0, 0.01)
    assert len(alone) >= 0.95 * RATE * 5


async def test_a_pause_stops_permits_that_others_have_leased() -> None:
    chance, clock = random.Random(6), SteppedClock(auto=True)
    with sharing(clock) as shared:
        processes = [Process(shared, chance, RATE) for _ in range(4)]
        tasks = [asyncio.ensure_future(each.work(20.0, 0.01)) for each in processes for _ in range(8)]
        await clock.sleep(5.0)
        first = processes[0]
        first.limiter.slow_down(first.permits[-1], 7.0)
        await first.limiter.publish()
        told = clock.monotonic()
        await asyncio.gather(*tasks)
    sent = sorted(at for each in processes for at in each.counted)
    known = told + FRESH + EARLY + 2 * 0.005 + 0.01  # a round trip, and what a call takes to be counted
    assert [at for at in sent if known < at < told + 6.9] == []
    assert any(told + 6.9 < at < told + 7.5 for at in sent)
    assert all(RATE / 2 <= (each.limiter.rate or 0.0) < 0.8 * RATE for each in processes)  # all know of the refusal


async def test_a_burst_of_refusals_in_several_processes_is_one_event_and_the_rate_returns() -> None:
    chance, clock = random.Random(7), SteppedClock(auto=True)
    with sharing(clock) as shared:
        processes = [Process(shared, chance, RATE) for _ in range(3)]
        await asyncio.gather(*(each.work(2.0, 0.01) for each in processes))
        for each in processes:
            each.limiter.slow_down(each.permits[-1], None)
        await asyncio.gather(*(each.limiter.publish() for each in processes))
        await asyncio.gather(*(each.limiter.take() for each in processes))
        assert {each.limiter.rate for each in processes} == {RATE / 2}
        until = clock.monotonic() + 90
        await asyncio.gather(*(each.work(until, 0.01) for each in processes))
        assert {each.limiter.rate for each in processes} == {RATE}


async def test_a_limit_that_nobody_documents_is_learned_by_all() -> None:
    chance, clock = random.Random(8), SteppedClock(auto=True)
    with sharing(clock) as shared:
        processes = [Process(shared, chance, None) for _ in range(3)]
        await asyncio.gather(*(each.work(3.0, 0.05) for each in processes for _ in range(4)))
        sent = sum(len(each.counted) for each in processes) / clock.monotonic()
        refused = processes[0]
        refused.limiter.slow_down(refused.permits[-1], None)
        await refused.limiter.publish()
        learned = refused.limiter.learned
        assert learned is not None
        assert 0.7 * sent <= learned <= 1.2 * sent  # calls of all, not of this process alone
        await clock.sleep(FRESH)
        await asyncio.gather(*(each.limiter.take() for each in processes))
        assert all(each.limiter.learned == pytest.approx(learned) for each in processes)


async def test_what_an_earlier_run_learned_is_where_processes_begin() -> None:
    with sharing(SteppedClock(auto=True)) as shared:
        first = Process(shared, random.Random(9), None).limiter
        first.restore(20.0)
        await first.take()
        assert first.learned == 20.0


@settings(deadline=None)
@given(
    offset=st.floats(-1e6, 1e6),
    drift=st.floats(-DRIFT / 2, DRIFT / 2),
    answers=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2), st.floats(0, 0.2)), min_size=1, max_size=30),
)
def test_the_clock_of_the_server_is_never_read_too_early(
    offset: float, drift: float, answers: list[tuple[float, float, float]]
) -> None:
    """Whatever messages take, and however the clocks differ in zero and speed."""
    clock, now = ServerTime(), 0.0

    def shown(local: float) -> float:
        return local * (1 + drift) + offset

    for pause, there, back in answers:
        now += pause
        clock.measured(now, now + there + back, shown(now + there))
        now += there + back
        for later in (0.0, 0.5):
            at = clock.local(shown(now) + later)
            assert shown(at) >= shown(now) + later - 1e-3 * later - 1e-4
            assert clock.earliest(now) - 1e-4 <= shown(now) <= clock.latest(now) + 1e-4


def test_a_clock_that_was_set_is_believed() -> None:
    clock = ServerTime()
    clock.measured(0.0, 0.1, 100.05)
    clock.measured(1.0, 1.1, 50.05)
    assert clock.local(51.0) == pytest.approx(2.05)


@settings(max_examples=100, deadline=None)
@given(
    most=st.integers(1, 40),
    steps=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 40), st.booleans()), max_size=80),
)
@example(most=2, steps=[(0, 0, False), (2, 0, False), (1, 0, False), (2, 0, True), (1, 1, False)])
def test_shares_of_concurrent_calls_never_exceed_the_limit(most: int, steps: list[tuple[int, int, bool]]) -> None:
    held: dict[int, int] = {}
    for process, wanted, leaves in steps:
        if leaves:
            held.pop(process, None)
            continue
        own = held.pop(process, 0)
        under_way = min(wanted, own)
        held[process] = share_of(most, len(held), sum(held.values()), own, under_way)
        assert held[process] >= under_way or most < len(held)
        if len(held) <= most:
            assert sum(held.values()) <= most + len(held)


def test_calls_that_wait_in_any_process_end_when_a_pause_is_longer_than_anybody_waits() -> None:
    clock = SteppedClock(auto=True)

    async def refused() -> list[object]:
        first, second = (Process(shared, random.Random(each), RATE) for each in (1, 2))
        permit = await first.limiter.take()
        first.limiter.slow_down(permit, 5.0)
        await first.limiter.publish()
        waiting = [asyncio.ensure_future(each.limiter.take()) for each in (first, second) for _ in range(3)]
        await clock.sleep(1.0)
        first.limiter.slow_down(permit, 86_400.0)
        await first.limiter.publish()
        return list(await asyncio.gather(*waiting, return_exceptions=True))

    with sharing(clock) as shared:
        ended = asyncio.run(refused())
    assert [type(each) for each in ended] == [Throttled] * 6
    assert clock.monotonic() < 60
