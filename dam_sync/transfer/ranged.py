"""Large files that stay at the source, and are read from there while they are sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from dam_sync.model.asset import FileRef, digest_of
from dam_sync.model.limits import MIB
from dam_sync.transfer.described import BLOCK, Described
from dam_sync.transfer.digests import DigestTracker
from dam_sync.transfer.download import Download, OneVersion, Opener, regrouped
from dam_sync.transfer.upload_session import UNDISTINGUISHED

_LEAST = MIB // 16  # of a block that is sent on: each costs a write, and a slow source gives fewer bytes at a time
_SKIPPED = 4 * MIB  # that are not read where nothing needs them


class RangedContent(Described):
    """A large file that stays at the source and is read from there as it is sent.

    Reading in ascending order is one forward pass, digests are computed on the way, and skipped bytes are read all the
    same unless there is no digest to compute. An earlier range is read separately, as is one requested meanwhile. All
    passes are over the version of the first response; any of them raises OtherVersion, because what was sent cannot be
    taken back: the upload begins again. first: a download that has begun, at the first byte.
    """

    def __init__(
        self, opener: Opener, file: FileRef, size: int, wanted: frozenset[str], first: Download | None = None
    ) -> None:
        super().__init__(file, size)
        self._opener = opener
        self._tally = DigestTracker(file.name, size, file.digests, wanted)
        self._version = OneVersion(file.name) if first is None else first.keep_to_version()
        self._forward: _Pass | None = None if first is None else _Pass(first, self._tally)
        self._apart: set[_Pass] = set()  # of blocks() that are still open
        self._busy = False
        self._opened = first is not None
        self._checked = False

    async def version(self) -> str:
        """See `Content.version`. Opens the file if it was not opened yet."""
        if not self._version.known:
            self._forward = self._pass(0)
            await self._forward.begin()
        validator = self._version.validator
        return digest_of(list(validator.key)) if validator.is_strong else UNDISTINGUISHED

    @property
    def digests(self) -> Mapping[str, str]:
        """See `Content.digests`; until `check()` has passed, those the source published."""
        return self._tally.digests if self._checked else self._tally.promised

    async def read(self, start: int, stop: int) -> bytes:
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
        async with aclosing(self._unread_pass() if whole else self._pass(at)) as apart:
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
            if self._forward is not None and self._tally.idle and start - self._forward.position > _SKIPPED:
                await self._leave()
            if self._forward is None:
                self._forward = self._pass(start if self._tally.idle else min(start, self._tally.position))
            return await self._forward.take(start, stop)
        except BaseException:
            await self._leave()  # the next read opens a new pass
            raise
        finally:
            self._busy = False

    def _unread_pass(self) -> _Pass:
        """A pass over the whole file: the one that was opened first, if nothing was read of it."""
        if self._forward is None or self._busy or self._forward.position:
            return self._pass(0)
        unread, self._forward = self._forward, None
        return unread

    def _pass(self, position: int) -> _Pass:
        self._opened = True
        return _Pass(Download(self._opener, self.name, self._size, position, self._version), self._tally)


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

    async def begin(self) -> None:
        """Open the file."""
        await self._download.begin()

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
        block = await self.next(min(BLOCK, stop - self.position)) if self.position < stop else memoryview(b"")
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
