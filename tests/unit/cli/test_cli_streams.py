"""The command where a supervisor closed its standard streams, or a reader went away."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = f"{sys.executable} -m dam_sync"


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_closed_stream_changes_no_exit_code(tmp_path: Path, closed: str) -> None:
    assert shell(f"{COMMAND} help jobs {closed}", tmp_path).returncode == 0
    refused = shell(f"{COMMAND} check missing.yaml {closed}", tmp_path)
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr
    assert ("missing.yaml" in refused.stderr) is ("2>&-" not in closed)


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    done = shell(f"{COMMAND} help jobs | head -1; echo ${{PIPESTATUS[0]}}", tmp_path)
    assert done.stdout.splitlines() == ["# Jobs", "0"]
    assert done.stderr == ""


def test_a_folder_in_place_of_a_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    done = shell(f"{COMMAND} check .", tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: . is a folder, not a job file",
        "hint: give the path of a job file; `dam-sync init JOB` writes a new one",
    ]


@pytest.mark.parametrize("arguments", ["help jobs", "check missing.yaml --json"])
def test_a_full_disk_below_standard_output_is_said_in_one_line(tmp_path: Path, arguments: str) -> None:
    done = shell(f"{COMMAND} {arguments} > /dev/full", tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "error: standard output cannot be written: no space is left"
    assert "Traceback" not in done.stderr
