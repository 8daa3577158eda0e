"""A job whose state is on PostgreSQL: the same run, also after the server, a connection or the run is killed."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.state_copies import last_export
from dam_sync.api.stored_job import stored_job_of
from tests.e2e.conftest import ASSETS
from tests.e2e.test_migration import digests
from tests.support.jobs.tenants import Pair, duplicates
from tests.support.pairs import EVERYTHING
from tests.support.programs import Program
from tests.support.state.postgres import OwnServer, execute

SEEDS = range(40 if EVERYTHING else 1)
MOMENTS = 5 if EVERYTHING else 3
EVENTS = ("connection", "server", "run")


def is_complete(pair: Pair) -> bool:
    """Whether the target has each asset once, and a verification finds no difference."""
    target = pair.target.assets
    assert len(target) == ASSETS
    assert duplicates(target) == []
    assert digests(target) == digests(pair.source.assets)
    return bool(pair.json("verify", str(pair.job), "--level", "fields")["verdict"]["clean"])


def test_a_job_runs_on_a_server_and_its_state_moves_between_server_and_file(
    on_server: Pair, server: OwnServer, tmp_path: Path
) -> None:
    job, export, again = str(on_server.job), tmp_path / "export.db", tmp_path / "again.db"
    planned = on_server.json("plan", job)
    report = on_server.json("run", job)
    assert report["counts"]["created"] == planned["counts"]["created"] == ASSETS
    assert is_complete(on_server)
    shown = on_server.json("state", job, "show")
    assert shown["file"].endswith("/postgres (schema dam_sync_test)")
    assert shown["rows"]["link"] == ASSETS
    on_server.json("state", job, "export", "-o", str(export))

    execute(server.state, 'DROP SCHEMA "dam_sync_test" CASCADE')
    imported = on_server.json("state", job, "import", str(export))
    assert (imported["links"], imported["before"]) == (ASSETS, "none")
    on_server.json("state", job, "export", "-o", str(again))
    assert on_server.json("run", job)["counts"]["created"] == 0

    text = on_server.job.read_text(encoding="utf-8")
    on_server.job.write_text(text.replace(server.url, str(tmp_path / "file.db")))
    assert on_server.json("state", job, "import", str(again))["links"] == ASSETS
    assert on_server.json("run", job)["counts"]["created"] == 0
    assert is_complete(on_server)


def test_jobs_of_one_name_in_one_folder_have_exports_of_their_own(
    on_server: Pair, server: OwnServer, tmp_path: Path
) -> None:
    execute(server.state, "CREATE DATABASE other")
    other = on_server.job.with_name("other.yaml")
    text = on_server.job.read_text(encoding="utf-8")
    other.write_text(text.replace("/postgres?", "/other?"), encoding="utf-8")
    one, two = stored_job_of(on_server.job), stored_job_of(other)
    on_server.json("run", str(on_server.job))
    on_server.json("state", str(on_server.job), "export", "-o", str(tmp_path / "export.db"))
    exported = last_export(one)
    assert exported is not None
    assert last_export(two) is None
    on_server.json("state", str(other), "import", str(tmp_path / "export.db"))
    assert last_export(two) is not None
    assert last_export(one) == exported


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_of_server_connection_and_run_leave_no_trace(on_server: Pair, server: OwnServer, seed: int) -> None:
    rng, job, has_state = random.Random(seed), str(on_server.job), False
    for number in range(MOMENTS):
        process = on_server.start("run", job, "--no-progress")
        time.sleep(rng.uniform(0.0, 1.5))
        happens(EVENTS[number % len(EVENTS)], process, server, rng.uniform(0.0, 1.0))
        process.wait()
        results = results_of(on_server)
        assert results is not None or not has_state, "a state is never lost"
        has_state = results is not None
        assert "running" not in (results or ()), "no process is left"
    on_server.cli("run", job, "--no-progress")
    assert is_complete(on_server)


def test_check_names_the_rights_that_the_user_lacks(on_server: Pair, server: OwnServer) -> None:
    text = on_server.job.read_text(encoding="utf-8")
    execute(server.state, "CREATE ROLE visitor LOGIN")
    on_server.job.write_text(text.replace("://postgres@", "://visitor@"), encoding="utf-8")
    rows = on_server.json("check", str(on_server.job), check=2)["findings"]
    (fault,) = [row for row in rows if row["mark"] == "FAULT"]
    assert fault["subject"] == "state"
    assert "the user visitor lacks rights" in fault["message"]
    assert 'GRANT CREATE ON DATABASE "postgres" TO "visitor";' in fault["hint"]
    on_server.job.write_text(text.replace("?host=", "?sslmode=never&host="), encoding="utf-8")
    refused = on_server.cli("check", str(on_server.job), check=2)
    assert f"{on_server.job.name}:" in refused.stderr
    assert "state: has the unknown sslmode never" in refused.stderr


def results_of(pair: Pair) -> list[str] | None:
    """Of all runs; None without a state: those so far were killed before they created it."""
    status = pair.cli("status", str(pair.job), "--json", "--no-progress", check=None)
    if status.returncode and "there is no state at" in status.stdout:
        return None
    assert status.returncode == 0, status.stdout
    return [row["result"] for row in json.loads(status.stdout)["runs"]]


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


def test_a_run_says_that_it_waits_for_its_database(on_server: Pair, server: OwnServer) -> None:
    errors = on_server.folder / "errors.txt"
    run = Program("dam_sync", "run", str(on_server.job), err=errors)
    on_server.wait_until(lambda: len(on_server.target.assets) >= 3, run)
    server.crash()
    time.sleep(3)
    server.start()
    code, said = run.wait(), errors.read_text(encoding="utf-8")
    assert code == 0, said
    assert "waiting for the database of the state · " in said
    assert is_complete(on_server)


@pytest.mark.skipif(not EVERYTHING, reason="waits for the end of the patience; `test_server` has it with less of it")
def test_a_server_that_is_away_is_named_and_the_next_run_resumes(on_server: Pair, server: OwnServer) -> None:
    job = str(on_server.job)
    process = on_server.start_until(lambda: len(on_server.target.assets) >= 3, "run", job, "--no-progress")
    server.crash()
    assert process.wait() == 5
    refused = on_server.cli("status", job, check=5)
    server.start()
    assert "cannot be reached" in refused.stderr
    assert "run the same command again; it resumes where it stopped" in refused.stderr
    on_server.cli("run", job, "--no-progress")
    assert is_complete(on_server)
