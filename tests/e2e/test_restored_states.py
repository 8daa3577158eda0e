"""A state of yesterday in the place of the one of today, however it came there: a run creates nothing again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.jobs.small_jobs import Small, photos, small


def over_it(job: Small, backup: Path) -> None:
    """`cp`, into the file that is there."""
    shutil.copyfile(backup / "job.db", job.state)


def in_its_place(job: Small, backup: Path) -> None:
    """`mv`, or a tool that writes a new file first."""
    shutil.copyfile(backup / "job.db", backup / "other.db")
    (backup / "other.db").replace(job.state)


def removed_before(job: Small, backup: Path) -> None:
    """`rm`, then `cp`: the file system may use the number of the file again."""
    job.state.unlink()
    shutil.copyfile(backup / "job.db", job.state)


def whole_folder(job: Small, backup: Path) -> None:
    """Everything next to the state is restored, too."""
    job.state.parent.rename(job.state.parent.with_name("broken"))
    shutil.copytree(backup, job.state.parent)


def export_alone(job: Small, backup: Path) -> None:
    """Nothing else is left, and `state import` was not used."""
    shutil.rmtree(job.state.parent)
    job.state.parent.mkdir()
    shutil.copyfile(backup / "export.db", job.state)


@pytest.mark.parametrize("restore", [over_it, in_its_place, removed_before, whole_folder, export_alone])
def test_a_state_that_was_restored_from_a_copy_creates_nothing_again(
    tmp_path: Path, restore: Callable[[Small, Path], None]
) -> None:
    with small(tmp_path, photos(3)) as job:
        job.run("--limit", "1", code=8)
        backup = shutil.copytree(job.state.parent, tmp_path / "backup")
        job.ran("state", "export", "-o", str(backup / "export.db"), code=0)
        job.run()
        restore(job, backup)
        job.ran("plan", "--no-progress", code=6).says("with the markers of this source")
        job.ran("run", "--no-progress", code=6).says("with the markers of this source", "adopt")
        job.ran("adopt", "--no-progress", code=0)
        assert len(job.ends_complete()) == 3


def test_a_folder_that_was_moved_goes_on(tmp_path: Path) -> None:
    """Nothing is older than the last write there: the target is looked through once, and nothing stops."""
    with small(tmp_path, photos(3)) as job:
        job.run("--limit", "1", code=8)
        whole_folder(job, shutil.copytree(job.state.parent, tmp_path / "moved"))
        assert len(job.ends_complete()) == 3
        job.pair.target.forget_calls()
        job.run()
        assert "GET /v2/assets" not in job.pair.target.calls
