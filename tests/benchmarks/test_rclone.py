"""Many small files between two emulated services beside `rclone` that copies the same files between two WebDAV servers
of its own, in one run, in turn.

An emulated service is a Python process, a WebDAV server of rclone a Go program. So the CPU of our process, of rclone
and of all servers is counted apart: where fewer files per second come than the goal asks for, the services must be
shown to be what is waited for. That is: our process with a processor of its own reaches the goal, by the CPU it used,
and the services used more of the processors than it did.

`DAM_SYNC_FILES=200` measures fewer files.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.bulk import Bulk
from tests.support.counted import Side, counted, name_of
from tests.support.cpu import Cost, costing
from tests.support.processes import measured
from tests.support.tables import show

FILES = int(os.environ.get("DAM_SYNC_FILES", "2000"))
SIZE = 100_000
ROUNDS = 3
AT_ONCE = 16  # files, of both
GOAL = 0.5  # of rclone's files per second
STARTED = "WebDav Server started on"
C = Side("c_brandlibrary", "section", options={"readiness": "later", "first_look": 1.0}, emulated={"processing": 0.2})
B = Side("b_documents", "folder", options={"relations": ""}, emulated={"direct": False}, profile="Images")

pytestmark = [
    pytest.mark.bench,
    pytest.mark.skipif(shutil.which("rclone") is None, reason="rclone is not installed: `apt-get install rclone`"),
]


@dataclass(frozen=True, slots=True)
class Best:
    """The least of several rounds: files per second of the clock, CPU seconds of the copying process and of both
    services or servers."""

    rate: float
    own: float
    source: float
    target: float

    @classmethod
    def of(cls, rounds: Sequence[Cost]) -> Best:
        """From all rounds of one of them."""
        source, target = (min(each.others[name] for each in rounds) for name in ("source", "target"))
        return cls(FILES / min(each.wall for each in rounds), min(each.own for each in rounds), source, target)

    @property
    def alone(self) -> float:
        """Files per second of the copying process if it had one processor and never waited."""
        return FILES / self.own

    @property
    def servers(self) -> float:
        """Their part of all CPU."""
        return (self.source + self.target) / (self.own + self.source + self.target)


def test_small_files_are_moved_half_as_fast_as_rclone_copies_them_or_the_services_are_waited_for(
    tmp_path: Path,
) -> None:
    files = _written(tmp_path / "files")
    rclone, ours = [], []
    for number in range(ROUNDS):  # in turn, so that whatever else this host does hits both alike
        for copy, costs in ((_by_rclone, rclone), (_by_us, ours)):
            costs.append(_in_turn(tmp_path / f"{copy.__name__}-{number}", files, copy))
    theirs, best = Best.of(rclone), Best.of(ours)
    ratio = best.rate / theirs.rate
    rows = [
        ("files per second", best.rate, theirs.rate, ratio),
        ("goal", "", "", GOAL),
        ("files per CPU second of the process itself", best.alone, theirs.alone, best.alone / theirs.alone),
        ("files per second with a processor of its own", best.alone, theirs.rate, best.alone / theirs.rate),
        ("ms of CPU for a file: process", 1000 * best.own / FILES, 1000 * theirs.own / FILES, best.own / theirs.own),
        *(
            (f"ms of CPU for a file: {name}", *_pair(1000 * mine / FILES, 1000 * other / FILES))
            for name, mine, other in (
                ("source", best.source, theirs.source),
                ("target", best.target, theirs.target),
            )
        ),
        ("part of the services in all CPU", best.servers, theirs.servers, ""),
    ]
    show(f"{FILES:,} files of {SIZE:,} bytes, the best of {ROUNDS}", ("", "dam-sync", "rclone", "ratio"), rows)
    waited_for = best.alone >= GOAL * theirs.rate and best.source + best.target > best.own
    assert ratio >= GOAL or waited_for


def _pair(mine: float, other: float) -> tuple[float, float, float]:
    return mine, other, mine / other if other else 0.0


def _written(folder: Path) -> Path:
    folder.mkdir()
    rng = random.Random(1)
    for number in range(1, FILES + 1):
        (folder / name_of(number)).write_bytes(rng.randbytes(SIZE))
    return folder


def _in_turn(folder: Path, files: Path, copy: Callable[[Path, Path], Cost]) -> Cost:
    folder.mkdir()
    return copy(folder, files)


def _by_us(folder: Path, files: Path) -> Cost:
    """From one emulated service to another, with the fields of each asset."""
    bulk = Bulk(FILES, stored=True)
    with counted(folder, C, B, bulk, files, limits={"concurrency": AT_ONCE}) as job:
        with costing(source=job.pair.source.pid, target=job.pair.target.pid) as cost:
            run = measured("run", str(job.pair.job), "--json", "--no-progress")
        assert run.report["counts"]["created"] == FILES
        assert {each["versions"][-1]["size"] for each in job.pair.target.assets} == {SIZE}
    return cost


def _by_rclone(folder: Path, files: Path) -> Cost:
    """From one WebDAV server to another."""
    copied = folder / "copied"
    copied.mkdir()
    with _webdav(files) as (source, first), _webdav(copied) as (target, second):
        remotes = [f":webdav,url='{url}',vendor=other:" for url in (source, target)]
        at_once = [f"--transfers={AT_ONCE}", f"--checkers={AT_ONCE}"]
        with costing(source=first, target=second) as cost:
            subprocess.run([*_RCLONE, "copy", *remotes, *at_once], check=True)
    assert {path.stat().st_size for path in copied.iterdir()} == {SIZE}
    assert len(list(copied.iterdir())) == FILES
    return cost


_RCLONE = ("rclone", "--config", os.devnull)


@contextmanager
def _webdav(folder: Path) -> Iterator[tuple[str, int]]:
    """The URL and the process id of a server of this folder."""
    command = [*_RCLONE, "serve", "webdav", str(folder), "--addr", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = next((line for line in process.stderr if STARTED in line), "")
            assert line, "the WebDAV server did not start"
            yield line.rpartition(STARTED)[2].strip(" []\n"), process.pid
        finally:
            process.kill()
