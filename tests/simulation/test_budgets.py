"""A budget of calls that is used up in a run: calls under way get their responses, and none is in doubt."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.api.jobs import run_job
from dam_sync.emulators import emulated_kinds
from dam_sync.model.errors import StopRequested
from tests.support.virtual.kept import ask
from tests.support.virtual.moves import Move, Simulation, differences

KINDS = {kind[0]: kind for kind in emulated_kinds()}
MOST = 40  # runs


@pytest.mark.parametrize("letters", ["ae", "ec", "ba", "cb", "ed"])
def test_no_call_is_in_doubt_and_the_next_run_goes_on(tmp_path: Path, letters: str) -> None:
    simulation = Simulation(tmp_path, (KINDS[letters[0]], KINDS[letters[1]]))
    want, _ = simulation.reference()
    with simulation.moving() as move:
        stops = 0
        for budget in range(30, 30 + 3 * MOST, 3):
            if completed(move, budget):
                break
            begun = ask(move.job, "SELECT scope, name FROM step WHERE state = 'intent'")
            assert begun == [], (budget, begun)
            stops += 1
        assert 0 < stops < MOST
        got = move.state()
    got.journal = want.journal
    assert list(differences(got, want, in_doubt=0)) == []


def completed(move: Move, budget: int) -> bool:
    """Whether a run is complete with so many calls to each service."""
    try:
        move.universe.do(run_job(move.job, move.universe.options(max_calls=budget)))
    except StopRequested as stop:
        return f"the limit of {budget} calls is reached" not in stop.message
    return True
