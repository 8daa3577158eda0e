"""Notifications between processes: heard at once, heard again after a lost connection, and what is known by them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest

from dam_sync.http.rates.leased import LeasedRateLimiter
from dam_sync.http.rates.limiters import ConcurrencyLimiter
from dam_sync.http.rates.shared_concurrency import SharedConcurrency
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.permits import CredentialPermits, Lease, LeaseRequest
from dam_sync.model.shared_target import SharedPart
from dam_sync.store.server.database import application_name
from dam_sync.store.server.notices import CHANNEL, ServerNotices
from dam_sync.store.server.permits import ServerPermits
from dam_sync.store.server.target import ServerTarget
from tests.support.state.postgres import execute, started
from tests.support.stepped_clock import SteppedClock

LONG = 60.0  # seconds that a test waits at most for what happens at once
OURS = f"query LIKE 'LISTEN {CHANNEL}%' AND application_name = '{application_name()}'"
SEA = SharedPart("topics", ("Sea",), {"id": "7"})


async def until(reached: Callable[[], bool]) -> None:
    """Wait until it is so."""
    async with asyncio.timeout(LONG):
        while not reached():
            await SYSTEM_CLOCK.sleep(0.01)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """What a test opens is closed in the end."""
    async with AsyncExitStack() as opened:
        yield opened


async def listening(stack: AsyncExitStack) -> ServerNotices:
    """Notices of one process, once it listens."""
    made = ServerNotices(started())
    made.start()
    stack.push_async_callback(made.close)
    await until(lambda: made.is_listening)
    return made


async def permits_of(stack: AsyncExitStack, notices: ServerNotices | None) -> ServerPermits:
    made = await ServerPermits.open(started(), notices=notices)
    stack.push_async_callback(made.close)
    return made


async def target_of(stack: AsyncExitStack, name: str, notices: ServerNotices | None) -> ServerTarget:
    made = await ServerTarget.open(started(), notices=notices, read_only=False)
    await made.identify(name, timedelta(0))
    stack.push_async_callback(made.close)
    return made


class Counted:
    """Permits of a credential, and how often the schedule was looked at."""

    def __init__(self, inner: CredentialPermits) -> None:
        self._inner, self.looks, self.leases = inner, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def look(self) -> Lease:
        self.looks += 1
        return await self._inner.look()

    async def lease(self, request: LeaseRequest) -> Lease:
        lease = await self._inner.lease(request)
        self.leases += 1
        return lease


async def test_permits_are_used_without_looking_again(stack: AsyncExitStack) -> None:
    counted = Counted((await permits_of(stack, await listening(stack))).credential(SYSTEM_CLOCK.token()))
    limiter = LeasedRateLimiter(5.0, SYSTEM_CLOCK, counted)  # type: ignore[arg-type]
    for _ in range(5):
        await limiter.take()
    assert counted.looks == 1


async def test_a_pause_stops_a_permit_that_was_leased_and_is_known_without_looking(stack: AsyncExitStack) -> None:
    name, clock, changed = SYSTEM_CLOCK.token(), SteppedClock(), asyncio.Event()
    counted = Counted((await permits_of(stack, await listening(stack))).credential(name))
    limiter = LeasedRateLimiter(5.0, clock, counted)  # type: ignore[arg-type]
    counted.on_change(changed.set)
    first = asyncio.ensure_future(limiter.take())
    while not first.done():
        await clock.advance(0.02)
        await SYSTEM_CLOCK.sleep(0.01)
    waiting, leases, looks = asyncio.ensure_future(limiter.take()), counted.leases, counted.looks
    await until(lambda: counted.leases > leases)
    await (await permits_of(stack, None)).credential(name).pause(300.0)
    await asyncio.wait_for(changed.wait(), LONG)
    for _ in range(20):
        await clock.advance(0.1)
        await SYSTEM_CLOCK.sleep(0.01)
    assert not waiting.done()
    assert limiter.pause_left() > 200
    assert counted.looks == looks + 1
    waiting.cancel()
    await asyncio.wait([waiting])


async def test_without_a_connection_it_looks_often_and_listens_again(stack: AsyncExitStack) -> None:
    name = SYSTEM_CLOCK.token()
    notices = await listening(stack)
    credential = (await permits_of(stack, notices)).credential(name)
    counted, heard = Counted(credential), list[str]()
    notices.on("topic", "me", lambda: heard.append("topic"))
    limiter = LeasedRateLimiter(5.0, SYSTEM_CLOCK, counted)  # type: ignore[arg-type]
    await limiter.take()
    assert credential.is_prompt
    ended = f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {OURS}"
    execute(started(), ended)
    await until(lambda: not notices.is_listening)
    assert not credential.is_prompt
    looks = counted.looks
    await limiter.take()
    await limiter.take()
    assert counted.looks > looks
    await until(lambda: notices.is_listening)
    heard.clear()
    execute(started(), f"SELECT pg_notify('{CHANNEL}', 'topic me')", f"SELECT pg_notify('{CHANNEL}', 'topic you')")
    await until(lambda: bool(heard))
    assert heard == ["topic"]  # of somebody else


async def test_what_is_missed_while_the_connection_is_lost_is_looked_for(stack: AsyncExitStack) -> None:
    notices, heard = await listening(stack), list[str]()
    notices.on("topic", "me", lambda: heard.append("topic"))
    ended = f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {OURS}"
    execute(started(), ended)
    await until(lambda: not notices.is_listening)
    heard.clear()
    await until(lambda: notices.is_listening)
    assert heard


async def test_a_share_that_is_freed_is_known_at_once(stack: AsyncExitStack) -> None:
    name = SYSTEM_CLOCK.token()
    one = await permits_of(stack, await listening(stack))
    two = await ServerPermits.open(started())
    assert await two.credential(name).share("a", 4, 4) == 4
    limiter, asked = ConcurrencyLimiter(4), list[int]()

    class Asked(Counted):
        async def share(self, participant: str, most: int, under_way: int) -> int:
            asked.append(await self._inner.share(participant, most, under_way))
            return asked[-1]

    shared = SharedConcurrency(limiter, Asked(one.credential(name)), SlowClock())  # type: ignore[arg-type]

    async def enter() -> None:
        async with shared:
            pass

    waiting = asyncio.ensure_future(enter())
    await until(lambda: asked == [0])
    await two.close()
    async with asyncio.timeout(LONG):
        await waiting
    assert asked == [0, 4]


class SlowClock(type(SYSTEM_CLOCK)):  # type: ignore[misc]
    """A clock whose pauses take a hundred times as long."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds * 100)


async def test_a_new_term_is_known_to_the_others_at_once(stack: AsyncExitStack) -> None:
    name = SYSTEM_CLOCK.token()
    one = await target_of(stack, name, None)
    two = await target_of(stack, name, await listening(stack))
    await two.created_by_others("terms")
    assert not two.has_news("terms")
    await two.created("terms", [SharedPart("topics", ("City",), {"id": "8"})])
    await one.created("terms", [SEA])
    await until(lambda: two.has_news("terms"))
    assert await two.created_by_others("terms") == [SEA]
    assert not two.has_news("terms")
