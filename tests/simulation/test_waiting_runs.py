"""A run that waits for a call asks the state for other work now and then."""

from __future__ import annotations

from pathlib import Path

from tests.support.virtual.crashes import SEED
from tests.support.virtual.fault_scripts import Reference, Script
from tests.support.virtual.fuse import BEFORE, COMMIT
from tests.support.virtual.moves import Simulation

KINDS = ("a_hypermedia", "e_profiles")
UPLOAD = "POST /v2/uploads/chunks/upload"
LONG = 60.0  # seconds


def test_a_waiting_run_rarely_queries_the_state_for_work(tmp_path: Path) -> None:
    reference = Reference.of(simulation := Simulation(tmp_path, KINDS, SEED))
    usual = len([point for point in reference.points if (point.kind, point.when) == (COMMIT, BEFORE)])
    with simulation.moving() as move:
        weather = move.universe.network.weather
        weather.lines.append(Script("target", UPLOAD, "stalls", "last").trouble(move, reference.calls))
        began = move.universe.clock.monotonic()
        commits = move.live().counts[COMMIT]
        took = move.universe.clock.monotonic() - began
        assert weather.unhit() == []
    assert took > LONG
    assert commits < usual + took
