"""Large files moved by one process and by two workers, over TLS, in one run, in turn.

The goal: 1.7 times the throughput of one process on two cores. On a computer with two cores both storages and the
database need these cores too, so that the clock says less than the processors do: CPU is counted for each process and
for the main thread of each, which is where one process ends (digests are computed beside it). From these follows what
each could reach with two cores of its own:

- a process is as fast as its main thread, and all of them together as fast as two cores;
- the table says how many of the two cores were in use: near 2, the computer is the bottleneck.

The start is left out, as the difference between many files and few. `DAM_SYNC_FILES=4 DAM_SYNC_ROUNDS=1` measures
fewer files, once. One command takes it all: `pytest -s -m bench tests/benchmarks/test_workers_throughput.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from tests.support.measuring.printed_table import show
from tests.support.network.storage_process import storage
from tests.support.services.large_file_service import NAME, installed
from tests.support.state.postgres import OwnServer

pytestmark = pytest.mark.bench

SIZE = 256_000_000
FEW = 2
FILES = FEW + int(os.environ.get("DAM_SYNC_FILES", "12"))
ROUNDS = int(os.environ.get("DAM_SYNC_ROUNDS", "2"))
MEASURED = (FILES - FEW) * SIZE / 1e9  # GB
CORES = 2
GOAL = 1.7
MOST_BESIDE = 1.25  # CPU of coordinator and workers, times that of one process
MOST_UNEVEN = 1.5  # bytes of one worker beside the other, by the CPU of their main threads
LOOK = 0.05
MAPPING = """\
version: 1
marker: none
fields:
  title: {from: fields.title}
asset:
  filename: {from: filename}
unmapped: report
"""


@dataclass(slots=True)
class Threads:
    """Seconds of CPU of a process that has ended: of its main thread, and of the others."""

    main: float = 0.0
    others: float = 0.0
    worker: bool = False

    @property
    def all(self) -> float:
        """Of all threads."""
        return self.main + self.others


@dataclass(slots=True)
class Reading:
    """Of one run. servers: seconds of CPU of both storages and the database."""

    wall: float = 0.0
    servers: float = 0.0
    ours: dict[int, Threads] = field(default_factory=dict)

    @property
    def own(self) -> float:
        """Of all our processes."""
        return sum(each.all for each in self.ours.values())

    @property
    def workers(self) -> list[float]:
        """Of the main threads of those that write, the busiest first: of the workers, or of the one process."""
        found = [each.main for each in self.ours.values() if each.worker]
        return sorted(found or [max(each.main for each in self.ours.values())], reverse=True)


@dataclass(frozen=True, slots=True)
class PerGB:
    """Seconds for a GB, the least of several rounds. main: of the busiest main thread that writes."""

    wall: float
    own: float
    main: float
    servers: float

    @classmethod
    def of(cls, few: Sequence[Reading], many: Sequence[Reading]) -> PerGB:
        """From all rounds."""
        parts: tuple[Callable[[Reading], float], ...] = (
            lambda each: each.wall,
            lambda each: each.own,
            lambda each: each.workers[0],
            lambda each: each.servers,
        )
        return cls(*((min(map(part, many)) - min(map(part, few))) / MEASURED for part in parts))

    @property
    def alone(self) -> float:
        """GB a second with two cores of its own: until a main thread, or both cores, are busy."""
        return 1 / max(self.main, self.own / CORES)

    @property
    def cores(self) -> float:
        """How many were in use, those of the servers too."""
        return (self.own + self.servers) / self.wall


@pytest.mark.parametrize("digests", [True, False], ids=["with MD5", "without a digest"])
def test_two_workers_compared_with_one_process(tmp_path: Path, digests: bool) -> None:
    environment = installed(tmp_path)
    server = OwnServer(tmp_path / "server")
    readings: dict[tuple[int, int], list[Reading]] = {}
    try:
        with storage() as source, storage() as target:
            for number in range(ROUNDS):  # in turn, so that whatever else this computer does hits all alike
                for files in (FEW, FILES):
                    for workers in (0, 2):
                        name = f"{'md5' if digests else 'plain'}{number}w{workers}n{files}"
                        job = written(tmp_path, name, source[0], target[0], server.url, files, digests)
                        made = moved(job, workers, environment, server, source[1], target[1], files)
                        readings.setdefault((workers, files), []).append(made)
    finally:
        server.stop()
    one, two = (PerGB.of(readings[workers, FEW], readings[workers, FILES]) for workers in (0, 2))
    told(one, two, readings[2, FILES][-1], digests)
    first, second = readings[2, FILES][-1].workers[:2]
    assert first <= MOST_UNEVEN * second
    assert two.own <= MOST_BESIDE * one.own


def written(folder: Path, name: str, source: str, target: str, state: str, files: int, digests: bool) -> Path:
    """The job of a library of so many files."""
    (folder / "mapping.yaml").write_text(MAPPING, encoding="utf-8")
    auth = {"flow": "token", "token": "${env:FILMS}"}
    options = {"files": files, "bytes": SIZE, "digests": digests}
    body = {"version": 1, "name": name, "mapping": "mapping.yaml", "state": state}
    body |= {"source": {"kind": NAME, "base_url": source, "auth": auth, "options": options}}
    body |= {"target": {"kind": NAME, "base_url": target, "auth": auth}}
    job = folder / f"{name}.yaml"
    job.write_text(json.dumps(body), encoding="utf-8")  # JSON is YAML
    return job


def moved(
    job: Path, workers: int, environment: dict[str, str], server: OwnServer, source: int, target: int, files: int
) -> Reading:
    """One run, by one process or by workers."""
    command = [sys.executable, "-m", "dam_sync", "run", str(job), "--json", "--no-progress"]
    command += ["--workers", str(workers)] if workers else []
    reading = Reading()
    began, before = time.perf_counter(), servers_cpu(server, source, target)
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **piped) as process, watching(process.pid, reading):
        out, err = process.communicate()
    reading.wall = time.perf_counter() - began
    reading.servers = servers_cpu(server, source, target) - before
    assert process.returncode == 0, f"{out[-2000:]!r} {err[-2000:]!r}"
    assert json.loads(out)["counts"]["created"] == files
    return reading


@contextmanager
def watching(pid: int, reading: Reading) -> Iterator[None]:
    """Note what the threads of a process and of those below it have spent, until they end."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(LOOK):
            with suppress(psutil.Error):
                top = psutil.Process(pid)
                for each in (top, *top.children(recursive=True)):
                    with suppress(psutil.Error):
                        _note(each, reading)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    yield
    ended.set()
    watcher.join()


