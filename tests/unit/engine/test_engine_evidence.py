"""Files count as equal only if their bytes were compared, or a digest of all of them."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dam_sync.engine.compare.files import FilePair
from dam_sync.engine.compare.patterns import NOT_COMPARED
from dam_sync.engine.verification.evidence import BY_DIGESTS, BY_DOWNLOAD, BY_DOWNLOADS, FileCheck
from dam_sync.http.client import Client
from dam_sync.model.asset import FileRef
from dam_sync.model.ports import Content, Stream
from dam_sync.model.validator import Validator
from dam_sync.transfer.budget import MemoryBudget
from dam_sync.transfer.content import MEMORY_BYTES, content_of
from dam_sync.transfer.digests import computable
from dam_sync.transfer.download import Opener
from tests.support.network.clients import client_of, get
from tests.support.network.versioned_file import Break, VersionedFile, version_of
from tests.support.run_double import run_double
from tests.support.virtual.scale.generated_source import Bytes

SIZES = (900, MEMORY_BYTES + 900)


class Desk:
    """As much of a run's context as a comparison of files looks at: source and target return their bytes."""

    def __init__(self, folder: Path, ours: bytes, theirs: bytes) -> None:
        self.folder, self.held = folder, {"ours": ours, "theirs": theirs}
        self.openers: dict[str, Opener] = {}
        self.context = run_double(contents=self.content, target_contents=self.content)

    @asynccontextmanager
    async def content(self, file: FileRef, name: str) -> AsyncIterator[Content]:
        async def opened(offset: int, validator: Validator) -> Stream:
            if file.id in self.openers:
                return await self.openers[file.id](offset, validator)
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
        check = FileCheck(
            Desk(tmp_path, ours, theirs).context.source, Desk(tmp_path, ours, theirs).context.target, "digest"
        )
        compared = await check.compare(FilePair("version", "file", *files))
        assert (compared.evidence, len(compared.found)) == (evidence, evidence == "V0")
        assert compared.by == BY_DOWNLOADS


@pytest.mark.parametrize("level", ["digest", "bytes"])
@pytest.mark.parametrize("side", ["ours", "theirs"])
@pytest.mark.parametrize("size", SIZES)
async def test_a_mixture_is_never_called_equal(tmp_path: Path, size: int, side: str, level: str) -> None:
    """Every download of that side breaks and goes on in another version: the same mixture each time, as what was moved
    before."""
    file, cut = VersionedFile((size,), cuts=size // 3), size // 3
    mixture = version_of(0, size)[:cut] + version_of(1, size)[cut:]
    async with client_of("https://files.example", transport=file) as client:

        async def opened(offset: int, validator: Validator) -> Stream:
            return await client.stream(get("/f", asset="1"), offset, validator)

        desk = Desk(tmp_path, mixture, mixture)
        desk.openers[side] = opened
        pair = FilePair("file", "file", FileRef("ours", "a.jpg", size), FileRef("theirs", "a.jpg", size))
        compared = await FileCheck(desk.context.source, desk.context.target, level).compare(pair)
    (found,) = compared.found
    assert (found.pattern, found.path) == (NOT_COMPARED, "file.digest")
    assert found.found.startswith("source: " if side == "ours" else "target: ")
    assert "replaced" in found.found
    assert (compared.evidence, compared.by) == ("V2", "")  # nothing to be repaired


async def test_a_file_that_is_replaced_once_is_compared_as_it_is_now(tmp_path: Path) -> None:
    for size in SIZES:
        file = VersionedFile((size,), breaks=[Break(size // 3)])
        async with client_of("https://files.example", transport=file) as client:

            async def opened(offset: int, validator: Validator, client: Client = client) -> Stream:
                return await client.stream(get("/f", asset="1"), offset, validator)

            desk = Desk(tmp_path, b"", version_of(1, size))
            desk.openers["ours"] = opened
            pair = FilePair("file", "file", FileRef("ours", "a.jpg", size), FileRef("theirs", "a.jpg", size))
            compared = await FileCheck(desk.context.source, desk.context.target, "bytes").compare(pair)
        assert (compared.found, compared.evidence, compared.by) == ([], "V3", BY_DOWNLOADS)


@pytest.mark.parametrize(
    ("level", "ours", "theirs", "by", "evidence"),
    [
        ("digest", "published", "published", BY_DIGESTS, "V4"),
        ("digest", "published", "", BY_DOWNLOAD, "V3"),
        ("digest", "", "published", BY_DOWNLOADS, "V3"),
        ("bytes", "published", "published", BY_DOWNLOADS, "V3"),
        ("fields", "published", "published", "", "V2"),
    ],
)
async def test_it_says_what_was_compared_with_what(
    tmp_path: Path, level: str, ours: str, theirs: str, by: str, evidence: str
) -> None:
    data = b"x" * 900
    digests = {"md5": hashlib.md5(data).hexdigest()}
    files = [
        FileRef(name, "a.jpg", 900, digests=digests if has else {})
        for name, has in (("ours", ours), ("theirs", theirs))
    ]
    check = FileCheck(Desk(tmp_path, data, data).context.source, Desk(tmp_path, data, data).context.target, level)
    compared = await check.compare(FilePair("file", "file", *files))
    assert (compared.found, compared.by, compared.evidence) == ([], by, evidence)
