"""Uploads in parts resume at every boundary, send no part twice, and keep to their bounds of tasks and memory."""

from __future__ import annotations

import asyncio
import tracemalloc
from contextlib import aclosing
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.model.asset import FileRef
from dam_sync.model.errors import Denied, IntegrityError, InternalError, InvalidValue, SessionGone, TooLarge, Transient
from dam_sync.model.limits import MIB, Part, PartBounds
from dam_sync.model.ports import Content, Journal
from dam_sync.model.values import Json
from dam_sync.transfer.checked import CheckedContent
from dam_sync.transfer.content import MemoryBudget, MemoryContent, RangedContent
from dam_sync.transfer.part_sender import Blocks
from dam_sync.transfer.upload import send_parts
from dam_sync.transfer.upload_session import UploadSession
from tests.support.state.memory_journal import MemoryJournal
from tests.support.transfer.byte_source import generated
from tests.support.transfer.upload_servers import (
    BOUNDS,
    SIZE,
    WEEK,
    Faults,
    Once,
    PartsServer,
    crash_and_resume,
    ranged,
)


async def by_parts(
    content: Content,
    server: PartsServer,
    journal: Journal,
    budget: MemoryBudget | None = None,
    bounds: PartBounds = BOUNDS,
) -> Json:
    return await send_parts(content, server, bounds, journal, budget or MemoryBudget(10_000), ttl=WEEK)


@given(
    size=st.integers(0, 10**12),
    preferred=st.integers(5 * MIB, 100 * MIB),
    count=st.one_of(st.none(), st.integers(1, 10_000)),
)
@settings(deadline=None)  # up to 200,000 parts
def test_bounds_cut_the_file_whole_and_in_order(size: int, preferred: int, count: int | None) -> None:
    bounds = PartBounds(preferred, least=5 * MIB, most=100 * MIB, count=count)
    try:
        parts = bounds.split(size)
    except ValueError:
        assert count is not None
        assert size > 100 * MIB * count
        return
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))
    assert (parts[0].start, parts[-1].stop) == (0, size)
    assert all(one.stop == two.start for one, two in pairwise(parts))
    assert all(5 * MIB <= part.size <= 100 * MIB for part in parts[:-1])
    assert 0 <= parts[-1].size <= 100 * MIB
    assert count is None or len(parts) <= count


@given(size=st.integers(0, 1200), preferred=st.integers(1, 300), at_once=st.integers(1, 5), memory=st.integers(1, 900))
@settings(max_examples=40)
async def test_parts_arrive_whole_in_bounds_of_tasks_and_memory(
    size: int, preferred: int, at_once: int, memory: int
) -> None:
    server, journal, content = PartsServer(), MemoryJournal(), Once(size)
    budget = MemoryBudget(memory)
    handle = await by_parts(content, server, journal, budget, PartBounds(preferred, 1, at_once=at_once))
    assert server.files[handle["file"]] == content.source.data
    assert server.most_flying <= at_once
    assert set(server.puts.values()) == {1}
    assert content.reads == sorted(content.reads)
    assert content.checks == 1
    assert budget.held == 0


async def test_the_next_part_is_read_while_others_are_sent() -> None:
    server, content = PartsServer(), Once()
    gate = asyncio.Event()
    inner = server.put

    async def slow(ticket: Json, part: Part, body: bytes) -> Json:
        await gate.wait()
        return await inner(ticket, part, body)

    server.put = slow  # type: ignore[method-assign]
    budget = MemoryBudget(10_000)
    task = asyncio.create_task(by_parts(content, server, MemoryJournal(), budget))
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(content.reads) == BOUNDS.at_once + 1
    assert budget.held == 100 * (BOUNDS.at_once + 1)
    gate.set()
    await task


async def test_bodies_wait_for_memory() -> None:
    server, content, budget = PartsServer(), Once(), MemoryBudget(100)
    task = asyncio.create_task(by_parts(content, server, MemoryJournal(), budget))
    async with budget.hold(50):
        for _ in range(50):
            await asyncio.sleep(0)
        assert content.reads == []
    await task
    assert server.most_flying == 1


async def test_content_in_memory_holds_no_memory_twice() -> None:
    content = MemoryContent(FileRef("1", "a.tif"), bytes(SIZE), {})
    budget = MemoryBudget(SIZE)
    async with budget.hold(SIZE):
        await asyncio.wait_for(by_parts(content, PartsServer(), MemoryJournal(), budget), 5)


@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize("moment", range(1, 40))
async def test_parts_resume_after_a_crash_at_any_moment(moment: int, tells: bool) -> None:
    server, journal = PartsServer(tells), MemoryJournal(blow_at=moment)
    handle, crashed = await crash_and_resume(lambda journal: by_parts(Once(), server, journal), journal)
    assert crashed == (moment <= 36)  # begin, ten parts, finish: three moments each
    assert server.files[handle["file"]] == Once().source.data
    if tells:
        assert set(server.puts.values()) == {1}
    assert sum(server.puts.values()) <= 10 + BOUNDS.at_once
    assert server.calls["begin"] <= 2


