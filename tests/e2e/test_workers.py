"""Runs whose assets are written by worker processes: the same result, and how they end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from dam_sync.cluster.dask_client import local_client
from tests.e2e.conftest import ASSETS
from tests.e2e.test_migration import digests
from tests.support import programs
from tests.support.clusters import Cluster, spawned_by
from tests.support.jobs.tenants import Command, Completed, Pair, alone, duplicates
from tests.support.programs import CODE, Program
from tests.support.sample.cases import only_in_full
from tests.support.state.postgres import OwnServer, execute

PLACES = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted"  # held by workers


@pytest.fixture
def shared(on_server: Pair, command: Command) -> Pair:
    """The job, with its state on a server; its commands with workers live by their own clock, as their workers do."""

    def run(*arguments: str) -> Completed:
        return (programs.run if {"--workers", "--cluster"} & {*arguments} else command)(*arguments)

    return replace(on_server, command=run)


def assert_complete(pair: Pair) -> None:
    """The target has each asset once."""
    target = pair.target.assets
    assert len(target) == ASSETS
    assert duplicates(target) == []
    assert digests(target) == digests(pair.source.assets)


def test_a_run_with_workers_moves_what_one_process_would(shared: Pair) -> None:
    job = str(shared.job)
    planned = shared.json("plan", job)
    for tenant in (shared.source, shared.target):
        tenant.forget_calls()
    report = replace(shared, command=alone).json("run", job, "--workers", "2")  # nothing of it is forked
    assert report["counts"]["created"] == planned["counts"]["created"] == ASSETS
    assert report["digest"] == planned["digest"]
    assert_complete(shared)
    for side, tenant in (("source", shared.source), ("target", shared.target)):
        assert sum(report[side]["calls"].values()) == sum(tenant.calls.values())
    assert shared.json("run", job)["counts"]["created"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--workers", "2"], 2, "cannot share the state"),
        (["--workers", "2", "--cluster", "tls://127.0.0.1:1"], 2, "cannot share the state|exclude each other"),
        (["--cluster", "tcp://127.0.0.1:1"], 2, "cannot share the state"),
    ],
)
def test_a_state_in_a_file_is_refused(tenants: Pair, arguments: list[str], code: int, said: str) -> None:
    done = programs.run("run", str(tenants.job), *arguments)
    assert done.returncode == code
    assert re.search(said, done.stderr)
    assert tenants.target.writes == 0


@pytest.mark.parametrize(("url", "code"), [("tcp://127.0.0.1:1", 5), ("localhost", 2)])
def test_a_scheduler_that_cannot_be_reached_is_named(shared: Pair, url: str, code: int) -> None:
    done = shared.cli("run", str(shared.job), "--cluster", url, check=code)
    assert url in done.stderr
    assert "hint: " in done.stderr
    if code == 5:
        assert "`dask scheduler --port 1`" in done.stderr
        assert f"`dask worker {url}`" in done.stderr
    assert shared.target.writes == 0


def test_the_extra_is_named_where_it_is_missing(shared: Pair, tmp_path: Path) -> None:
    code = "import sys; sys.modules['distributed'] = None; from dam_sync.cli import main; main()"
    command = [sys.executable, "-c", code, "run", str(shared.job), "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install '.[cluster]'" in done.stderr


async def test_a_worker_keeps_the_memory_of_a_block_for_the_next_one() -> None:
    async with local_client(1) as client:
        found = await client.run(os.environ.get, "MALLOC_TRIM_THRESHOLD_")
    assert list(found.values()) == [None]


LEFT_ALONE = """
import asyncio, gc, os, signal, time
from dam_sync.cluster.dask_client import local_client

async def main():
    async with local_client(1) as client:
        process = await client.submit(os.getpid).result()
        sleeping = client.submit(time.sleep, 60, retries=0)
        alone = asyncio.ensure_future(sleeping.result())
        await asyncio.sleep(0.5)
        os.kill(process, signal.SIGKILL)
        await asyncio.wait([alone])
    del alone, sleeping
    gc.collect()

