"""Uploads resume at every boundary, send no part twice, and keep to their bounds of tasks and memory."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.model.asset import FileRef
from dam_sync.model.errors import (
    ContractBroken,
    Denied,
    IntegrityError,
    InvalidValue,
    SessionGone,
    TooLarge,
    Transient,
    Uncertain,
)
from dam_sync.model.limits import MIB, Part, PartBounds
from dam_sync.model.service import Content, Steps
from dam_sync.model.values import Json
from dam_sync.transfer.content import MemoryBudget, MemoryContent, RangedContent
from dam_sync.transfer.upload import Blocks, send_parts, send_ranges, send_single, send_streamed_parts
from tests.support.source import Source, generated
from tests.support.steps import Crash, MemorySteps
from tests.support.uploads import Faults, PartsServer, RangesServer

SIZE = 1000
BOUNDS = PartBounds(preferred=100, least=50, at_once=3)
WEEK = timedelta(days=7)


class Once:
    """Content that counts its reads; `wrong` fails its check."""

    def __init__(self, size: int = SIZE, *, name: str = "a.tif", digest: str = "d", wrong: bool = False) -> None:
        self.source = generated(size)
        self.size, self.name, self.wrong = size, name, wrong
        self.media_type, self.link = "image/tiff", ""
        self.digests = {"md5": digest}
        self.reads: list[tuple[int, int]] = []
        self.checks = 0

    async def read(self, start: int, stop: int) -> bytes:
        self.reads.append((start, stop))
        await asyncio.sleep(0)
        return self.source.read(start, stop)

    async def blocks(self):  # type: ignore[no-untyped-def]
        yield self.source.data

    async def check(self) -> None:
        self.checks += 1
        if self.wrong:
            raise IntegrityError("the digest is another")


async def by_parts(
    content: Content, server: PartsServer, steps: Steps, budget: MemoryBudget | None = None, bounds: PartBounds = BOUNDS
) -> Json:
    return await send_parts(content, server, bounds, steps, budget or MemoryBudget(10_000), keep=WEEK)


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
    server, steps, content = PartsServer(), MemorySteps(), Once(size)
    budget = MemoryBudget(memory)
    handle = await by_parts(content, server, steps, budget, PartBounds(preferred, 1, at_once=at_once))
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
    task = asyncio.create_task(by_parts(content, server, MemorySteps(), budget))
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(content.reads) == BOUNDS.at_once + 1
    assert budget.held == 100 * (BOUNDS.at_once + 1)
    gate.set()
    await task


async def test_bodies_wait_for_memory() -> None:
    server, content, budget = PartsServer(), Once(), MemoryBudget(100)
    task = asyncio.create_task(by_parts(content, server, MemorySteps(), budget))
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
        await asyncio.wait_for(by_parts(content, PartsServer(), MemorySteps(), budget), 5)


async def _crash_everywhere(attempt: Callable[[MemorySteps], Awaitable[Json]], steps: MemorySteps) -> tuple[Json, int]:
    """Crash at moment n, for the n of `steps`, then go on to the end; the handle and how often it crashed."""
    try:
        await attempt(steps)
    except Crash:
        steps.blow_at = None
        return await attempt(steps), 1
    return await attempt(steps), 0


@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize("moment", range(1, 40))
async def test_parts_resume_after_a_crash_at_any_moment(moment: int, tells: bool) -> None:
    server, steps = PartsServer(tells), MemorySteps(blow_at=moment)
    handle, crashed = await _crash_everywhere(lambda steps: by_parts(Once(), server, steps), steps)
    assert crashed == (moment <= 36)  # begin, ten parts, finish: three moments each
    assert server.files[handle["file"]] == Once().source.data
    if tells:
        assert set(server.puts.values()) == {1}
    assert sum(server.puts.values()) <= 10 + BOUNDS.at_once
    assert server.calls["begin"] <= 2


async def test_recorded_parts_are_neither_read_nor_sent_again() -> None:
    server, steps = PartsServer(tells=False), MemorySteps()
    server.faults.fails["put 6"] = Denied("no")
    with pytest.raises(Denied):
        await by_parts(Once(), server, steps, bounds=PartBounds(100, 50, at_once=1))
    content = Once()
    await by_parts(content, server, steps)
    assert content.reads[0] == (500, 600)
    assert set(server.puts.values()) == {1}


async def test_a_part_whose_answer_was_lost_is_found_at_the_server() -> None:
    server, steps = PartsServer(faults=Faults(lost={"put 4"})), MemorySteps()
    with pytest.raises(Transient):
        await by_parts(Once(), server, steps)
    await by_parts(Once(), server, steps)
    assert set(server.puts.values()) == {1}


async def test_a_server_that_cannot_tell_gets_the_part_again() -> None:
    server, steps = PartsServer(tells=False, faults=Faults(lost={"put 4"})), MemorySteps()
    with pytest.raises(Transient):
        await by_parts(Once(), server, steps)
    handle = await by_parts(Once(), server, steps)
    assert server.files[handle["file"]] == Once().source.data
    assert server.puts["session 1", 4] == 2


@pytest.mark.parametrize("call", ["begin", "finish"])
async def test_a_lost_answer_around_the_parts(call: str) -> None:
    server, steps = PartsServer(faults=Faults(lost={call})), MemorySteps()
    with pytest.raises(Transient):
        await by_parts(Once(), server, steps)
    handle = await by_parts(Once(), server, steps)
    assert server.files[handle["file"]] == Once().source.data
    assert sum(server.puts.values()) == 10
    assert len(server.files) == 1


async def test_a_finished_upload_costs_nothing_again() -> None:
    server, steps = PartsServer(), MemorySteps()
    first = await by_parts(Once(), server, steps)
    content = Once()
    assert await by_parts(content, server, steps) == first
    assert (server.calls["finish"], server.calls["received"], content.reads, content.checks) == (1, 0, [], 0)


@pytest.mark.parametrize("call", ["put 5", "finish"])
async def test_an_ended_session_is_forgotten_and_begun_anew(call: str) -> None:
    server, steps = PartsServer(faults=Faults(fails={call: SessionGone("over")})), MemorySteps()
    steps.done["other:begin"] = ("stays", steps.now)
    with pytest.raises(SessionGone):
        await by_parts(Once(), server, steps)
    assert set(steps.done) == {"other:begin"}
    assert steps.open == set()
    server.sessions.clear()
    handle = await by_parts(Once(), server, steps)
    assert handle == {"file": "file of session 2"}
    assert server.files[handle["file"]] == Once().source.data


async def test_a_session_older_than_it_lives_is_not_resumed_with_its_parts() -> None:
    server, steps = PartsServer(faults=Faults(fails={"put 8": Denied("no")})), MemorySteps()
    with pytest.raises(Denied):
        await by_parts(Once(), server, steps)
    steps.now += timedelta(days=6)
    server.faults.fails["put 9"] = Denied("no")
    with pytest.raises(Denied):
        await by_parts(Once(), server, steps, bounds=PartBounds(100, 50, at_once=1))
    steps.now += timedelta(days=2)
    handle = await by_parts(Once(), server, steps)
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
async def test_another_file_or_another_cut_begins_anew(content: Once, bounds: PartBounds) -> None:
    server, steps = PartsServer(faults=Faults(fails={"put 4": Transient("x")})), MemorySteps()
    with pytest.raises(Transient):
        await by_parts(Once(), server, steps)
    handle = await by_parts(content, server, steps, bounds=bounds)
    assert server.files[handle["file"]] == content.source.data
    assert server.aborted == ["session 1"]


async def test_damaged_content_is_never_finished() -> None:
    server, steps = PartsServer(), MemorySteps()
    with pytest.raises(IntegrityError):
        await by_parts(Once(wrong=True), server, steps)
    assert (server.calls["finish"], server.aborted, steps.done) == (0, ["session 1"], {})


async def test_a_refused_part_ends_the_session() -> None:
    server, steps = PartsServer(faults=Faults(fails={"put 2": InvalidValue("no")})), MemorySteps()
    with pytest.raises(InvalidValue):
        await by_parts(Once(), server, steps)
    assert server.aborted == ["session 1"]
    assert steps.done == {}


async def test_the_gravest_of_several_errors_is_raised() -> None:
    server, together = PartsServer(), asyncio.Barrier(3)

    async def fail(ticket: Json, part: Part, body: bytes) -> Json:
        await together.wait()
        raise SessionGone("over") if part.number == 2 else Transient("x")

    server.put = fail  # type: ignore[method-assign]
    with pytest.raises(SessionGone):
        await by_parts(Once(), server, MemorySteps())


@pytest.mark.parametrize("at_once", [1, 3])
async def test_after_a_failure_no_other_part_sets_out(at_once: int) -> None:
    """Not even the one that was read meanwhile and waits for its turn."""
    server, content = PartsServer(), Once()
    server.faults.fails["put 2"] = Transient("no connection")
    with pytest.raises(Transient):
        await by_parts(content, server, MemorySteps(), bounds=PartBounds(100, 50, at_once=at_once))
    started = [line for line in server.log if line != "put 1"]
    assert len(started) <= at_once
    assert server.log[:2] == ["put 1", "put 2"]


async def test_content_that_comes_short_is_noticed() -> None:
    content = Once()
    content.source.read = lambda start, stop: b"x" * (stop - start - 1)
    with pytest.raises(IntegrityError, match="bytes are missing"):
        await by_parts(content, PartsServer(), MemorySteps())


async def test_a_file_that_no_cut_fits_is_too_large() -> None:
    with pytest.raises(TooLarge, match=r"a\.tif: 1000 bytes do not fit into 3 parts"):
        await by_parts(Once(), PartsServer(), MemorySteps(), bounds=PartBounds(10, 10, most=20, count=3))


async def test_cancelling_gives_the_memory_back() -> None:
    server, budget = PartsServer(), MemoryBudget(1000)

    async def hang(ticket: Json, part: Part, body: bytes) -> Json:
        await asyncio.Event().wait()

    server.put = hang  # type: ignore[method-assign]
    task = asyncio.create_task(by_parts(Once(), server, MemorySteps(), budget))
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
    server, steps = PartsServer(faults=Faults(fails={"put 7": Transient("x")})), MemorySteps()
    with pytest.raises(Transient):
        await by_parts(_ranged(source), server, steps, MemoryBudget(4 * MIB), bounds)
    handle = await by_parts(_ranged(source), server, steps, MemoryBudget(4 * MIB), bounds)
    assert server.files[handle["file"]] == source.data
    assert source.alive == 0


async def test_memory_of_an_upload_does_not_grow_with_the_file() -> None:
    source, server = generated(300 * MIB), PartsServer()

    async def put(ticket: Json, part: Part, body: bytes) -> Json:
        await asyncio.sleep(0.001)
        server.sessions[ticket["session"]][part.number] = b""
        return f"tag {part.number}"

    server.put = put  # type: ignore[method-assign]
    content = RangedContent(source.open, source.file(), source.size, frozenset({"sha256"}))
    tracemalloc.start()
    try:
        bounds = PartBounds(5 * MIB, 5 * MIB, at_once=8)
        await by_parts(content, server, MemorySteps(), MemoryBudget(16 * MIB), bounds)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * MIB
    assert source.offsets == [0]
    await content.aclose()


# -- parts too large to be held ----------------------------------------------------------------------------------------


async def by_streamed_parts(content: Content, server: PartsServer, steps: Steps, bounds: PartBounds = BOUNDS) -> Json:
    return await send_streamed_parts(content, _Streamed(server), bounds, steps, keep=WEEK)


class _Streamed:
    """A wire that reads its parts as they go; `breaks` says after how many blocks a part is lost, once each."""

    def __init__(self, server: PartsServer, breaks: dict[int, int] | None = None) -> None:
        self.server, self.breaks = server, breaks or {}
        self.begin, self.received, self.finish = server.begin, server.received, server.finish
        self.abort = server.abort

    async def put(self, ticket: Json, part: Part, body: Blocks) -> Json:
        taken, left = b"", self.breaks.pop(part.number, -1)
        async with aclosing(body()) as blocks:  # type: ignore[type-var]
            async for block in blocks:
                if left == 0:
                    return await self.put(ticket, part, body)  # as the client repeats it
                taken, left = taken + block, left - 1
        assert len(taken) == part.size
        return await self.server.put(ticket, part, taken)


@pytest.mark.parametrize("moment", range(1, 40))
async def test_streamed_parts_resume_after_a_crash_at_any_moment(moment: int) -> None:
    source = generated(SIZE)
    server, steps, content = PartsServer(tells=False), MemorySteps(moment), _ranged(source)
    handle, crashed = await _crash_everywhere(lambda steps: by_streamed_parts(content, server, steps), steps)
    assert server.files[handle["file"]] == source.data
    assert server.most_flying == 1
    assert sum(server.puts.values()) <= 10 + crashed


@pytest.mark.parametrize("broken", [{1: 0}, {2: 1}, {3: 2}, {1: 2, 2: 1, 3: 0}])
async def test_a_streamed_part_that_broke_off_is_read_again_apart(broken: dict[int, int]) -> None:
    """And what is read on behind it continues the one pass over the file, in which the digest is made."""
    source = generated(10 * MIB + 5)
    server, content = PartsServer(), _ranged(source)
    bounds = PartBounds(4 * MIB, 4 * MIB)
    wire = _Streamed(server, dict(broken))
    handle = await send_streamed_parts(content, wire, bounds, MemorySteps())
    assert server.files[handle["file"]] == source.data
    assert len(source.offsets) == 1 + len(broken)
    await content.aclose()  # type: ignore[attr-defined]
    assert source.alive == 0


async def test_damaged_content_in_streamed_parts_is_never_finished() -> None:
    server, content = PartsServer(), Once(wrong=True)
    content.blocks = lambda start=0, stop=None: _one(content.source.read(start, stop or SIZE))  # type: ignore[method-assign]
    with pytest.raises(IntegrityError):
        await by_streamed_parts(content, server, MemorySteps())
    assert not server.files


async def _one(data: bytes) -> AsyncGenerator[bytes, None]:
    yield data


async def test_memory_of_streamed_parts_does_not_grow_with_the_parts() -> None:
    source, server = generated(300 * MIB), PartsServer()

    class Thrown(_Streamed):
        async def put(self, ticket: Json, part: Part, body: Blocks) -> Json:
            size = 0
            async for block in body():
                size += len(block)
            assert size == part.size
            server.sessions[ticket["session"]][part.number] = b""
            return f"tag {part.number}"

    content = RangedContent(source.open, source.file(), source.size, frozenset({"sha256"}))
    tracemalloc.start()
    try:
        bounds = PartBounds(100 * MIB, 100 * MIB, most=100 * MIB)
        await send_streamed_parts(content, Thrown(server), bounds, MemorySteps())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * MIB
    assert source.offsets == [0]
    await content.aclose()


def _ranged(source: Source) -> Content:
    return RangedContent(source.open, source.file(md5=source.digest("md5")), source.size, frozenset())


async def by_ranges(content: Content, server: RangesServer, steps: Steps, step: int = 100) -> Json:
    return await send_ranges(content, server, step, steps, budget=MemoryBudget(10_000), keep=WEEK)


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
    handle = await by_ranges(content, server, MemorySteps(), step)
    assert server.sessions[handle["file"]] == content.source.data
    assert server.starts == sorted(set(server.starts))
    assert content.checks == 1


async def test_the_next_range_is_read_while_one_is_sent() -> None:
    server, content = RangesServer(), Once()
    await by_ranges(content, server, MemorySteps())
    assert server.starts == list(range(0, SIZE, 100))
    assert server.calls == {"begin": 1, "finish": 1}
    gate, inner = asyncio.Event(), server.put

    async def slow(ticket: Json, part: Part, total: int, body: bytes) -> int:
        await gate.wait()
        return await inner(ticket, part, total, body)

    server.put = slow  # type: ignore[method-assign]
    content = Once()
    task = asyncio.create_task(by_ranges(content, server, MemorySteps()))
    for _ in range(50):
        await asyncio.sleep(0)
    assert content.reads == [(0, 100), (100, 200)]
    gate.set()
    await task


@pytest.mark.parametrize("moment", range(1, 10))
async def test_ranges_resume_after_a_crash_at_any_moment(moment: int) -> None:
    server, steps = RangesServer(), MemorySteps(blow_at=moment)
    handle, crashed = await _crash_everywhere(lambda steps: by_ranges(Once(), server, steps), steps)
    assert crashed == (moment <= 6)
    assert server.sessions[handle["file"]] == Once().source.data


@pytest.mark.parametrize("number", range(1, 11))
@pytest.mark.parametrize("lost", [True, False])
async def test_a_broken_range_goes_on_where_the_server_stands(number: int, lost: bool) -> None:
    call = f"put {number}"
    faults = Faults(lost={call}) if lost else Faults(fails={call: Transient("x")})
    server, steps = RangesServer(faults=faults), MemorySteps()
    with pytest.raises(Transient):
        await by_ranges(Once(), server, steps)
    content = Once()
    handle = await by_ranges(content, server, steps)
    assert server.sessions[handle["file"]] == content.source.data
    assert server.calls == {"begin": 1, "offset": 1, "finish": 1}
    assert len(content.reads) == 10 - number + (not lost)


async def test_a_lost_finish_is_asked_again() -> None:
    server, steps = RangesServer(faults=Faults(lost={"finish"})), MemorySteps()
    with pytest.raises(Transient):
        await by_ranges(Once(), server, steps)
    assert await by_ranges(Once(), server, steps) == {"file": "session 1"}
    assert len(server.starts) == 10


async def test_an_ended_range_session_is_forgotten_and_begun_anew() -> None:
    server, steps = RangesServer(faults=Faults(fails={"put 3": Transient("x")})), MemorySteps()
    with pytest.raises(Transient):
        await by_ranges(Once(), server, steps)
    server.sessions.clear()
    with pytest.raises(SessionGone):
        await by_ranges(Once(), server, steps)
    assert steps.done == {}
    assert await by_ranges(Once(), server, steps) == {"file": "session 2"}


@pytest.mark.parametrize(
    ("offset", "message"), [(0, "again and again"), (-5, "byte -5"), (2000, "byte 2000 of a file")]
)
async def test_a_server_that_asks_for_nonsense(offset: int, message: str) -> None:
    server = RangesServer()

    async def put(ticket: Json, part: Part, total: int, body: bytes) -> int:
        server.calls["put"] += 1
        return offset

    server.put = put  # type: ignore[method-assign]
    with pytest.raises(ContractBroken, match=message):
        await by_ranges(Once(), server, MemorySteps())
    assert server.calls["put"] <= 5


async def test_a_damaged_file_is_not_finished_by_ranges() -> None:
    server, steps = RangesServer(), MemorySteps()
    with pytest.raises(IntegrityError):
        await by_ranges(Once(wrong=True), server, steps)
    assert server.calls["finish"] == 0
    assert steps.done == {}


async def test_ranges_need_no_budget() -> None:
    assert await send_ranges(Once(), RangesServer(), 300, MemorySteps()) == {"file": "session 1"}


class Post:
    """A single request that gives a handle."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.lose = False

    async def __call__(self, content: Content) -> Json:
        self.sent.append(content.name)
        if self.lose:
            self.lose = False
            raise Transient("the answer was lost")
        return f"handle {len(self.sent)}"


