"""The service `folder`: a list that spells a file in another form of Unicode, or in another case, names that file."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from dam_sync.model.asset import AssetId
from dam_sync.model.errors import InvalidValue, NotFound
from dam_sync.model.estimator import Estimator
from tests.unit.services.test_folder_service import bytes_of, connect

NFC = "Été à Nîmes"
NFD = unicodedata.normalize("NFD", NFC)
MIXED = NFD.replace("e\u0301", "é", 1)


def listed(folder: Path, named: str, *files: str) -> Path:
    for file in files:
        path = folder / "files" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.encode())
    (folder / "catalogue.csv").write_text(f"id,versions\n1,{named}\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("named", "file"),
    [
        (f"{NFC}.jpg", f"{NFD}.jpg"),
        (f"{NFD}.jpg", f"{NFC}.jpg"),
        ("PLAGE.JPG", "plage.jpg"),
        (f"press/{NFC}/A.jpg", f"Press/{NFD}/a.jpg"),
        ("STRASSE.jpg", "straße.jpg"),
    ],
)
async def test_the_one_file_that_is_equal_but_for_its_form_or_case_is_taken_and_reported(
    tmp_path: Path, named: str, file: str
) -> None:
    service = connect(listed(tmp_path / "f", named, file, "other.jpg"), read_only=True)
    notes = (await service.probe()).notes
    assert [note for note in notes if "spells in another case or form" in note and ": 1, " in note]
    assert notes[-1].endswith("left out: 1")
    asset = await service.fetch(AssetId("1"))
    assert asset.versions[0].size == len(file.encode())
    assert await bytes_of(service, asset.versions[0]) == file.encode()


@pytest.mark.parametrize(
    ("named", "file", "others"),
    [
        (f"{NFC}.jpg", f"{NFD}.jpg", [f"{NFC.upper()}.jpg"]),  # the form differs less than the case
        ("a.jpg", "a.jpg", ["A.jpg", "A.JPG"]),
        ("Press/A.jpg", "Press/a.jpg", ["press/b.jpg"]),
    ],
)
async def test_the_nearest_spelling_counts(tmp_path: Path, named: str, file: str, others: list[str]) -> None:
    service = connect(listed(tmp_path / "f", named, file, *others), read_only=True)
    await service.probe()
    asset = await service.fetch(AssetId("1"))
    assert await bytes_of(service, asset.versions[0]) == file.encode()


@pytest.mark.parametrize(
    ("named", "files", "shown"),
    [
        ("PLAGE.JPG", ["plage.jpg", "Plage.jpg"], "Plage.jpg', 'files/plage.jpg'"),
        (f"{NFC}.jpg", [f"{NFD}.jpg", f"{MIXED}.jpg"], r"E\u0301"),
        ("PRESS/a.jpg", ["press/a.jpg", "Press/A.jpg"], "'files/Press/A.jpg', 'files/press/a.jpg'"),
    ],
)
async def test_several_are_refused_so_that_one_sees_the_difference(
    tmp_path: Path, named: str, files: list[str], shown: str
) -> None:
    service = connect(listed(tmp_path / "f", named, *files), read_only=True)
    await service.probe()
    asset = await service.fetch(AssetId("1"))
    with pytest.raises(InvalidValue, match="2 files differ from it only in case or in the form") as refused:
        Estimator(service).open(asset.versions[0])
    assert shown in str(refused.value)


async def test_a_missing_file_is_none_of_another_name(tmp_path: Path) -> None:
    service = connect(listed(tmp_path / "f", "a.jpg", "b.jpg", "a.jpg.bak"), read_only=True)
    await service.probe()
    with pytest.raises(NotFound, match=r"files/a\.jpg is not there"):
        Estimator(service).open((await service.fetch(AssetId("1"))).versions[0])


async def test_a_link_is_not_followed_because_its_name_differs(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"x")
    folder = listed(tmp_path / "f", "A.jpg", "b.jpg")
    (folder / "files" / "a.jpg").symlink_to(tmp_path / "secret")
    service = connect(folder, read_only=True)
    await service.probe()
    with pytest.raises(NotFound):
        Estimator(service).open((await service.fetch(AssetId("1"))).versions[0])
