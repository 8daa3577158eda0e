"""Whatever is read in parts is one version of the file: it may be replaced at any byte, and servers may say so in every
way, or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dam_sync.http.client import Client
from dam_sync.model.asset import FileRef
from dam_sync.model.errors import FileReplaced, IntegrityError, OtherVersion, Transient
from dam_sync.model.limits import MIB, PartBounds
from dam_sync.model.parking import ParkReason
from dam_sync.model.ports import Content, Stream
from dam_sync.model.validator import Validator
from dam_sync.model.values import Json
from dam_sync.transfer.budget import MemoryBudget
from dam_sync.transfer.content import MEMORY_BYTES, RangedContent, SpooledContent, content_of
from dam_sync.transfer.download import BEGINNINGS
from dam_sync.transfer.upload import send_parts, send_ranges, send_single, send_streamed_parts
from tests.support.network.clients import client_of, get
from tests.support.network.versioned_file import HEEDS, TELLS, Break, VersionedFile, version_of
from tests.support.pairs import EVERYTHING
from tests.support.state.memory_journal import Crash, MemoryJournal
from tests.support.transfer.upload_servers import WEEK, PartsServer, RangesServer

SMALL, LARGE = 200_000, MEMORY_BYTES + 100_000
CUT = 70_000
STRONG = ("tag", "date")
BOUNDS = PartBounds(MIB, 1, at_once=2)
PROCESSES = 30


@asynccontextmanager
async def reading(file: VersionedFile, spool: Path, ref: FileRef) -> AsyncIterator[Content]:
    async with client_of("https://files.example", transport=file) as client, _content(client, spool, ref) as content:
        yield content


@asynccontextmanager
async def _content(client: Client, spool: Path, ref: FileRef) -> AsyncIterator[Content]:
    async def opened(offset: int, validator: Validator) -> Stream:
        return await client.stream(get("/f", asset="1"), offset, validator)

    budget, wanted = MemoryBudget(64 * MIB), frozenset({"sha256"})
    async with content_of(opened, ref, spool=spool, budget=budget, single_bytes=0, wanted=wanted) as content:
        yield content


async def whole(content: Content) -> bytes:
    return b"".join([block async for block in content.blocks()])


def ref_of(size: int | None) -> FileRef:
    return FileRef("1", "a.bin", size)


# one read


@pytest.mark.parametrize("heeds", HEEDS)
@pytest.mark.parametrize("tells", TELLS)
@pytest.mark.parametrize("size", [SMALL, None], ids=["in memory", "in the spool"])
async def test_a_file_that_is_replaced_at_a_break_arrives_as_the_new_one(
    tmp_path: Path, size: int | None, tells: str, heeds: str
) -> None:
    file = VersionedFile((SMALL,), tells, heeds, [Break(CUT)])
    async with reading(file, tmp_path, ref_of(size)) as content:
        assert await whole(content) == version_of(1, SMALL)
    condition = {"tag": '"0"', "tag at first": '"0"', "date": "Sun, 29 Nov 2026 00:00:00 GMT"}.get(tells, "")
    assert file.asked[1] == (f"bytes={CUT}-", condition)


@pytest.mark.parametrize("tells", TELLS)
async def test_what_is_shown_to_be_the_same_is_resumed_and_the_rest_read_again(tmp_path: Path, tells: str) -> None:
    file = VersionedFile((SMALL,), tells, breaks=[Break(CUT, replaced=False)])
    async with reading(file, tmp_path, ref_of(SMALL)) as content:
        assert await whole(content) == version_of(0, SMALL)
    assert len(file.asked) == (2 if tells in (*STRONG, "tag at first") else 3)


async def test_the_response_with_the_other_version_is_not_asked_for_twice(tmp_path: Path) -> None:
    file = VersionedFile((SMALL,), breaks=[Break(CUT)])
    async with reading(file, tmp_path, ref_of(SMALL)):
        assert len(file.asked) == 2


@pytest.mark.parametrize("digest_of", [0, 1])
@pytest.mark.parametrize("size", [SMALL, None], ids=["in memory", "in the spool"])
async def test_a_digest_of_the_former_file_says_nothing_about_damage(
    tmp_path: Path, size: int | None, digest_of: int
) -> None:
    """The record of the asset was read before the file was replaced; that of the new one is read by the next run."""
    file = VersionedFile((SMALL,), breaks=[Break(CUT)])
    made = hashlib.md5(file.version(digest_of), usedforsecurity=False).hexdigest()
    ref = replace(ref_of(size), digests={"md5": made})
    if digest_of:
        async with reading(file, tmp_path, ref) as content:
            assert await whole(content) == file.version(1)
        return
    with pytest.raises(IntegrityError) as caught:
        async with reading(file, tmp_path, ref):
            pass
    assert caught.value.cause is ParkReason.REPLACED
    assert "a.bin was replaced at the service while it was read" in caught.value.message
    assert f"the md5 digest should be {made}" in caught.value.message
    assert "damaged" not in caught.value.hint


async def test_a_wrong_digest_of_a_file_that_nobody_replaced_is_damage(tmp_path: Path) -> None:
    ref = replace(ref_of(SMALL), digests={"md5": "0" * 32})
    with pytest.raises(IntegrityError) as caught:
        async with reading(VersionedFile((SMALL,), breaks=[Break(CUT, replaced=False)]), tmp_path, ref):
            pass
    assert caught.value.cause is ParkReason.DIGEST
    assert "damaged" in caught.value.hint


@pytest.mark.parametrize("sizes", [(SMALL, SMALL - 5), (SMALL, SMALL + 5), (SMALL, CUT), (SMALL, CUT - 1), (SMALL, 0)])
@pytest.mark.parametrize("heeds", HEEDS)
@pytest.mark.parametrize("tells", TELLS)
async def test_a_version_of_another_length_is_taken_whole_where_no_length_was_announced(
    tmp_path: Path, sizes: tuple[int, int], tells: str, heeds: str
) -> None:
    file = VersionedFile(sizes, tells, heeds, [Break(CUT)])
    async with reading(file, tmp_path, ref_of(None)) as content:
        assert await whole(content) == file.version(1)


@pytest.mark.parametrize("tells", TELLS)
@pytest.mark.parametrize("size", [SMALL, LARGE, None])
async def test_a_file_that_is_replaced_each_time_is_given_up(tmp_path: Path, size: int | None, tells: str) -> None:
    file = VersionedFile((size or SMALL,), tells, cuts=CUT)
    with pytest.raises((FileReplaced, Transient)) as caught:
        async with reading(file, tmp_path, ref_of(size)) as content:
            await content.check()
    assert len(file.asked) <= 2 * BEGINNINGS
    if tells in STRONG:
        assert caught.value.cause == "replaced"
        assert "replaced" in str(caught.value)


# many reads of one file


@pytest.mark.parametrize("tells", TELLS)
async def test_a_large_file_whose_versions_are_not_distinguished_is_read_once(tmp_path: Path, tells: str) -> None:
    file = VersionedFile((LARGE,), tells)
    async with reading(file, tmp_path, ref_of(LARGE)) as content:
        tagged = tells in (*STRONG, "tag at first")
        assert type(content) is (RangedContent if tagged else SpooledContent)
        assert (await content.version() != "") is tagged
        assert await whole(content) == version_of(0, LARGE)
    assert len(file.asked) == 1


@pytest.mark.parametrize("heeds", HEEDS)
@pytest.mark.parametrize("tells", ["tag", "date", "tag at first"])
async def test_a_second_reading_of_a_large_file_is_of_the_same_version_or_none(
    tmp_path: Path, tells: str, heeds: str
) -> None:
    file = VersionedFile((LARGE,), tells, heeds)
    async with reading(file, tmp_path, ref_of(LARGE)) as content:
        await whole(content)
        file.now = 1
        for again in (lambda: content.read(MIB, 2 * MIB), lambda: whole(content)):
            with pytest.raises(OtherVersion):
                await again()


async def test_the_version_is_that_of_the_file(tmp_path: Path) -> None:
    said = []
    for now in (0, 0, 1):
        async with reading(VersionedFile((LARGE,), now=now), tmp_path, ref_of(LARGE)) as content:
            said.append(await content.version())
    assert said[0] == said[1] != said[2]
    assert '"' not in said[0]


# uploads, with processes that are killed


@pytest.mark.parametrize("kind", ["parts", "streamed", "ranges"])
@pytest.mark.parametrize("replaced", [False, True])
async def test_an_upload_is_continued_with_the_version_with_which_it_began(
    tmp_path: Path, kind: str, replaced: bool
) -> None:
    file, target = VersionedFile((LARGE,)), _Target(kind)
    journal = MemoryJournal()
    target.server.faults.fails["put 3"] = Crash()
    with pytest.raises(Crash):
        async with reading(file, tmp_path, ref_of(LARGE)) as content:
            await target.send(content, journal)
    file.now = int(replaced)
    async with reading(file, tmp_path, ref_of(LARGE)) as content:
        assert target.stored(await target.send(content, journal)) == version_of(int(replaced), LARGE)
    assert target.server.calls["begin"] == 1 + replaced


async def test_an_upload_of_an_older_release_begins_again(tmp_path: Path) -> None:
    file, target, journal = VersionedFile((LARGE,)), _Target("parts"), MemoryJournal()
    target.server.faults.fails["put 3"] = Crash()
    with pytest.raises(Crash):
        async with reading(file, tmp_path, ref_of(LARGE)) as content:
            await target.send(content, journal)
    record, at = journal.done["parts:begin"]
    journal.done["parts:begin"] = ({key: value for key, value in record.items() if key != "version"}, at)
    async with reading(file, tmp_path, ref_of(LARGE)) as content:
        await target.send(content, journal)
    assert target.server.calls["begin"] == 2


breaks = st.builds(Break, after=st.integers(0, LARGE + LARGE // 4), replaced=st.booleans())


@given(
    tells=st.sampled_from(TELLS),
    heeds=st.sampled_from(HEEDS),
    kind=st.sampled_from(("single", "parts", "streamed", "ranges")),
    size=st.sampled_from((SMALL, None, LARGE, LARGE)),
    script=st.lists(breaks, max_size=5),
    moments=st.lists(st.tuples(st.integers(1, 20), st.booleans()), max_size=3),
)
@settings(max_examples=300 if EVERYTHING else 40, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_mixture_of_versions_is_ever_stored(
    tmp_path: Path,
    tells: str,
    heeds: str,
    kind: str,
    size: int | None,
    script: list[Break],
    moments: list[tuple[int, bool]],
) -> None:
    """Connections that break and processes that are killed, with a file that is another one afterwards, or not."""
    scaled = [replace(each, after=each.after * (size or SMALL) // LARGE) for each in script]
    file, target = VersionedFile((size or SMALL,), tells, heeds, scaled), _Target(kind)
    handle, journal = None, MemoryJournal()
    for _ in range(PROCESSES):
        journal.moments, (journal.blow_at, replaced) = 0, moments.pop(0) if moments else (None, False)
        try:
            async with reading(file, tmp_path, ref_of(size)) as content:
                handle = await target.send(content, journal)
                break
        except Crash:
            file.now += replaced
        except (Transient, IntegrityError):
            continue
    assert handle is not None
    assert target.stored(handle) in file.versions
    assert set(target.finished) <= file.versions


class _Target:
    """A server that takes files in one of four ways."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.server = RangesServer() if kind == "ranges" else PartsServer()
        self.single: list[bytes] = []

    async def send(self, content: Content, journal: MemoryJournal) -> Json:
        match self.kind:
            case "single":
                return await send_single(content, self._whole, journal, ttl=WEEK)
            case "parts":
                return await send_parts(content, self.server, BOUNDS, journal, MemoryBudget(8 * MIB), ttl=WEEK)
            case "streamed":
                return await send_streamed_parts(content, self.server, BOUNDS, journal, ttl=WEEK)
            case _:
                return await send_ranges(content, self.server, MIB, journal, ttl=WEEK)

    async def _whole(self, content: Content) -> Json:
        self.single.append(await whole(content))
        return len(self.single) - 1

    def stored(self, handle: Json) -> bytes:
        if self.kind == "single":
            return self.single[handle]
        return bytes((self.server.sessions if self.kind == "ranges" else self.server.files)[handle["file"]])

    @property
    def finished(self) -> list[bytes]:
        return list(self.server.files.values()) if isinstance(self.server, PartsServer) else []
