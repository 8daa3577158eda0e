"""Uploads by ranges arrive whole, whatever the server keeps of each, and resume at every boundary."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.model.errors import ContractBroken, IntegrityError, SessionGone, Transient
from dam_sync.model.limits import Part
from dam_sync.model.ports import Content, Journal
from dam_sync.model.values import Json
from dam_sync.transfer.content import MemoryBudget
from dam_sync.transfer.upload import send_ranges
from tests.support.state.memory_journal import MemoryJournal
from tests.support.transfer.upload_servers import SIZE, WEEK, Faults, Once, RangesServer, crash_and_resume


async def by_ranges(content: Content, server: RangesServer, journal: Journal, step: int = 100) -> Json:
    return await send_ranges(content, server, step, journal, budget=MemoryBudget(10_000), ttl=WEEK)


@given(
    size=st.integers(0, 1000),
    step=st.integers(1, 300),
    takes=st.lists(st.integers(1, 300), max_size=5),
)
@settings(max_examples=40)
async def test_ranges_arrive_whole_in_sequence_whatever_the_server_keeps(
    size: int, step: int, takes: list[int]
) -> None:
    server, content = RangesServer(takes), Once(size)
    handle = await by_ranges(content, server, MemoryJournal(), step)
    assert server.sessions[handle["file"]] == content.source.data
    assert server.starts == sorted(set(server.starts))
    assert content.checks == 1


async def test_the_next_range_is_read_while_one_is_sent() -> None:
    server, content = RangesServer(), Once()
    await by_ranges(content, server, MemoryJournal())
    assert server.starts == list(range(0, SIZE, 100))
    assert server.calls == {"begin": 1, "finish": 1}
    gate, inner = asyncio.Event(), server.put

    async def slow(ticket: Json, part: Part, total: int, body: bytes) -> int:
        await gate.wait()
        return await inner(ticket, part, total, body)

    server.put = slow  # type: ignore[method-assign]
    content = Once()
    task = asyncio.create_task(by_ranges(content, server, MemoryJournal()))
    for _ in range(50):
        await asyncio.sleep(0)
    assert content.reads == [(0, 100), (100, 200)]
    gate.set()
    await task


@pytest.mark.parametrize("moment", range(1, 10))
async def test_ranges_resume_after_a_crash_at_any_moment(moment: int) -> None:
    server, journal = RangesServer(), MemoryJournal(blow_at=moment)
    handle, crashed = await crash_and_resume(lambda journal: by_ranges(Once(), server, journal), journal)
    assert crashed == (moment <= 6)
    assert server.sessions[handle["file"]] == Once().source.data


@pytest.mark.parametrize("number", range(1, 11))
@pytest.mark.parametrize("lost", [True, False])
async def test_a_broken_range_resumes_at_the_offset_of_the_server(number: int, lost: bool) -> None:
    call = f"put {number}"
    faults = Faults(lost={call}) if lost else Faults(fails={call: Transient("x")})
    server, journal = RangesServer(faults=faults), MemoryJournal()
    with pytest.raises(Transient):
        await by_ranges(Once(), server, journal)
    content = Once()
    handle = await by_ranges(content, server, journal)
    assert server.sessions[handle["file"]] == content.source.data
    assert server.calls == {"begin": 1, "offset": 1, "finish": 1}
    assert len(content.reads) == 10 - number + (not lost)


async def test_a_lost_finish_is_asked_again() -> None:
    server, journal = RangesServer(faults=Faults(lost={"finish"})), MemoryJournal()
    with pytest.raises(Transient):
        await by_ranges(Once(), server, journal)
    assert await by_ranges(Once(), server, journal) == {"file": "session 1"}
    assert len(server.starts) == 10


async def test_an_expired_range_session_is_discarded_and_started_again() -> None:
    server, journal = RangesServer(faults=Faults(fails={"put 3": Transient("x")})), MemoryJournal()
    with pytest.raises(Transient):
        await by_ranges(Once(), server, journal)
    server.sessions.clear()
    with pytest.raises(SessionGone):
        await by_ranges(Once(), server, journal)
    assert journal.done == {}
    assert await by_ranges(Once(), server, journal) == {"file": "session 2"}


@pytest.mark.parametrize(("offset", "message"), [(0, "repeatedly"), (-5, "byte -5"), (2000, "byte 2000 of a file")])
async def test_a_server_that_asks_for_nonsense(offset: int, message: str) -> None:
    server = RangesServer()

    async def put(ticket: Json, part: Part, total: int, body: bytes) -> int:
        server.calls["put"] += 1
        return offset

    server.put = put  # type: ignore[method-assign]
    with pytest.raises(ContractBroken, match=message):
        await by_ranges(Once(), server, MemoryJournal())
    assert server.calls["put"] <= 5


async def test_a_damaged_file_is_not_finished_by_ranges() -> None:
    server, journal = RangesServer(), MemoryJournal()
    with pytest.raises(IntegrityError):
        await by_ranges(Once(wrong=True), server, journal)
    assert server.calls["finish"] == 0
    assert journal.done == {}


async def test_ranges_need_no_budget() -> None:
    assert await send_ranges(Once(), RangesServer(), 300, MemoryJournal()) == {"file": "session 1"}
