"""Content of every size: flat in memory, checked before it counts, readable again for every retry."""

from __future__ import annotations

import asyncio
import hashlib
import resource
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dam_sync.model.asset import FileRef
from dam_sync.model.errors import DiskFull, IntegrityError, Transient
from dam_sync.model.limits import MIB
from dam_sync.model.ports import Content
from dam_sync.model.validator import Validator
from dam_sync.transfer.content import (
    MEMORY_BYTES,
    MemoryBudget,
    MemoryContent,
    RangedContent,
    SpooledContent,
    content_of,
)
from dam_sync.transfer.download import LENGTH_TRIES
from tests.support.transfer.byte_source import Opening, Source, generated, source_of

KIB = 1024
SMALL, MIDDLE, LARGE = 300_000, MEMORY_BYTES + 12_345, 10 * MIB + 7
SINGLE = 8 * MIB
KINDS = {SMALL: MemoryContent, MIDDLE: SpooledContent, LARGE: RangedContent}
SHA = frozenset({"sha256"})
DIGEST = generated(LARGE).digest("sha1")


@asynccontextmanager
async def opened(
    source: Source, spool: Path, file: FileRef | None = None, wanted: frozenset[str] = SHA
) -> AsyncIterator[Content]:
    budget = MemoryBudget(64 * MIB)
    async with content_of(
        source.open, file or source.file(), spool=spool, budget=budget, single_bytes=SINGLE, wanted=wanted
    ) as content:
        yield content
    assert budget.held == 0
    assert source.alive == 0
    assert not spool.exists() or list(spool.iterdir()) == []


async def whole(content: Content) -> bytes:
    return b"".join([block async for block in content.blocks()])