async def test_recorded_parts_are_neither_read_nor_sent_again() -> None:
    server, journal = PartsServer(tells=False), MemoryJournal()
    server.faults.fails["put 6"] = Denied("no")
    with pytest.raises(Denied):
        await by_parts(Once(), server, journal, bounds=PartBounds(100, 50, at_once=1))
    content = Once()
    await by_parts(content, server, journal)
    assert content.reads[0] == (500, 600)
    assert set(server.puts.values()) == {1}


async def test_a_part_whose_response_was_lost_is_found_at_the_server() -> None:
    server, journal = PartsServer(faults=Faults(lost={"put 4"})), MemoryJournal()
    with pytest.raises(Transient):
        await by_parts(Once(), server, journal)
    await by_parts(Once(), server, journal)
    assert set(server.puts.values()) == {1}


async def test_a_server_that_does_not_list_its_parts_gets_the_part_again() -> None:
    server, journal = PartsServer(tells=False, faults=Faults(lost={"put 4"})), MemoryJournal()
    with pytest.raises(Transient):
        await by_parts(Once(), server, journal)
    handle = await by_parts(Once(), server, journal)
    assert server.files[handle["file"]] == Once().source.data
    assert server.puts["session 1", 4] == 2


@pytest.mark.parametrize("call", ["begin", "finish"])
async def test_a_lost_response_around_the_parts(call: str) -> None:
    server, journal = PartsServer(faults=Faults(lost={call})), MemoryJournal()
    with pytest.raises(Transient):
        await by_parts(Once(), server, journal)
    handle = await by_parts(Once(), server, journal)
    assert server.files[handle["file"]] == Once().source.data
    assert sum(server.puts.values()) == 10
    assert len(server.files) == 1


async def test_a_finished_upload_costs_nothing_again() -> None:
    server, journal = PartsServer(), MemoryJournal()
    first = await by_parts(Once(), server, journal)
    content = Once()
    assert await by_parts(content, server, journal) == first
    assert (server.calls["finish"], server.calls["received"], content.reads, content.checks) == (1, 0, [], 0)


@pytest.mark.parametrize("call", ["put 5", "finish"])
async def test_an_expired_session_is_discarded_and_started_again(call: str) -> None:
    server, journal = PartsServer(faults=Faults(fails={call: SessionGone("over")})), MemoryJournal()
    journal.done["other:begin"] = ("stays", journal.now)
    with pytest.raises(SessionGone):
        await by_parts(Once(), server, journal)
    assert set(journal.done) == {"other:begin"}
    assert journal.open == set()
    server.sessions.clear()
    handle = await by_parts(Once(), server, journal)
    assert handle == {"file": "file of session 2"}
    assert server.files[handle["file"]] == Once().source.data


async def test_a_session_older_than_it_lives_is_not_resumed_with_its_parts() -> None:
    server, journal = PartsServer(faults=Faults(fails={"put 8": Denied("no")})), MemoryJournal()
    with pytest.raises(Denied):
        await by_parts(Once(), server, journal)
    journal.now += timedelta(days=6)
    server.faults.fails["put 9"] = Denied("no")
    with pytest.raises(Denied):
        await by_parts(Once(), server, journal, bounds=PartBounds(100, 50, at_once=1))
    journal.now += timedelta(days=2)
    handle = await by_parts(Once(), server, journal)
    assert handle == {"file": "file of session 2"}
    assert server.files[handle["file"]] == Once().source.data


@pytest.mark.parametrize(
    ("content", "bounds"),
    [
        (Once(SIZE + 1), BOUNDS),
        (Once(digest="another"), BOUNDS),
        (Once(name="b.tif"), BOUNDS),
        (Once(), PartBounds(250, 50)),
    ],
)
async def test_an_upload_of_another_file_or_with_another_part_size_starts_again(
    content: Once, bounds: PartBounds
) -> None:
    server, journal = PartsServer(faults=Faults(fails={"put 4": Transient("x")})), MemoryJournal()
    with pytest.raises(Transient):
        await by_parts(Once(), server, journal)
    handle = await by_parts(content, server, journal, bounds=bounds)
    assert server.files[handle["file"]] == content.source.data
    assert server.aborted == ["session 1"]


async def test_damaged_content_is_never_finished() -> None:
    server, journal = PartsServer(), MemoryJournal()
    with pytest.raises(IntegrityError):
        await by_parts(Once(wrong=True), server, journal)
    assert (server.calls["finish"], server.aborted, journal.done) == (0, ["session 1"], {})


async def test_a_refused_part_ends_the_session() -> None:
    server, journal = PartsServer(faults=Faults(fails={"put 2": InvalidValue("no")})), MemoryJournal()
    with pytest.raises(InvalidValue):
        await by_parts(Once(), server, journal)
    assert server.aborted == ["session 1"]
    assert journal.done == {}


