"""The service `folder`, of a user who may not read or write everything: what is wrong is named before a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.model.errors import Denied
from dam_sync.model.service import Context
from dam_sync.services.folder.api.disk import FileSystem
from dam_sync.services.folder.options import FolderOptions
from dam_sync.services.folder.service import FolderService


class Forbidding(FileSystem):
    """A disk of which this user may list no folder called `closed`, and write to none."""

    def may_list(self, name: str, at: int) -> bool:
        return name != "closed"

    def may_write(self, folder: Path) -> bool:
        return False


def forbidding(path: Path) -> FolderService:
    options = FolderOptions(path=str(path))
    return FolderService(Context("", {}, options, read_only=True), Forbidding())


async def test_a_folder_that_cannot_be_read_is_named_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "Press" / "closed").mkdir(parents=True)
    with pytest.raises(Denied, match="the folder Press/closed cannot be read by this user"):
        await forbidding(tmp_path).probe()


@pytest.mark.parametrize("name", ["there", "to be made"])
async def test_a_target_that_cannot_be_written_is_known_before_a_run(tmp_path: Path, name: str) -> None:
    (tmp_path / "there").mkdir()
    account = await forbidding(tmp_path / name).probe()
    with pytest.raises(Denied, match="is read-only for this user"):
        account.refuse_as("target")
