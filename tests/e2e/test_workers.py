"""Runs whose assets are written by worker processes: the same result, also after any of the processes is killed."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from distributed import Client

from dam_sync.cluster.dask_client import local_client
from tests.e2e.conftest import ASSETS
from tests.e2e.test_migration import digests
from tests.support.pairs import EVERYTHING
from tests.support.tenants import Pair, alone, duplicates

SEEDS = range(20 if EVERYTHING else 1)


@pytest.fixture
def shared(on_server: Pair) -> Pair:
    """The job, with its state on a server; its commands are processes that are not forked."""
    return replace(on_server, command=alone)


def assert_complete(pair: Pair) -> None:
    """The target has each asset once."""
    target = pair.target.assets
    assert len(target) == ASSETS
    assert duplicates(target) == []
    assert digests(target) == digests(pair.source.assets)


def workers_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The worker processes of a coordinator."""
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(process.pid).children(recursive=True)
        return [each for each in children if "spawn_main" in " ".join(each.cmdline())]
    return []


def kill(processes: Iterable[psutil.Process]) -> None:
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.kill()


def test_a_run_with_workers_moves_what_one_process_would(shared: Pair) -> None:
    job = str(shared.job)
    planned = shared.json("plan", job)
    for tenant in (shared.source, shared.target):
        tenant.forget_calls()
    report = shared.json("run", job, "--workers", "2")
    assert report["counts"]["created"] == planned["counts"]["created"] == ASSETS
    assert report["digest"] == planned["digest"]
    assert_complete(shared)
    for side, tenant in (("source", shared.source), ("target", shared.target)):
        assert sum(report[side]["calls"].values()) == sum(tenant.calls.values())
    assert shared.json("run", job, "--workers", "2")["counts"]["created"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--workers", "2"], 2, "cannot share the state"),
        (["--workers", "2", "--cluster", "tls://127.0.0.1:1"], 2, "cannot share the state|exclude each other"),
        (["--cluster", "tcp://127.0.0.1:1"], 2, "cannot share the state"),
    ],
)
def test_a_state_in_a_file_is_refused(tenants: Pair, arguments: list[str], code: int, said: str) -> None:
    done = alone("run", str(tenants.job), *arguments)
    assert done.returncode == code
    assert re.search(said, done.stderr)
    assert tenants.target.writes == 0


@pytest.mark.parametrize(("url", "code"), [("tcp://127.0.0.1:1", 5), ("localhost", 2)])
def test_a_scheduler_that_is_not_there_is_named(shared: Pair, url: str, code: int) -> None:
    done = shared.cli("run", str(shared.job), "--cluster", url, check=code)
    assert url in done.stderr
    assert "hint: " in done.stderr
    assert shared.target.writes == 0


def test_the_extra_is_named_where_it_is_missing(shared: Pair, tmp_path: Path) -> None:
    code = "import sys; sys.modules['distributed'] = None; from dam_sync.cli import main; main()"
    command = [sys.executable, "-c", code, "run", str(shared.job), "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'dam-sync[cluster]'" in done.stderr


async def test_a_worker_keeps_the_memory_of_a_block_for_the_next_one() -> None:
    async with local_client(1) as client:
        found = await client.run(os.environ.get, "MALLOC_TRIM_THRESHOLD_")
    assert list(found.values()) == [None]


def test_a_budget_holds_over_all_processes(shared: Pair) -> None:
    for tenant in (shared.source, shared.target):
        tenant.forget_calls()
    shared.cli("run", str(shared.job), "--workers", "2", "--max-calls", "60", "--no-progress", check=8)
    assert sum(shared.source.calls.values()) <= 60
    assert sum(shared.target.calls.values()) <= 60
    shared.cli("run", str(shared.job), "--no-progress")
    assert_complete(shared)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("killed", ["one worker", "all workers", "coordinator"])
def test_a_kill_leaves_no_trace(shared: Pair, killed: str, seed: int) -> None:
    rng, job = random.Random(f"{killed} {seed}"), str(shared.job)
    moved = rng.randrange(1, ASSETS - 2)
    process = shared.start_until(
        lambda: len(shared.target.assets) >= moved, "run", job, "--workers", "2", "--no-progress"
    )
    time.sleep(rng.uniform(0.0, 0.3))
    if killed == "coordinator":
        workers = workers_of(process)
        process.kill()
        process.wait()
        _, left = psutil.wait_procs(workers, timeout=60)
        assert left == []
        shared.cli("run", job, "--no-progress", *rng.choice([(), ("--workers", "2")]))
    else:
        kill(workers_of(process)[: 1 if killed == "one worker" else None])
        assert process.wait() == 0
    assert_complete(shared)
    assert shared.json("verify", job, "--level", "fields")["verdict"]["clean"]
    assert shared.json("run", job)["counts"]["created"] == 0


def test_an_interrupted_run_ends_its_workers_and_the_next_one_resumes_it(shared: Pair) -> None:
    job = str(shared.job)
    process = shared.start_until(lambda: len(shared.target.assets) >= 2, "run", job, "--workers", "2", "--no-progress")
    workers = workers_of(process)
    assert len(workers) == 2
    process.send_signal(signal.SIGINT)
    assert process.wait() == 5
    assert psutil.wait_procs(workers, timeout=60)[1] == []
    assert duplicates(shared.target.assets) == []
    shared.cli("run", job, "--workers", "2", "--no-progress")
    assert_complete(shared)


def test_a_second_interrupt_ends_all_processes_at_once_and_loses_nothing(shared: Pair) -> None:
    job = str(shared.job)
    process = shared.start_until(lambda: len(shared.target.assets) >= 2, "run", job, "--workers", "2", "--no-progress")
    workers = workers_of(process)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    assert process.wait() != 0
    assert psutil.wait_procs(workers, timeout=60)[1] == []
    shared.cli("run", job, "--no-progress")
    assert_complete(shared)


@pytest.fixture
def cluster() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler with two workers that somebody started, and the process of the scheduler."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url, quiet = f"tcp://127.0.0.1:{port}", {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    made = [["dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]]
    made += [["dask_worker", url, "--nthreads", "8", "--no-nanny", "--no-dashboard"]] * 2
    started = [
        subprocess.Popen([sys.executable, "-m", f"distributed.cli.{name}", *rest], **quiet) for name, *rest in made
    ]
    yield url, started[0]
    for each in started:
        each.kill()
        each.wait()


def until_ready(url: str) -> None:
    with Client(url, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)


def test_a_cluster_moves_what_one_process_would(shared: Pair, cluster: tuple[str, subprocess.Popen[bytes]]) -> None:
    until_ready(cluster[0])
    shared.cli("run", str(shared.job), "--cluster", cluster[0], "--no-progress")
    assert_complete(shared)


def test_a_lost_scheduler_stops_the_run_and_the_next_one_resumes_it(
    shared: Pair, cluster: tuple[str, subprocess.Popen[bytes]]
) -> None:
    url, scheduler = cluster
    until_ready(url)
    process = shared.start_until(
        lambda: len(shared.target.assets) >= 3, "run", str(shared.job), "--cluster", url, "--no-progress"
    )
    scheduler.kill()
    assert process.wait() == 5
    shared.cli("run", str(shared.job), "--no-progress")
    assert_complete(shared)
