"""Clients of one credential share its rate limit and its calls of the day, within one process."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from dam_sync.http.rates.limiters import AdaptiveRateLimiter
from dam_sync.http.rates.shared import CredentialRate, JobRates, SharedRates, month_after
from dam_sync.model.errors import StopKind, StopRequested
from dam_sync.model.limits import MonthlyAllowance, Pace
from tests.support.network.clients import client_of, get
from tests.support.network.raw_server import RawServer, said
from tests.support.stepped_clock import SteppedClock
from tests.unit.http.test_http_rate_limiter import most_in_a_second

HOUR = 3600.0


async def test_two_jobs_share_the_rate_of_one_credential() -> None:
    clock = SteppedClock(auto=True)
    shared = SharedRates(clock)
    jobs = [JobRates(shared), JobRates(shared)]
    limiters = [job.credential("target", "token").limiter(10.0) for job in jobs]
    assert limiters[0] is limiters[1]
    assert jobs[0].credential("source", "another token").limiter(10.0) is not limiters[0]
    taken: list[float] = []

    async def work(limiter: AdaptiveRateLimiter) -> None:
        taken.extend([(await limiter.take()).released for _ in range(20)])

    await asyncio.gather(*map(work, limiters))
    assert most_in_a_second(sorted(taken)) <= 10


async def test_the_lowest_rate_of_all_jobs_counts() -> None:
    clock = SteppedClock(auto=True)
    rate = SharedRates(clock).credential("token")
    limiter = rate.limiter(None)
    assert limiter.rate is None
    await limiter.take()
    for asked, kept in ((10.0, 10.0), (4.0, 4.0), (20.0, 4.0), (None, 4.0)):
        assert rate.limiter(asked).rate == kept
    assert most_in_a_second([(await limiter.take()).released for _ in range(20)]) <= 4


async def test_calls_are_counted_by_day_and_survive_a_restart() -> None:
    clock = SteppedClock()
    job = JobRates(SharedRates(clock))
    rate = job.credential("source", "token")
    for _ in range(3):
        await rate.reserve(3)
    with pytest.raises(StopRequested, match="3 calls per day is used up") as stopped:
        await rate.reserve(3)
    assert stopped.value.code == StopKind.DAILY_BUDGET
    restarted = JobRates(SharedRates(clock))
    restarted.restore(job.sent())
    assert restarted.sent() == job.sent()
    with pytest.raises(StopRequested):
        await restarted.credential("source", "token").reserve(3)
    clock.skip(timedelta(days=1).total_seconds())
    await restarted.credential("source", "token").reserve(3)
    assert [sum(sent.values()) for sent in restarted.sent().values()] == [4]


async def test_calls_are_stored_for_two_days_and_counted_once() -> None:
    clock = SteppedClock()
    job = JobRates(SharedRates(clock))
    rate = job.credential("source", "token")
    for _ in range(5):
        await rate.reserve(None)
        clock.skip(HOUR)
        job.restore(job.sent())
    assert rate.sent_since(clock.now() - timedelta(days=1)) == 5
    clock.skip(46 * HOUR)
    assert sum(rate.sent.values()) == 2


# -- the allowance of a month ------------------------------------------------------------------------------------------


def allowance(used: int, since: str, counted: str) -> MonthlyAllowance:
    return MonthlyAllowance(100, used, *map(datetime.fromisoformat, (f"{since}T00:00:00Z", f"{counted}:00:00Z")))


async def test_calls_that_the_counter_does_not_contain_yet_are_added() -> None:
    clock = SteppedClock(datetime(2026, 6, 10, 22, tzinfo=UTC))
    rate = CredentialRate(clock)
    for hours in (1, 4, 8):
        for _ in range(10):
            await rate.reserve(None)
        clock.skip(hours * HOUR)  # 22:00, 23:00, 03:00, and now 11:00
    late = allowance(40, "2026-06-01", "2026-06-11T00")
    assert rate.left(late) == 50
    assert rate.left(allowance(40, "2026-06-01", "2026-06-10T00")) == 30
    for _ in range(50):
        await rate.reserve(None, late)
    with pytest.raises(StopRequested, match="the monthly allowance of 100 calls is used up") as stopped:
        await rate.reserve(None, late)
    assert (stopped.value.code, "2026-07-01" in stopped.value.hint) == (StopKind.MONTHLY_ALLOWANCE, True)


async def test_a_new_month_begins_with_the_whole_allowance() -> None:
    clock = SteppedClock(datetime(2026, 12, 31, 23, tzinfo=UTC))
    rate, used_up = CredentialRate(clock), allowance(100, "2026-12-01", "2026-12-31T00")
    await rate.reserve(None)
    assert rate.left(used_up) == -1
    clock.skip(HOUR)  # the counter is still that of last month
    await rate.reserve(None, used_up)
    assert rate.left(used_up) == 99
    assert month_after(clock.now()) == datetime(2027, 2, 1, tzinfo=UTC)


async def test_a_client_counts_what_it_sends_and_stops_at_the_budget() -> None:
    clock = SteppedClock(auto=True)
    rate = SharedRates(clock).credential("token")
    async with (
        RawServer(lambda _: said({})) as server,
        client_of(server, clock=clock, rate=rate, calls_per_day=2, pace=Pace(5.0, 4, 4)) as client,
    ):
        await client.send(get())
        await client.send(get())
        with pytest.raises(StopRequested):
            await client.send(get())
        assert client.measured_pace.pace.per_second == 5.0
        assert len(server.seen) == 2
    assert sum(rate.sent.values()) == 2
