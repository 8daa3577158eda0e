"""A job whose state is on PostgreSQL: the same run, also after the server, a connection or the run is killed."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import ASSETS
from tests.e2e.test_migration import digests
from tests.support.pairs import EVERYTHING
from tests.support.postgres import OwnServer, execute
from tests.support.tenants import Pair, duplicates

SEEDS = range(40 if EVERYTHING else 1)
MOMENTS = 5 if EVERYTHING else 3
EVENTS = ("connection", "server", "run")


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    """A server of its own, which tests may kill."""
    made = OwnServer(Path(tempfile.mkdtemp(prefix="dam-sync-pg-")) / "data")  # its user cannot read folders of pytest
    yield made
    made.stop()


@pytest.fixture
def migrating(tenants: Pair, server: OwnServer) -> Iterator[Pair]:
    """The job, with its state on the server."""
    text = tenants.job.read_text(encoding="utf-8")
    tenants.job.write_text(text.replace(f"state: {tenants.folder}/state/job.db", f"state: {server.url}"))
    yield tenants
    execute(server.state, 'DROP SCHEMA IF EXISTS "dam_sync_test" CASCADE')


def is_complete(pair: Pair) -> bool:
    """Whether the target has each asset once, and a verification finds no difference."""
    target = pair.target.assets
    assert len(target) == ASSETS
    assert duplicates(target) == []
    assert digests(target) == digests(pair.source.assets)
    return bool(pair.json("verify", str(pair.job), "--level", "fields")["verdict"]["clean"])


def test_a_job_runs_on_a_server_and_its_state_moves_between_server_and_file(
    migrating: Pair, server: OwnServer, tmp_path: Path
) -> None:
    job, export, again = str(migrating.job), tmp_path / "export.db", tmp_path / "again.db"
    planned = migrating.json("plan", job)
    report = migrating.json("run", job)
    assert report["counts"]["created"] == planned["counts"]["created"] == ASSETS
    assert is_complete(migrating)
    shown = migrating.json("state", job, "show")
    assert shown["file"].endswith("/postgres (schema dam_sync_test)")
    assert shown["rows"]["link"] == ASSETS
    migrating.json("state", job, "export", "-o", str(export))

    execute(server.state, 'DROP SCHEMA "dam_sync_test" CASCADE')
    imported = migrating.json("state", job, "import", str(export))
    assert (imported["links"], imported["before"]) == (ASSETS, "none")
    migrating.json("state", job, "export", "-o", str(again))
    assert migrating.json("run", job)["counts"]["created"] == 0

    text = migrating.job.read_text(encoding="utf-8")
    migrating.job.write_text(text.replace(server.url, str(tmp_path / "file.db")))
    assert migrating.json("state", job, "import", str(again))["links"] == ASSETS
    assert migrating.json("run", job)["counts"]["created"] == 0
    assert is_complete(migrating)


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_of_server_connection_and_run_leave_no_trace(migrating: Pair, server: OwnServer, seed: int) -> None:
    rng, job = random.Random(seed), str(migrating.job)
    for number in range(MOMENTS):
        process = migrating.start("run", job, "--no-progress")
        time.sleep(rng.uniform(0.8, 2.5))
        happens(EVENTS[number % len(EVENTS)], process, server, rng.uniform(0.0, 1.0))
        process.wait()
    migrating.cli("run", job, "--no-progress")
    assert is_complete(migrating)


def happens(event: str, process: Any, server: OwnServer, outage: float) -> None:
    """One of the events."""
    if event == "run":
        process.kill()
    elif event == "connection":
        server.end_connections()
    else:
        server.crash()
        time.sleep(outage)
        server.start()


@pytest.mark.skipif(not EVERYTHING, reason="waits for the end of the patience; `test_server` has it with less of it")
def test_a_server_that_is_away_is_named_and_the_next_run_resumes(migrating: Pair, server: OwnServer) -> None:
    job = str(migrating.job)
    process = migrating.start_until(lambda: len(migrating.target.assets) >= 3, "run", job, "--no-progress")
    server.crash()
    assert process.wait() == 5
    refused = migrating.cli("status", job, check=5)
    server.start()
    assert "cannot be reached" in refused.stderr
    assert "run the same command again; it resumes where it stopped" in refused.stderr
    migrating.cli("run", job, "--no-progress")
    assert is_complete(migrating)
