"""The service `folder`, of a user who may not read or write everything: what is wrong is named before a run."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from dam_sync.model.connector import Context
from dam_sync.model.errors import Denied, NotFound
from dam_sync.services.folder.api.disk import FileSystem
from dam_sync.services.folder.options import FolderOptions
from dam_sync.services.folder.service import FolderService
from tests.unit.services.test_folder_service import everything


class Forbidding(FileSystem):
    """A disk of which this user may list no folder called `closed`, and write to none."""

    def may_list(self, name: str, at: int) -> bool:
        return name != "closed"

    def open(self, name: str, flags: int, at: int) -> int:
        if name == "secret.jpg":
            raise PermissionError(errno.EACCES, "Permission denied")
        return super().open(name, flags, at)

    def may_write(self, folder: Path) -> bool:
        return False


def forbidding(path: Path) -> FolderService:
    options = FolderOptions(path=str(path))
    return FolderService(Context("", {}, options, read_only=True), Forbidding())


async def test_a_folder_that_cannot_be_read_is_named_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "Press" / "closed").mkdir(parents=True)
    with pytest.raises(Denied, match="the folder Press/closed cannot be read by this user"):
        await forbidding(tmp_path).probe()


async def test_a_file_that_cannot_be_read_concerns_its_asset_alone(tmp_path: Path) -> None:
    for name in ("a.jpg", "secret.jpg"):
        (tmp_path / name).write_bytes(b"abc")
    service = forbidding(tmp_path)
    readable, secret = [entry.asset for entry in await everything(service)]
    assert (readable.id, secret.id, secret.versions[0].size) == ("a.jpg", "secret.jpg", 3)
    service.estimate_open(readable.versions[0])
    with pytest.raises(NotFound, match=r"secret\.jpg: Permission denied") as known:
        service.estimate_open(secret.versions[0])
    with pytest.raises(NotFound, match=r"secret\.jpg: Permission denied"):
        await service.open(secret.versions[0])
    assert "let this user read the file" in known.value.hint


async def test_a_target_that_cannot_be_made_is_known_before_a_run(tmp_path: Path) -> None:
    account = await forbidding(tmp_path / "to be made").probe()
    with pytest.raises(Denied, match=r"to be made cannot be made: .* is read-only for this user"):
        account.refuse_as("target")


async def test_a_run_into_a_read_only_folder_is_not_refused_as_long_as_it_writes_nothing(tmp_path: Path) -> None:
    account = await forbidding(tmp_path).probe()
    account.refuse_as("target")
    assert [note for note in account.notes_as("target") if "may not write" in note]
    assert not [note for note in account.notes_as("source") if "may not write" in note]