@pytest.mark.parametrize("size", [0, 1, SMALL, MEMORY_BYTES, MIDDLE, SINGLE, LARGE])
@pytest.mark.parametrize("breaks", [False, True])
async def test_every_size_arrives_whole_and_may_be_read_again(tmp_path: Path, size: int, breaks: bool) -> None:
    source = generated(size, *([Opening(stops=size // 3), Opening(stops=size // 3)] if breaks and size else []))
    file = source.file(md5=source.digest("md5"))
    async with opened(source, tmp_path / "spool", file) as content:
        assert (content.size, content.name) == (size, "photo.tif")
        for _ in range(2):
            blocks = [block async for block in content.blocks()]
            assert all(0 < len(block) <= MIB for block in blocks)
            assert b"".join(blocks) == source.data
        assert await content.read(size // 3, size // 2) == source.read(size // 3, size // 2)
        await content.check()
        assert content.digests == {"md5": source.digest("md5"), "sha256": source.digest("sha256")}


@pytest.mark.parametrize("size", KINDS)
async def test_the_kind_follows_the_size(tmp_path: Path, size: int) -> None:
    async with opened(generated(size), tmp_path / "spool") as content:
        assert type(content) is KINDS[size]


@pytest.mark.parametrize("size", [0, SMALL, LARGE])
@pytest.mark.parametrize("total", [True, False])
async def test_an_unknown_size_is_learnt_in_the_spool(tmp_path: Path, size: int, total: bool) -> None:
    source = generated(size, Opening(total=total))
    async with opened(source, tmp_path / "spool", source.file(size=None)) as content:
        assert isinstance(content, SpooledContent)
        assert content.size == size
        assert await whole(content) == source.data


@pytest.mark.parametrize("size", KINDS)
async def test_only_digests_somebody_can_check_are_made(tmp_path: Path, size: int) -> None:
    source = generated(size)
    file = source.file(MD5=source.digest("md5").upper(), crc32c="abcd")
    async with opened(source, tmp_path / "spool", file, frozenset()) as content:
        await content.check()
        assert content.digests == {"md5": source.digest("md5")}


@pytest.mark.parametrize("size", [SMALL, MIDDLE])
async def test_a_wrong_digest_stops_before_anybody_has_the_bytes(tmp_path: Path, size: int) -> None:
    source = generated(size)
    wrong = hashlib.md5(b"other").hexdigest()
    with pytest.raises(IntegrityError) as caught:
        async with opened(source, tmp_path / "spool", source.file(md5=wrong)):
            pytest.fail("the content was given")
    assert wrong in str(caught.value)
    assert source.digest("md5") in str(caught.value)


async def test_a_wrong_digest_of_a_large_file_shows_in_the_check(tmp_path: Path) -> None:
    source = generated(LARGE)
    async with opened(source, tmp_path, source.file(md5="0" * 32)) as content:
        await whole(content)
        with pytest.raises(IntegrityError, match="md5 digest should be 0000"):
            await content.check()
        with pytest.raises(IntegrityError):
            await content.check()
        assert content.digests == {"md5": "0" * 32}  # as published: nothing was proved


@pytest.mark.parametrize("size", KINDS)
async def test_zero_bytes_for_a_file_that_has_some(tmp_path: Path, size: int) -> None:
    source = generated(size, *[Opening(stops=0, breaks=False, total=False)] * 50)
    with pytest.raises(IntegrityError, match=f"only 0 of {size} bytes arrived"):
        async with opened(source, tmp_path / "spool") as content:
            await content.read(0, 10)


@pytest.mark.parametrize("size", KINDS)
@pytest.mark.parametrize("change", [-1000, 1000])
async def test_another_length_than_listed(tmp_path: Path, size: int, change: int) -> None:
    source = generated(size + change)
    with pytest.raises(IntegrityError, match=f"should have {size} bytes but has {size + change}"):
        async with opened(source, tmp_path / "spool", source.file(size=size)) as content:
            await content.read(0, 10)


@pytest.mark.parametrize("size", KINDS)
async def test_a_file_that_changes_its_length_while_it_is_read(tmp_path: Path, size: int) -> None:
    source = generated(size, Opening(stops=size // 2), *[Opening(size=size + 5)] * LENGTH_TRIES)
    with pytest.raises(IntegrityError, match=f"should have {size} bytes but has {size + 5}"):
        async with opened(source, tmp_path / "spool") as content:
            await content.read(0, size)


async def test_a_file_longer_than_announced_is_noticed_at_its_end(tmp_path: Path) -> None:
    source = generated(10 * MIB + 1, Opening(total=False))
    async with opened(source, tmp_path, source.file(size=10 * MIB)) as content:
        await content.read(0, 10 * MIB - 1)
        with pytest.raises(IntegrityError, match="more than"):
            await content.check()


async def test_media_types_are_published_or_guessed_the_same_everywhere(tmp_path: Path) -> None:
    source = source_of(b"x")
    for file, media_type in [
        (FileRef("1", "a.jpg", 1), "image/jpeg"),
        (FileRef("1", "a.unheard", 1), "application/octet-stream"),
        (FileRef("1", "a.jpg", 1, "image/x-own"), "image/x-own"),
        (FileRef("1", "a.webp", 1, "application/octet-stream"), "image/webp"),
    ]:
        async with opened(source, tmp_path, file) as content:
            assert content.media_type == media_type


async def test_a_signed_link_is_never_shown(tmp_path: Path) -> None:
    source = source_of(b"x")
    async with opened(
        source, tmp_path, FileRef("1", "a.jpg", 1, link="https://x.example/?Signature=s3cret")
    ) as content:
        assert content.link is None  # for others only if it is meant to be
        assert "s3cret" not in repr(content)


@pytest.mark.parametrize("size", KINDS)
async def test_ranges_outside_the_file_are_a_mistake(tmp_path: Path, size: int) -> None:
    async with opened(generated(size), tmp_path / "spool") as content:
        for start, stop in ((-1, 5), (5, 4), (0, size + 1)):
            with pytest.raises(ValueError, match="bytes"):
                await content.read(start, stop)
        assert await content.read(5, 5) == b""


async def test_memory_is_held_while_the_content_lives(tmp_path: Path) -> None:
    budget = MemoryBudget(64 * MIB)
    source = generated(SMALL)
    async with content_of(source.open, source.file(), spool=tmp_path, budget=budget, single_bytes=SINGLE, wanted=SHA):
        assert budget.held == SMALL
    assert budget.held == 0


async def test_a_full_disk_stops_and_leaves_nothing(tmp_path: Path) -> None:
    source = generated(MIDDLE)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, before[1]))  # no file becomes larger
    try:
        with pytest.raises(DiskFull):
            async with opened(source, tmp_path):
                pytest.fail("the content was given")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
    assert source.alive == 0


async def test_cancelled_while_spooling_leaves_nothing(tmp_path: Path) -> None:
    source = generated(MIDDLE)
    wait = asyncio.Event()

    async def hang(offset: int, validator: Validator) -> object:
        await wait.wait()
        return None

    async def work() -> None:
        async with content_of(
            hang,  # type: ignore[arg-type]
            source.file(),
            spool=tmp_path,
            budget=MemoryBudget(MIB),
            single_bytes=SINGLE,
            wanted=SHA,
        ):
            pytest.fail("the content was given")

    task = asyncio.create_task(work())
    await asyncio.sleep(0.05)
    assert len(list(tmp_path.iterdir())) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list(tmp_path.iterdir()) == []


async def test_ascending_reads_are_one_pass_hashed_on_the_way(tmp_path: Path) -> None:
    source = generated(LARGE)
    async with opened(source, tmp_path, source.file(md5=source.digest("md5"))) as content:
        for start in range(0, LARGE, MIB):
            stop = min(start + MIB, LARGE)
            assert await content.read(start, stop) == source.read(start, stop)
        await content.check()
    assert source.offsets == [0]
    assert source.served == LARGE


async def test_skipped_bytes_are_hashed_all_the_same(tmp_path: Path) -> None:
    source = generated(LARGE)
    async with opened(source, tmp_path, source.file(md5=source.digest("md5"))) as content:
        assert await content.read(6 * MIB, 7 * MIB) == source.read(6 * MIB, 7 * MIB)
        await content.check()
        assert content.digests["md5"] == source.digest("md5")
    assert source.offsets == [0]
    assert source.served == LARGE


async def test_without_digests_to_make_nothing_is_read_for_them(tmp_path: Path) -> None:
    source = generated(LARGE)
    async with opened(source, tmp_path, wanted=frozenset()) as content:
        await content.read(0, 10)
        assert await content.read(9 * MIB, LARGE) == source.read(9 * MIB, LARGE)
        await content.check()
    assert source.offsets == [0, 9 * MIB]
    assert source.served < 2 * MIB


async def test_without_digests_and_reads_the_length_is_checked_at_least(tmp_path: Path) -> None:
    source = generated(LARGE + 1)
    with pytest.raises(IntegrityError, match="should have"):
        async with opened(source, tmp_path, source.file(size=LARGE), frozenset()):
            pytest.fail("the content was given")
    assert source.served == 0


async def test_an_earlier_range_is_read_apart(tmp_path: Path) -> None:
    source = generated(LARGE)
    async with opened(source, tmp_path, source.file(md5=source.digest("md5"))) as content:
        await content.read(0, 4 * MIB)
        assert await content.read(MIB, 2 * MIB) == source.read(MIB, 2 * MIB)
        assert await content.read(4 * MIB, 5 * MIB) == source.read(4 * MIB, 5 * MIB)
        await content.check()
    assert source.offsets == [0, MIB]


async def test_reads_at_the_same_time_do_not_mix(tmp_path: Path) -> None:
    source = generated(LARGE)
    async with opened(source, tmp_path, source.file(md5=source.digest("md5"))) as content:
        starts = [0, 3 * MIB, MIB, 9 * MIB]
        bodies = await asyncio.gather(*[content.read(start, start + MIB) for start in starts])
        assert bodies == [source.read(start, start + MIB) for start in starts]
        await content.check()


async def test_a_failed_read_can_be_repeated(tmp_path: Path) -> None:
    source = generated(LARGE, Opening(stops=3 * MIB), Opening(refuses=Transient("down")))
    async with opened(source, tmp_path, source.file(md5=source.digest("md5"))) as content:
        await content.read(0, 2 * MIB)
        with pytest.raises(Transient):
            await content.read(2 * MIB, 4 * MIB)
        assert await content.read(2 * MIB, 4 * MIB) == source.read(2 * MIB, 4 * MIB)
        await content.check()


async def test_a_large_file_is_passed_on_in_the_blocks_that_were_read(tmp_path: Path) -> None:
    """Small ones are joined: each block costs a write."""
    source, received = generated(LARGE), list[bytes]()

    async def opened_by(size: int, offset: int, validator: Validator) -> Pieces:
        return Pieces(source.read(offset, LARGE), size, received)

    for size, least in ((256 * KIB, 256 * KIB), (5_000, 64 * KIB)):
        received.clear()
        async with aclosing(RangedContent(partial(opened_by, size), source.file(), LARGE, frozenset())) as content:
            part = [block async for block in content.blocks(0, 8 * MIB)]
        assert b"".join(part) == source.read(0, 8 * MIB)
        assert all(len(block) >= least for block in part[:-1])
        if size == least:
            assert all(block is read for block, read in zip(part, received, strict=False))


class Pieces:
    """A stream of blocks of one size, which are remembered."""

    validator = Validator(tag='"1"')

    def __init__(self, data: bytes, size: int, given: list[bytes]) -> None:
        self.start, self.total = 0, len(data)
        self._data, self._size, self._given = data, size, given

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._data), self._size):
            self._given.append(self._data[at : at + self._size])
            yield self._given[-1]

    async def aclose(self) -> None:
        """Nothing is open."""


@given(
    reads=st.lists(st.tuples(st.integers(0, LARGE), st.integers(0, 700_000)), max_size=6),
    script=st.lists(st.builds(Opening, stops=st.integers(1, 4 * MIB), whole=st.booleans()), max_size=3),
    whole_first=st.booleans(),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
async def test_any_reads_in_any_order_return_the_bytes_and_the_digest(
    tmp_path: Path, reads: list[tuple[int, int]], script: list[Opening], whole_first: bool
) -> None:
    source = generated(LARGE, *script)
    async with opened(source, tmp_path, source.file(sha1=DIGEST)) as content:
        if whole_first:
            async for _ in content.blocks():
                break
        for start, size in reads:
            stop = min(start + size, LARGE)
            assert await content.read(start, stop) == source.read(start, stop)
        await content.check()


async def _by_blocks(content: Content) -> None:
    async for _ in content.blocks():
        pass
    await content.check()


async def _by_parts(content: Content) -> None:
    for start in range(0, content.size, 5 * MIB):
        await content.read(start, min(start + 5 * MIB, content.size))
    await content.check()


@pytest.mark.parametrize("use", [_by_blocks, _by_parts])
@pytest.mark.parametrize("spooled", [False, True])
async def test_memory_does_not_grow_with_the_file(
    tmp_path: Path, use: Callable[[Content], Awaitable[None]], spooled: bool
) -> None:
    size = 300 * MIB
    source = generated(size, Opening(stops=100 * MIB))
    single = size if spooled else SINGLE
    tracemalloc.start()
    try:
        async with content_of(
            source.open, source.file(), spool=tmp_path, budget=MemoryBudget(64 * MIB), single_bytes=single, wanted=SHA
        ) as content:
            await use(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * MIB
