"""Forked programs are what a program is that Python starts, and disks are seen by their commands alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.disks import MountedDisk, forking_disks, small_disk
from tests.support.programs import CODE, PIPE, Program, completed, shared

ECHO = "import sys; print(sys.argv[1:], flush=True); print(sys.stdin.read().upper())"


def test_a_program_reads_what_is_typed_until_its_end() -> None:
    with Program(CODE, ECHO, "a", "b", typed=PIPE, out=PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "['a', 'b']\n"
        process.stdin.write("sea")
        assert process.communicate() == ("SEA\n", "")
    assert process.returncode == 0


def test_a_program_reads_a_file(tmp_path: Path) -> None:
    (tmp_path / "typed").write_text("sea", encoding="utf-8")
    assert completed(CODE, ECHO, typed=tmp_path / "typed").stdout == "[]\nSEA\n"


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("pass", 0),
        ("raise SystemExit(3)", 3),
        ("print(1)", 120),
        ("1 / 0", 1),
        ("import os; os.kill(os.getpid(), 9)", -9),
    ],
)
def test_a_program_ends_as_python_does_where_its_output_has_no_room(code: str, ended: int) -> None:
    assert completed(CODE, code, out=Path("/dev/full")).returncode == ended


def test_a_disk_is_seen_by_its_commands_alone_and_gone_at_the_end(tmp_path: Path) -> None:
    with forking_disks() as (forking, kind):
        if kind is not MountedDisk:
            pytest.skip("nothing can be mounted here")
        with small_disk(forking, kind, tmp_path / "disk", 1 << 20) as disk:
            (disk.seen / "file").touch()
            assert forking.sh("ls", str(disk.folder)).stdout == "file\n"
            assert list(disk.folder.iterdir()) == []
            assert str(disk.folder) in mounts_of(forking.pid)
            assert str(disk.folder) not in mounts_of("self") + mounts_of(shared().pid)
        assert str(disk.folder) not in mounts_of(forking.pid)
    assert not Path(f"/proc/{forking.pid}").exists()


def mounts_of(process: int | str) -> str:
    return Path(f"/proc/{process}/mounts").read_text(encoding="utf-8")
