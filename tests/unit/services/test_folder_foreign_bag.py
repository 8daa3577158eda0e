"""The service `folder`: a BagIt bag of another program is read with what its manifests say."""

from __future__ import annotations

import hashlib
import unicodedata
from pathlib import Path

import bagit
import pytest

from dam_sync.model.asset import AssetId
from dam_sync.model.errors import ContractBroken, NotFound
from dam_sync.model.estimator import Estimator
from tests.unit.services.test_folder_service import connect, everything

FILES = ("a.jpg", "Press/b.jpg", "Press/2024/Été.tif", "c d.png")


def bag_of(folder: Path, *checksums: str) -> Path:
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    bagit.make_bag(str(folder), checksums=list(checksums or ("sha256",)))
    return folder


async def notes_of(folder: Path) -> list[str]:
    return list((await connect(folder, read_only=True).probe()).notes[3:])


@pytest.mark.parametrize("algorithms", [("sha256",), ("md5",), ("sha1", "sha512"), ("sha3_256",)])
async def test_the_files_of_a_bag_are_assets_with_its_digests_and_nothing_else_is(
    tmp_path: Path, algorithms: tuple[str, ...]
) -> None:
    service = connect(bag_of(tmp_path / "bag", *algorithms), read_only=True)
    account = await service.probe()
    assert account.total == len(FILES)
    assert account.notes[3:] == ()
    for entry in await everything(service):
        (file,) = entry.asset.versions
        name = str(entry.id).removeprefix("data/")
        assert file.digests == {each: hashlib.new(each, name.encode()).hexdigest() for each in algorithms}
        folders = tuple(name.split("/")[:-1])
        assert {place.path for place in entry.asset.placements} == ({folders} if folders else set())
    assert [place.path async for place in service.containers()] == [("Press",), ("Press", "2024")]


async def test_a_missing_file_is_named_and_an_asset_that_cannot_be_read(tmp_path: Path) -> None:
    folder = bag_of(tmp_path / "bag")
    (folder / "data" / "Press" / "b.jpg").unlink()
    service = connect(folder, read_only=True)
    missing, oxum = (await service.probe()).notes[3:]
    assert missing == "files that the manifests name and that are not there: 1, data/Press/b.jpg"
    assert oxum.startswith("Payload-Oxum of bag-info.txt is ")
    asset = next(entry.asset for entry in await everything(service) if entry.id == "data/Press/b.jpg")
    with pytest.raises(NotFound, match=r"data/Press/b\.jpg is not there") as refused:
        Estimator(service).open(asset.versions[0])
    assert "another copy of the bag" in refused.value.hint


async def test_a_new_digest_of_a_file_makes_its_asset_a_changed_one(tmp_path: Path) -> None:
    folder = bag_of(tmp_path / "bag")
    before = await connect(folder, read_only=True).fetch(AssetId("data/a.jpg"))
    manifest = folder / "manifest-sha256.txt"
    digest = before.versions[0].digests["sha256"]
    manifest.write_text(manifest.read_text(encoding="utf-8").replace(digest, "0" * 64), encoding="utf-8")
    service = connect(folder, read_only=True)
    assert (await service.fetch(AssetId("data/a.jpg"))).revision != before.revision
    assert (await notes_of(folder)) == ["files of the bag itself that are changed or missing: 1, manifest-sha256.txt"]


async def test_a_file_that_no_manifest_names_is_reported(tmp_path: Path) -> None:
    folder = bag_of(tmp_path / "bag")
    (folder / "data" / "new.jpg").write_bytes(b"x")
    notes = await notes_of(folder)
    assert notes[0] == "files that no manifest names, and that are not checked: 1, data/new.jpg"
    assert len(await everything(connect(folder, read_only=True))) == len(FILES) + 1


async def test_names_of_manifests_are_compared_in_one_form_of_unicode_and_with_codes_or_without(tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    (folder / "data").mkdir(parents=True)
    (folder / "bagit.txt").write_text("BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n", encoding="utf-8")
    names = {"Été.jpg": unicodedata.normalize("NFD", "Été.jpg"), "a%25b.jpg": "a%b.jpg", "c%0Ad.jpg": "c%0Ad.jpg"}
    lines = []
    for written, name in names.items():
        (folder / "data" / name).write_bytes(b"x")
        lines.append(f"{hashlib.md5(b'x').hexdigest().upper()} *./data/{written}\r\n")
    (folder / "manifest-md5.txt").write_bytes("".join(lines).encode())
    assert await notes_of(folder) == []
    for entry in await everything(connect(folder, read_only=True)):
        assert entry.asset.versions[0].digests == {"md5": hashlib.md5(b"x").hexdigest()}


async def test_tag_files_are_read_in_the_encoding_that_the_declaration_names(tmp_path: Path) -> None:
    folder = bag_of(tmp_path / "bag")
    (folder / "bagit.txt").write_text("BagIt-Version: 0.97\nTag-File-Character-Encoding: UTF-16\n", encoding="utf-8")
    for path in (*folder.glob("manifest-*"), folder / "bag-info.txt"):
        path.write_text(path.read_text(encoding="utf-8"), encoding="utf-16")
    (folder / "tagmanifest-sha256.txt").unlink()
    assert await notes_of(folder) == []


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("bagit.txt", b"BagIt-Version: 9.9\nTag-File-Character-Encoding: UTF-8\n", "has the version '9.9'"),
        ("bagit.txt", b"BagIt-Version: 1.0\nTag-File-Character-Encoding: x-klingon\n", "unknown encoding 'x-klingon'"),
        ("bagit.txt", "BagIt-Version: 1.0\n".encode("utf-16"), "bagit.txt is not in UTF-8"),
        ("bagit.txt", b"", "has the version ''"),
        ("manifest-sha256.txt", b"abc data/a.jpg\n", "manifest-sha256.txt:1: not a line"),
        ("manifest-sha256.txt", b"\n%s data/../a.jpg\n" % (b"0" * 64), "manifest-sha256.txt:2: the path"),
        ("manifest-sha256.txt", b"%s /etc/passwd\n" % (b"0" * 64), "manifest-sha256.txt:1: the path"),
        ("manifest-sha256.txt", b"%s bagit.txt\n" % (b"0" * 64), "bagit.txt is not below data"),
        ("manifest-sha256.txt", b"%s data/a\n%s data/a\n" % (b"0" * 64, b"1" * 64), "data/a has two digests"),
        ("manifest-sha256.txt", b"\xff\xff\n", "is not in the encoding"),
        ("manifest-sha256.txt", b"0" * 200_000, "manifest-sha256.txt:1: not a line"),
    ],
)
async def test_what_is_no_bag_is_refused_with_the_way_around_it(
    tmp_path: Path, name: str, data: bytes, said: str
) -> None:
    folder = bag_of(tmp_path / "bag")
    (folder / name).write_bytes(data)
    with pytest.raises(ContractBroken) as refused:
        await notes_of(folder)
    assert said in str(refused.value)
    assert "`data`" in refused.value.hint


async def test_manifests_that_cannot_be_checked_are_reported(tmp_path: Path) -> None:
    folder = bag_of(tmp_path / "bag")
    (folder / "manifest-sha256.txt").rename(folder / "manifest-blake7.txt")
    notes = await notes_of(folder)
    assert notes[0] == "manifest-blake7.txt is not checked: the algorithm blake7 is not known here"
    assert "no manifest that can be checked" in notes[1]
