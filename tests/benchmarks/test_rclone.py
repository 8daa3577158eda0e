"""Many small files between two emulated services beside `rclone` that copies the same files between two WebDAV servers
of its own, in one run, in turn; the start of both is left out, as the difference between many files and a tenth.

The goal is half of rclone's files per second, or to show that the services are waited for: our process would reach it
if it never waited, by the CPU it used, and both services together used more than it did. The table says which. What
fails is the budget: the CPU of our process beside that of rclone, which other work on this host hardly changes. For a
file we also carry the fields of its asset, and record each write before and after it.

`DAM_SYNC_FILES=200 DAM_SYNC_ROUNDS=1` measures fewer files, once.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.jobs.bulk_jobs import Bulk
from tests.support.measuring.counted_calls import Side, counted, name_of
from tests.support.measuring.cpu import Cost, costing
from tests.support.measuring.printed_table import show
from tests.support.processes import measured

FILES = int(os.environ.get("DAM_SYNC_FILES", "2000"))
FEW = FILES // 10  # the difference of the two leaves the start out
SIZE = 100_000
ROUNDS = int(os.environ.get("DAM_SYNC_ROUNDS", "3"))
AT_ONCE = 16  # files, of both
GOAL = 0.5  # of rclone's files per second
MOST_CPU = 4.0  # times the CPU of rclone's copying process
STARTED = "WebDav Server started on"
A = Side("a_hypermedia", "folder", options={"locales": "en"})  # neither has a documented limit of calls per second
B = Side("b_documents", "folder", options={"relations": ""}, emulated={"direct": False}, profile="Images")

pytestmark = [
    pytest.mark.bench,
    pytest.mark.skipif(shutil.which("rclone") is None, reason="rclone is not installed: `apt-get install rclone`"),
]


@dataclass(frozen=True, slots=True)
class PerFile:
    """Seconds for a file, the least of several rounds: of the clock, and of the processors by process."""

    wall: float
    own: float
    source: float
    target: float

    @classmethod
    def of(cls, few: Sequence[Cost], many: Sequence[Cost]) -> PerFile:
        """From all rounds of one of them."""
        readings: tuple[Callable[[Cost], float], ...] = (
            lambda cost: cost.wall,
            lambda cost: cost.own,
            lambda cost: cost.others["source"],
            lambda cost: cost.others["target"],
        )
        return cls(*((min(map(read, many)) - min(map(read, few))) / (FILES - FEW) for read in readings))

    @property
    def servers(self) -> float:
        """Their part of all CPU."""
        return (self.source + self.target) / (self.own + self.source + self.target)


@dataclass(slots=True)
class Readings:
    """Of few files and of many."""

    few: list[Cost] = field(default_factory=list)
    many: list[Cost] = field(default_factory=list)

    @property
    def best(self) -> PerFile:
        """For a file."""
        return PerFile.of(self.few, self.many)


def test_small_files_cost_no_more_beside_rclone_than_they_did(tmp_path: Path) -> None:
    files = {number: _written(tmp_path / f"files-{number}", number) for number in (FEW, FILES)}
    ours, rclone = Readings(), Readings()
    for each in range(ROUNDS):  # in turn, so that whatever else this host does hits both alike
        for copy, readings in ((_by_rclone, rclone), (_by_us, ours)):
            for number, costs in ((FEW, readings.few), (FILES, readings.many)):
                inside = tmp_path / f"{copy.__name__}-{each}-{number}"
                inside.mkdir()
                costs.append(copy(inside, files[number], number))
                shutil.rmtree(inside)
    mine, theirs = ours.best, rclone.best
    _show(mine, theirs)
    assert mine.own <= MOST_CPU * theirs.own


def _show(mine: PerFile, theirs: PerFile) -> None:
    ratio, alone = theirs.wall / mine.wall, theirs.wall / mine.own
    rows = [
        ("files per second", 1 / mine.wall, 1 / theirs.wall, ratio),
        ("goal", "", "", GOAL),
        ("files per second of our process if it never waited", 1 / mine.own, 1 / theirs.wall, alone),
        *(
            (f"ms of CPU for a file: {name}", *_pair(1000 * ours, 1000 * other))
            for name, ours, other in (
                ("process", mine.own, theirs.own),
                ("source", mine.source, theirs.source),
                ("target", mine.target, theirs.target),
            )
        ),
        ("budget of the process", "", "", MOST_CPU),
        ("part of the services in all CPU", mine.servers, theirs.servers, ""),
        ("reached" if ratio >= GOAL else "not reached", "", "", ""),
    ]
    if ratio < GOAL:
        waited = alone >= GOAL and mine.source + mine.target > mine.own
        rows.append(("the services are waited for" if waited else "our process is waited for", "", "", ""))
    show(f"{FILES:,} files of {SIZE:,} bytes, the best of {ROUNDS}", ("", "dam-sync", "rclone", "ratio"), rows)


def _pair(mine: float, other: float) -> tuple[float, float, float]:
    return mine, other, mine / other if other else 0.0


def _written(folder: Path, number: int) -> Path:
    folder.mkdir()
    rng = random.Random(number)
    for each in range(1, number + 1):
        (folder / name_of(each)).write_bytes(rng.randbytes(SIZE))
    return folder


def _by_us(folder: Path, files: Path, number: int) -> Cost:
    """From one emulated service to another, with the fields of each asset."""
    bulk = Bulk(number, stored=True)
    with counted(folder, A, B, bulk, files, limits={"concurrency": AT_ONCE}) as job:
        with costing(source=job.pair.source.pid, target=job.pair.target.pid) as cost:
            run = measured("run", str(job.pair.job), "--json", "--no-progress")
        assert run.report["counts"]["created"] == number
        assert {each["versions"][-1]["size"] for each in job.pair.target.assets} == {SIZE}
    return cost


def _by_rclone(folder: Path, files: Path, number: int) -> Cost:
    """From one WebDAV server to another."""
    copied = folder / "copied"
    copied.mkdir()
    with _webdav(files) as (source, first), _webdav(copied) as (target, second):
        remotes = [f":webdav,url='{url}',vendor=other:" for url in (source, target)]
        at_once = [f"--transfers={AT_ONCE}", f"--checkers={AT_ONCE}"]
        with costing(source=first, target=second) as cost:
            subprocess.run([*_RCLONE, "copy", *remotes, *at_once], check=True)
    assert {path.stat().st_size for path in copied.iterdir()} == {SIZE}
    assert len(list(copied.iterdir())) == number
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