async def test_a_single_request_is_sent_once() -> None:
    post, steps = Post(), MemorySteps()
    assert [await send_single(Once(), post, steps) for _ in range(2)] == ["handle 1", "handle 1"]
    assert len(post.sent) == 1


async def test_a_handle_whose_answer_was_lost_is_made_again() -> None:
    post, steps = Post(), MemorySteps()
    post.lose = True
    with pytest.raises(Transient):
        await send_single(Once(), post, steps)
    assert await send_single(Once(), post, steps) == "handle 2"


@pytest.mark.parametrize(("there", "handle", "sent"), [("asset 1", "asset 1", 1), (None, "handle 2", 2)])
async def test_what_a_lost_request_made_is_looked_for_first(there: Json, handle: str, sent: int) -> None:
    post, steps = Post(), MemorySteps()
    post.lose = True

    async def found() -> Json:
        return there

    with pytest.raises(Transient):
        await send_single(Once(), post, steps, found=found)
    assert await send_single(Once(), post, steps, found=found) == handle
    assert len(post.sent) == sent


async def test_a_handle_of_another_file_or_too_old_is_not_used() -> None:
    post, steps = Post(), MemorySteps()
    assert await send_single(Once(), post, steps, keep=WEEK) == "handle 1"
    assert await send_single(Once(digest="another"), post, steps, keep=WEEK) == "handle 2"
    steps.now += WEEK
    assert await send_single(Once(digest="another"), post, steps, keep=WEEK) == "handle 3"


async def test_a_damaged_file_leaves_no_handle() -> None:
    post, steps = Post(), MemorySteps()
    with pytest.raises(IntegrityError):
        await send_single(Once(wrong=True), post, steps)
    assert steps.done == {}


async def test_steps_in_memory_have_the_manners_of_durable_ones() -> None:
    steps = MemorySteps(blow_at=2)

    async def call() -> Json:
        return 1

    with pytest.raises(Crash):
        await steps.once("a", call)
    with pytest.raises(Uncertain):
        await steps.once("a", call)
    assert await steps.once("a", call, harmless=True) == 1
    assert await steps.recall("a") == 1
