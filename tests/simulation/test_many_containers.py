"""An asset in hundreds of containers: a run that is asked to stop does not write them all first."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.jobs import run_job
from dam_sync.model.errors import StopRequested
from dam_sync.model.run_options import StopToken
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.state_location import ask
from tests.support.virtual.universe import job_of

MANY = 150
BEGINNING, FEW = 40, 20  # calls to the target: until something is created, and after a stop
PHASES = ("moving assets", "writing memberships and relations")


class ManyPlaces(Simulation):
    """One asset of the source is in many collections."""

    def filled(self) -> list[Any]:
        rows = super().filled()
        number = next(number for number, row in enumerate(rows) if row["record"] == "asset")
        places = [{"kind": "collection", "path": [f"Box {box}"]} for box in range(MANY)]
        return [*rows[:number], {**rows[number], "placements": places}, *rows[number + 1 :]]


async def run(move: Move, phase: str = "") -> int:
    """A run, which is asked to stop some calls after this phase began; the calls that it made after that."""
    options = move.universe.options(full=True, stop_token=StopToken())
    asked: list[int] = []

    async def watch() -> None:
        while not asked:
            await move.universe.clock.sleep(0.01)
            if options.progress.phase == phase and options.progress.target_calls() > BEGINNING:
                asked.append(options.progress.target_calls())
                options.stop("enough")

    watching = asyncio.ensure_future(watch())
    try:
        with suppress(StopRequested):
            await run_job(job_of(move.job), options)
    finally:
        watching.cancel()
    assert bool(asked) == bool(phase)
    return options.progress.target_calls() - sum(asked)


@pytest.mark.parametrize("phase", PHASES)
def test_a_stop_is_noticed_between_containers(tmp_path: Path, phase: str) -> None:
    with ManyPlaces(tmp_path, ("folder", "e_profiles")).moving() as move:
        assert move.universe.do(run(move, phase)) < FEW
        assert move.universe.do(run(move)) > FEW
        made = ask(move.job, "SELECT operation, count(*) FROM ledger WHERE operation LIKE 'container:%' GROUP BY 1")
        assert len(made) >= MANY
        assert {number for _, number in made} == {1}
