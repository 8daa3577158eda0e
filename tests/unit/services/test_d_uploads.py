"""Uploads and versions of service D: a record has its ids before its bytes, and no crash leaves two of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from dam_sync.model.asset import AssetId, Marker
from dam_sync.model.errors import IntegrityError, Rejected, Transient, Uncertain
from dam_sync.model.estimator import Estimator
from dam_sync.model.limits import PartBounds
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.uploads.urls import CreatedRecord
from tests.support.network.raw_server import Said, Seen
from tests.support.services import scripted_d as d
from tests.support.services.connections import Bytes
from tests.support.services.scripted_d import Opened, draft, scripted
from tests.support.state.credential_store import MemoryCredentialStore
from tests.support.state.memory_journal import Crash, MemoryJournal

SMALL = replace(facts.LIMITS, single_bytes=1000, parts=PartBounds(1000, 1000, 1000, 10, 1))


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    async with scripted() as one:
        yield one


# -- ids before bytes --------------------------------------------------------------------------------------------------


async def test_the_record_comes_first_and_its_metadata_with_it(opened: Opened) -> None:
    service, content = opened.connect(), Bytes("src-1.jpg", b"data", known=True)
    await service.schema()
    told = Estimator(service).write(draft(), content.size)
    before = dict(service.calls)
    made = await service.create(draft(), content, MemoryJournal())
    spent = {name: number - before.get(name, 0) for name, number in service.calls.items()}
    assert {name: number for name, number in spent.items() if number and name != facts.SECURITY} == told
    assert opened.script.story == ["create object-0001", "put object-0001"]
    await opened.script.clock.sleep(60)
    found = await opened.connect().fetch(made)
    assert found.fields["source_key"] == "src-1"
    assert found.file is not None
    assert found.file.digests == content.digests


@pytest.mark.parametrize("blow_at", range(1, 16))
async def test_a_crash_leaves_no_second_asset_and_no_marked_stub(opened: Opened, blow_at: int) -> None:
    journal, content = MemoryJournal(blow_at), Bytes("src-1.jpg", b"data", known=True)
    try:
        made = await opened.connect().create(draft(), content, journal)
    except Crash:
        journal.blow_at = None
        made = await opened.connect().create(draft(), content, journal)
    marked = [row for row in opened.script.records.values() if d._text(row, d.MARK) == "src-1"]
    assert [row["originalFileId"] for row in marked] == [made]
    assert opened.script.bytes[marked[0]["objectId"]] == b"data"
    stubs = [row for row in opened.script.records.values() if row not in marked]
    assert all(row["fileState"] == "recycle bin" for row in stubs)


@pytest.mark.parametrize("lag", [60.0, 280.0])
async def test_a_create_with_a_lost_response_is_found_once_the_index_shows_it(opened: Opened, lag: float) -> None:
    """A search right after the create would find nothing, and a second asset would be made. After one window of the
    index another one is waited for (wire D 6.9)."""
    opened.script.lag, opened.script.lost = lag, 1
    journal = MemoryJournal()
    service = opened.connect()
    with pytest.raises(Exception, match=r".+"):
        await service.create(draft(), None, journal)
    made = await service.create(draft(), None, journal)
    assert [row["originalFileId"] for row in opened.script.records.values()] == [made]


async def test_find_takes_nothing_that_is_only_alike(opened: Opened) -> None:
    service = opened.connect()
    for key in ("find-1-1", "find-11", "find-1"):
        await service.create(draft(key), None, MemoryJournal())
    made = await service.find(Marker("source_key", "find-1"))
    assert made == AssetId("file-0003")
    before = opened.script.clock.monotonic()
    assert await service.find(Marker("source_key", "find-2")) is None
    assert opened.script.clock.monotonic() - before >= facts.LAG.total_seconds()


async def test_find_leaves_out_what_only_the_index_still_has(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """A purged record leaves the store before it leaves the index (wire D 2.5, 6.9)."""
    service = opened.connect()
    for key in ("find-1", "find-1"):
        await service.create(draft(key), None, MemoryJournal())
    respond = opened.script._asset
    gone = d.said({"message": "Asset not found"}, 403)
    monkeypatch.setattr(opened.script, "_asset", lambda one: gone if one == "object-0001" else respond(one))
    assert await service.find(Marker("source_key", "find-1")) == AssetId("file-0002")
    opened.script.records.pop("object-0002")
    assert await service.find(Marker("source_key", "find-1")) is None


async def test_an_upload_whose_link_ended_creates_its_record_again(opened: Opened) -> None:
    opened.script.vanish = 1
    await opened.connect().create(draft(), Bytes("src-1.jpg", b"data", known=True), MemoryJournal())
    story = opened.script.story
    assert story == ["create object-0001", "delete object-0001", "create object-0002", "put object-0002"]
    assert d._text(opened.script.records["object-0001"], d.MARK) == "stub-object-0001"


@pytest.mark.parametrize(("status", "code"), [(400, "InvalidArgument"), (403, "SignatureDoesNotMatch")])
async def test_a_storage_that_refuses_a_new_link_parks_and_makes_one_record(
    opened: Opened, status: int, code: str
) -> None:
    opened.script.refusal = (status, code)
    journal, credentials, content = (
        MemoryJournal(),
        MemoryCredentialStore(),
        Bytes("src-1.jpg", b"data", known=True),
    )
    for _ in range(3):
        with pytest.raises(Rejected) as caught:
            await opened.connect(credentials=credentials).create(draft(), content, journal)
        assert (caught.value.code, caught.value.operation) == (code, facts.UPLOAD)
        assert f"{status}" in caught.value.message
        assert "Told by the store" in caught.value.message
        await opened.script.clock.sleep(3600)
    assert opened.script.story == ["create object-0001"]
    assert opened.script.calls["PUT refused"] == 6
    opened.script.refusal = None
    made = await opened.connect(credentials=credentials).create(draft(), content, journal)
    assert opened.script.story == ["create object-0001", "put object-0001"]
    assert opened.script.records["object-0001"]["originalFileId"] == made


@pytest.mark.parametrize("code", ["ExpiredToken", "AccessDenied"])
async def test_links_that_end_as_soon_as_they_are_made_are_a_refusal(opened: Opened, code: str) -> None:
    opened.script.refusal = (403, code)
    with pytest.raises(Rejected, match="Told by the store") as caught:
        await opened.connect().create(draft(), Bytes("src-1.jpg", b"data", known=True), MemoryJournal())
    assert caught.value.code == code
    creates = [step for step in opened.script.story if step.startswith("create")]
    assert len(creates) == 2


async def test_parts_that_the_store_refuses_leave_one_record_in_the_bin(
    opened: Opened,
) -> None:
    opened.script.part, opened.script.refusal = 1000, (400, "InvalidArgument")
    opened.limits = SMALL
    content = Bytes("src-1.jpg", bytes(range(250)) * 10, known=True)
    with pytest.raises(Rejected) as caught:
        await opened.connect(credentials=MemoryCredentialStore()).create(draft(), content, MemoryJournal())
    assert caught.value.code == "InvalidArgument"
    assert len(opened.script.records) == 1


async def test_an_upload_that_is_never_completed_is_parked_after_two_records(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.script.part = 1000
    opened.limits = SMALL
    monkeypatch.setattr(opened.script, "_complete", lambda body: d.said({"status": "error", "message": "Nope"}, 400))
    content = Bytes("src-1.jpg", bytes(range(250)) * 10, known=True)
    with pytest.raises(Rejected, match="Nope"):
        await opened.connect(credentials=MemoryCredentialStore()).create(draft(), content, MemoryJournal())
    assert len(opened.script.records) == 2


@pytest.mark.parametrize("kept", [True, False], ids=["links kept", "links lost"])
@pytest.mark.parametrize("blow_at", range(4, 16, 2))
async def test_a_large_upload_resumes_where_its_links_were_stored(opened: Opened, kept: bool, blow_at: int) -> None:
    opened.script.part = 1000
    opened.limits = SMALL
    credentials, journal, content = (
        MemoryCredentialStore(),
        MemoryJournal(blow_at),
        Bytes("src-1.jpg", bytes(range(250)) * 10, known=True),
    )
    try:
        await opened.connect(credentials=credentials).create(draft(), content, journal)
    except Crash:
        journal.blow_at = None
        await opened.connect(credentials=credentials if kept else MemoryCredentialStore()).create(
            draft(), content, journal
        )
    (record,) = [key for key, row in opened.script.records.items() if d._text(row, d.MARK) == "src-1"]
    assert opened.script.bytes[record] == content.data
    creates = [step for step in opened.script.story if step.startswith("create")]
    assert len(creates) <= (1 if kept and journal.moments > 4 else 2)
    assert "X-Amz" not in str(journal.done)
    assert not kept or "X-Amz" not in str(credentials.kept)


@pytest.mark.parametrize("blow_at", range(4, 12))
async def test_a_small_upload_resumes_with_the_links_its_record_came_with(opened: Opened, blow_at: int) -> None:
    """A record that was recorded as made is not trashed and created again: its links outlive the process."""
    credentials, journal, content = (
        MemoryCredentialStore(),
        MemoryJournal(blow_at),
        Bytes("src-1.jpg", b"data", known=True),
    )
    try:
        await opened.connect(credentials=credentials).create(draft(), content, journal)
    except Crash:
        journal.blow_at = None
        await opened.connect(credentials=credentials).create(draft(), content, journal)
    recorded = "record" in journal.done
    creates = [step for step in opened.script.story if step.startswith("create")]
    assert recorded
    assert len(creates) == 1
    assert "X-Amz" not in str(journal.done)


async def test_bytes_that_are_not_what_was_promised_leave_no_asset(opened: Opened) -> None:
    content = Bytes("src-1.jpg", b"data", known=True)

    async def check() -> None:
        raise IntegrityError("other bytes")

    content.check = check  # type: ignore[method-assign]
    journal = MemoryJournal()
    with pytest.raises(IntegrityError):
        await opened.connect().create(draft(), content, journal)
    assert {row["fileState"] for row in opened.script.records.values()} == {"recycle bin"}
    made = await opened.connect().create(draft(), Bytes("src-1.jpg", b"data", known=True), journal)
    assert made == AssetId("file-0002")


@pytest.mark.parametrize("etag", ["", '"0123456789abcdef0123456789abcdef"'], ids=["none", "another"])
async def test_a_file_sent_whole_is_checked_where_the_storage_returns_no_digest(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, etag: str
) -> None:
    stored = opened.script._stored

    def spoilt(seen: Seen) -> Said:
        answer = stored(seen)
        if seen.method == "PUT" and opened.script.story[-1] == "put object-0001":
            opened.script.bytes["object-0001"] = b"dat?"
        return replace(answer, headers={"ETag": etag} if etag else {})

    monkeypatch.setattr(opened.script, "_stored", spoilt)
    with pytest.raises(IntegrityError):
        await opened.connect().create(draft(), Bytes("src-1.jpg", b"data", known=True), MemoryJournal())
    assert {row["fileState"] for row in opened.script.records.values()} == {"recycle bin"}
    service = opened.connect()
    made = await service.create(draft("src-2"), Bytes("src-2.jpg", b"data", known=True), MemoryJournal())
    assert service.calls[facts.ASSET] == 1
    assert made == AssetId("file-0002")


async def test_a_small_file_with_a_session_is_completed_though_that_is_refused(opened: Opened) -> None:
    opened.script.small_sessions = True
    service = opened.connect()
    made = await service.create(draft(), Bytes("src-1.jpg", b"data", known=True), MemoryJournal())
    assert opened.script.story[-1] == "complete object-0001"
    assert (await service.fetch(made)).file is not None
    assert Estimator(service).write(draft(), 4)[facts.COMPLETE] == 1


async def test_an_asset_without_a_file_is_one_call(opened: Opened) -> None:
    service = opened.connect()
    await service.schema()
    made = await service.create(draft(), None, MemoryJournal())
    assert service.calls[facts.CREATE] == 1
    assert facts.ASSET not in service.calls
    assert not (await service.fetch(made)).versions


async def test_a_version_repeats_the_metadata_and_leaves_the_asset_its_id(opened: Opened) -> None:
    service = opened.connect()
    made = await service.create(draft(), Bytes("a.jpg", b"one", known=True), MemoryJournal())
    await service.replace(made, Bytes("b.jpg", b"second", known=True), MemoryJournal())
    await opened.script.clock.sleep(60)
    found = await opened.connect().fetch(made)
    assert [file.size for file in found.versions] == [3, 6]
    assert (found.id, found.filename, found.fields["source_key"]) == (made, "b.jpg", "src-1")


@pytest.mark.parametrize("theirs", [{"createdBy": "user-2"}, {"filename": "c.jpg"}, {}], ids=["user", "name", "bytes"])
async def test_a_version_of_somebody_else_is_never_taken_for_ours(opened: Opened, theirs: dict[str, str]) -> None:
    """Nothing of it is discarded, and ours comes after it."""
    script, service, journal = opened.script, opened.connect(), MemoryJournal(4)
    family = AssetId(script.records[script.add(b"one")]["fileId"])
    named = {"createdBy": "user-1", "filename": "b.jpg", **theirs}
    content = Bytes("b.jpg", b"second")
    with pytest.raises(Crash):  # the intent is written, nothing was sent
        await service.replace(family, content, journal)
    other = script.add(b"other", family, **named)
    journal.blow_at = None
    await opened.connect().replace(family, content, journal)
    assert script.records[other]["fileState"] == "available"
    assert not [step for step in script.story if step.startswith(("delete", "undelete"))]
    await script.clock.sleep(60)
    found = await opened.connect().fetch(family)
    assert [file.size for file in found.versions] == [3, 5, 6]


async def test_a_version_with_our_bytes_is_resumed(opened: Opened) -> None:
    script, journal = opened.script, MemoryJournal(4)
    family = AssetId(script.records[script.add(b"one")]["fileId"])
    content = Bytes("b.jpg", b"second")
    with pytest.raises(Crash):
        await opened.connect().replace(family, content, journal)
    script.add(b"second", family, createdBy="user-1", filename="b.jpg")
    journal.blow_at = None
    await opened.connect().replace(family, content, journal)
    assert len(script.records) == 2
    assert not script.story


async def test_a_version_whose_response_was_lost_is_left_to_people(opened: Opened) -> None:
    """It may be the one that somebody else fills just now."""
    script, service, journal = opened.script, opened.connect(), MemoryJournal()
    family = AssetId(script.records[script.add(b"one")]["fileId"])
    content = Bytes("b.jpg", b"second", known=True)
    script.lost = 1
    with pytest.raises(Transient):
        await service.replace(family, content, journal)
    with pytest.raises(Uncertain) as told:
        await service.replace(family, content, journal)
    assert "bin" in told.value.hint
    assert {row["fileState"] for row in script.records.values()} == {"available"}
    script._delete("object-0002", {"action": "delete"})
    await service.replace(family, content, journal)
    await script.clock.sleep(60)
    assert [file.size for file in (await opened.connect().fetch(family)).versions] == [3, 6]


@pytest.mark.parametrize("whole", [False, True], ids=["record", "family"])
async def test_removal_moves_every_version_to_the_bin(opened: Opened, whole: bool) -> None:
    opened.script.deletes_family = whole
    first = opened.script.add()
    family = AssetId(opened.script.records[first]["fileId"])
    opened.script.add(family=family)
    service = opened.connect()
    for _ in range(2):
        await service.remove(family)
    assert {row["fileState"] for row in opened.script.records.values()} == {"recycle bin"}
    assert (await service.fetch(family)).status == "trash"
    await service.remove(AssetId("file-9999"))


class SlowCredentialStore(MemoryCredentialStore):
    """One that takes a while, and counts how often."""

    saves = 0

    async def save(self, name: str, secret: str) -> None:
        self.saves += 1
        for _ in range(3):
            await asyncio.sleep(0)
        await super().save(name, secret)


async def test_links_that_wait_for_a_write_share_the_next_one(opened: Opened) -> None:
    credentials = SlowCredentialStore()
    urls = opened.connect(credentials=credentials).uploader.urls
    made = [CreatedRecord(f"object-{n}", f"file-{n}", f"file-{n}", "a.jpg", "t") for n in range(8)]
    await asyncio.gather(*(urls.keep(one, (f"https://store.example/{one.file}",)) for one in made))
    assert credentials.saves == 2
    assert sorted(json.loads(next(iter(credentials.kept.values())))) == sorted(one.file for one in made)


async def test_links_of_a_write_that_failed_are_written_by_those_who_wait(opened: Opened) -> None:
    credentials = SlowCredentialStore()
    urls = opened.connect(credentials=credentials).uploader.urls
    made = [CreatedRecord(f"object-{n}", f"file-{n}", f"file-{n}", "a.jpg", "t") for n in range(3)]
    credentials.broken = True
    first = asyncio.ensure_future(urls.keep(made[0], ("https://store.example/0",)))
    rest = [asyncio.ensure_future(urls.keep(one, ("https://store.example/1",))) for one in made[1:]]
    with pytest.raises(OSError, match="no room"):
        await first
    credentials.broken = False
    await asyncio.gather(*rest)
    assert sorted(json.loads(next(iter(credentials.kept.values())))) == sorted(one.file for one in made)
