"""Downloads resume by range, skip through responses without one, and notice every wrong length."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.model.errors import ContractBroken, DamSyncError, Denied, IntegrityError, Transient
from dam_sync.model.validator import Validator
from dam_sync.transfer.download import LENGTH_TRIES, TRIES, Download, regrouped
from tests.support.transfer.byte_source import BLOCK, Opening, Source, source_of

DATA = bytes(range(256)) * 1000


async def drain(source: Source, size: int | None = -1, position: int = 0) -> bytes:
    download = Download(source.open, "photo.tif", source.size if size == -1 else size, position)
    try:
        return b"".join([block async for block in download])
    finally:
        await download.aclose()
        assert source.alive == 0


@pytest.mark.parametrize(
    ("data", "openings", "size", "offsets"),
    [
        pytest.param(DATA, [], len(DATA), [0], id="in one pass"),
        pytest.param(DATA, [], None, [0], id="of unknown size"),
        pytest.param(
            DATA, [Opening(stops=100_000), Opening(stops=50_000)], len(DATA), [0, 100_000, 150_000], id="broken"
        ),
        pytest.param(b"", [], 0, [0], id="empty"),
        pytest.param(b"", [], None, [0, 0], id="of unknown size, empty twice"),
        pytest.param(DATA, [Opening(size=0)], None, [0, 0], id="of unknown size, empty once"),
        pytest.param(
            DATA, [Opening(size=0, total=False)], None, [0, 0], id="of unknown size, empty once without a total"
        ),
        # a proxy in front of the store may respond with a page of its own, and break
        pytest.param(DATA, [Opening(size=1_000)], len(DATA), [0, 0], id="another length"),
        pytest.param(DATA, [Opening(size=1_000, stops=2)], len(DATA), [0, 0], id="another length, broken"),
    ],
)
async def test_a_file_is_requested_again_where_it_broke_or_from_the_beginning(
    data: bytes, openings: list[Opening], size: int | None, offsets: list[int]
) -> None:
    source = source_of(data, *openings)
    assert await drain(source, size) == data
    assert source.offsets == offsets


openings = st.builds(Opening, stops=st.integers(1, 120_000), breaks=st.booleans(), whole=st.booleans())


@given(script=st.lists(openings, max_size=4), position=st.integers(0, len(DATA)), known=st.booleans())
async def test_breaks_early_ends_and_ignored_ranges_lose_nothing(
    script: list[Opening], position: int, known: bool
) -> None:
    source = source_of(DATA, *script)
    assert await drain(source, len(DATA) if known else None, position) == DATA[position:]


async def test_a_response_without_range_is_skipped_through() -> None:
    source = source_of(DATA, Opening(stops=100_000), Opening(whole=True))
    assert await drain(source) == DATA
    assert source.served == 100_000 + len(DATA)


async def test_many_breaks_with_progress_are_borne() -> None:
    source = source_of(DATA, *[Opening(stops=2_000)] * 100)
    assert await drain(source) == DATA


BROKEN = Opening(stops=0)
ENDED = Opening(stops=0, breaks=False, total=False)


@pytest.mark.parametrize(
    ("openings", "offsets", "error", "words"),
    [
        pytest.param(
            [Opening(stops=10), *[BROKEN] * 100], [0] + [10] * TRIES, Transient, "the connection broke", id="broken"
        ),
        pytest.param([ENDED] * 100, [0] * TRIES, IntegrityError, "only 0 of 256000 bytes arrived", id="empty"),
    ],
)
async def test_responses_without_progress_end_with_their_error(
    openings: list[Opening], offsets: list[int], error: type[DamSyncError], words: str
) -> None:
    source = source_of(DATA, *openings)
    with pytest.raises(error, match=words):
        await drain(source)
    assert source.offsets == offsets


@pytest.mark.parametrize(("data", "size"), [(b"x", 0), (DATA, 100_000)], ids=["empty file", "file"])
async def test_more_bytes_than_expected_are_noticed_though_no_response_says_so(data: bytes, size: int) -> None:
    with pytest.raises(IntegrityError, match=f"has more than the {size} bytes expected"):
        await drain(source_of(data, Opening(total=False)), size)


async def test_another_length_is_reported_before_a_byte_is_returned() -> None:
    source = source_of(DATA)
    with pytest.raises(IntegrityError, match="should have 10 bytes but has 256000"):
        await drain(source, 10)
    assert (source.served, source.offsets) == (0, [0] * LENGTH_TRIES)


@pytest.mark.parametrize("size", [300_000, 150_000])
@pytest.mark.parametrize("known", [True, False])
async def test_a_file_that_grows_or_shrinks_while_it_is_read(size: int, known: bool) -> None:
    source = source_of(DATA, Opening(stops=100_000), *[Opening(size=size)] * LENGTH_TRIES)
    with pytest.raises(IntegrityError, match=f"should have 256000 bytes but has {size}"):
        await drain(source, len(DATA) if known else None)


async def test_a_response_from_behind_the_offset_is_refused() -> None:
    source = source_of(DATA)

    async def ahead(offset: int, validator: Validator) -> object:
        return await source.open(offset + 5, validator)

    with pytest.raises(ContractBroken, match="requested from byte 0, received from byte 5"):
        _ = [block async for block in Download(ahead, "photo.tif", len(DATA))]  # type: ignore[arg-type]
    assert source.alive == 0


async def test_a_refused_opening_passes() -> None:
    with pytest.raises(Denied):
        await drain(source_of(DATA, Opening(stops=70_000), Opening(refuses=Denied("no"))))


async def test_nothing_left_to_read_opens_nothing() -> None:
    source = source_of(DATA)
    assert await drain(source, position=len(DATA)) == b""
    assert source.offsets == []


async def test_leaving_early_releases_the_connection() -> None:
    source = source_of(DATA)
    download = Download(source.open, "photo.tif", source.size)
    assert len(await anext(download)) == BLOCK
    await download.aclose()
    await download.aclose()
    assert source.alive == 0


@given(sizes=st.lists(st.integers(1, 50), max_size=30), least=st.integers(1, 60))
async def test_regrouping_keeps_every_byte(sizes: list[int], least: int) -> None:
    blocks = [bytes([number]) * size for number, size in enumerate(sizes)]

    async def given_blocks() -> AsyncIterator[bytes]:
        for block in blocks:
            yield block

    groups = [group async for group in regrouped(given_blocks(), least)]
    assert b"".join(groups) == b"".join(blocks)
    assert all(least <= len(group) < least + 50 for group in groups[:-1])
