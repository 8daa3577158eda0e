"""Kills at 200 random moments of a migration that worker processes write with its state on PostgreSQL: of workers, the
scheduler, the coordinator, connections to the database, or the server, which is then started again. All of them move
records and camera files of a museum where these are present; the sample, and all of them elsewhere, generated ones.

The moments of each kind are spread evenly over the calls of a run and drawn within their parts; the number of a case is
its seed. `make test` runs one case of most kinds, DAM_SYNC_ALL=1 all of them. They share a cluster that somebody
started, but each third kill of workers or of the coordinator has a run with workers of its own.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from dam_sync.emulators.kit.library import write_empty_tenant, write_library
from tests.e2e.conftest import MAPPING
from tests.e2e.test_migration import digests
from tests.support.clusters import Cluster, Process, kill, spawned_by
from tests.support.jobs.accepted_exposure import ACCEPTED_LINE
from tests.support.jobs.tenants import Command, Pair, duplicates, pair
from tests.support.libraries.museum import DATA, MUSEUM_MAPPING, has_museum_data, write_museum, write_receiving_tenant
from tests.support.pairs import EVERYTHING
from tests.support.programs import Program
from tests.support.state.postgres import OwnServer, execute

ASSETS = 16
CALLS = 210  # of both tenants in a run that nothing happens to; a few more
CASES: Mapping[str, int] = {
    "worker": 40,
    "all workers": 10,
    "scheduler": 30,
    "coordinator": 40,
    "connection of coordinator": 25,
    "connection of worker": 25,
    "server": 30,
}
SAMPLE = [("worker", 8), ("coordinator", 16), ("connection of worker", 21), ("server", 24)]
"""Moments at which runs ended that should have gone on."""
EXITS = {"coordinator": (-9,), "scheduler": (0, 5), "server": (0, 5)}
"""After everything else a run goes on by itself, once it has begun."""
STARTING = 0.06  # of the moments are in the first seconds, before the first call
START_SECONDS = 0.6
GOLDEN = 144.6180339  # multiples of it are spread evenly over a circle
TICK, LONG = 0.002, 300.0  # seconds
TWICE = "SELECT asset, operation FROM ledger GROUP BY asset, operation HAVING count(*) > 1"


def cases() -> list[tuple[str, int]]:
    """All of them in an order of which each beginning is spread over kinds and moments, or the sample."""
    if not EVERYTHING:
        return SAMPLE
    found = [(kind, number) for kind, every in CASES.items() for number in range(every)]
    return sorted(found, key=lambda case: (case[1] + 0.5) / CASES[case[0]] * GOLDEN % 1.0)


@dataclass(frozen=True, slots=True)
class Library:
    """What is moved: the catalogues of both tenants, the folder of the files, and the mapping between them."""

    source: Path
    target: Path
    files: Path
    mapping: Path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    if EVERYTHING and has_museum_data():
        return Library(write_museum(folder, ASSETS), write_receiving_tenant(folder), DATA / "photos", MUSEUM_MAPPING)
    write_library(folder, ASSETS)
    write_empty_tenant(folder)
    return Library(folder / "catalogue.jsonl", folder / "target.jsonl", folder / "files", MAPPING)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as started:
        yield started


def between(library: Library, folder: Path, command: Command) -> AbstractContextManager[Pair]:
    """A job between fresh tenants."""
    catalogues, files = (library.source, library.target), library.files
    return pair(folder, *catalogues, library.mapping, files=files, more=ACCEPTED_LINE, command=command)


@pytest.fixture(scope="module")
def whole(library: Library, command: Command, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What the target has after a run that nothing happens to."""
    with between(library, tmp_path_factory.mktemp("whole"), command) as joined:
        joined.cli("run", str(joined.job), "--no-progress")
        return seen_at(joined.target.assets)


@pytest.fixture
def moving(library: Library, tmp_path: Path, server: OwnServer, command: Command) -> Iterator[Pair]:
    """The same job, with an empty state on the server."""
    with between(library, tmp_path, command) as joined:
        text = joined.job.read_text(encoding="utf-8")
        joined.job.write_text(text.replace(f"state: {tmp_path}/state/job.db", f"state: {server.url}"))
        execute(server.state, 'DROP SCHEMA IF EXISTS "dam_sync_test" CASCADE')
        yield joined


