"""Budgets of calls that processes share: used up exactly, never exceeded, whatever ends when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.http.rates.leased_calls import BLOCK, IDLE_BEATS
from dam_sync.http.rates.shared import CredentialRate
from dam_sync.model.errors import StopKind, StopRequested
from dam_sync.model.limits import MonthlyAllowance
from tests.support.state.permit_schedule import Lessee, SharedSchedule
from tests.support.stepped_clock import SteppedClock

NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)
MONTH = MonthlyAllowance(100, 40, datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 10, tzinfo=UTC))


class Several:
    """Processes that share one credential."""

    def __init__(self, number: int, at: datetime = NOON) -> None:
        self.clock = SteppedClock(at)
        self.shared = SharedSchedule(self.clock)
        self.lessees = [Lessee(self.shared) for _ in range(number)]
        self.rates = [CredentialRate(self.clock, lessee) for lessee in self.lessees]

    async def used_up(self, number: int, budget: int | None, allowance: MonthlyAllowance | None = None) -> int:
        """How many calls one of them can send."""
        sent = 0
        try:
            while True:
                await self.rates[number].reserve(budget, allowance)
                sent += 1
        except StopRequested:
            return sent

    async def beat(self) -> None:
        """What happens every few seconds."""
        for lessee in self.lessees:
            for job in lessee.beats:
                await job()


async def test_two_jobs_use_up_one_budget_and_no_more() -> None:
    several = Several(2)
    for _ in range(30):
        await several.rates[0].reserve(1000)
    second = await several.used_up(1, 1000)
    assert 1000 - 30 - BLOCK <= second < 1000 - 30
    assert 30 + second + await several.used_up(0, 1000) == 1000


async def test_what_an_idle_process_has_leased_goes_to_the_others() -> None:
    several = Several(2)
    await several.rates[0].reserve(1000)
    for _ in range(IDLE_BEATS):
        await several.beat()  # at the first it has just sent one
    assert several.shared.calls.requests == 1
    await several.beat()
    assert await several.used_up(1, 1000) == 999


async def test_unused_permits_are_returned_at_the_end_and_those_of_a_killed_process_are_not() -> None:
    several = Several(3)
    await several.rates[0].reserve(1000)
    await several.rates[0].give_back()
    await several.rates[0].give_back()
    await several.rates[1].reserve(1000)  # and killed
    left = await several.used_up(2, 1000)
    assert 999 - BLOCK <= left < 999


async def test_the_permit_of_a_call_that_is_not_sent_is_returned() -> None:
    several = Several(1)
    for _ in range(5):
        several.rates[0].put_back(await several.rates[0].reserve(3))
    assert await several.used_up(0, 3) == 3
    assert several.rates[0].today == 3


async def test_a_new_day_begins_with_the_whole_budget() -> None:
    several = Several(2, datetime(2026, 6, 10, 23, 50, tzinfo=UTC))
    assert await several.used_up(0, 200) == 200
    with pytest.raises(StopRequested) as stopped:
        await several.rates[1].reserve(200)
    assert (stopped.value.code, "00:00 UTC" in stopped.value.hint) == (StopKind.DAILY_BUDGET, True)
    several.clock.skip(timedelta(minutes=10).total_seconds())
    assert await several.used_up(1, 200) == 200
    assert several.rates[1].today == 200


async def test_an_allowance_of_the_month_is_shared_from_where_the_counter_of_the_service_ends() -> None:
    several = Several(2)
    for _ in range(10):
        await several.rates[0].reserve(None)  # before it is known, and after the end of the counter
    await several.rates[0].give_back()
    assert await several.used_up(1, None, MONTH) == 50
    assert several.rates[1].left(MONTH) == 0
    with pytest.raises(StopRequested) as stopped:
        await several.rates[0].reserve(None, MONTH)
    assert (stopped.value.code, "2026-07-01" in stopped.value.hint) == (StopKind.MONTHLY_ALLOWANCE, True)


async def test_calls_of_other_jobs_are_seen_in_what_is_left() -> None:
    several = Several(2)
    for _ in range(7):
        await several.rates[0].reserve(None)
    await several.rates[0].give_back()
    await several.rates[1].reserve(None, MONTH)
    assert several.rates[1].left(MONTH) == 100 - 40 - 7 - 1
    assert several.rates[1].today == 8


async def test_what_a_job_sent_before_it_shared_its_calls_counts_once() -> None:
    several = Several(2)
    at = several.rates[0].slice
    for rate in several.rates:  # two processes of one job, which stored this
        rate.restore({str(at): 90})
    await several.rates[1].reserve(100)
    await several.rates[1].give_back()
    assert await several.used_up(0, 100) == 9


async def test_what_a_job_stores_of_calls_that_are_counted_already_is_not_added() -> None:
    several = Several(2)
    for _ in range(5):
        await several.rates[0].reserve(100)
    await several.rates[0].give_back()
    several.rates[1].restore(several.rates[0].sent)  # the next process of the job
    assert await several.used_up(1, 100) == 95


async def test_calls_that_a_job_sent_elsewhere_in_between_are_added() -> None:
    several = Several(2)
    await several.rates[0].reserve(100)
    await several.rates[0].give_back()
    at = several.rates[0].slice
    several.rates[1].restore({str(at): 1 + 30, str(at - 1): 9})  # its state was in a file, and is back
    assert await several.used_up(1, 100) == 100 - 1 - 30 - 9


async def test_a_clock_that_is_set_back_loses_no_counted_call() -> None:
    several = Several(1, datetime(2026, 6, 10, 12, 20, tzinfo=UTC))
    for _ in range(10):
        await several.rates[0].reserve(100)
    several.clock.skip(900.0)
    await several.rates[0].reserve(100)
    several.clock.skip(-900.0)
    assert await several.used_up(0, 100) == 89


async def test_most_calls_ask_nobody() -> None:
    several = Several(1)
    for _ in range(10 * BLOCK):
        await several.rates[0].reserve(100_000)
    assert several.shared.calls.requests == 10


ACTIONS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["send", "send many", "give back", "beat", "kill", "wait"])),
    max_size=60,
)


@given(ACTIONS, st.integers(0, 120))
async def test_whatever_happens_the_budget_is_not_exceeded(actions: list[tuple[int, str]], budget: int) -> None:
    several, sent = Several(4), 0
    day = several.clock.now().date()
    for number, action in actions:
        match action:
            case "kill":
                several.lessees[number] = Lessee(several.shared)
                several.rates[number] = CredentialRate(several.clock, several.lessees[number])
            case "wait":
                several.clock.skip(600.0)
            case "beat":
                await several.beat()
            case "give back":
                await several.rates[number].give_back()
            case _:
                for _ in range(1 if action == "send" else 20):
                    try:
                        await several.rates[number].reserve(budget)
                        sent += several.clock.now().date() == day
                    except StopRequested:
                        break
    assert sent <= budget
