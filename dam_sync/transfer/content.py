"""Source files as content to upload: in memory, spooled, or read by ranges while they are sent."""

from __future__ import annotations

import io
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Protocol

from dam_sync.model.asset import FileRef
from dam_sync.model.errors import IntegrityError, OtherVersion
from dam_sync.model.limits import MIB
from dam_sync.model.parking import ParkReason
from dam_sync.model.ports import Budget, Content
from dam_sync.transfer.budget import MemoryBudget
from dam_sync.transfer.described import BLOCK, Described
from dam_sync.transfer.digests import DigestTracker
from dam_sync.transfer.download import Download, Opener, regrouped
from dam_sync.transfer.ranged import RangedContent
from dam_sync.transfer.spool import SpoolFile, spool_file

__all__ = ["MEMORY_BYTES", "MemoryBudget", "MemoryContent", "Opener", "RangedContent", "SpooledContent", "content_of"]

MEMORY_BYTES = 4 * MIB
OPEN_IT = "download it from the service by hand, and upload it there again if it does not open"


@asynccontextmanager
async def content_of(
    opener: Opener, file: FileRef, *, spool: Path, budget: Budget, single_bytes: int, wanted: frozenset[str]
) -> AsyncIterator[Content]:
    """The bytes of `file`, whatever its size, in bounded memory.

    Up to MEMORY_BYTES in memory, held from `budget`; up to `single_bytes` or of unknown size in a spool file;
    both are checked before they are returned. Larger ones are read while they are sent, and checked by `check()`; one
    whose versions the service does not distinguish goes to the spool, because it has to be read in one pass. All bytes
    are of one version of the file: reading begins again where it was replaced meanwhile. Of a file that is sent
    compressed, the reading counts whose size and digests agree. `wanted` digests are computed besides the published
    ones. Raises IntegrityError, DiskFull and what `opener` raises.
    """
    download = Download(opener, file.name, file.size)
    if file.size is not None and file.size <= MEMORY_BYTES:
        async with budget.hold(file.size):
            yield await _in_memory(download, file, wanted)
    elif file.size is None or file.size <= single_bytes or not await _has_ranges(download):
        async with spool_file(spool) as spooled:
            yield await _spooled(download, file, spooled, wanted)
    else:
        async with aclosing(RangedContent(opener, file, file.size, wanted, download)) as content:
            yield content


class MemoryContent(Described):
    """A small file, already checked."""

    def __init__(self, file: FileRef, data: bytes, digests: Mapping[str, str]) -> None:
        super().__init__(file, len(data))
        self._data = data
        self.digests = digests

    async def read(self, start: int, stop: int) -> bytes:
        self._within(start, stop)
        return self._data[start:stop]

    async def blocks(self, start: int = 0, stop: int | None = None) -> AsyncGenerator[bytes, None]:
        for at, until in self._cut(start, stop):
            yield self._data[at:until]

    async def check(self) -> None:
        """See `Content.check`; already done."""


class SpooledContent(Described):
    """A file in the spool, already checked."""

    def __init__(self, file: FileRef, size: int, spooled: SpoolFile, digests: Mapping[str, str]) -> None:
        super().__init__(file, size)
        self._spooled = spooled
        self.digests = digests

    async def read(self, start: int, stop: int) -> bytes:
        self._within(start, stop)
        return await self._spooled.read(start, stop)

    def blocks(self, start: int = 0, stop: int | None = None) -> AsyncGenerator[bytes, None]:
        return self._spooled.blocks(BLOCK, start, stop)

    async def check(self) -> None:
        """See `Content.check`; already done."""


async def _has_ranges(download: Download) -> bool:
    """Whether parts of the file can be read apart: they are known to be of one version, and of one reading. The first
    response stays open. Raises what the download raises."""
    try:
        return (await download.begin()).is_strong and not download.version.codings
    except BaseException:
        await download.aclose()
        raise


class _Kept(Protocol):
    """Where the bytes of a file go."""

    async def append(self, block: bytes) -> None:
        """More bytes."""
        ...

    async def clear(self) -> None:
        """Forget them, to begin again."""
        ...


class _Memory:
    """Bytes that are kept in memory."""

    def __init__(self) -> None:
        self.taken = io.BytesIO()

    async def append(self, block: bytes) -> None:
        self.taken.write(block)

    async def clear(self) -> None:
        self.taken = io.BytesIO()


async def _whole(
    download: Download, file: FileRef, wanted: frozenset[str], kept: _Kept, least: int = 0
) -> DigestTracker:
    """All bytes of one version of the file, checked; reading begins again where it was replaced meanwhile."""
    async with aclosing(download):
        while True:
            tally = DigestTracker(file.name, file.size, file.digests, wanted)
            try:
                async for block in regrouped(download, least) if least else download:
                    await tally.offer(tally.position, block)
                    await kept.append(block)
                await tally.check()
            except OtherVersion as replaced:
                await tally.settle()
                await download.begin_again(replaced)
            except IntegrityError as wrong:
                await tally.settle()
                if not await download.decode_instead():
                    raise _neither(download, file) or download.outdated(wrong) or wrong from None
            else:
                if download.version.codings and file.size is None and not tally.promised:
                    raise _undecided(download, file)
                return tally
            await kept.clear()


def _neither(download: Download, file: FileRef) -> IntegrityError | None:
    """None for a file that is sent as it is."""
    if not download.version.codings:
        return None
    text = f"{_as_encoded(download, file)}; neither what is sent nor what it decodes to has the size and the digest"
    return IntegrityError(f"{text} that the service gives", code=ParkReason.ENCODING, hint=OPEN_IT)


def _undecided(download: Download, file: FileRef) -> IntegrityError:
    text = f"{_as_encoded(download, file)}, and has neither size nor digest that would say whether to decode it"
    return IntegrityError(text, code=ParkReason.ENCODING, hint=OPEN_IT)


def _as_encoded(download: Download, file: FileRef) -> str:
    return f"{file.name} is sent with the Content-Encoding {', '.join(download.version.codings):.40}"


async def _in_memory(download: Download, file: FileRef, wanted: frozenset[str]) -> MemoryContent:
    memory = _Memory()
    tally = await _whole(download, file, wanted, memory)
    return MemoryContent(file, memory.taken.getvalue(), tally.digests)


async def _spooled(download: Download, file: FileRef, spooled: SpoolFile, wanted: frozenset[str]) -> SpooledContent:
    tally = await _whole(download, file, wanted, spooled, BLOCK)
    await spooled.flush()
    return SpooledContent(file, tally.position, spooled, tally.digests)
