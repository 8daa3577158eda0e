"""A budget of calls that is used up in a run: calls under way get their responses, and no outcome is unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.api.jobs import run_job
from dam_sync.emulators import emulated_kinds
from dam_sync.model.errors import StopRequested
from tests.support.virtual.moves import Move, Simulation, differences
from tests.support.virtual.state_location import ask

KINDS = {kind[0]: kind for kind in emulated_kinds()}
MOST = 40  # runs


@pytest.mark.parametrize("pair", ["ae", "ec", "ba", "cb", "ed"])
def test_every_outcome_is_known_and_the_next_run_continues(tmp_path: Path, pair: str) -> None:
    simulation = Simulation(tmp_path, (KINDS[pair[0]], KINDS[pair[1]]))
    want, _ = simulation.reference()
    with simulation.moving() as move:
        for budget in range(30, 30 + 3 * MOST, 3):
            stop = stopped_by(move, budget)
            if stop is None:
                break
            assert f"the limit of {budget} calls is reached" in stop.message
            begun = ask(move.job, "SELECT scope, name FROM step WHERE state = 'intent'")
            assert begun == [], (budget, begun)
        assert budget > 30
        got = move.state()
    got.journal = want.journal
    assert list(differences(got, want, in_doubt=0)) == []


def stopped_by(move: Move, budget: int) -> StopRequested | None:
    """One run with so many calls, and what stopped it."""
    try:
        move.universe.do(run_job(move.job, move.universe.options(max_calls=budget)))
    except StopRequested as stop:
        return stop
    return None
