"""Permits leased from PostgreSQL: processes that share a limit by real sockets, deaths, outages, rights."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from dam_sync.http.rates.limiters import RESERVE, WINDOW, ConcurrencyLimiter
from dam_sync.http.rates.shared_concurrency import SharedConcurrency
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import ConfigError, StoreBusy, StoreUnreachable
from dam_sync.model.permits import AHEAD, LeaseRequest
from dam_sync.store.base import Storage
from dam_sync.store.server.permits import ServerPermits
from dam_sync.store.server.shared_schema import SCHEMA
from tests.support.counting_server import counting
from tests.support.lessees import lessees, result
from tests.support.state.permit_schedule import EPOCH, SharedSchedule
from tests.support.state.postgres import CuttingProxy, execute, started
from tests.support.stepped_clock import SteppedClock

HASTY = Storage(patience=timedelta(seconds=0.5))
RATE = 50
SPACING = 1 / (RATE * (1 - RESERVE))


@pytest.fixture
def proxy() -> Iterator[CuttingProxy]:
    """In front of the server."""
    with closing(CuttingProxy(started())) as made:
        yield made


def test_four_processes_share_one_limit_and_no_call_is_refused() -> None:
    order = {"rate": RATE, "at_once": 32, "tasks": 8, "seconds": 5.0, "credential": SYSTEM_CLOCK.token()}
    with counting(RATE) as service, lessees(4, host=started().host, url=service.url, **order) as processes:
        results = [result(each) for each in processes]
        seen = service.end()
    assert seen.unexcused(results) == []
    assert sum(each["done"] for each in results) == len(seen.counted)
    assert all(each["done"] > 0 for each in results)
    assert sum(len(each["errors"]) for each in results) == len(seen.refused)


def test_a_killed_process_only_wastes_its_permits() -> None:
    order = {"rate": RATE, "at_once": 32, "tasks": 8, "seconds": 5.0, "credential": SYSTEM_CLOCK.token()}
    with counting(RATE) as service, lessees(3, host=started().host, url=service.url, **order) as processes:
        time.sleep(2.0)
        processes[0].kill()
        killed = time.monotonic()
        results = [result(each) for each in processes[1:]]
        seen = service.end()
    assert seen.unexcused(results) == []
    assert all(each["done"] > 0 for each in results)
    assert [at for at in seen.counted if at > killed + 1.0]


async def test_the_statements_do_on_the_server_what_they_do_in_virtual_time() -> None:
    clock = SteppedClock()
    permits, shared = await ServerPermits.open(started()), SharedSchedule(clock)
    real = permits.credential(SYSTEM_CLOCK.token())
    try:
        zero = (await real.look()).now
        late = None
        for wanted in (5, 0, 40, 3, 7, 1, 30):
            asked = LeaseRequest(wanted, SPACING, RATE, WINDOW, passed=2, late=late)
            there = await real.lease(asked)
            clock.skip(max(0.0, there.now - zero - clock.monotonic()))
            moved = None if late is None else (late[0], late[1] - zero + EPOCH)
            here = shared.lease(replace(asked, late=moved))
            assert (there.issued, len(there.due)) == (here.issued, len(here.due))
            assert [at - zero for at in there.due] == pytest.approx([at - EPOCH for at in here.due], abs=0.05)
            late = (there.issued - 1, there.free + 0.2) if there.due else None
    finally:
        await permits.close()
        shared.close()


async def test_processes_never_lease_one_permit_twice() -> None:
    several = [await ServerPermits.open(started()) for _ in range(3)]
    name = SYSTEM_CLOCK.token()
    schedules = [each.credential(name) for each in several]
    due: list[float] = []
    numbers: list[int] = []

    async def work(number: int) -> None:
        for _ in range(15):
            lease = await schedules[number].lease(LeaseRequest(4, SPACING, RATE, WINDOW))
            due.extend(lease.due)
            numbers.extend(range(lease.first, lease.issued))
            assert all(at <= lease.now + AHEAD + 1e-3 for at in lease.due)
            await asyncio.sleep(0.05)

    await asyncio.gather(*map(work, range(3)))
    for each in several:
        await each.close()
    assert sorted(numbers) == list(range(len(numbers)))
    due.sort()
    assert min(later - earlier for earlier, later in pairwise(due)) >= SPACING - 1e-5


async def test_a_lease_reads_the_clock_once_while_time_passes() -> None:
    permits = await ServerPermits.open(started())
    schedule = permits.credential(SYSTEM_CLOCK.token())
    spacing, free, issued = 4e-6, 0.0, 0  # another permit is due while a statement is at work
    try:
        for _ in range(200):
            lease = await schedule.lease(LeaseRequest(10_000_000, spacing))
            granted = len(lease.due)
            assert lease.issued == issued + granted
            if granted:
                assert lease.due[0] >= free - spacing / 2
            free, issued = lease.free, lease.issued
    finally:
        await permits.close()


async def test_a_pause_and_what_was_learned_reach_every_process() -> None:
    one, two = await ServerPermits.open(started()), await ServerPermits.open(started())
    name = SYSTEM_CLOCK.token()
    first, second = one.credential(name), two.credential(name)
    try:
        paused = await first.pause(30.0)
        assert (await second.lease(LeaseRequest(5, SPACING))).due == ()
        assert (await second.look()).paused_until == paused.paused_until >= paused.now + 29.9
        assert (await second.pause(1.0)).paused_until == paused.paused_until  # a longer one stays
        changed = await first.learn(0, {"rate": 7.0}, 1 / 7.0)
        assert changed is not None
        assert await second.learn(0, {"rate": 9.0}, 1 / 9.0) is None
        assert (await second.look()).learned == {"rate": 7.0}
        assert (await two.credential("another").look()).paused_until == 0.0
    finally:
        await one.close()
        await two.close()


async def test_permits_for_concurrent_calls_are_divided_and_returned() -> None:
    one, two = await ServerPermits.open(started()), await ServerPermits.open(started())
    name = SYSTEM_CLOCK.token()
    first, second = one.credential(name), two.credential(name)
    try:
        assert await first.share("a", 16, 0) == 16
        assert await second.share("b", 16, 0) == 0  # nothing is left yet
        assert await first.share("a", 16, 12) == 8  # these are under way, and count until they end
        assert await second.share("b", 16, 0) == 4
        assert await first.share("a", 16, 3) == 8
        assert await second.share("b", 16, 4) == 8
        await two.close()
        assert await first.share("a", 16, 8) == 16
        limiter = ConcurrencyLimiter(16)
        async with SharedConcurrency(limiter, one.credential("other"), SYSTEM_CLOCK):
            assert limiter.limit == 16
    finally:
        await one.close()
        await two.close()


async def test_a_process_that_always_has_more_to_send_leaves_others_their_part() -> None:
    one, two = await ServerPermits.open(started()), await ServerPermits.open(started())
    name = SYSTEM_CLOCK.token()
    busy = SharedConcurrency(ConcurrencyLimiter(4), one.credential(name), SYSTEM_CLOCK)
    late = SharedConcurrency(ConcurrencyLimiter(4), two.credential(name), SYSTEM_CLOCK)

    async def work() -> None:
        while True:
            async with busy:
                await SYSTEM_CLOCK.sleep(0.05)

    working = [asyncio.ensure_future(work()) for _ in range(16)]
    try:
        await SYSTEM_CLOCK.sleep(0.2)
        async with asyncio.timeout(30), late:
            pass
    finally:
        for each in working:
            each.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        await one.close()
        await two.close()


async def test_a_process_that_makes_no_calls_returns_the_permits_that_others_need() -> None:
    one, two = await ServerPermits.open(started()), await ServerPermits.open(started())
    name = SYSTEM_CLOCK.token()
    idle, busy = ConcurrencyLimiter(4), ConcurrencyLimiter(4)
    try:
        async with SharedConcurrency(idle, one.credential(name), SYSTEM_CLOCK):
            assert idle.limit == 4
        async with SharedConcurrency(busy, two.credential(name), SYSTEM_CLOCK):  # once something is given back
            assert idle.limit == busy.limit == 2
    finally:
        await one.close()
        await two.close()


async def test_calls_that_wait_continue_once_a_process_that_was_taken_for_dead_has_a_share_again() -> None:
    one, two = await ServerPermits.open(started()), await ServerPermits.open(started())
    name = SYSTEM_CLOCK.token()
    most = 4444  # of this test alone: others share the table
    other, limiter = two.credential(name), ConcurrencyLimiter(most)
    shared = SharedConcurrency(limiter, one.credential(name), SYSTEM_CLOCK)
    try:
        async with shared:
            execute(
                started(), f"DELETE FROM {SCHEMA}.participant WHERE held = {most}"
            )  # as after a computer that slept
            assert await other.share("b", most, 0) == most
        while limiter.limit:
            await SYSTEM_CLOCK.sleep(0.1)
        waiting = asyncio.ensure_future(limiter.__aenter__())
        assert await other.share("b", most, 0) == most // 2
        await asyncio.wait_for(waiting, 60)
        assert limiter.limit == most // 2
    finally:
        await one.close()
        await two.close()


async def test_an_outage_is_waited_out_and_a_long_one_ends_it_without_a_permit(proxy: CuttingProxy) -> None:
    permits = await ServerPermits.open(proxy.server, HASTY)
    schedule = permits.credential(SYSTEM_CLOCK.token())
    try:
        await schedule.lease(LeaseRequest(1, SPACING))
        proxy.cut_at(b"UPDATE permit", forwarded=True)
        lease = await schedule.lease(LeaseRequest(1, SPACING))
        assert proxy.cuts == 1
        assert 2 <= lease.issued <= 3  # one may be wasted
        proxy.refuse()
        with pytest.raises(StoreUnreachable):
            await schedule.lease(LeaseRequest(1, SPACING))
    finally:
        await permits.close()


async def test_the_error_for_a_user_without_rights_says_what_to_grant() -> None:
    await (await ServerPermits.open(started())).close()
    execute(started(), "DROP ROLE IF EXISTS nobody_here", "CREATE ROLE nobody_here LOGIN")
    with pytest.raises(ConfigError, match=f"the schema {SCHEMA}, in which jobs share rate limits") as refused:
        await ServerPermits.open(replace(started(), user="nobody_here"))
    assert f"USAGE on the schema {SCHEMA}" in str(refused.value)
    assert f'GRANT USAGE ON SCHEMA "{SCHEMA}" TO "nobody_here";' in refused.value.hint


async def test_nothing_in_the_database_reveals_the_credential() -> None:
    permits = await ServerPermits.open(started())
    identity = f"token {SYSTEM_CLOCK.token()}"
    await permits.credential(identity).look()
    await permits.close()
    rows = execute(started(), f"SELECT credential FROM {SCHEMA}.permit")
    assert not any(identity.partition(" ")[2] in row[0] for row in rows)


async def test_a_beat_that_fails_is_not_the_last() -> None:
    """Otherwise others take the share of this process, which continues with it."""
    permits = await ServerPermits.open(replace(started(), schema=SCHEMA), HASTY)
    failed, went_on = asyncio.Event(), asyncio.Event()

    async def beat() -> None:
        if failed.is_set():
            went_on.set()
            return
        failed.set()
        raise StoreBusy("another process holds the row")

    permits.credential("k").on_beat(beat)
    async with asyncio.timeout(20):
        await went_on.wait()
    await permits.close()
