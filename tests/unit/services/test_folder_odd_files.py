"""The service `folder` without a catalogue: what is no asset is left out, and counted by its kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dam_sync.engine.compare.file_keys import version_key
from dam_sync.services.folder.api.walk import is_bin, sidecars_of
from tests.unit.services.test_folder_service import connect, everything

CAMERA = ("IMG_1.CR2", "IMG_1.JPG", "IMG_1.xmp", "IMG_1.CR2.XMP", "IMG_2.HEIC", "IMG_2.MOV", "IMG_2.AAE", "IMG_O2.AAE")
BINS = (
    *("$RECYCLE.BIN", "$Recycle.Bin", "RECYCLER", "RECYCLED", "System Volume Information", ".Trashes", ".Trash-1000"),
    *("@eaDir", "#recycle", "@Recycle", "__MACOSX", "lost+found", "FOUND.000", "~snapshot"),
)


@pytest.mark.parametrize("name", BINS)
async def test_what_somebody_deleted_is_left_out_at_every_level_and_counted(tmp_path: Path, name: str) -> None:
    for folder in (tmp_path / name / "S-1-5", tmp_path / "Press" / name, tmp_path / "Press"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "x.jpg").write_bytes(b"x")
    service = connect(tmp_path, read_only=True)
    account = await service.probe()
    assert [entry.id for entry in await everything(service)] == ["Press/x.jpg"]
    assert [place.path async for place in service.containers()] == [("Press",)]
    assert "2 recycle bins and folders of systems" in account.notes[1]


@pytest.mark.parametrize("name", ["Recycled", "Trash", "Recycling", "Found.art", "eaDir", "Snapshot"])
def test_a_folder_that_people_may_have_named_so_is_no_bin(name: str) -> None:
    assert not is_bin(name)


async def test_sidecars_beside_their_file_are_left_out_and_counted_or_assets_by_an_option(tmp_path: Path) -> None:
    system = ("Thumbs.db", "THUMBS.DB", "desktop.ini", "Desktop.ini", "ehthumbs.db", "Icon\r")
    for name in (*CAMERA, *system, "._IMG_1.JPG", "lone.xmp"):
        (tmp_path / name).write_bytes(name.encode())
    service = connect(tmp_path, read_only=True)
    notes = (await service.probe()).notes
    assert [e.id for e in await everything(service)] == [*CAMERA[:2], *CAMERA[4:6], "lone.xmp"]
    for said in ("1 hidden", f"{len(system)} files of systems", "4 sidecars", "{sidecars: assets}"):
        assert said in notes[1]
    assert notes[2].endswith("assets: 1")
    every = connect(tmp_path, read_only=True, sidecars="assets")
    assert "sidecar" not in "".join((await every.probe()).notes[:2])
    assert sorted(e.id for e in await everything(every)) == sorted([*CAMERA, "lone.xmp"])


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a.jpg", "a.xmp"], {"a.xmp": True}),
        (["a.jpg", "A.JPG.XMP"], {"A.JPG.XMP": True}),
        (["b.jpg", "a.xmp"], {"a.xmp": False}),
        (["a.xmp", "a.aae"], {"a.xmp": False, "a.aae": False}),
        (["a.jpg", "a.jpg.json", "a.json"], {"a.jpg.json": True}),
        (["README", "README.md"], {}),
        ([".xmp", "xmp"], {".xmp": False, "xmp": False}),
    ],
)
def test_a_sidecar_is_known_by_the_file_beside_it(names: list[str], expected: dict[str, bool]) -> None:
    assert sidecars_of(names) == expected


async def test_a_path_that_an_asset_lists_twice_is_one_file_and_said(tmp_path: Path) -> None:
    """The same bytes under two paths are two versions."""
    files = [{"file": name} for name in ("a.jpg", "b.jpg", "a.jpg")]
    more = [{"file": name} for name in ("c.pdf", "c.pdf", "d.pdf")]
    record = {"record": "asset", "id": "1", "versions": files, "attachments": more}
    (tmp_path / "catalogue.jsonl").write_text(f"{json.dumps(record)}\n", encoding="utf-8")
    for name in ("a.jpg", "b.jpg", "c.pdf", "d.pdf"):
        (tmp_path / name).write_bytes(b"same")
    (entry,) = await everything(connect(tmp_path, read_only=True))
    assert entry.asset is not None
    assert [file.id for file in entry.asset.versions] == ["b.jpg", "a.jpg"]
    assert [file.id for file in entry.asset.attachments] == ["c.pdf", "d.pdf"]
    assert [(loss.rule, loss.detail) for loss in entry.asset.losses] == [
        ("listed twice", "2 of its files: a path is one file")
    ]
    assert len({version_key(file) for file in (*entry.asset.versions, *entry.asset.attachments)}) == 4