@dataclass
class Case:
    """A run, and what happens to it."""

    kind: str
    number: int
    moving: Pair
    server: OwnServer
    cluster: Cluster

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.kind} {self.number}")
        self.moment = (self.number + self.rng.random()) / CASES[self.kind]
        self.started: list[Process] = []
        self.own = self.kind in ("worker", "coordinator") and self.number % 3 == 0  # workers

    def tried(self) -> None:
        """The run, what happens to it, and the next run where there has to be one."""
        process = self.start(own=self.own)
        self.until_moment(process)
        calls, assets = self.calls, len(self.moving.target.assets)
        assert process.poll() is None, f"the run ended before its moment, at call {calls}: {self.said}"
        self.happens(process)
        code = self.ended(process)
        sys.stdout.write(f"{self.kind} {self.number}: call {calls} of {CALLS}, {assets} assets: exit {code}\n")
        assert code in EXITS.get(self.kind, (0,)) or (code == 5 and self.moment < STARTING), self.said
        if self.kind == "scheduler" and not self.is_restarted:
            self.cluster.restart()
        if code != 0:
            self.resume()
        self.cluster.until_ready()

    def close(self) -> None:
        """End what still runs."""
        for process in self.started:
            process.kill()
            process.wait()

    def start(self, *, own: bool) -> Process:
        """A run with workers."""
        where = ("--workers", "2") if own else ("--cluster", self.cluster.url)
        self.errors = self.moving.folder / f"errors-{len(self.started)}.txt"
        process = Program("dam_sync", "run", str(self.moving.job), "--no-progress", *where, err=self.errors)
        self.started.append(process)
        return process

    @property
    def said(self) -> str:
        """What the last run with workers wrote to stderr."""
        return self.errors.read_text(encoding="utf-8", errors="replace")

    @property
    def is_restarted(self) -> bool:
        """Whether a killed scheduler comes back at once."""
        return self.number % 2 == 1

    @property
    def calls(self) -> int:
        """Of both tenants so far."""
        served = [tenant.served for tenant in (self.moving.source, self.moving.target)]
        worlds = [each.app.world for each in served if each is not None]
        return sum(sum(world.api_calls.values()) + world.storage_calls for world in worlds)

    def until_moment(self, process: Process) -> None:
        if self.moment < STARTING:
            time.sleep(START_SECONDS * self.moment / STARTING)
        else:
            self.until(process, int(CALLS * (self.moment - STARTING) / (1 - STARTING)))
            time.sleep(self.rng.uniform(0.0, 0.03))

    def until(self, process: Process, calls: int) -> None:
        while process.poll() is None and self.calls < calls:
            time.sleep(TICK)

    def happens(self, process: Process) -> None:
        """What the kind says."""
        match self.kind:
            case "worker" | "all workers":
                found = self.workers(process)
                kill(self.rng.sample(found, min(len(found), 1 if self.kind == "worker" else 2)))
            case "scheduler":
                self.cluster.kill_scheduler()
                if self.is_restarted:
                    time.sleep(self.rng.uniform(0.0, 2.0))
                    self.cluster.restart()
            case "coordinator":
                process.kill()
            case "server":
                self.server.crash() if self.number % 2 else self.server.stop_immediately()
                time.sleep(self.rng.uniform(0.0, 2.0))
                self.server.start()
            case _:
                self.end_connections(process)

    def workers(self, process: Process) -> list[psutil.Process]:
        """Those that write, once there are some."""
        while not (found := spawned_by(process) if self.own else self.cluster.workers) and process.poll() is None:
            time.sleep(TICK)
        return found

    def end_connections(self, process: Process) -> None:
        """One connection to the database, or all, of the coordinator or of a worker, once there are some."""
        while process.poll() is None:
            pid = process.pid if "coordinator" in self.kind else self.rng.choice(self.cluster.workers).pid
            named = f"application_name LIKE 'dam-sync {pid} %'"
            found = [row[0] for row in execute(self.server.state, f"SELECT pid FROM pg_stat_activity WHERE {named}")]
            for session in self.rng.sample(found, self.rng.choice([min(1, len(found)), len(found)])):
                execute(self.server.state, f"SELECT pg_terminate_backend({session})")
            if found:
                return
            time.sleep(TICK)

    def ended(self, process: Process) -> int:
        """Its exit code; an error that it ended with is explained."""
        code = process.wait(LONG)
        assert "Traceback" not in self.said, self.said
        assert code < 0 or "Warning" not in self.said, self.said
        assert code != 5 or "hint: " in self.said, self.said
        return code

    def resume(self) -> None:
        """The next run, with workers or without."""
        if self.rng.random() < 0.5:
            self.moving.cli("run", str(self.moving.job), "--no-progress")
        else:
            self.cluster.until_ready()
            assert self.ended(self.start(own=False)) == 0, self.said


@pytest.mark.parametrize(("kind", "number"), cases())
def test_a_kill_at_any_moment_leaves_equal_libraries(
    moving: Pair, whole: Mapping[str, Any], server: OwnServer, cluster: Cluster, kind: str, number: int
) -> None:
    with closing(Case(kind, number, moving, server, cluster)) as case:
        case.tried()
    assert_equal(moving, server, whole)


def seen_at(assets: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What assets of the target are, by the ids of the source in their markers; without ids and dates of the target."""
    found = {}
    for asset in assets:
        fields = dict(asset["fields"])
        groups, places = asset["rights"]["groups"], sorted(place["path"] for place in asset["placements"])
        same = [asset[key] for key in ("filename", "status", "type", "tags")]
        found[fields.pop("srckey").partition("-")[2]] = [fields, groups, places, same, len(asset["relations"])]
    return found


def assert_equal(moving: Pair, server: OwnServer, whole: Mapping[str, Any]) -> None:
    """The target has each asset once, as after a run that nothing happened to, no write was made twice, and nothing is
    left to do."""
    target = moving.target.assets
    assert len(target) == ASSETS
    assert duplicates(target) == []
    assert digests(target) == digests(moving.source.assets)
    assert execute(server.state, TWICE) == []
    assert seen_at(target) == whole
    moving.target.forget_calls()
    moving.cli("run", str(moving.job), "--no-progress")
    assert moving.target.writes == 0
