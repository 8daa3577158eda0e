"""Source files as content to upload: in memory, spooled, or read by ranges while they are sent."""

from __future__ import annotations

import io
import mimetypes
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from dam_sync.model.asset import FileLink, FileRef
from dam_sync.model.limits import MIB
from dam_sync.model.ports import Budget, Content
from dam_sync.transfer.budget import MemoryBudget
from dam_sync.transfer.digests import DigestTracker
from dam_sync.transfer.download import Download, Opener, regrouped
from dam_sync.transfer.spool import SpoolFile, spool_file

__all__ = ["MEMORY_BYTES", "MemoryBudget", "MemoryContent", "Opener", "RangedContent", "SpooledContent", "content_of"]

MEMORY_BYTES = 4 * MIB
_BLOCK = MIB
_LEAST = MIB // 16  # of a block that is sent on: each costs a write, and a slow source gives fewer bytes at a time
UNKNOWN = "application/octet-stream"
_TYPES = mimetypes.MimeTypes(filenames=())  # independent of this host
for _type, _extension in (
    ("image/webp", ".webp"),
    ("image/jxl", ".jxl"),
    ("image/vnd.adobe.photoshop", ".psd"),
    ("image/x-adobe-dng", ".dng"),
):
    _TYPES.add_type(_type, _extension)


@asynccontextmanager
async def content_of(
    opener: Opener, file: FileRef, *, spool: Path, budget: Budget, single_bytes: int, wanted: frozenset[str]
) -> AsyncIterator[Content]:
    """The bytes of `file`, whatever its size, in bounded memory.

    Up to MEMORY_BYTES in memory, held from `budget`; up to `single_bytes` or of unknown size in a spool file;
    both are checked before they are returned. Larger ones are read while they are sent, and checked by `check()`.
    `wanted` digests are computed besides the published ones. Raises IntegrityError, DiskFull and what `opener` raises.
    """
    if file.size is not None and file.size <= MEMORY_BYTES:
        async with budget.hold(file.size):
            yield await _in_memory(opener, file, wanted)
    elif file.size is None or file.size <= single_bytes:
        async with spool_file(spool) as spooled:
            yield await _spooled(opener, file, spooled, wanted)
    else:
        async with aclosing(RangedContent(opener, file, file.size, wanted)) as content:
            yield content


def media_type_of(file: FileRef) -> str:
    """The media type; guessed from the name if the source does not state it."""
    stated = file.media_type
    return stated if stated not in ("", UNKNOWN) else _TYPES.guess_type(file.name)[0] or UNKNOWN


class _Described:
    """What all kinds of content have in common."""

    def __init__(self, file: FileRef, size: int) -> None:
        self._file = file
        self._size = size

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.size} bytes)"

    @property
    def name(self) -> str:
        """See `Content.name`."""
        return self._file.name

    @property
    def media_type(self) -> str:
        """See `Content.media_type`."""
        return media_type_of(self._file)

    @property
    def size(self) -> int:
        """See `Content.size`."""
        return self._size

    @property
    def link(self) -> FileLink | None:
        """See `Content.link`; None, because these bytes are read by us."""
        return None

    def _within(self, start: int, stop: int) -> None:
        if not 0 <= start <= stop <= self._size:
            raise ValueError(f"bytes {start} to {stop} of a file of {self._size}")

    def _cut(self, start: int, stop: int | None) -> Iterator[tuple[int, int]]:
        """Blocks of a range."""
        end = self._size if stop is None else stop
        self._within(start, end)
        return ((at, min(at + _BLOCK, end)) for at in range(start, end, _BLOCK))


class MemoryContent(_Described):
    """A small file, already checked."""

    def __init__(self, file: FileRef, data: bytes, digests: Mapping[str, str]) -> None:
        super().__init__(file, len(data))
        self._data = data
        self.digests = digests

    async def read(self, start: int, stop: int) -> bytes:
        """See `Content.read`."""
        self._within(start, stop)
        return self._data[start:stop]

    async def blocks(self, start: int = 0, stop: int | None = None) -> AsyncGenerator[bytes, None]:
        """See `Content.blocks`."""
        for at, until in self._cut(start, stop):
            yield self._data[at:until]

    async def check(self) -> None:
        """See `Content.check`; already done."""


class SpooledContent(_Described):
    """A file in the spool, already checked."""

    def __init__(self, file: FileRef, size: int, spooled: SpoolFile, digests: Mapping[str, str]) -> None:
        super().__init__(file, size)
        self._spooled = spooled
        self.digests = digests

    async def read(self, start: int, stop: int) -> bytes:
        """See `Content.read`."""
        self._within(start, stop)
        return await self._spooled.read(start, stop)

    def blocks(self, start: int = 0, stop: int | None = None) -> AsyncGenerator[bytes, None]:
        """See `Content.blocks`."""
        return self._spooled.blocks(_BLOCK, start, stop)

    async def check(self) -> None:
        """See `Content.check`; already done."""


