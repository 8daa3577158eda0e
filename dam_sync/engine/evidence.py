"""Whether a file at the target has the bytes of its file at the source, and how far that is proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dam_sync.engine.compare import Difference
from dam_sync.engine.files import FilePair
from dam_sync.engine.run_context import RunContext
from dam_sync.engine.verification.patterns import OTHER_BYTES, pattern_of_size
from dam_sync.model.errors import IntegrityError
from dam_sync.transfer.digests import computable


@dataclass(slots=True)
class FileCheck:
    """Compares pairs of files at one level of `verify`; bytes: downloaded from the target so far."""

    context: RunContext
    level: str
    bytes: int = 0

    async def compare(self, pair: FilePair) -> tuple[list[Difference], str]:
        """The differences, and the evidence: V0 if there are any. Media types are not compared: some services correct
        them."""
        ours, theirs = pair.ours, pair.theirs
        if not ours.has_size_of(theirs):
            pattern = pattern_of_size(ours.size or 0, theirs.size or 0)
            return [Difference(f"{pair.path}.size", str(ours.size), str(theirs.size), pattern=pattern)], "V0"
        if self.level == "fields":
            return [], "V1" if None in (ours.size, theirs.size) else "V2"
        common = sorted(set(ours.digests) & set(theirs.digests))
        if not common or self.level == "bytes":
            return await self._compare_bytes(pair)
        wrong = [name for name in common if ours.digests[name] != theirs.digests[name]]
        found = [
            Difference(f"{pair.path}.{name}", ours.digests[name], theirs.digests[name], pattern=OTHER_BYTES)
            for name in wrong
        ]
        return found, "V0" if found else "V4"

    async def _compare_bytes(self, pair: FilePair) -> tuple[list[Difference], str]:
        ours, theirs = pair.ours, pair.theirs
        expected: Mapping[str, str] = computable(ours.digests)
        if self.level == "bytes" or not expected:
            async with self.context.contents(ours, ours.name) as content:
                await content.check()
                expected = content.digests
        try:
            async with self.context.target_contents(replace(theirs, digests=expected), theirs.name) as content:
                await content.check()
                self.bytes += content.size
        except IntegrityError as error:
            return [Difference(f"{pair.path}.digest", "equal bytes", error.message, pattern=OTHER_BYTES)], "V0"
        return [], "V3"
