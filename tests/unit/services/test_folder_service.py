"""The service `folder`: what is written survives a crash, and nothing outside the folder is read or written."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bagit
import pytest

from dam_sync.model.asset import AssetId, Draft, FileRef, Marker, Patch, Placement, Relation, Rights
from dam_sync.model.audience import Restriction, RestrictionKind
from dam_sync.model.clock import SystemClock
from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError, ContractBroken, IntegrityError, InvalidValue, NotFound, OtherVersion
from dam_sync.model.limits import MIB
from dam_sync.model.schema import Field, FieldKind, Schema, Vocabulary
from dam_sync.model.service import TRASH, Service, Window
from dam_sync.model.validator import Sameness
from dam_sync.model.values import Localized, Term
from dam_sync.services import discover
from dam_sync.services.folder import codec
from dam_sync.services.folder.api.catalogue import Catalogue
from dam_sync.services.folder.api.disk import Disk, parts_of
from dam_sync.services.folder.tenant import Tenant
from dam_sync.services.folder.uploads import home
from dam_sync.transfer.content import MemoryContent
from tests.support.services.typed_options import connected
from tests.support.state.memory_journal import Crash, MemoryJournal

MARKER = Marker("source_key", "src-1")
FIELDS = {
    "title": Field("title", FieldKind.TEXT, localized=True),
    "word": Field("word", FieldKind.TERM, vocabulary="w"),
}
SOURCE = Schema(FIELDS, {"w": Vocabulary("w", closed=True)}, locales=("en", "fr"))
DENIED = Restriction(RestrictionKind.DENIED, "interns")
DRAFT = Draft(
    MARKER,
    "été.jpg",
    status="published",
    fields={"title": Localized({"en": "Sea"}), "source_key": "src-1"},
    placements=frozenset({Placement("folder", ("Press", "A / B"))}),
    tags=frozenset({"one"}),
    rights=Rights(None, datetime(2040, 1, 1, tzinfo=UTC), frozenset({"staff"}), frozenset({DENIED})),
)


def connect(path: Path, *, read_only: bool = False, **options: Any) -> Service:
    context = Context("", {}, {"path": str(path), "bag": "off", **options}, read_only=read_only)
    return connected(discover()["folder"], context)


def content(data: bytes = b"bytes", name: str = "été.jpg") -> MemoryContent:
    return MemoryContent(FileRef("1", name, len(data)), data, {"sha256": hashlib.sha256(data).hexdigest()})


async def opened(path: Path, **more: Any) -> Service:
    service = connect(path, **more)
    await service.probe()
    await service.adopt_schema(SOURCE)
    return service


async def bytes_of(service: Service, file: FileRef, offset: int = 0) -> bytes:
    stream = await service.open(file, offset)
    try:
        return b"".join([block async for block in stream])
    finally:
        await stream.aclose()


async def everything(service: Service, window: Window | None = None) -> list[Any]:
    return [
        entry
        async for shard in service.shards(window or Window())
        async for batch in service.crawl(shard, None)
        for entry in batch.entries
    ]


async def test_what_was_created_is_read_again(tmp_path: Path) -> None:
    service = await opened(tmp_path / "f")
    made = await service.create(DRAFT, content(), MemoryJournal())
    assert await service.find(MARKER) == made
    await service.close()
    again = connect(tmp_path / "f", read_only=True)
    asset = await again.fetch(made)
    assert (asset.filename, asset.status, dict(asset.fields)) == (DRAFT.filename, DRAFT.status, dict(DRAFT.fields))
    assert (asset.placements, asset.tags, asset.rights) == (DRAFT.placements, DRAFT.tags, DRAFT.rights)
    assert await bytes_of(again, asset.versions[0]) == b"bytes"
    assert await bytes_of(again, asset.versions[0], 3) == b"es"
    assert [entry.asset for entry in await everything(again)] == [asset]
    assert {"title", "word", "source_key", "created"} == set((await again.schema()).fields)
    assert (await again.schema()).locales == ("en", "fr")
    assert (await again.probe()).total == 1


async def test_pages_are_as_long_as_the_limits_of_the_connection(tmp_path: Path) -> None:
    service = await opened(tmp_path / "f")
    made = {await service.create(Draft(None, ""), None, MemoryJournal()) for _ in range(5)}
    await service.close()
    context = Context("", {}, {"path": str(tmp_path / "f")}, read_only=True, limits=replace(service.limits, page=2))
    short = connected(discover()["folder"], context)
    (shard,) = [shard async for shard in short.shards(Window())]
    first, second, third = [batch async for batch in short.crawl(shard, None)]
    assert {entry.id for batch in (first, second, third) for entry in batch.entries} == made
    (again,) = [batch async for batch in short.crawl(shard, second.cursor)]
    assert (len(first.entries), again) == (2, third)


async def test_versions_attachments_relations_updates_and_the_trash(tmp_path: Path) -> None:
    service = await opened(tmp_path / "f")
    first = await service.create(DRAFT, content(), MemoryJournal())
    second = await service.create(Draft(None, ""), None, MemoryJournal())
    journal = MemoryJournal()
    for _ in range(2):  # a call that is repeated adds nothing
        await service.replace(first, content(b"newer"), journal)
    attached = MemoryJournal()
    for _ in range(2):
        await service.attach(first, content(b"%PDF", "a.pdf"), attached)
        await service.relate(first, Relation("see", second))
        await service.update(first, Patch(fields={"title": None}, tags_add=frozenset({"two"}), status="archived"))
    asset = await service.fetch(first)
    assert [await bytes_of(service, file) for file in asset.versions] == [b"bytes", b"newer"]
    assert [await bytes_of(service, file) for file in asset.attachments] == [b"%PDF"]
    assert (asset.relations, asset.tags) == ({Relation("see", second)}, {"one", "two"})
    assert (asset.status, set(asset.fields)) == ("archived", {"source_key"})
    for _ in range(2):
        await service.remove(first)
    gone = await service.fetch(first)
    assert (gone.status, await service.find(MARKER)) == (TRASH, None)
    assert await bytes_of(service, gone.versions[0]) == b"bytes"
    assert not list((tmp_path / "f" / "data" / "files").rglob("*.jpg"))
    with pytest.raises(NotFound):
        await service.update(first, Patch(status="x"))
    assert [entry.deleted for entry in await everything(service)].count(True) == 1


async def test_removed_attachments_stay_in_the_trash(tmp_path: Path) -> None:
    """Also those with the same name, one after the other in the same place."""
    service = await opened(tmp_path / "f")
    made = await service.create(DRAFT, content(), MemoryJournal())
    for body in (b"one!", b"two!"):
        await service.attach(made, content(body, "a.pdf"), MemoryJournal())
        (file,) = (await service.fetch(made)).attachments
        await service.detach(made, replace(file, id=""), MemoryJournal())
        assert (await service.fetch(made)).attachments == ()
    trash = tmp_path / "f" / "data" / "trash" / "detached"
    assert {path.read_bytes() for path in trash.rglob("a.pdf")} == {b"one!", b"two!"}
    assert len(list((tmp_path / "f" / "data" / "files").rglob("*.*"))) == 1


@pytest.mark.parametrize("moment", range(1, 9))
async def test_a_create_that_was_interrupted_is_finished_once(tmp_path: Path, moment: int) -> None:
    journal = MemoryJournal(blow_at=moment)
    service = await opened(tmp_path / "f")
    try:
        made = await service.create(DRAFT, content(), journal)
    except Crash:
        journal.blow_at = None
        service = await opened(tmp_path / "f")
        made = await service.create(DRAFT, content(), journal)
    assert [entry.id for entry in await everything(service)] == [made]
    assert len([path for path in (tmp_path / "f" / "data").rglob("*") if path.is_file()]) == 2


async def test_a_torn_line_counts_for_nothing_and_is_cut_off(tmp_path: Path) -> None:
    service = await opened(tmp_path / "f")
    made = await service.create(DRAFT, None, MemoryJournal())
    catalogue = tmp_path / "f" / "data" / "catalogue.jsonl"
    with catalogue.open("ab") as out:
        out.write(b'{"record": "asset", "id": "half')
    reader = connect(tmp_path / "f", read_only=True)
    assert [entry.id for entry in await everything(reader)] == [made]
    other = await service.create(Draft(None, "b"), None, MemoryJournal())
    assert {entry.id for entry in await everything(reader)} == {made, other}
    assert [json.loads(line)["record"] for line in catalogue.read_text().splitlines()].count("asset") == 2


async def test_two_connections_see_what_the_other_wrote(tmp_path: Path) -> None:
    one, two = await opened(tmp_path / "f"), await opened(tmp_path / "f")
    made = await asyncio.gather(
        *(side.create(Draft(None, f"{n}"), content(), MemoryJournal()) for n in range(6) for side in (one, two))
    )
    assert {entry.id for entry in await everything(one)} == {entry.id for entry in await everything(two)} == set(made)
    await one.update(made[0], Patch(status="archived"))
    await one.close()  # writes the catalogue again, without the old line
    assert (await two.fetch(made[0])).status == "archived"
    await two.update(made[0], Patch(status="draft"))
    assert (await one.fetch(made[0])).status == "draft"
    await two.close()
    text = (tmp_path / "f" / "data" / "catalogue.jsonl").read_text()
    assert text.count('"record": "asset"') == 12


def test_a_worker_reads_what_was_adopted_while_another_writes_it_down(tmp_path: Path) -> None:
    made: list[Tenant] = []

    class Interrupted(Catalogue):
        """While its records of vocabularies are read, another worker declares what was adopted."""

        def records(self, kind: str) -> Iterator[dict[str, Any]]:
            yield from super().records(kind)
            if kind == "vocabulary" and made:
                made.pop().declare()

    tenant = Tenant(Disk(tmp_path), SystemClock(), read_only=False)
    tenant.catalogue = Interrupted(tenant.disk, "data/catalogue.jsonl")
    tenant.found()
    for read in (tenant.schema, tenant.lacking, tenant.declare):
        tenant.adopt(SOURCE)
        made.append(tenant)
        read()
        assert not made
    assert set(SOURCE.fields) < set(tenant.schema().fields)
    text = (tmp_path / "data" / "catalogue.jsonl").read_text()
    assert text.count('"record": "field"') == len(SOURCE.fields)


async def test_a_connection_that_only_reads_writes_nothing(tmp_path: Path) -> None:
    service = await opened(tmp_path / "f", read_only=True)
    assert "title" in (await service.schema()).fields
    with pytest.raises(ConfigError, match="read-only"):
        await service.create(DRAFT, None, MemoryJournal())
    await service.close()
    assert not (tmp_path / "f").exists()


async def test_terms_and_containers_are_made_once(tmp_path: Path) -> None:
    service = await opened(tmp_path / "f")
    top = await service.ensure_term("w", Term("Nature", labels={"en": "Nature", "fr": "Nature"}))
    below = await service.ensure_term("w", Term("Sea", parent=top.id, path=("Nature", "Sea")))
    assert await service.ensure_term("w", Term("Sea", parent=top.id)) == (await terms(service))[1]
    assert [(term.label, term.path, term.id) for term in await terms(service)] == [
        ("Nature", ("Nature",), top.id),
        ("Sea", ("Nature", "Sea"), below.id),
    ]
    known = await service.ensure_term("w", replace(below, labels={"fr": "Mer"}, synonyms={"en": ("Ocean",)}))
    assert (known.id, known.labels, known.synonyms) == (below.id, {"fr": "Mer"}, {"en": ("Ocean",)})
    assert (await terms(service))[1] == known
    place = await service.ensure_container("folder", ("Press", "A / B"))
    assert await service.ensure_container("folder", ("Press", "A / B")) == place
    assert [found async for found in service.containers()] == [place]


async def terms(service: Service) -> list[Term]:
    return [term async for term in service.terms("w")]


async def test_a_file_that_arrived_broken_is_not_stored(tmp_path: Path) -> None:
    class Broken(MemoryContent):
        async def check(self) -> None:
            raise IntegrityError("other bytes")

    service = await opened(tmp_path / "f")
    data = FileRef("1", "a.jpg", 3)
    with pytest.raises(IntegrityError):
        await service.create(DRAFT, Broken(data, b"abc", {}), MemoryJournal())
    assert await everything(service) == []
    assert not list((tmp_path / "f").rglob("*.jpg"))
    assert not list((tmp_path / "f" / ".dam-sync" / "tmp").iterdir())


# -- what others put there -----------------------------------------------------------------------------------------


def catalogue_at(folder: Path, *records: Any) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    (folder / "catalogue.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


async def files_of(folder: Path, *paths: str) -> AsyncIterator[tuple[Service, FileRef]]:
    catalogue_at(folder, {"record": "asset", "id": "1", "versions": [{"name": "x", "file": path} for path in paths]})
    service = connect(folder, read_only=True)
    for path in paths:
        yield service, FileRef(path, "x")


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../secret", "a//b", ".", "a\0b", "x/" * 99])
def test_a_path_that_leads_out_is_refused(path: str) -> None:
    with pytest.raises(InvalidValue):
        parts_of(path)


async def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    files = tmp_path / "f" / "files"
    files.mkdir(parents=True)
    (files / "file").symlink_to(tmp_path / "secret")
    (files / "folder").symlink_to(tmp_path)
    os.mkfifo(files / "pipe")
    async for service, file in files_of(tmp_path / "f", "file", "folder/secret", "pipe"):
        with pytest.raises(InvalidValue):
            await service.open(file)
    async for service, file in files_of(tmp_path / "f", "../../secret"):
        assert (await service.fetch(AssetId("1"))).versions[0].size is None
        with pytest.raises(InvalidValue):
            await service.open(file)


async def test_a_catalogue_link_is_not_followed(tmp_path: Path) -> None:
    catalogue_at(tmp_path / "other", {"record": "asset", "id": "1"})
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "catalogue.jsonl").symlink_to(tmp_path / "other" / "catalogue.jsonl")
    assert Disk(tmp_path / "f").size("catalogue.jsonl") is None


@pytest.mark.parametrize("line", ["{", "[]", '{"record": "asset"}', '{"record": "nothing"}', '{"record": ["a"]}'])
async def test_a_line_that_is_not_a_record_is_named(tmp_path: Path, line: str) -> None:
    service = connect(catalogue_at(tmp_path / "f", {"record": "asset", "id": "1"}, line), read_only=True)
    with pytest.raises(ContractBroken, match=r"catalogue.jsonl:2: not a record"):
        await service.probe()


async def test_an_asset_that_is_not_in_the_neutral_form_is_named(tmp_path: Path) -> None:
    strange = {"record": "asset", "id": "1", "fields": {"a": {"b": 1}}}
    service = connect(catalogue_at(tmp_path / "f", strange, {"record": "asset", "id": "2"}))
    with pytest.raises(InvalidValue, match="neutral form") as refused:
        await service.fetch(AssetId("1"))
    assert (refused.value.asset, "help catalogue" in refused.value.hint) == ("1", True)
    assert {entry.id: entry.asset is None for entry in await everything(service)} == {"1": True, "2": False}


async def test_a_sparse_catalogue_by_hand_is_read(tmp_path: Path) -> None:
    folder = catalogue_at(
        tmp_path / "f",
        {"record": "term", "vocabulary": "w", "id": 2, "parent": "1", "labels": {"fr": "Mer"}},
        {"record": "term", "vocabulary": "w", "id": 1, "labels": {"en": "Nature"}},
        {"record": "term", "vocabulary": "w", "id": 3, "parent": "4", "labels": {"en": "lost"}},
        {"record": "container", "kind": "folder", "path": ["Press"]},
        {"record": "asset", "id": 7, "versions": [{"name": "x", "file": "x.jpg"}]},
    )
    (folder / "files").mkdir()
    (folder / "files" / "x.jpg").write_bytes(b"12345")
    service = connect(folder, read_only=True)
    account = await service.probe()
    assert account.notes
    assert (await service.fetch(AssetId("7"))).versions[0].size == 5
    assert [term.path for term in await terms(service)] == [("Nature",), ("lost",), ("Nature", "Mer")]
    assert [place.path async for place in service.containers()] == [("Press",)]
    assert len(await everything(service, Window(since=datetime(2030, 1, 1, tzinfo=UTC)))) == 1  # no date: always


@pytest.mark.parametrize(
    ("name", "safe"), [("a/b.jpg", "a_b.jpg"), ("..", "_"), ("CON.jpg", "CON_.jpg"), ("", "_"), (".hidden", "hidden")]
)
def test_names_on_disk_are_safe(name: str, safe: str) -> None:
    assert home(AssetId("a/b")) != home(AssetId("a_b"))
    assert codec.safe_name(name) == safe
    assert len(codec.safe_name("海" * 300 + ".jpg").encode()) <= 200
    assert codec.safe_name("海" * 300 + ".jpg").endswith(".jpg")
    assert codec.safe_name("\ud800.jpg").encode()


async def test_a_folder_without_a_catalogue_is_its_files(tmp_path: Path) -> None:
    root = tmp_path / "disk"
    (root / "Press" / "2024").mkdir(parents=True)
    (root / ".hidden").mkdir()
    for path in ("a.jpg", "Press/b.jpg", "Press/2024/été.tif", ".hidden/c.jpg", ".d.jpg", "Press/Thumbs.db"):
        (root / path).write_bytes(path.encode())
    (root / "link.jpg").symlink_to(root / "a.jpg")
    (root / "linked").symlink_to(tmp_path)
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.jpg")).write_bytes(b"x")
    service = connect(root, read_only=True)
    account = await service.probe()
    assert (account.total, "4 hidden" in account.notes[1], "1 files of systems" in account.notes[1]) == (3, True, True)
    assets = {entry.id: entry.asset for entry in await everything(service)}
    assert list(assets) == ["Press/2024/été.tif", "Press/b.jpg", "a.jpg"]
    found = assets[AssetId("Press/2024/été.tif")]
    assert (found.filename, found.placements) == ("été.tif", {Placement("folder", ("Press", "2024"))})
    assert await bytes_of(service, found.versions[0]) == "Press/2024/été.tif".encode()
    assert [place.path async for place in service.containers()] == [("Press",), ("Press", "2024")]
    with pytest.raises(InvalidValue, match="no vocabulary w"):
        await terms(service)
    again = await service.fetch(found.id)
    assert again == found
    (root / "Press" / "2024" / "été.tif").write_bytes(b"other")
    assert (await service.fetch(found.id)).revision != found.revision
    with pytest.raises(InvalidValue):
        await service.fetch(AssetId("link.jpg"))
    with pytest.raises(NotFound):
        await service.fetch(AssetId("nothing.jpg"))
    await service.close()


@pytest.mark.parametrize("left", [b"\xff", b"/".join([b"d"] * 64)])
async def test_folders_with_a_name_that_is_not_utf_8_or_too_far_below_are_left_out_and_counted(
    tmp_path: Path, left: bytes
) -> None:
    root = tmp_path / "disk"
    for folder in (root, Path(os.fsdecode(os.fsencode(root) + b"/" + left))):
        folder.mkdir(parents=True)
        (folder / "a.jpg").write_bytes(b"a")
    service = connect(root, read_only=True)
    assert "1 hidden" in (await service.probe()).notes[1]
    assert [entry.id for entry in await everything(service)] == ["a.jpg"]


async def test_what_a_killed_run_wrote_is_sealed_by_the_next_one(tmp_path: Path) -> None:
    root = tmp_path / "f"
    killed = await opened(root, bag="on")
    await killed.create(DRAFT, content(), MemoryJournal())
    assert not (root / "manifest-sha256.txt").exists()
    following = await opened(root, bag="on")
    await following.close()
    assert bagit.Bag(str(root)).validate()
    sealed = (root / "manifest-sha256.txt").stat().st_mtime_ns
    third = await opened(root, bag="on")
    await third.close()  # nothing new: nothing is read and written again
    assert (root / "manifest-sha256.txt").stat().st_mtime_ns == sealed


@pytest.mark.parametrize("torn", [False, True])
async def test_a_bag_whose_sealing_was_killed_is_sealed_by_the_next_run(tmp_path: Path, torn: bool) -> None:
    """The manifests are newer than the catalogue, and the last of them is torn or not there."""
    root = tmp_path / "f"
    first = await opened(root, bag="on")
    await first.create(DRAFT, content(), MemoryJournal())
    await first.close()
    last = root / "tagmanifest-sha256.txt"
    last.unlink()
    if torn:
        last.write_bytes(b"")
    (root / "manifest-sha256.txt").write_bytes(b"")
    following = await opened(root, bag="on")
    await following.close()
    assert bagit.Bag(str(root)).validate()


@pytest.mark.parametrize("bag", ["on", "off"])
async def test_a_sheet_that_a_killed_run_did_not_write_is_written_by_the_next_one(tmp_path: Path, bag: str) -> None:
    root = tmp_path / "f"
    first = await opened(root, bag=bag, format="csv")
    await first.create(DRAFT, content(), MemoryJournal())
    await first.close()
    killed = await opened(root, bag=bag, format="csv")
    await killed.create(DRAFT, content(), MemoryJournal())
    following = await opened(root, bag=bag, format="csv")
    await following.close()
    assert len((root / "data" / "catalogue.csv").read_text(encoding="utf-8").splitlines()) == 1 + 2
    assert bag == "off" or bagit.Bag(str(root)).validate()


async def only_file(path: Path) -> tuple[Service, FileRef]:
    """Of a folder without a catalogue."""
    service = connect(path, read_only=True)
    await service.probe()
    (entry,) = await everything(service)
    file = (await service.fetch(entry.id)).file
    assert file is not None
    return service, file


async def replaced(path: Path, how: str, data: bytes) -> None:
    """Other bytes of the same length, by somebody who sets the date back."""
    before = path.stat()
    if how == "renamed":
        other = path.with_name("other")
        other.write_bytes(data)
        other.replace(path)
    else:
        path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("how", ["renamed", "written"])
async def test_a_file_that_is_replaced_between_two_reads_has_another_validator(tmp_path: Path, how: str) -> None:
    (tmp_path / "a.jpg").write_bytes(b"a" * 900)
    service, file = await only_file(tmp_path)
    said = []
    for data in (b"", b"", b"b" * 900):
        if data:
            await replaced(tmp_path / "a.jpg", how, data)
        stream = await service.open(file)
        said.append(stream.validator)
        await stream.aclose()
    assert [said[0].compare(each) for each in said] == [Sameness.SAME, Sameness.SAME, Sameness.OTHER]


async def test_a_file_that_is_written_while_it_is_read_is_not_passed_on(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"a" * 3 * MIB)
    service, file = await only_file(tmp_path)
    stream = await service.open(file)
    blocks = aiter(stream)
    await anext(blocks)
    await replaced(tmp_path / "a.jpg", "written", b"b" * 3 * MIB)
    with pytest.raises(OtherVersion, match="changed while it was read"):
        await anext(blocks)
    await stream.aclose()


async def test_the_rest_of_a_file_that_became_shorter_is_of_another_version(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"a" * 900)
    service, file = await only_file(tmp_path)
    (tmp_path / "a.jpg").write_bytes(b"a" * 500)
    with pytest.raises(OtherVersion, match="has 500 bytes now"):
        await service.open(file, 600)
