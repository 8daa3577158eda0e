"""Whether a file at the target has the bytes of its file at the source, and how far that is proven.

V3 is about the bytes that are at both services now: what was sent once is not kept. Each download is of one version of
its file; where that cannot be had, the files are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.compare.files import FilePair
from dam_sync.engine.compare.patterns import NOT_COMPARED, OTHER_BYTES, pattern_of_size
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.model.errors import FileReplaced, IntegrityError, OtherVersion
from dam_sync.model.ports import Content
from dam_sync.transfer.digests import computable
from dam_sync.transfer.download import BEGINNINGS

BY_DIGESTS = "the digest of the target with that of the source"
BY_DOWNLOAD = "the bytes at the target with the digest of the source"
BY_DOWNLOADS = "the bytes at the target with the bytes at the source"


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of two files: their differences, the evidence, and what was compared with what, if bytes or digests
    were."""

    found: list[Difference]
    evidence: str
    by: str = ""


@dataclass(slots=True)
class FileCheck:
    """Compares pairs of files at one level of `verify`; bytes: downloaded from the target so far."""

    source: Source
    target: Target
    level: str
    bytes: int = 0

    async def compare(self, pair: FilePair) -> Compared:
        """The differences, and the evidence: V0 if other bytes were found. Media types are not compared: some services
        correct them."""
        ours, theirs = pair.ours, pair.theirs
        if not ours.has_size_of(theirs):
            pattern = pattern_of_size(ours.size or 0, theirs.size or 0)
            return Compared([Difference(f"{pair.path}.size", str(ours.size), str(theirs.size), pattern=pattern)], "V0")
        if self.level == "fields":
            return Compared([], _by_size(pair))
        common = sorted(set(ours.digests) & set(theirs.digests))
        if not common or self.level == "bytes":
            return await self._compare_bytes(pair)
        wrong = [name for name in common if ours.digests[name] != theirs.digests[name]]
        found = [
            Difference(f"{pair.path}.{name}", ours.digests[name], theirs.digests[name], pattern=OTHER_BYTES)
            for name in wrong
        ]
        return Compared(found, "V0" if found else "V4", BY_DIGESTS)

    async def _compare_bytes(self, pair: FilePair) -> Compared:
        ours, theirs = pair.ours, pair.theirs
        expected: Mapping[str, str] = computable(ours.digests)
        downloads = self.level == "bytes" or not expected
        try:
            if downloads:
                expected, _ = await _read(lambda: self.source.contents(ours, ours.name))
        except FileReplaced as error:
            return _not_compared(pair, "source", error)
        proven = replace(theirs, digests=expected)
        try:
            _, size = await _read(lambda: self.target.contents(proven, proven.name))
            self.bytes += size
        except FileReplaced as error:
            return _not_compared(pair, "target", error)
        except IntegrityError as error:
            found = [Difference(f"{pair.path}.digest", "equal bytes", error.message, pattern=OTHER_BYTES)]
            return Compared(found, "V0", BY_DOWNLOADS if downloads else BY_DOWNLOAD)
        return Compared([], "V3", BY_DOWNLOADS if downloads else BY_DOWNLOAD)


async def _read(opened: Callable[[], AbstractAsyncContextManager[Content]]) -> tuple[Mapping[str, str], int]:
    """Digests and size of one version of a file; read again if it is replaced meanwhile, BEGINNINGS times at most."""
    readings = 0
    while True:
        readings += 1
        try:
            async with opened() as content:
                await content.check()
                return content.digests, content.size
        except OtherVersion:
            if readings == BEGINNINGS:
                raise


def _not_compared(pair: FilePair, side: str, error: FileReplaced) -> Compared:
    """Not equal, and not other bytes: nothing is known, and nothing is to be repaired for it."""
    found = Difference(
        f"{pair.path}.digest", "one version of the file", f"{side}: {error.message}", pattern=NOT_COMPARED
    )
    return Compared([found], _by_size(pair))


def _by_size(pair: FilePair) -> str:
    return "V1" if None in (pair.ours.size, pair.theirs.size) else "V2"
