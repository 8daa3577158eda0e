"""A run that waits for a call looks for other work now and then, and goes on as soon as there is some."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dam_sync.store.queue import WorkQueue
from tests.support.virtual.crashes import SEED
from tests.support.virtual.moves import Simulation
from tests.support.virtual.scripts import Reference, Script

KINDS = ("a_hypermedia", "e_profiles")
UPLOAD = "POST /v2/uploads/chunks/upload"
LONG = 60.0  # seconds


def test_a_run_that_waits_seldom_looks_for_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, claim = list[float](), WorkQueue.claim

    async def counted(queue: WorkQueue, *given: Any) -> Any:
        looks.append(now())
        return await claim(queue, *given)

    reference = Reference.of(simulation := Simulation(tmp_path, KINDS, SEED))
    with simulation.moving() as move:
        now = move.universe.clock.monotonic
        monkeypatch.setattr(WorkQueue, "claim", counted)
        weather = move.universe.network.weather
        weather.lines.append(Script("target", UPLOAD, "stalls", "last").trouble(move, reference.calls))
        began = now()
        move.live()
        took = now() - began
        assert weather.unhit() == []
    assert took > LONG
    assert len(looks) < took
