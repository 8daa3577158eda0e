"""Calls that processes count together in PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest

from dam_sync.http.rates.shared import CredentialRate
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import StopRequested
from dam_sync.model.permits import CALLS_KEPT, CallBudget, CallRequest
from dam_sync.store.server.permits import ServerPermits
from dam_sync.store.server.shared_schema import SCHEMA
from tests.support.state.permit_schedule import SharedCalls
from tests.support.state.postgres import execute, started

DAY = CallBudget("day", 100, 50)


@asynccontextmanager
async def several(*jobs: str) -> AsyncIterator[list[ServerPermits]]:
    """A process of each of these jobs."""
    async with AsyncExitStack() as stack:
        opened = []
        for job in jobs:
            opened.append(await ServerPermits.open(replace(started(), schema=f"dam_sync_{job}")))
            stack.push_async_callback(opened[-1].close)
        yield opened


async def test_the_server_counts_as_the_tests_of_the_arithmetic_do() -> None:
    name, here = SYSTEM_CLOCK.token(), SharedCalls()
    requests = [
        CallRequest(100, 20, {}, (DAY,), {99: 7, 100: 5}),
        CallRequest(100, 20, {100: 3}, (DAY, CallBudget("month", 90, 60))),
        CallRequest(101, 20, {100: 4}, (replace(DAY, most=None),)),
        CallRequest(101, 30, {101: 20}, (DAY,)),
        CallRequest(100, 0, {100: 0}, (DAY,)),
        CallRequest(101, 99, {101: 20}, (DAY,)),
    ]
    async with several("one", "two") as processes:
        schedules = [each.credential(name) for each in processes]
        for number, request in enumerate(requests):
            for process, schedule in enumerate(schedules):
                found = await schedule.lease_calls(request)
                assert found == here.leased(str(process), request, str(process)), (number, process)
                assert await schedule.lease_calls(replace(request, calls=0)) == here.leased(
                    str(process), replace(request, calls=0), str(process)
                )


async def test_jobs_that_share_a_credential_use_up_its_budget_at_the_same_time() -> None:
    name, budget = SYSTEM_CLOCK.token(), 500
    async with several("one", "one", "two") as processes:
        rates = [CredentialRate(SYSTEM_CLOCK, each.credential(name)) for each in processes]

        async def used_up(rate: CredentialRate) -> int:
            sent = 0
            try:
                while True:
                    await rate.reserve(budget)
                    sent += 1
                    if not sent % 10:
                        await asyncio.sleep(0)
            except StopRequested:
                await rate.give_back()
                return sent

        sent = await asyncio.gather(*map(used_up, rates))
        assert sum(sent) <= budget
        assert sum(sent) + await used_up(rates[0]) == budget
        assert min(sent) > 0
        assert {rate.today for rate in rates[:1]} == {budget}


async def test_earlier_calls_of_a_job_are_added_once_and_old_slices_are_dropped() -> None:
    name = SYSTEM_CLOCK.token()
    now = CALLS_KEPT + 500
    request = CallRequest(now, 0, {}, (CallBudget("all", 0, None),), {now - 2: 9, now - 1: 30})
    async with several("one", "one", "two") as processes:
        first, again, other = (each.credential(name) for each in processes)
        assert (await first.lease_calls(replace(request, sent={100: 5}))).counted == (44,)
        assert (await again.lease_calls(request)).counted == (39,)  # those of slice 100 were too old
        assert (await other.lease_calls(request)).counted == (78,)
        assert (await first.lease_calls(replace(request, earlier={}))).counted == (78,)


async def test_calls_survive_their_process() -> None:
    name = SYSTEM_CLOCK.token()
    async with several("one") as (process,):
        rate = CredentialRate(SYSTEM_CLOCK, process.credential(name))
        for _ in range(3):
            await rate.reserve(10)
        await rate.give_back()
    async with several("two") as (process,):
        rate = CredentialRate(SYSTEM_CLOCK, process.credential(name))
        await rate.reserve(10)
        assert rate.today == 4
    kept = execute(replace(started(), schema=SCHEMA), "SELECT count(*) FROM call_count WHERE calls > 0")
    assert kept[0][0] >= 2


@pytest.mark.parametrize("budget", [0, 1])
async def test_a_budget_of_hardly_any_call(budget: int) -> None:
    async with several("one") as (process,):
        rate = CredentialRate(SYSTEM_CLOCK, process.credential(SYSTEM_CLOCK.token()))
        for _ in range(budget):
            await rate.reserve(budget)
        with pytest.raises(StopRequested):
            await rate.reserve(budget)
