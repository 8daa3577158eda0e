"""Permits from a database that is far away: its messages take long, and calls are sent all the same."""

from __future__ import annotations

import asyncio

import pytest

from dam_sync.http.rates.leased import LeasedRateLimiter
from tests.support.state.permit_schedule import Lessee, SharedSchedule
from tests.support.stepped_clock import SteppedClock

SECONDS, TASKS, RESPONSE = 20.0, 8, 0.05


class FarAway(Lessee):
    """prompt: whether it hears at once of pauses."""

    prompt = True

    @property
    def is_prompt(self) -> bool:
        return self.prompt


async def sent(rate: float, one_way: float, *, prompt: bool) -> list[float]:
    """When calls were permitted."""
    clock = SteppedClock(auto=True)
    shared = SharedSchedule(clock)
    lessee = FarAway(shared, one_way, one_way)
    lessee.prompt = prompt
    limiter, at = LeasedRateLimiter(rate, clock, lessee), list[float]()

    async def work() -> None:
        while True:
            permit = await limiter.take()
            at.append(clock.monotonic())
            await clock.sleep(RESPONSE)
            permit.responded = clock.monotonic()
            limiter.succeeded(permit)

    working = [asyncio.ensure_future(work()) for _ in range(TASKS)]
    await clock.sleep(SECONDS)
    for each in working:
        each.cancel()
    await asyncio.wait(working)
    shared.close()
    return at


@pytest.mark.parametrize("prompt", [True, False])
@pytest.mark.parametrize("one_way", [0.005, 0.04, 0.06, 0.1])
@pytest.mark.parametrize("rate", [1.0, 4.0, 20.0])
async def test_calls_are_sent_though_the_schedule_is_far_away(rate: float, one_way: float, prompt: bool) -> None:
    assert len(await sent(rate, one_way, prompt=prompt)) >= rate * SECONDS / 8
