"""Upload servers in memory, for parts and for ranges, that lose responses and end sessions as scripted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from dam_sync.model.errors import IntegrityError, SessionGone, Transient
from dam_sync.model.limits import Part, PartBounds
from dam_sync.model.values import Json
from dam_sync.transfer.content import RangedContent
from dam_sync.transfer.part_sender import Blocks
from tests.support.state.memory_journal import Crash, MemoryJournal
from tests.support.transfer.byte_source import Source, generated

SIZE = 1000
BOUNDS = PartBounds(preferred=100, least=50, at_once=3)
WEEK = timedelta(days=7)


@dataclass
class Faults:
    """`lost`: calls (`put 2`, `finish`, …) whose response does not arrive, once each; `fails`: refused before, once."""

    lost: set[str] = field(default_factory=set)
    fails: dict[str, BaseException] = field(default_factory=dict)

    def before(self, call: str) -> None:
        if call in self.fails:
            raise self.fails.pop(call)

    def after(self, call: str) -> None:
        if call in self.lost:
            self.lost.remove(call)
            raise Transient(f"the response to {call} was lost")


@dataclass
class PartsServer:
    """Keeps parts by session; `tells` says whether `received` does. Finished files are in `files`."""

    tells: bool = True
    faults: Faults = field(default_factory=Faults)
    sessions: dict[str, dict[int, bytes]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    puts: Counter[tuple[str, int]] = field(default_factory=Counter)
    aborted: list[str] = field(default_factory=list)
    flying: int = 0
    most_flying: int = 0
    log: list[str] = field(default_factory=list)

    async def begin(self, size: int, parts: int) -> Json:
        self.calls["begin"] += 1
        self.faults.before("begin")
        session = f"session {self.calls['begin']}"
        self.sessions[session] = {}
        self.faults.after("begin")
        return {"session": session}

    async def received(self, ticket: Json) -> Mapping[int, Json]:
        self.calls["received"] += 1
        held = self._session(ticket)
        return {number: f"tag {number}" for number in held} if self.tells else {}

    async def put(self, ticket: Json, part: Part, body: Blocks) -> Json:
        self.flying += 1
        self.most_flying = max(self.most_flying, self.flying)
        self.log.append(f"put {part.number}")
        try:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            held = self._session(ticket)
            self.faults.before(f"put {part.number}")
            held[part.number] = await joined(body)
            self.puts[ticket["session"], part.number] += 1
            self.faults.after(f"put {part.number}")
            return f"tag {part.number}"
        finally:
            self.flying -= 1

    async def finish(self, ticket: Json, receipts: Sequence[Json]) -> Json:
        self.calls["finish"] += 1
        held = self._session(ticket)
        self.faults.before("finish")
        assert list(receipts) == [f"tag {number}" for number in sorted(held)]
        handle = f"file of {ticket['session']}"
        self.files[handle] = b"".join(held[number] for number in sorted(held))
        self.faults.after("finish")
        return {"file": handle}

    async def abort(self, ticket: Json) -> None:
        self._session(ticket)
        self.aborted.append(ticket["session"])
        del self.sessions[ticket["session"]]

    def _session(self, ticket: Json) -> dict[int, bytes]:
        if ticket["session"] not in self.sessions:
            raise SessionGone("the session has ended")
        return self.sessions[ticket["session"]]


@dataclass
class RangesServer:
    """Takes bytes in sequence; `takes` is how many of each range it keeps (None: all)."""

    takes: Sequence[int] = ()
    faults: Faults = field(default_factory=Faults)
    sessions: dict[str, bytearray] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    starts: list[int] = field(default_factory=list)
    flying: int = 0

    async def begin(self, size: int) -> Json:
        self.calls["begin"] += 1
        session = f"session {self.calls['begin']}"
        self.sessions[session] = bytearray()
        self.faults.after("begin")
        return {"session": session, "size": size}

    async def offset(self, ticket: Json) -> int:
        self.calls["offset"] += 1
        return len(self._session(ticket))

    async def put(self, ticket: Json, part: Part, total: int, body: Blocks) -> int:
        assert self.flying == 0
        self.flying += 1
        try:
            await asyncio.sleep(0)
            number = len(self.starts) + 1
            self.starts.append(part.start)
            held = self._session(ticket)
            self.faults.before(f"put {number}")
            if part.start == len(held):
                take = self.takes[number - 1] if number <= len(self.takes) else part.size
                held += (await joined(body))[:take]
            self.faults.after(f"put {number}")
            return len(held)
        finally:
            self.flying -= 1

    async def finish(self, ticket: Json) -> Json:
        self.calls["finish"] += 1
        held = self._session(ticket)
        assert len(held) == ticket["size"]
        self.faults.after("finish")
        return {"file": ticket["session"]}

    def _session(self, ticket: Json) -> bytearray:
        if ticket["session"] not in self.sessions:
            raise SessionGone("the session has ended")
        return self.sessions[ticket["session"]]


class Once:
    """Content that counts its reads; `wrong` fails its check."""

    def __init__(self, size: int = SIZE, *, name: str = "a.tif", digest: str = "d", wrong: bool = False) -> None:
        self.source = generated(size)
        self.size, self.name, self.wrong = size, name, wrong
        self.media_type, self.link = "image/tiff", None
        self.digests = {"md5": digest}
        self.reads: list[tuple[int, int]] = []
        self.checks = 0

    async def read(self, start: int, stop: int) -> bytes:
        self.reads.append((start, stop))
        await asyncio.sleep(0)
        return self.source.read(start, stop)

    async def blocks(self, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes]:
        yield await self.read(start, self.size if stop is None else stop)

    async def version(self) -> str:
        return ""

    async def check(self) -> None:
        self.checks += 1
        if self.wrong:
            raise IntegrityError("the digest is another")


async def joined(body: Blocks) -> bytes:
    """All bytes of a part."""
    return b"".join([block async for block in body()])


async def crash_and_resume(
    attempt: Callable[[MemoryJournal], Awaitable[Json]], journal: MemoryJournal
) -> tuple[Json, int]:
    """Crash at moment n, for the n of `journal`, then continue to the end; the handle and how often it crashed."""
    try:
        await attempt(journal)
    except Crash:
        journal.blow_at = None
        return await attempt(journal), 1
    return await attempt(journal), 0


def ranged(source: Source) -> RangedContent:
    return RangedContent(source.open, source.file(md5=source.digest("md5")), source.size, frozenset())
