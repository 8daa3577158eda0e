"""What worker processes wait for is shown by the run that they write for, and by `status`."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import programs
from tests.support.clusters import end, spawned_by
from tests.support.jobs.tenants import Command, Completed, Pair
from tests.support.programs import Program

PATIENCE = 240  # looks at `status`
AT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
BY = r"\(worker process (\d+) on \S+\)"


@pytest.fixture
def shared(on_server: Pair, command: Command) -> Pair:
    """The job, with its state on a server; its commands with workers live by their own clock, as their workers do."""

    def run(*arguments: str) -> Completed:
        return (programs.run if "--workers" in arguments else command)(*arguments)

    return replace(on_server, command=run)


@pytest.fixture
def stuck(shared: Pair, tmp_path: Path, fault: str) -> Iterator[tuple[Program, Path]]:
    """A run with two worker processes over a target that takes no file, and what it writes to stderr."""
    shared.target.add_faults({"match": "POST /v2/uploads*", "do": fault})
    said = tmp_path / "errors.txt"
    run = Program("dam_sync", "run", str(shared.job), "--workers", "2", "--no-progress", err=said)
    yield run, said
    end(run)


def waits_once(shared: Pair, run: Program, fits: Callable[[str], bool]) -> str:
    """What `status` says is waited for, once it fits."""
    found: Any = None
    for _ in range(PATIENCE):
        assert run.poll() is None
        done = shared.cli("status", str(shared.job), "--json", check=None)  # there is no state in the beginning
        found = json.loads(done.stdout).get("waiting") if done.returncode == 0 else None
        if fits("" if found is None else found["text"]):
            return "" if found is None else str(found["text"])
        time.sleep(0.5)
    raise AssertionError(f"`status` shows {found}")


@pytest.mark.parametrize("fault", ["delay:100"])
def test_what_a_worker_waits_for_is_shown_until_the_worker_ends(shared: Pair, stuck: tuple[Program, Path]) -> None:
    run, said = stuck
    shown = waits_once(shared, run, lambda text: "(worker" in text)
    found = re.fullmatch(rf"target: waiting for POST \S+ since {AT}, until {AT} at the latest {BY}", shown)
    assert found is not None, shown
    worker = int(found[1])
    assert worker in [each.pid for each in spawned_by(run)]
    line = rf"moving assets · target: waiting for POST \S+ since \d+ s, at most .* {BY}\n"
    while re.search(line, said.read_text(encoding="utf-8")) is None:
        assert run.poll() is None
        time.sleep(0.5)
    os.kill(worker, signal.SIGKILL)
    waits_once(shared, run, lambda text: f"process {worker} " not in text)


@pytest.mark.parametrize("fault", ["throttle:900"])
def test_a_pause_that_the_service_asked_a_worker_for_is_shown(shared: Pair, stuck: tuple[Program, Path]) -> None:
    shown = waits_once(shared, stuck[0], lambda text: "(worker" in text)
    assert re.fullmatch(
        rf"target: waiting for the end of a pause that the service asked for, before POST \S+ since {AT}, "
        rf"until {AT} at the latest {BY}",
        shown,
    ), shown
