"""The service `folder`, of a user who may not read or write everything: what is wrong is named before a run."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from dam_sync.model.connector import Context
from dam_sync.model.errors import Denied, NotFound
from dam_sync.model.estimator import Estimator
from dam_sync.services.folder.api.disk import FileSystem
from dam_sync.services.folder.options import FolderOptions
from dam_sync.services.folder.service import FolderService
from tests.support.state.memory_journal import MemoryJournal
from tests.unit.services.test_folder_service import DRAFT, content, everything, opened


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
    Estimator(service).open(readable.versions[0])
    with pytest.raises(NotFound, match=r"secret\.jpg: Permission denied") as known:
        Estimator(service).open(secret.versions[0])
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


async def written(root: Path) -> dict[str, int]:
    """The permissions of all that a target writes, by path."""
    service = await opened(root, bag="on", format="csv")
    await service.create(DRAFT, content(), MemoryJournal())
    await service.close()
    return {str(path.relative_to(root)): stat.S_IMODE(path.stat().st_mode) for path in (root, *root.rglob("*"))}


@pytest.mark.parametrize("umask", [0o000, 0o022])
async def test_other_users_of_the_computer_read_nothing_of_what_was_closed(tmp_path: Path, umask: int) -> None:
    """An asset that its service shows to one group alone lies in a folder that no service guards."""
    before = os.umask(umask)
    try:
        modes = await written(tmp_path / "archive")
    finally:
        os.umask(before)
    assert {"data/catalogue.jsonl", "data/catalogue.csv", "archive.json", "manifest-sha256.txt"} < modes.keys()
    assert {path: mode for path, mode in modes.items() if mode & 0o077} == {}


async def test_a_folder_that_was_set_up_for_a_group_is_for_that_group(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    root.mkdir()
    root.chmod(0o2750)
    modes = await written(root)
    assert all(mode & 0o040 for mode in modes.values())
    assert not any(mode & 0o027 for path, mode in modes.items() if path != ".")