asyncio.run(main())
"""


def test_what_dask_leaves_alone_after_a_killed_worker_is_not_in_the_output() -> None:
    done = programs.completed(CODE, LEFT_ALONE, clustered=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


@only_in_full
def test_a_budget_holds_over_all_processes(shared: Pair) -> None:
    for tenant in (shared.source, shared.target):
        tenant.forget_calls()
    shared.cli("run", str(shared.job), "--workers", "2", "--max-calls", "60", "--no-progress", check=8)
    assert sum(shared.source.calls.values()) <= 60
    assert sum(shared.target.calls.values()) <= 60
    shared.cli("run", str(shared.job), "--no-progress")
    assert_complete(shared)


def test_calls_per_day_are_used_up_by_all_processes_together(shared: Pair) -> None:
    text, sides = shared.job.read_text(encoding="utf-8"), (shared.source, shared.target)
    shared.job.write_text(f"{text}\nlimits: {{calls_per_day: 60}}\n", encoding="utf-8")
    for tenant in sides:
        tenant.forget_calls()
    for workers in (["--workers", "2"], []):
        done = shared.cli("run", str(shared.job), *workers, "--no-progress", check=8)
        assert "the budget of 60 calls per day is used up" in done.stderr
        assert [sum(tenant.calls.values()) <= 60 for tenant in sides] == [True, True]
    assert 60 in [sum(tenant.calls.values()) for tenant in sides]
    shared.job.write_text(text, encoding="utf-8")
    shared.cli("run", str(shared.job), "--no-progress")
    assert_complete(shared)


def test_an_interrupted_run_ends_its_workers_and_the_next_one_resumes_it(shared: Pair) -> None:
    job = str(shared.job)
    process = shared.start_until(lambda: len(shared.target.assets) >= 2, "run", job, "--workers", "2", "--no-progress")
    workers = spawned_by(process)
    assert len(workers) == 2
    process.send_signal(signal.SIGINT)
    assert process.wait() == 5
    assert psutil.wait_procs(workers, timeout=60)[1] == []
    assert duplicates(shared.target.assets) == []
    shared.cli("run", job, "--workers", "2", "--no-progress")
    assert_complete(shared)


@only_in_full
def test_a_second_interrupt_ends_all_processes_at_once_and_loses_nothing(shared: Pair) -> None:
    job = str(shared.job)
    process = shared.start_until(lambda: len(shared.target.assets) >= 2, "run", job, "--workers", "2", "--no-progress")
    workers = spawned_by(process)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    assert process.wait() != 0
    assert psutil.wait_procs(workers, timeout=60)[1] == []
    shared.cli("run", job, "--no-progress")
    assert_complete(shared)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as started:
        yield started


@only_in_full
def test_a_cluster_moves_what_one_process_would(shared: Pair, cluster: Cluster) -> None:
    shared.cli("run", str(shared.job), "--cluster", cluster.url, "--no-progress")
    assert_complete(shared)


def test_a_killed_scheduler_ends_run_and_workers_without_a_traceback_of_ours(shared: Pair, tmp_path: Path) -> None:
    shared.target.add_faults({"match": "POST /v2/uploads", "do": "delay:2", "every": 2})  # some are under way
    with Cluster(log=tmp_path / "workers.txt") as cluster:
        command = ["run", str(shared.job), "--cluster", cluster.url, "--no-progress"]
        run = Program("dam_sync", *command, err=tmp_path / "errors.txt")
        shared.wait_until(lambda: len(shared.target.assets) >= 3, run)
        cluster.kill_scheduler()
        run.wait()
        said = (tmp_path / "errors.txt").read_text(encoding="utf-8")
        cluster.until_workers_ended()
        url = cluster.url
    assert run.returncode == 5
    assert said.startswith("error: the Dask scheduler is gone, and with it all worker processes\n"), said
    assert f"`dask worker {url}`" in said
    assert "it resumes where it stopped" in said
    log = (tmp_path / "workers.txt").read_text(encoding="utf-8", errors="replace")
    assert "Stopping worker" in log
    assert "dam_sync/" not in log
    assert "asynchronous generator" not in log
    assert "was never retrieved" not in log
    assert "was destroyed" not in log
    shared.cli("run", str(shared.job), "--no-progress")
    assert_complete(shared)


def test_a_lost_scheduler_stops_the_run_and_the_next_one_resumes_it(
    shared: Pair, cluster: Cluster, server: OwnServer
) -> None:
    """Its workers are still there, and may send what they had begun once they go on."""
    job, frozen = str(shared.job), cluster.workers
    shared.target.add_faults({"match": "POST /v2/uploads", "do": "delay:5", "every": 2})  # some are under way
    process = shared.start_until(
        lambda: len(shared.target.assets) >= 3, "run", job, "--cluster", cluster.url, "--no-progress"
    )
    for each in frozen:
        each.suspend()
    cluster.kill_scheduler()
    assert process.wait() == 5
    noted = [json.loads(value) for (value,) in execute(server.state, "SELECT value FROM note WHERE key = 'workers'")]
    if noted:
        assert {pid for _, pid, _ in noted[0]} == {each.pid for each in frozen}
    else:  # the run has waited until they can write nothing: it ended the sessions that hold their places
        assert execute(server.state, PLACES) == []
    resumed = shared.start("run", job, "--no-progress")
    for each in frozen:
        each.resume()
    assert resumed.wait() == 0
    assert_complete(shared)