class RangedContent(_Described):
    """A large file that stays at the source and is read from there as it is sent.

    Reading in ascending order is one forward pass, digests are computed on the way, and skipped bytes are read all the
    same unless there is no digest to compute. An earlier range is read separately, as is one requested meanwhile.
    """

    def __init__(self, opener: Opener, file: FileRef, size: int, wanted: frozenset[str]) -> None:
        super().__init__(file, size)
        self._opener = opener
        self._tally = DigestTracker(file.name, size, file.digests, wanted)
        self._forward: _Pass | None = None
        self._apart: set[_Pass] = set()  # of blocks() that are still open
        self._busy = False
        self._opened = False
        self._checked = False

    @property
    def digests(self) -> Mapping[str, str]:
        """See `Content.digests`; until `check()` has passed, those the source published."""
        return self._tally.digests if self._checked else self._tally.promised

    async def read(self, start: int, stop: int) -> bytes:
        """See `Content.read`."""
        return b"".join([block async for block in self.blocks(start, stop)])

    async def blocks(self, start: int = 0, stop: int | None = None) -> AsyncGenerator[bytes, None]:
        """See `Content.blocks`. A range ahead is read in the forward pass."""
        at, end, whole = start, self._size if stop is None else stop, (start, stop) == (0, None)
        self._within(at, end)
        while at < end and not whole and not self._is_behind(at):
            block = await self._onward(at, end)
            at += len(block)
            yield _bytes_of(block)
        if at == end:
            return
        async with aclosing(self._pass(at)) as apart:
            self._apart.add(apart)
            while apart.position < end:
                yield _bytes_of(await apart.take(apart.position, end))
            self._apart.discard(apart)

    def _is_behind(self, start: int) -> bool:
        """Whether the forward pass is past this offset, or is reading for another caller."""
        return self._busy or (self._forward is not None and start < self._forward.position)

    async def check(self) -> None:
        """See `Content.check`; reads what was not read yet, if there is a digest to compute."""
        if self._checked:
            return
        unread = self._tally.position < self._size and not self._tally.idle
        if unread or self._forward is not None:
            await self._onward(self._size, self._size)
        elif not self._opened:
            await self.read(self._size - 1, self._size)  # the response at least states the length
        if not self._tally.idle:
            await self._tally.check()
        self._checked = True

    async def aclose(self) -> None:
        """Release the connections; safe to repeat."""
        await self._leave()
        while self._apart:
            await self._apart.pop().aclose()

    async def _leave(self) -> None:
        forward, self._forward = self._forward, None
        if forward is not None:
            await forward.aclose()

    async def _onward(self, start: int, stop: int) -> memoryview:
        """The next bytes of a range. Continues the forward pass where the digests are, unless there are none."""
        self._busy = True
        try:
            if self._forward is not None and self._tally.idle and start - self._forward.position > MEMORY_BYTES:
                await self._leave()
            if self._forward is None:
                self._forward = self._pass(start if self._tally.idle else min(start, self._tally.position))
            return await self._forward.take(start, stop)
        except BaseException:
            await self._leave()  # the next read opens a new pass
            raise
        finally:
            self._busy = False

    def _pass(self, position: int) -> _Pass:
        self._opened = True
        return _Pass(Download(self._opener, self.name, self._size, position), self._tally)


class _Pass:
    """One pass over a file from an offset on; offers all bytes to the digest tracker."""

    def __init__(self, download: Download, tally: DigestTracker) -> None:
        self._download, self._tally = download, tally
        self._blocks = regrouped(download, _LEAST)
        self._left = memoryview(b"")

    @property
    def position(self) -> int:
        """The next byte."""
        return self._download.position - len(self._left)

    async def next(self, most: int) -> memoryview:
        """Up to `most` of the next bytes, none at the end."""
        if not self._left:
            before = self._download.position
            fresh = await anext(self._blocks, b"")
            await self._tally.offer(before, fresh)
            self._left = memoryview(fresh)
        block, self._left = self._left[:most], self._left[most:]
        return block

    async def take(self, start: int, stop: int) -> memoryview:
        """The first bytes of [start, stop), where start is not before the position; at the end of the file also checks
        that it ends."""
        while self.position < start and await self.next(start - self.position):
            pass
        block = await self.next(min(_BLOCK, stop - self.position)) if self.position < stop else memoryview(b"")
        if self.position == self._download.size:
            await self.next(1)  # nothing, or the download reports that the file is longer than it should be
        return block

    async def aclose(self) -> None:
        """Release the connection; safe to repeat."""
        await self._blocks.aclose()
        await self._download.aclose()


def _bytes_of(block: memoryview) -> bytes:
    """The bytes of a view, not copied if it is one of whole bytes."""
    whole = block.obj
    return whole if isinstance(whole, bytes) and len(whole) == len(block) else bytes(block)


async def _in_memory(opener: Opener, file: FileRef, wanted: frozenset[str]) -> MemoryContent:
    tally = DigestTracker(file.name, file.size, file.digests, wanted)
    taken = io.BytesIO()
    async with aclosing(Download(opener, file.name, file.size)) as download:
        async for block in download:
            await tally.offer(tally.position, block)
            taken.write(block)
    await tally.check()
    return MemoryContent(file, taken.getvalue(), tally.digests)


async def _spooled(opener: Opener, file: FileRef, spooled: SpoolFile, wanted: frozenset[str]) -> SpooledContent:
    tally = DigestTracker(file.name, file.size, file.digests, wanted)
    async with aclosing(Download(opener, file.name, file.size)) as download:
        async for block in regrouped(download, _BLOCK):
            await tally.offer(tally.position, block)
            await spooled.append(block)
    await spooled.flush()
    await tally.check()
    return SpooledContent(file, tally.position, spooled, tally.digests)
