"""Files count as equal only if their bytes were compared, or a digest of all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from dam_sync.engine.evidence import BY_DOWNLOADS, FileCheck
from dam_sync.engine.files import FilePair
from dam_sync.engine.run_context import RunContext
from dam_sync.model.asset import FileRef
from dam_sync.model.ports import Content, Stream
from dam_sync.model.validator import Validator
from dam_sync.transfer.budget import MemoryBudget
from dam_sync.transfer.content import MEMORY_BYTES, content_of
from dam_sync.transfer.digests import computable
from tests.support.virtual.scale.generated_source import Bytes

SIZES = (900, MEMORY_BYTES + 900)


class Desk:
    """As much of a run's context as a comparison of files looks at: source and target return their bytes."""

    def __init__(self, folder: Path, ours: bytes, theirs: bytes) -> None:
        self.folder, self.held = folder, {"ours": ours, "theirs": theirs}
        self.contents = self.target_contents = self.content

    @asynccontextmanager
    async def content(self, file: FileRef, name: str) -> AsyncIterator[Content]:
        async def opened(offset: int, validator: Validator) -> Stream:
            return Bytes(self.held[file.id], offset)

        wanted = frozenset() if computable(file.digests) else frozenset({"sha256"})
        budget = MemoryBudget(10 * MEMORY_BYTES)
        async with content_of(opened, file, spool=self.folder, budget=budget, single_bytes=0, wanted=wanted) as content:
            yield content


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("digests", [{}, {"crc32c": "abc"}])
async def test_other_bytes_are_found_whatever_digest_the_source_publishes(
    tmp_path: Path, size: int, digests: dict[str, str]
) -> None:
    ours = b"x" * size
    for theirs, evidence in ((ours, "V3"), (b"y" + ours[1:], "V0")):
        files = (FileRef("ours", "a.jpg", size, digests=digests), FileRef("theirs", "a.jpg", size))
        check = FileCheck(cast(RunContext, Desk(tmp_path, ours, theirs)), "digest")
        compared = await check.compare(FilePair("version", "file", *files))
        assert (compared.evidence, len(compared.found)) == (evidence, evidence == "V0")
        assert compared.by == BY_DOWNLOADS