async def test_the_gravest_of_several_errors_is_raised() -> None:
    server, together = PartsServer(), asyncio.Barrier(3)

    async def fail(ticket: Json, part: Part, body: bytes) -> Json:
        await together.wait()
        raise SessionGone("over") if part.number == 2 else Transient("x")

    server.put = fail  # type: ignore[method-assign]
    with pytest.raises(SessionGone):
        await by_parts(Once(), server, MemoryJournal())


@pytest.mark.parametrize("at_once", [1, 3])
async def test_after_a_failure_no_other_part_sets_out(at_once: int) -> None:
    """Not even the one that was read meanwhile and waits for its turn."""
    server, content = PartsServer(), Once()
    server.faults.fails["put 2"] = Transient("no connection")
    with pytest.raises(Transient):
        await by_parts(content, server, MemoryJournal(), bounds=PartBounds(100, 50, at_once=at_once))
    started = [line for line in server.log if line != "put 1"]
    assert len(started) <= at_once
    assert server.log[:2] == ["put 1", "put 2"]


async def test_a_part_that_is_cancelled_by_nobody_is_never_finished() -> None:
    server = PartsServer(faults=Faults(fails={"put 2": asyncio.CancelledError()}))
    with pytest.raises(InternalError, match="cancelled by nobody"):
        await by_parts(Once(), server, MemoryJournal())
    assert server.files == {}


async def test_content_that_comes_short_is_noticed() -> None:
    content = Once()
    content.source.read = lambda start, stop: b"x" * (stop - start - 1)
    with pytest.raises(IntegrityError, match="bytes are missing"):
        await by_parts(content, PartsServer(), MemoryJournal())


async def test_a_file_that_no_cut_fits_is_too_large() -> None:
    with pytest.raises(TooLarge, match=r"a\.tif: 1000 bytes do not fit into 3 parts"):
        await by_parts(Once(), PartsServer(), MemoryJournal(), bounds=PartBounds(10, 10, most=20, count=3))


async def test_cancelling_releases_the_memory() -> None:
    server, budget = PartsServer(), MemoryBudget(1000)

    async def hang(ticket: Json, part: Part, body: bytes) -> Json:
        await asyncio.Event().wait()

    server.put = hang  # type: ignore[method-assign]
    task = asyncio.create_task(by_parts(Once(), server, MemoryJournal(), budget))
    for _ in range(50):
        await asyncio.sleep(0)
    assert budget.held == 400
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert budget.held == 0


async def test_a_resumed_upload_still_proves_the_digest_of_the_whole() -> None:
    source = generated(10 * MIB)
    bounds = PartBounds(MIB, MIB, at_once=2)
    server, journal = PartsServer(faults=Faults(fails={"put 7": Transient("x")})), MemoryJournal()
    async with aclosing(ranged(source)) as content:
        with pytest.raises(Transient):
            await by_parts(content, server, journal, MemoryBudget(4 * MIB), bounds)
    async with aclosing(ranged(source)) as content:
        handle = await by_parts(content, server, journal, MemoryBudget(4 * MIB), bounds)
    assert server.files[handle["file"]] == source.data
    assert source.alive == 0


async def test_memory_of_an_upload_does_not_grow_with_the_file() -> None:
    source, server = generated(300 * MIB), PartsServer()

    async def put(ticket: Json, part: Part, body: Blocks) -> Json:
        await asyncio.sleep(0.001)
        server.sessions[ticket["session"]][part.number] = b""
        return f"tag {part.number}"

    server.put = put  # type: ignore[method-assign]
    content = RangedContent(source.open, source.file(), source.size, frozenset({"sha256"}))
    tracemalloc.start()
    try:
        bounds = PartBounds(5 * MIB, 5 * MIB, at_once=8)
        await by_parts(content, server, MemoryJournal(), MemoryBudget(16 * MIB), bounds)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * MIB
    assert source.offsets == [0]
    await content.aclose()


class Unchecked(MemoryContent):
    """Bytes that are not what the source promised."""

    async def check(self) -> None:
        raise IntegrityError("other bytes")


async def test_an_upload_cannot_be_finished_before_its_content_was_checked() -> None:
    calls: list[str] = []

    async def finish(file: CheckedContent | None = None) -> Json:
        calls.append("finish")
        return "handle"

    file, session = FileRef("1", "a.tif"), UploadSession(MemoryJournal(), "parts", None)
    wrong = Unchecked(file, b"abc", {})
    await session.open(wrong, 1, finish, None)
    calls.clear()
    with pytest.raises(ValueError, match="checks its content"):
        await session.run("finish", finish)
    with pytest.raises(IntegrityError):
        await session.finish(wrong, finish)
    assert calls == []
    assert await session.known("finish") is None
    assert await session.finish(MemoryContent(file, b"abc", {}), finish) == "handle"


async def test_only_a_check_returns_the_proof_that_a_finishing_call_takes() -> None:
    file = FileRef("1", "a.tif")
    with pytest.raises(TypeError, match=r"CheckedContent\.of"):
        CheckedContent()
    with pytest.raises(IntegrityError):
        await CheckedContent.of(Unchecked(file, b"abc", {}))
    right = MemoryContent(file, b"abc", {})
    assert (await CheckedContent.of(right)).content is right
