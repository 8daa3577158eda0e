"""Uploads in parts too large to be held: they are read as they are sent, and resume all the same."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from dam_sync.model.errors import IntegrityError
from dam_sync.model.limits import MIB, Part, PartBounds
from dam_sync.model.ports import Content, Journal
from dam_sync.model.values import Json
from dam_sync.transfer.content import RangedContent
from dam_sync.transfer.part_sender import Blocks
from dam_sync.transfer.upload import send_streamed_parts
from tests.support.state.memory_journal import MemoryJournal
from tests.support.transfer.byte_source import generated
from tests.support.transfer.upload_servers import BOUNDS, SIZE, WEEK, Once, PartsServer, crash_and_resume, ranged


async def by_streamed_parts(
    content: Content, server: PartsServer, journal: Journal, bounds: PartBounds = BOUNDS
) -> Json:
    return await send_streamed_parts(content, _Streamed(server), bounds, journal, ttl=WEEK)


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
        return await self.server.put(ticket, part, lambda: _one(taken))


@pytest.mark.parametrize("moment", range(1, 40))
async def test_streamed_parts_resume_after_a_crash_at_any_moment(moment: int) -> None:
    source = generated(SIZE)
    server, journal, content = PartsServer(tells=False), MemoryJournal(moment), ranged(source)
    handle, crashed = await crash_and_resume(lambda journal: by_streamed_parts(content, server, journal), journal)
    assert server.files[handle["file"]] == source.data
    assert server.most_flying == 1
    assert sum(server.puts.values()) <= 10 + crashed


@pytest.mark.parametrize("broken", [{1: 0}, {2: 1}, {3: 2}, {1: 2, 2: 1, 3: 0}])
async def test_a_streamed_part_that_broke_off_is_read_again_apart(broken: dict[int, int]) -> None:
    """And what is read on behind it continues the one pass over the file, in which the digest is made."""
    source = generated(10 * MIB + 5)
    server, content = PartsServer(), ranged(source)
    bounds = PartBounds(4 * MIB, 4 * MIB)
    wire = _Streamed(server, dict(broken))
    handle = await send_streamed_parts(content, wire, bounds, MemoryJournal())
    assert server.files[handle["file"]] == source.data
    assert len(source.offsets) == 1 + len(broken)
    await content.aclose()  # type: ignore[attr-defined]
    assert source.alive == 0


async def test_damaged_content_in_streamed_parts_is_never_finished() -> None:
    server, content = PartsServer(), Once(wrong=True)
    content.blocks = lambda start=0, stop=None: _one(content.source.read(start, stop or SIZE))  # type: ignore[method-assign]
    with pytest.raises(IntegrityError):
        await by_streamed_parts(content, server, MemoryJournal())
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
        await send_streamed_parts(content, Thrown(server), bounds, MemoryJournal())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * MIB
    assert source.offsets == [0]
    await content.aclose()
