"""Three ways to upload; a service supplies the requests and the bounds, this module the order and the memory.

Each records what it did in `journal`, so that a broken upload resumes where it stopped. Sessions belong to one
version of one file: if that or its division into parts has changed, or the session ended, the upload starts over.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Protocol, TypeAlias

from dam_sync.model.errors import ContractBroken, IntegrityError, Rejected, SessionGone, TooLarge
from dam_sync.model.limits import Part, PartBounds
from dam_sync.model.ports import Budget, Content, Journal
from dam_sync.model.values import Json
from dam_sync.transfer.checked import CheckedContent
from dam_sync.transfer.part_sender import Blocks, Put, send_bounded
from dam_sync.transfer.upload_session import FINISH, UploadSession, described, is_of, source_of

TRIES = 5
Deliver: TypeAlias = Callable[[Sequence[Part], Put], Awaitable[None]]


class PartsWire(Protocol):
    """Parts in any order, several at once: chunk sessions and presigned parts differ only in their requests.

    Each method raises SessionGone if the session has ended. Tickets and receipts are recorded: JSON without secrets.
    """

    async def begin(self, size: int, parts: int) -> Json:
        """A ticket. An unused session does no harm."""
        ...

    async def received(self, ticket: Json) -> Mapping[int, Json]:
        """Receipts by part number of what the server has, {} if unknown."""
        ...

    async def put(self, ticket: Json, part: Part, body: Blocks) -> Json:
        """Send a part; returns its receipt. Sending a part again replaces it."""
        ...

    async def finish(self, ticket: Json, receipts: Sequence[Json]) -> Json:
        """The file handle; receipts in order of their parts. May be called again if its response was lost."""
        ...

    async def abort(self, ticket: Json) -> None:
        """Best effort."""
        ...


class RangesWire(Protocol):
    """Ranges in sequence, one in flight; the server says which byte it expects next."""

    async def begin(self, size: int) -> Json:
        """A ticket. An unused session does no harm."""
        ...

    async def offset(self, ticket: Json) -> int:
        """The next byte the server expects. Raises SessionGone if the session has ended."""
        ...

    async def put(self, ticket: Json, part: Part, total: int, body: Blocks) -> int:
        """Send one range; returns the next byte the server expects, which may be before the end of what was sent."""
        ...

    async def finish(self, ticket: Json) -> Json:
        """The file handle. May be called again if its response was lost."""
        ...


async def send_single(
    content: Content,
    send: Callable[[Content], Awaitable[Json]],
    journal: Journal,
    name: str = "file",
    *,
    ttl: timedelta | None = None,
) -> Json:
    """The handle that `send` returned for the whole file, recorded as `name` and valid for `ttl`.

    After a crash it may be created twice, so it must be invisible until it is used. Raises IntegrityError if the file
    is not what the source announced.
    """

    source = source_of(content)
    if (known := await journal.get(name)) is not None and not await is_of(known, content, source):
        await journal.discard(name)  # recorded for another file, or for another version of it

    async def call() -> Json:
        about = await described(content)
        handle = await send(content)
        await CheckedContent.of(content)  # no handle of wrong bytes is returned
        return {**about, "handle": handle}

    recorded = await journal.run(name, call, ttl=ttl, idempotent=True)
    return recorded["handle"]


async def send_parts(
    content: Content,
    wire: PartsWire,
    bounds: PartBounds,
    journal: Journal,
    budget: Budget,
    name: str = "parts",
    *,
    ttl: timedelta | None = None,
) -> Json:
    """The handle of the finished upload; parts are read in order and sent up to `bounds.at_once` at a time.

    `ttl` is how long the session lives. What is recorded, or already at the server, is never sent again; safe to repeat
    after any error or crash. Raises TooLarge, SessionGone (journal entries are then discarded, so a repetition starts
    over) and IntegrityError, before `finish`, if the file is not what the source announced.
    """

    async def deliver(parts: Sequence[Part], put: Put) -> None:
        await send_bounded(content, parts, put, budget, bounds.at_once)

    return await _send_parts(content, wire, bounds, UploadSession(journal, name, ttl), deliver)


async def send_streamed_parts(
    content: Content,
    wire: PartsWire,
    bounds: PartBounds,
    journal: Journal,
    name: str = "parts",
    *,
    ttl: timedelta | None = None,
) -> Json:
    """As `send_parts`, for parts too large to be held: one at a time, each read while it is sent."""

    async def deliver(parts: Sequence[Part], put: Put) -> None:
        for part in parts:
            await put(part, partial(content.blocks, part.start, part.stop))

    return await _send_parts(content, wire, bounds, UploadSession(journal, name, ttl), deliver)


async def _send_parts(
    content: Content, wire: PartsWire, bounds: PartBounds, session: UploadSession, deliver: Deliver
) -> Json:
    parts = _split(content, bounds)
    try:
        ticket = await session.open(content, len(parts), lambda: wire.begin(content.size, len(parts)), wire.abort)
        if (done := await session.known(FINISH)) is not None:
            return done["result"]
        receipts = await _receipts(session, wire, parts)

        async def put(part: Part, body: Blocks) -> None:
            receipts[part.number] = await session.run(f"part:{part.number}", lambda: wire.put(ticket, part, body))

        await deliver([part for part in parts if part.number not in receipts], put)
        ordered = [receipts[part.number] for part in parts]
        return await session.finish(content, lambda _: wire.finish(ticket, ordered))
    except SessionGone:
        await session.discard()
        raise
    except (Rejected, IntegrityError):
        await session.abort(wire.abort)
        raise


async def send_ranges(
    content: Content,
    wire: RangesWire,
    step: int,
    journal: Journal,
    name: str = "ranges",
    *,
    budget: Budget | None = None,
    ttl: timedelta | None = None,
) -> Json:
    """The handle of the finished upload; ranges of `step` bytes are sent in sequence, the next is read meanwhile.

    `ttl` is how long the session lives. After an error or crash the server is asked where to continue. Raises
    SessionGone (journal entries are then discarded, so a repetition starts over), ContractBroken if the server requests
    the same byte repeatedly, and IntegrityError, before `finish`, if the file is not what the source announced.
    """
    session = UploadSession(journal, name, ttl)
    try:
        ticket = await session.open(content, 0, lambda: wire.begin(content.size), None)
        if (done := await session.known(FINISH)) is not None:
            return done["result"]
        await _Ranges(content, wire, ticket, step, budget).send(await wire.offset(ticket) if session.resumed else 0)
        return await session.finish(content, lambda _: wire.finish(ticket))
    except SessionGone:
        await session.discard()
        raise
    except (Rejected, IntegrityError):
        await session.abort(None)
        raise


class _Moved(Exception):
    """The server expects another byte than the one after what it was sent."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class _Ranges:
    """Ranges of one session, sent until the server has them all."""

    def __init__(self, content: Content, wire: RangesWire, ticket: Json, step: int, budget: Budget | None) -> None:
        self._content, self._wire, self._ticket, self._step, self._budget = content, wire, ticket, step, budget

    async def send(self, offset: int) -> None:
        furthest, fruitless = offset, 0
        while self._checked(offset) < self._content.size:
            offset = await self._from(offset)
            fruitless = 0 if offset > furthest else fruitless + 1
            furthest = max(furthest, offset)
            if fruitless == TRIES:
                raise ContractBroken(f"{self._content.name}: the server requests byte {offset} repeatedly")

    async def _from(self, offset: int) -> int:
        """Send to the end, or until the server expects another offset; returns the offset it expects next."""
        size, step = self._content.size, self._step
        starts = range(offset, size, step)
        try:
            ranges = [Part(n, start, min(start + step, size)) for n, start in enumerate(starts, 1)]
            await send_bounded(self._content, ranges, self._put, self._budget, at_once=1)
        except _Moved as moved:
            return moved.offset
        return size

    async def _put(self, part: Part, body: Blocks) -> None:
        wanted = await self._wire.put(self._ticket, part, self._content.size, body)
        if wanted != part.stop:
            raise _Moved(wanted)

    def _checked(self, offset: int) -> int:
        if not 0 <= offset <= self._content.size:
            text = f"{self._content.name}: the server requests byte {offset} of a file of {self._content.size}"
            raise ContractBroken(text)
        return offset


def _split(content: Content, bounds: PartBounds) -> tuple[Part, ...]:
    try:
        return bounds.split(content.size)
    except ValueError as error:
        raise TooLarge(f"{content.name}: {error}") from error


async def _receipts(session: UploadSession, wire: PartsWire, parts: Sequence[Part]) -> dict[int, Json]:
    """Receipts of the parts that need not be sent again; the server is asked only if the journal is incomplete."""
    receipts: dict[int, Json] = {}
    if not session.resumed:
        return receipts
    for part in parts:
        if (known := await session.known(f"part:{part.number}")) is not None:
            receipts[part.number] = known["result"]
    if len(receipts) < len(parts):
        held = await wire.received(session.ticket)
        receipts = {**{part.number: held[part.number] for part in parts if part.number in held}, **receipts}
    return receipts
