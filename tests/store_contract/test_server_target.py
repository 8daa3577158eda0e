"""What jobs report to each other about a target through PostgreSQL: one creates at a time, deaths, names, outages."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from datetime import timedelta

import pytest

from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.counterpart import CONTAINER, PLACED, TERM, Counterpart
from dam_sync.model.errors import Transient
from dam_sync.model.shared_target import SharedPart
from dam_sync.model.state_server import StateServer
from dam_sync.model.values import Term, value_to_json
from dam_sync.store.base import Storage
from dam_sync.store.note_keys import MET_TERMS
from dam_sync.store.server.shared_schema import PART, SCHEMA, VERSION_TABLE
from dam_sync.store.server.target import KEPT, ClaimTimes, ServerTarget
from dam_sync.store.store import SqlStore
from tests.support.programs import CODE, PIPE, Program
from tests.support.state.clock_and_rows import SetClock
from tests.support.state.postgres import CuttingProxy, end_locks, execute

HASTY = Storage(patience=timedelta(seconds=0.5))
USUAL, QUICK = ClaimTimes(), ClaimTimes(renewal=0.05, trusted=1.0, ending=1.5)
TERMS, LAG = "terms", timedelta(0)
LAKE = SharedPart("topics", ("Lake",))
SEA, CITY = SharedPart("topics", ("Sea",), {"id": "7"}), SharedPart("topics", ("City",), {"id": "8"})
DIES = """
import asyncio, sys
from tests.store_contract.test_server_target import SEA, TERMS, joined
from tests.support.state.postgres import StateServer
async def main():
    made = await joined(StateServer(sys.argv[1], None, sys.argv[2], "postgres", "", sys.argv[3]), sys.argv[4])
    async with made.creating(TERMS):
        await made.begin(TERMS, [SEA])
        print("begun", flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


async def joined(
    server: StateServer, target: str, *, read_only: bool = False, lag: timedelta = LAG, times: ClaimTimes = USUAL
) -> ServerTarget:
    """The target, as a process of the job knows it whose state is there."""
    made = await ServerTarget.open(server, HASTY, read_only=read_only, times=times)
    await made.identify(target, lag)
    return made


@pytest.fixture
def target() -> str:
    """The name of a new target."""
    return SYSTEM_CLOCK.token()


@pytest.fixture
def jobs(database: StateServer) -> tuple[StateServer, StateServer]:
    """The states of two jobs."""
    return replace(database, schema="dam_sync_one"), replace(database, schema="dam_sync_two")


@pytest.fixture
async def both(jobs: tuple[StateServer, StateServer], target: str) -> AsyncIterator[tuple[ServerTarget, ServerTarget]]:
    """The target as both jobs know it."""
    async with AsyncExitStack() as stack:
        made = [await joined(each, target) for each in jobs]
        for each in made:
            stack.push_async_callback(each.close)
        yield made[0], made[1]


async def create(shared: ServerTarget, part: SharedPart, made: list[str], known: set[tuple[str, ...]]) -> None:
    """Create it unless another did. known: what this process learned of the others, which it learns once."""
    async with shared.creating(TERMS):
        known |= {each.path for each in await shared.created_by_others(TERMS)}
        if part.path not in known:
            await shared.begin(TERMS, [part])
            await asyncio.sleep(0.05)
            made.append("/".join(part.path))
            await shared.created(TERMS, [part])


async def test_what_one_creates_the_other_that_waited_finds(both: tuple[ServerTarget, ServerTarget]) -> None:
    made: list[str] = []
    known: dict[int, set[tuple[str, ...]]] = {id(each): set() for each in both}
    await asyncio.gather(*(create(each, part, made, known[id(each)]) for part in (SEA, CITY) for each in both))
    assert sorted(made) == ["City", "Sea"]


async def test_only_what_others_created_is_reported_and_only_once(both: tuple[ServerTarget, ServerTarget]) -> None:
    one, two = both
    async with one.creating(TERMS):
        await one.begin(TERMS, [SEA])
        assert await two.created_by_others(TERMS) == []  # it is under way
        await one.created(TERMS, [SEA])
    assert await one.created_by_others(TERMS) == []
    assert await two.created_by_others("containers") == []
    assert await two.created_by_others(TERMS) == [SEA]
    assert await two.created_by_others(TERMS) == []
    renamed = SharedPart("topics", ("Ocean",), {"id": "7"}, before=("Sea",))
    await one.created(TERMS, [renamed])
    assert await two.created_by_others(TERMS) == [renamed]


async def test_a_new_process_learns_what_listings_may_lack(
    both: tuple[ServerTarget, ServerTarget], jobs: tuple[StateServer, StateServer], target: str
) -> None:
    await both[0].created(TERMS, [SEA])
    execute(jobs[0], f"UPDATE {SCHEMA}.{PART} SET at = at - 60 WHERE place = 'topics'")
    for job, name, lag, found in (
        (jobs[1], target, timedelta(0), []),  # its listing has it
        (jobs[1], target, timedelta(minutes=5), [SEA]),
        (jobs[0], target, timedelta(minutes=5), []),  # its own state has it
        (jobs[1], f"{target} too", timedelta(minutes=5), []),
    ):
        made = await joined(job, name, lag=lag)
        assert await made.created_by_others(TERMS) == found
        await made.close()


async def test_what_every_process_knows_by_now_is_forgotten(
    both: tuple[ServerTarget, ServerTarget], jobs: tuple[StateServer, StateServer], target: str
) -> None:
    one, two = both
    async with one.creating(TERMS):
        await one.begin(TERMS, [LAKE])  # its outcome is unknown
        await one.created(TERMS, [SEA])
        old = f"UPDATE {SCHEMA}.{PART} SET at = at - {KEPT.total_seconds()} WHERE place = 'topics'"
        execute(jobs[0], old)
        await one.created(TERMS, [CITY])
    mine = f"target = '{hashlib.sha256(target.encode()).hexdigest()}'"
    plan = await joined(jobs[1], f"{target} too", read_only=True)
    assert len(execute(jobs[0], f"SELECT 1 FROM {SCHEMA}.{PART} WHERE {mine}")) == 3, "a plan removes nothing"
    other = await joined(jobs[1], f"{target} too")  # whatever target it writes into
    assert execute(jobs[0], f"SELECT path FROM {SCHEMA}.{PART} WHERE {mine}") == [('["City"]',)]
    assert await two.created_by_others(TERMS) == [CITY]
    for each in (plan, other):
        await each.close()


async def test_a_process_that_died_lets_the_next_one_in_who_learns_what_it_began(
    both: tuple[ServerTarget, ServerTarget], jobs: tuple[StateServer, StateServer], target: str
) -> None:
    given = jobs[0].host, jobs[0].database, jobs[0].schema, target
    process = await asyncio.to_thread(Program, CODE, DIES, *given, out=PIPE, err=None)
    assert process.stdout is not None
    assert await asyncio.to_thread(process.stdout.readline) == "begun\n"

    async def enter() -> list[SharedPart]:
        async with both[1].creating(TERMS):
            found = list(await both[1].created_by_others(TERMS))
            await both[1].created(TERMS, found)  # the target has it not
            return found

    waiting = asyncio.ensure_future(enter())
    await asyncio.sleep(0.3)
    assert not waiting.done()
    process.kill()
    process.wait()
    process.stdout.close()
    assert await waiting == [replace(SEA, value=None)]
    async with both[1].creating(TERMS):
        assert await both[1].created_by_others(TERMS) == []


async def test_a_process_that_lost_its_lock_begins_nothing(
    both: tuple[ServerTarget, ServerTarget],
) -> None:
    one, two = both
    async with one.creating(TERMS):
        end_locks()
        with pytest.raises(Transient, match="nothing was written"):
            await one.begin(TERMS, [SEA])
        async with two.creating(TERMS):
            assert await two.created_by_others(TERMS) == []
    async with one.creating(TERMS):
        await one.begin(TERMS, [SEA])
        await one.created(TERMS, [SEA])
    assert await two.created_by_others(TERMS) == [SEA]


async def entered(shared: ServerTarget, events: list[str]) -> list[SharedPart]:
    """What a process finds that is the next one."""
    async with shared.creating(TERMS):
        found = list(await shared.created_by_others(TERMS))
        events.append("next")
        return found


async def test_the_next_one_waits_for_a_call_that_outlives_its_lock(
    jobs: tuple[StateServer, StateServer], target: str
) -> None:
    """It may take long, and its process is there, and says so."""
    one, two = [await joined(each, target, times=QUICK) for each in jobs]
    events: list[str] = []
    async with one.creating(TERMS):
        await one.begin(TERMS, [SEA])
        end_locks()
        waiting = asyncio.ensure_future(entered(two, events))
        await asyncio.wait([waiting], timeout=2 * QUICK.ending)  # the call goes on meanwhile
        one.prove_claimed()
        events.append("created")
        await one.created(TERMS, [SEA])
    assert await waiting == [SEA]
    assert events == ["created", "next"]
    for each in (one, two):
        await each.close()


async def test_a_call_is_cancelled_before_the_next_one_goes_on_if_its_process_cannot_say_that_it_is_there(
    jobs: tuple[StateServer, StateServer], target: str
) -> None:
    with closing(CuttingProxy(jobs[0])) as proxy:
        one = await joined(proxy.server, target, times=QUICK)
        two = await joined(jobs[1], target, times=QUICK)
        events, begun = list[str](), asyncio.Event()

        async def create_in_vain() -> None:
            async with one.creating(TERMS):
                await one.begin(TERMS, [SEA])
                proxy.refuse()
                begun.set()
                try:
                    await asyncio.Event().wait()  # the call
                finally:
                    events.append("cancelled")
                    with pytest.raises(Transient):
                        one.prove_claimed()

        creating = asyncio.ensure_future(create_in_vain())
        await begun.wait()
        waiting = asyncio.ensure_future(entered(two, events))
        with pytest.raises(Transient, match="looks for it"):
            await creating
        one.prove_claimed()  # what is written besides does not depend on it
        assert await waiting == [replace(SEA, value=None)]
        assert events == ["cancelled", "next"]
        for each in (one, two):
            await each.close()


async def test_what_failed_is_left_open_for_others_who_need_not_wait(
    both: tuple[ServerTarget, ServerTarget], jobs: tuple[StateServer, StateServer], target: str
) -> None:
    one, two = both
    async with one.creating(TERMS):
        await one.begin(TERMS, [SEA, CITY])
        await one.created(TERMS, [replace(CITY, value=None)])  # it was refused; of the other one nothing is known
    async with one.creating(TERMS):
        assert await one.created_by_others(TERMS) == []  # its own service knows
    mine = f"value IS NULL AND target = '{hashlib.sha256(target.encode()).hexdigest()}'"
    rows = execute(jobs[0], f"SELECT split_part(process, '/', 2) FROM {SCHEMA}.{PART} WHERE {mine}")
    assert rows == [("0",)]
    async with two.creating(TERMS):
        assert await two.created_by_others(TERMS) == [replace(SEA, value=None)]


async def test_an_outage_is_waited_out(jobs: tuple[StateServer, StateServer], target: str) -> None:
    with closing(CuttingProxy(jobs[0])) as proxy:
        made = await joined(proxy.server, target)
        async with made.creating(TERMS):
            await made.begin(TERMS, [SEA])
        proxy.cut_at(b"pg_advisory_lock", forwarded=False)
        async with made.creating(TERMS):
            proxy.cut_at(b"INSERT", forwarded=True)
            await made.created(TERMS, [SEA])
        assert proxy.cuts == 2
        other = await joined(jobs[1], target)
        assert await other.created_by_others(TERMS) == [SEA]
        await other.close()
        await made.close()


async def test_who_waits_can_be_cancelled(both: tuple[ServerTarget, ServerTarget]) -> None:
    one, two = both
    async with one.creating(TERMS):
        waiting = asyncio.ensure_future(create(two, SEA, [], set()))
        await asyncio.sleep(0.2)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
    made: list[str] = []
    await create(two, SEA, made, set())
    assert made == ["Sea"]


async def test_a_name_is_of_one_job_as_long_as_its_state_has_it(
    both: tuple[ServerTarget, ServerTarget], jobs: tuple[StateServer, StateServer]
) -> None:
    one, two = both
    states = [await SqlStore.open(each, SetClock()) for each in jobs]
    assert await states[0].reserve_name("sea.jpg", "a") is None
    assert await one.reserve_name("sea.jpg", "a")
    assert await one.reserve_name("sea.jpg", "a")
    assert await states[1].reserve_name("sea.jpg", "z") is None
    assert not await two.reserve_name("sea.jpg", "z")
    execute(jobs[0], "DELETE FROM name")  # its asset was undone
    assert await two.reserve_name("sea.jpg", "z")
    assert not await one.reserve_name("sea.jpg", "a")
    execute(jobs[0], f'DROP SCHEMA "{jobs[1].schema}" CASCADE')  # the other job has ended
    assert await one.reserve_name("sea.jpg", "b")
    for each in states:
        await each.close()


async def test_jobs_that_reserve_a_name_at_once_get_it_once(
    both: tuple[ServerTarget, ServerTarget], jobs: tuple[StateServer, StateServer]
) -> None:
    states = [await SqlStore.open(each, SetClock()) for each in jobs]
    names = [f"{number}.jpg" for number in range(20)]

    async def reserve(number: int) -> list[bool]:
        found = []
        for name in names:
            await states[number].reserve_name(name, "a")
            found.append(await both[number].reserve_name(name, "a"))
        return found

    first, second = await asyncio.gather(reserve(0), reserve(1))
    assert [one + two for one, two in zip(first, second, strict=True)] == [1] * len(names)
    for each in states:
        await each.close()


async def test_a_plan_claims_nothing(
    both: tuple[ServerTarget, ServerTarget], jobs: tuple[StateServer, StateServer], target: str
) -> None:
    state = await SqlStore.open(jobs[0], SetClock())
    await state.reserve_name("sea.jpg", "a")
    await both[0].reserve_name("sea.jpg", "a")
    plan = await joined(jobs[1], target, read_only=True)
    async with both[0].creating(TERMS), plan.creating(TERMS):  # waits for nobody
        await plan.begin(TERMS, [CITY])
        await plan.created(TERMS, [CITY])
    assert not await plan.reserve_name("sea.jpg", "z")
    assert await plan.reserve_name("land.jpg", "z")
    assert await both[0].created_by_others(TERMS) == []
    await state.reserve_name("land.jpg", "b")
    assert await both[0].reserve_name("land.jpg", "b")
    await plan.close()
    await state.close()


async def test_a_term_or_container_that_another_job_uses_is_used_elsewhere(
    both: tuple[ServerTarget, ServerTarget], jobs: tuple[StateServer, StateServer]
) -> None:
    states = [await SqlStore.open(each, SetClock()) for each in jobs]
    sea = Counterpart(TERM, "topics", "s7", ("Sea",), "topics", "7", ("Sea",), ("Sea",))
    await states[0].keep_counterparts([sea])
    assert await both[1].is_used_elsewhere(TERM, "topics", "7")
    assert not await both[1].is_used_elsewhere(TERM, "topics", "8")
    assert not await both[0].is_used_elsewhere(TERM, "topics", "7")
    imports = Counterpart(PLACED, "folder", "f1", ("Imports",), "folder", "f1", ("Imports",), ("Imports",))
    await states[0].keep_counterparts([imports])  # nothing of its source stands for it, but assets are in it
    assert await both[1].is_used_elsewhere(CONTAINER, "folder", "f1")
    assert not await both[1].is_used_elsewhere(CONTAINER, "folder", "f2")
    met = {"topics": {"key": value_to_json(Term("City", "8"))}}
    await states[0].set_meta(MET_TERMS, {"mapping": "", "terms": met})  # it found a term, and would create none
    assert await both[1].is_used_elsewhere(TERM, "topics", "8")
    assert not await both[1].is_used_elsewhere(TERM, "topics", "9")
    for each in states:
        await each.close()


async def test_a_state_that_may_not_be_read_counts_as_one_that_uses_it(
    jobs: tuple[StateServer, StateServer], target: str
) -> None:
    state = await SqlStore.open(jobs[0], SetClock())
    await state.reserve_name("sea.jpg", "a")
    first = await joined(jobs[0], target)
    await first.reserve_name("sea.jpg", "a")
    user = f"u{SYSTEM_CLOCK.token()}"
    execute(
        jobs[0],
        f"CREATE ROLE {user} LOGIN",
        f"GRANT USAGE ON SCHEMA {SCHEMA} TO {user}",
        f"GRANT ALL ON ALL TABLES IN SCHEMA {SCHEMA} TO {user}",
        f"GRANT ALL ON ALL SEQUENCES IN SCHEMA {SCHEMA} TO {user}",
    )
    stranger = await joined(replace(jobs[1], user=user), target)
    assert not await stranger.reserve_name("sea.jpg", "z")
    assert await stranger.is_used_elsewhere(TERM, "topics", "7")
    for each in (first, stranger, state):
        await each.close()
    execute(jobs[0], f"DROP OWNED BY {user}", f"DROP ROLE {user}")


async def test_a_database_of_an_older_release_gets_the_tables_that_it_lacks(
    jobs: tuple[StateServer, StateServer], target: str
) -> None:
    await (await joined(jobs[0], target)).close()
    for name in ("target_part", "target_name", "target_job", VERSION_TABLE):
        execute(jobs[0], f"DROP TABLE {SCHEMA}.{name}")
    made = await joined(jobs[0], target)
    assert await made.reserve_name("sea.jpg", "a")
    await made.close()