def _note(process: psutil.Process, reading: Reading) -> None:
    spent = {each.id: each.user_time + each.system_time for each in process.threads()}
    known = reading.ours.get(process.pid)
    if known is None:
        worker = "spawn_main" in " ".join(process.cmdline())
        known = reading.ours[process.pid] = Threads(worker=worker)
    known.main = spent.get(process.pid, known.main)
    whole = sum(process.cpu_times()[:2])
    known.others = max(known.others, whole - known.main)


def servers_cpu(server: OwnServer, *storages: int) -> float:
    """Seconds of CPU so far, of the database and of the storages."""
    times = [psutil.Process(pid).cpu_times() for pid in storages]
    return server.cpu() + sum(each.user + each.system for each in times)


def told(one: PerGB, two: PerGB, last: Reading, digests: bool) -> None:
    """Print what was measured."""
    lines: list[tuple[str, Callable[[PerGB], float]]] = [
        ("MB/s", lambda each: 1000 / each.wall),
        ("seconds of CPU for a GB, our processes", lambda each: each.own),
        ("seconds of CPU for a GB, the busiest main thread that writes", lambda each: each.main),
        ("seconds of CPU for a GB, storages and database", lambda each: each.servers),
        ("cores in use", lambda each: each.cores),
    ]
    rows: list[tuple[object, ...]] = [(name, read(one), read(two), read(two) / read(one)) for name, read in lines]
    alone = two.alone / one.alone
    rows.append(("MB/s with two cores of their own, calculated", 1000 * one.alone, 1000 * two.alone, alone))
    rows.append(("goal", "", "", GOAL))
    rows.append((_verdict(one, two), "", "", ""))
    shares = " ".join(f"{seconds:.1f}" for seconds in last.workers)
    rows.append((f"seconds of CPU of the main threads of the workers: {shares}", "", "", ""))
    kind = "with MD5" if digests else "without a digest"
    title = f"{MEASURED:.1f} GB in files of {SIZE // 1_000_000} MB over TLS, {kind}, the best of {ROUNDS}"
    show(title, ("", "one process", "two workers", "ratio"), rows)


def _verdict(one: PerGB, two: PerGB) -> str:
    if max(one.cores, two.cores) > CORES:  # the least of several readings do not belong together on a busy computer
        return "more cores in use than there are: other work ran, the times say nothing; the CPU does"
    return "reached" if one.wall / two.wall >= GOAL else "not reached"
