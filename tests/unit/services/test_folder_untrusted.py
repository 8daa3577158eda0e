"""The service `folder`: what somebody else wrote into a catalogue stops nothing."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import bagit
import pytest

from dam_sync.model.asset import AssetId, Marker
from dam_sync.model.errors import ContractBroken, IntegrityError, InvalidValue
from dam_sync.model.values import Json
from dam_sync.services.folder.api.walk import changed_at
from tests.support.state.memory_journal import MemoryJournal
from tests.unit.services.test_folder_service import DRAFT, catalogue_at, connect, content, everything, opened

HALF = "\ud800"  # of a character: no UTF-8 has it, JSON can
DEEP = "[" * 99_999 + "]" * 99_999


async def test_an_unpaired_surrogate_is_replaced_wherever_it_is(tmp_path: Path) -> None:
    placed = [{"kind": "folder", "path": [f"p{HALF}"]}]
    asset = {"filename": f"n{HALF}.jpg", "tags": [f"t{HALF}"], "placements": placed, "fields": {"title": f"f{HALF}"}}
    rows = (
        {"record": "field", "key": "title", "kind": "text", "labels": {"en": f"l{HALF}"}},
        {"record": "container", **placed[0]},
        {"record": "asset", "id": f"i{HALF}", "status": f"s{HALF}", **asset},
    )
    service = connect(catalogue_at(tmp_path / "f", *map(json.dumps, rows)), read_only=True)
    await service.probe()
    (entry,) = await everything(service)
    containers = [place async for place in service.containers()]
    found = repr((entry, containers, await service.schema()))
    assert found.count("\ufffd") >= 6
    assert "\\ud800" not in found
    assert (await service.fetch(AssetId("i\ufffd"))).filename == "n\ufffd.jpg"
    await service.close()


@pytest.mark.usefixtures("collected")
async def test_a_line_that_is_too_deep_is_named(tmp_path: Path) -> None:
    line = '{"record": "asset", "id": "2", "x": ' + DEEP + "}"
    service = connect(catalogue_at(tmp_path / "f", {"record": "asset", "id": "1"}, line), read_only=True)
    with pytest.raises(ContractBroken, match=r"catalogue.jsonl:2: not a record"):
        await service.probe()


@pytest.mark.parametrize("seconds", [253_402_300_800, 300_000_000_000, 2**62, -62_135_596_801, -(2**62)])
def test_a_date_of_a_file_that_no_calendar_has_is_none(seconds: int) -> None:
    assert changed_at(seconds * 1_000_000_000) is None
    assert changed_at(1_700_000_000_123_456_789) == "2023-11-14T22:13:20.123Z"


@pytest.mark.parametrize("odd", ["link", "folder", "pipe"])
@pytest.mark.parametrize("place", ["data", ".", "data/files"])
async def test_a_bag_is_not_made_of_links_and_pipes_that_somebody_put_there(
    tmp_path: Path, odd: str, place: str
) -> None:
    """The manifests would hold the digest of a file elsewhere; a pipe would be read without an end."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("a secret", encoding="utf-8")
    service = await opened(tmp_path / "f", bag="on")
    await service.create(DRAFT, content(), MemoryJournal())
    path = tmp_path / "f" / place / "odd"
    path.parent.mkdir(exist_ok=True)
    if odd == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(secret / "key" if odd == "link" else secret)
    with pytest.raises(IntegrityError, match="odd is a"):
        await service.close()
    digest = hashlib.sha256(b"a secret").hexdigest()
    for made in (tmp_path / "f").glob("*.txt"):
        assert digest not in made.read_text(encoding="utf-8")
    path.unlink()
    await (await opened(tmp_path / "f", bag="on")).close()
    assert bagit.Bag(str(tmp_path / "f")).validate()


async def test_files_of_others_among_unfinished_ones_stop_nothing(tmp_path: Path) -> None:
    service = await opened(tmp_path / "f", bag="off")
    await service.create(DRAFT, content(), MemoryJournal())
    scratch = tmp_path / "f" / ".dam-sync" / "tmp"
    (scratch / "folder").mkdir()
    (scratch / "link").symlink_to("/etc/passwd")
    os.mkfifo(scratch / "pipe")
    await service.close()
    again = await opened(tmp_path / "f", bag="off")
    assert await again.sweep(lambda _: False) == 0
    await again.close()


@pytest.mark.parametrize(
    "part",
    [
        {"filename": ["a"]},
        {"filename": 5},
        {"status": {"a": 1}},
        {"tags": "sea"},
        {"tags": [["a"]]},
        {"placements": [{"kind": "folder", "path": "ab"}]},
        {"relations": [{"kind": ["k"], "target": "2"}]},
        {"versions": [{"name": ["a"], "file": "a.jpg"}]},
        {"versions": [{"name": "a", "file": "a.jpg", "size": "many"}]},
        {"versions": [{"name": "a", "file": "a.jpg", "size": -1}]},
        {"attachments": [{"name": "a", "file": "a.jpg", "size": 10**30}]},
    ],
)
async def test_a_record_of_another_shape_costs_only_its_asset(tmp_path: Path, part: dict[str, Json]) -> None:
    rows = ({"record": "asset", "id": "1", **part}, {"record": "asset", "id": "2"})
    service = connect(catalogue_at(tmp_path / "f", *rows), read_only=True)
    await service.probe()
    first, second = await everything(service)
    assert (first.asset, second.asset is None) == (None, False)
    with pytest.raises(InvalidValue, match="neutral form"):
        await service.fetch(AssetId("1"))
    await service.close()


async def test_a_marker_is_found_next_to_a_record_of_another_shape(tmp_path: Path) -> None:
    marked = {"record": "asset", "id": "2", "fields": {"source_key": "src-1"}}
    strange = ({"record": "asset", "id": "1", "filename": ["a"]}, {"record": "asset", "id": "3", "fields": ["a"]})
    service = connect(catalogue_at(tmp_path / "f", *strange, marked))
    await service.probe()
    assert await service.find(Marker("source_key", "src-1")) == "2"
    await service.close()


async def test_an_unpaired_surrogate_in_a_cell_of_json_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "catalogue.csv").write_text('id,fields.row{}\n1,"""a\\ud800"""\n')
    service = connect(tmp_path, read_only=True, format="csv")
    await service.probe()
    (entry,) = await everything(service)
    assert "a\ufffd" in repr(entry)
    await service.close()


@pytest.mark.usefixtures("collected")
async def test_a_cell_of_json_that_is_too_deep_parks_its_asset(tmp_path: Path) -> None:
    (tmp_path / "catalogue.csv").write_text(f"id,fields.row{{}}\n1,{DEEP}\n")
    service = connect(tmp_path, read_only=True, format="csv")
    await service.probe()
    with pytest.raises(InvalidValue):
        await service.fetch(AssetId("1"))
    await service.close()


@pytest.mark.usefixtures("collected")
async def test_a_name_of_the_folder_that_is_too_deep_is_refused(tmp_path: Path) -> None:
    (tmp_path / "catalogue.jsonl").write_text("")
    (tmp_path / "archive.json").write_text(DEEP)
    with pytest.raises(ContractBroken, match=r"archive\.json is not JSON"):
        await connect(tmp_path, read_only=True).probe()
