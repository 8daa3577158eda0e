"""Where a job file says that a folder is, and by which name it is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError
from dam_sync.model.service import Service
from dam_sync.services import discover
from tests.support.services.typed_options import connected


def connect(path: Path, *, read_only: bool = False) -> Service:
    return connected(discover()["folder"], Context("", {}, {"path": str(path)}, read_only=read_only))


@pytest.mark.parametrize("options", [{}, {"path": "x", "base_url": "file:///x"}])
def test_the_folder_is_named_once(options: dict[str, str]) -> None:
    url = options.pop("base_url", "")
    with pytest.raises(ConfigError, match="the folder is"):
        connected(discover()["folder"], Context(url, {}, options))


async def test_a_folder_by_url(tmp_path: Path) -> None:
    path = tmp_path / "with space"
    service = connected(discover()["folder"], Context(path.as_uri(), {}, {"bag": "off"}))
    await service.probe()
    assert (path / "archive.json").exists()


@pytest.mark.parametrize("there", [False, True])
async def test_a_folder_that_gets_its_name_from_a_run_is_the_one_that_was_planned_with(
    tmp_path: Path, there: bool
) -> None:
    path = tmp_path / "archive"
    if there:
        path.mkdir()
    planned = await connect(path, read_only=True).probe()
    for service in (connect(path), connect(path, read_only=True), connect(path)):
        account = await service.probe()
        assert account.tenant != planned.tenant == account.unnamed


async def test_a_folder_is_the_same_library_from_whichever_folder_a_job_file_leads_to_it(tmp_path: Path) -> None:
    for name in ("archive", "jobs", "others/deep"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "others" / "deep")
    (tmp_path / "others" / "archive").mkdir()
    plain = await connect(tmp_path / "archive", read_only=True).probe()
    for spelled in ("jobs/../archive", "others/deep/../../jobs/../archive"):
        account = await connect(tmp_path / spelled, read_only=True).probe()
        assert account.tenant == plain.tenant
        assert account.former not in ("", plain.tenant)  # a state of an earlier release has it
    other = await connect(tmp_path / "link" / ".." / "archive", read_only=True).probe()
    assert other.tenant != plain.tenant
    assert other.tenant == (await connect(tmp_path / "others" / "archive", read_only=True).probe()).tenant


async def test_a_path_relative_to_the_working_folder_is_corrected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "jobs").mkdir()
    monkeypatch.chdir(tmp_path)
    for path, hint in (("archive", "write `path: ../archive`"), ("archives", "begins at the folder of the job file")):
        context = Context("", {}, {"path": path}, folder=tmp_path / "jobs", read_only=True)
        account = await connected(discover()["folder"], context).probe()
        with pytest.raises(ConfigError, match=f"{path} is not there") as refused:
            account.refuse_as("source")
        assert hint in refused.value.hint
