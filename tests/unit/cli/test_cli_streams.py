"""The command where a supervisor closed its standard streams, or a reader went away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.programs import PIPE, Program

COMMAND = f"{sys.executable} -m dam_sync"
JOB = """version: 1
name: streams
source: {kind: folder, options: {path: library}}
target: {kind: folder, options: {path: export}}
mapping: mapping.yaml
state: state.db
"""
MAPPING = """version: 1
asset: {filename: {from: filename}}
fields: {source_key: {marker: true}}
unmapped: ignore
"""


SEVERAL = """
import json, sys
from dam_sync.__main__ import main
for typed in json.loads(sys.argv[1]):
    sys.argv[1:] = typed
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code
    for stream in (sys.stdout, sys.stderr):
        stream.write(f"\\0{code or 0}\\0")
        stream.flush()
"""


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


def test_a_folder_instead_of_a_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    done = programs.run("check", ".", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: . is a folder, not a job file",
        "hint: give the path of a job file; `dam-sync init JOB` writes a new one",
    ]


@pytest.mark.parametrize(("arguments", "code"), [("help jobs", 1), ("check missing.yaml --json", 2)])
def test_a_full_disk_below_standard_output_is_reported_in_one_line(tmp_path: Path, arguments: str, code: int) -> None:
    done = shell(f"{COMMAND} {arguments} > /dev/full", tmp_path)
    assert done.returncode == code
    assert "error: standard output cannot be written: no space is left" in done.stderr.splitlines()
    assert "Traceback" not in done.stderr


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """A job between two folders, in a folder whose name is not in Latin-1."""
    home = tmp_path / "e\u0301"
    (home / "library").mkdir(parents=True)
    (home / "library" / "sea.txt").write_text("sea")
    (home / "job.yaml").write_text(JOB)
    (home / "mapping.yaml").write_text(MAPPING)
    return home


@pytest.mark.parametrize("arguments", ["check job.yaml", "check job.yaml --json", "run job.yaml --json"])
def test_a_full_disk_below_the_output_of_a_job_is_no_internal_error(
    folders: Path, tmp_path: Path, arguments: str
) -> None:
    said = tmp_path / "said.txt"
    typed = (*arguments.split(), "--no-progress")
    with Program("dam_sync", *typed, folder=folders, out=Path("/dev/full"), err=said) as process:
        pass
    assert process.returncode == 1
    errors = said.read_text(encoding="utf-8")
    assert "error: standard output cannot be written: no space is left" in errors.splitlines()
    assert "Traceback" not in errors
    assert "internal error" not in errors


def test_what_was_done_is_no_failure_because_it_cannot_be_shown(folders: Path) -> None:
    done = programs.run("run", "job.yaml", "--no-progress", folder=folders, out=Path("/dev/full"))
    assert done.returncode == 0
    assert "error: standard output cannot be written: no space is left" in done.stderr.splitlines()
    assert "next: dam-sync report job.yaml" in done.stderr.splitlines()
    assert "sea.txt" in programs.run("explain", "job.yaml", "sea.txt", folder=folders).stdout


@pytest.fixture
def moved(folders: Path) -> Path:
    """The same after a run."""
    done = programs.run("run", "job.yaml", folder=folders)
    assert done.returncode == 0, done.stderr
    return folders


def test_a_message_that_cannot_be_written_is_no_failure_in_a_shell(moved: Path) -> None:
    for where in ("2> /dev/full", "2>&1 | true", "| head -1"):
        done = shell(f"{COMMAND} status job.yaml {where}; echo ${{PIPESTATUS[0]}}", moved)
        assert done.stdout.splitlines()[-1] == "0"
        assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("arguments", ["run job.yaml", "run job.yaml --json -vv", "status job.yaml", "help jobs"])
@pytest.mark.parametrize("where", ["full", "unread", "read once"])
def test_a_message_that_cannot_be_written_is_no_failure(
    moved: Path, tmp_path: Path, arguments: str, where: str
) -> None:
    """Its reader ends before the first or before the second line, or its disk is full."""
    said = tmp_path / "said.txt"
    streams = {
        "full": {"out": said, "err": Path("/dev/full")},
        "unread": {"out": PIPE, "err": PIPE},
        "read once": {"out": PIPE, "err": said},
    }[where]
    with Program("dam_sync", *arguments.split(), folder=moved, **streams) as process:
        if process.stdout is not None and where == "read once":
            process.stdout.readline()
    assert process.returncode == 0
    assert not said.exists() or "Traceback" not in said.read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", ["--help", "run --help", "--version"])
def test_a_reader_of_the_help_that_goes_away_is_no_error(tmp_path: Path, arguments: str) -> None:
    assert shell(f"{COMMAND} {arguments} | true; echo ${{PIPESTATUS[0]}}", tmp_path).stdout == "0\n"


def test_an_error_keeps_its_exit_code_where_nothing_can_be_written(tmp_path: Path) -> None:
    assert shell(f"{COMMAND} run missing.yaml > /dev/full 2> /dev/full", tmp_path).returncode == 2


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_characters_that_an_output_cannot_show_are_escaped(folders: Path, encoding: str) -> None:
    shown = "e\u0301" if encoding == "utf-8" else "e\\u0301"
    typed = [
        ["check", str(folders / name), *more] for name, *more in (["job.yaml"], ["none.yaml"], ["job.yaml", "--json"])
    ]
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, json.dumps(typed)],  # one process: it loads what `check` needs once
        cwd=folders,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    out, err = (stream.decode(encoding).split("\0") for stream in (done.stdout, done.stderr))
    assert "internal error" not in "".join(err)
    assert out[1::2] == err[1::2] == ["0", "2", "0"]
    assert shown in out[0] + err[0]
    assert shown in out[2] + err[2]
    assert "e\u0301" in str(json.loads(out[4]))


@pytest.mark.parametrize("flags", [[], ["-E"]])
def test_names_of_files_are_read_whatever_the_locale(tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "Été ☕.jpg").write_bytes(b"x")
    sides = "".join(f"{side}: {{kind: folder, options: {{path: {name}}}}}\n" for side, name in SIDES.items())
    job = f"version: 1\nname: one\n{sides}mapping: m.yaml\nstate: s.db\n"
    (tmp_path / "café.yaml").write_text(job, encoding="utf-8")
    (tmp_path / "m.yaml").write_text("version: 1\nfilename: ${filename}\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *flags, "-m", "dam_sync", "check", "café.yaml"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C"},
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    assert b"sees 1 asset" in done.stdout
    assert b"left out" not in done.stdout
    assert (rb"caf\xe9.yaml" if not flags else "café.yaml".encode()) in done.stdout


SIDES = {"source": "src", "target": "dst"}
