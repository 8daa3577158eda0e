"""Files a command writes: whole or not at all, with a clear error where they cannot be written."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from dam_sync.api.atomic_io import atomic_write, prove_writable, scratch_dir
from dam_sync.model.errors import ConfigError, DamSyncError, DiskFull

DEVICE = Path("/dev/full")


def test_a_file_is_whole_and_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    prove_writable(path, "the report")
    assert list(path.parent.iterdir()) == []
    for text in ("first", "été"):
        with atomic_write(path, "the report") as out:
            out.write(text)
        assert path.read_text(encoding="utf-8") == text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(("shared", "mode"), [(False, 0o700), (True, 0o755)])
def test_nobody_else_writes_to_a_folder_that_is_made(tmp_path: Path, shared: bool, mode: int) -> None:
    before, path = os.umask(0), tmp_path / "new" / "below" / "links.csv"
    try:
        prove_writable(path, "the list", shared=shared)
        with atomic_write(path, "the list", shared=shared) as out:
            out.write("x")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path.parent, path.parent.parent)] == [mode, mode]


def test_a_file_for_a_server_is_readable_as_the_umask_or_the_old_file_says(tmp_path: Path) -> None:
    before, path = os.umask(0o027), tmp_path / "links.map"
    try:
        for mode in (0o640, 0o604):
            with atomic_write(path, "the rules", shared=True) as out:
                out.write("x")
            assert stat.S_IMODE(path.stat().st_mode) == mode
            path.chmod(0o604)
    finally:
        os.umask(before)


def test_what_was_there_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("whole", encoding="utf-8")
    with suppress(KeyError), atomic_write(path, "the plan") as out:
        out.write("half")
        raise KeyError
    assert path.read_text(encoding="utf-8") == "whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not DEVICE.exists(), reason="this system has no device that is always full")
def test_a_device_is_written_to_as_it_is() -> None:
    prove_writable(DEVICE, "the report")
    with (
        pytest.raises(DiskFull, match="no space left to write the report /dev/full") as told,
        atomic_write(DEVICE, "the report") as out,
    ):
        out.write("x" * 100_000)
    assert "free some space" in told.value.hint
    assert DEVICE.is_char_device()


def test_a_folder_where_nothing_can_be_written_is_reported_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be written") as told:
        prove_writable(tmp_path / "file" / "report.html", "the report")
    assert told.value.hint
    prove_writable(None, "the report")


@pytest.mark.parametrize(("code", "kind"), [(errno.ENOSPC, DiskFull), (errno.EACCES, ConfigError)])
def test_a_scratch_folder_that_cannot_be_made(
    monkeypatch: pytest.MonkeyPatch, code: int, kind: type[DamSyncError]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(kind) as told, scratch_dir("plan"):
        pass
    assert "TMPDIR" in told.value.hint


def test_a_full_disk_elsewhere_is_not_taken_for_a_full_scratch_folder() -> None:
    with pytest.raises(DiskFull, match="write the state"), scratch_dir("verify"):
        raise DiskFull("no room left to write the state /srv/job.db", path=Path("/srv/job.db"))
    with pytest.raises(DiskFull, match="temporary copy") as told, scratch_dir("verify") as folder:
        raise DiskFull("no room left to write the state", path=folder / "verify.db")
    assert "TMPDIR" in told.value.hint
