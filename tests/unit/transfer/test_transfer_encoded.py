"""Files that are sent with a `Content-Encoding` that nobody asked for: stored compressed, or compressed on the way."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from dam_sync.model.asset import FileRef
from dam_sync.model.errors import IntegrityError
from dam_sync.model.limits import MIB
from dam_sync.model.ports import Stream
from dam_sync.model.validator import Validator
from dam_sync.transfer.arrivals import ArrivalCounter
from dam_sync.transfer.budget import MemoryBudget
from dam_sync.transfer.content import MEMORY_BYTES, content_of
from tests.support.network.clients import client_of, get
from tests.support.network.raw_server import RawServer, Said, Seen
from tests.support.transfer.byte_source import generated

PLAIN = b"<svg>" + b"a drawing " * 40_000
SENT = gzip.compress(PLAIN, mtime=0)
CODED = {"Content-Encoding": "gzip", "ETag": '"1"'}
SINGLE = 2 * MIB
Server = Callable[[Seen], Said]


def told(data: bytes, headers: dict[str, str] = CODED) -> Server:
    return lambda _: Said(200, data, headers)


def file_of(data: bytes, *, size: bool = True, digest: bool = True) -> FileRef:
    digests = {"md5": hashlib.md5(data, usedforsecurity=False).hexdigest()} if digest else {}
    return FileRef("1", "drawing.svgz", len(data) if size else None, digests=digests)


async def read(server: Server, file: FileRef, folder: Path) -> tuple[bytes, int]:
    """The bytes that are sent on, and how often the file was requested."""
    async with RawServer(server) as running, client_of(running) as client:

        async def opened(offset: int, validator: Validator) -> Stream:
            return await client.stream(get("/f"), offset, validator)

        opener, budget = ArrivalCounter(opened).open, MemoryBudget(64 * MIB)
        wanted = frozenset({"sha256"})
        async with content_of(opener, file, spool=folder, budget=budget, single_bytes=SINGLE, wanted=wanted) as content:
            data = b"".join([block async for block in content.blocks()])
            await content.check()
            assert content.digests["sha256"] == hashlib.sha256(data).hexdigest()
        return data, len(running.seen)


@pytest.mark.parametrize("kept", [SENT, PLAIN], ids=["stored compressed", "compressed on the way"])
@pytest.mark.parametrize(("size", "digest"), [(True, True), (True, False), (False, True)])
async def test_the_reading_counts_that_agrees(tmp_path: Path, kept: bytes, size: bool, digest: bool) -> None:
    data, requests = await read(told(SENT), file_of(kept, size=size, digest=digest), tmp_path)
    assert data == kept
    assert requests == (1 if size or kept is SENT else 2)  # a size says beforehand which one it is


async def test_a_digest_decides_where_both_readings_have_one_size(tmp_path: Path) -> None:
    stored = gzip.compress(PLAIN, mtime=1)
    plain = generated(len(stored)).data
    sent = gzip.compress(plain, 0, mtime=0)
    assert (await read(told(sent), file_of(plain), tmp_path))[0] == plain
    other = FileRef("1", "a", len(SENT), digests={"md5": "0" * 32})
    with pytest.raises(IntegrityError, match="neither what is sent nor what it decodes to") as caught:
        await read(told(SENT), other, tmp_path)
    assert caught.value.code == "content-encoding"


@pytest.mark.parametrize("size", [MEMORY_BYTES + 5, 3 * MEMORY_BYTES])
@pytest.mark.parametrize("stored", [True, False])
async def test_large_files_are_decoded_too(tmp_path: Path, size: int, stored: bool) -> None:
    plain = generated(size).data
    sent = gzip.compress(plain, 0)
    kept = sent if stored else plain
    assert (await read(told(sent), file_of(kept), tmp_path))[0] == kept


async def test_a_file_whose_body_is_no_such_encoding_is_taken_as_sent_or_parked(tmp_path: Path) -> None:
    assert (await read(told(PLAIN), file_of(PLAIN), tmp_path))[0] == PLAIN
    for header in ("br", "gzip, gzip", "gzip"):
        with pytest.raises(IntegrityError, match="neither"):
            await read(told(SENT[:-9], {"Content-Encoding": header}), file_of(PLAIN), tmp_path)


async def test_nothing_is_guessed_without_size_and_digest(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="whether to decode it"):
        await read(told(SENT), file_of(SENT, size=False, digest=False), tmp_path)


async def test_a_small_response_does_not_become_a_large_file(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(64 * MIB))
    with pytest.raises(IntegrityError, match="neither"):
        await read(told(bomb), file_of(PLAIN), tmp_path)
