"""An account that may send only so many calls in a month: no run exceeds them; the rest is moved in later months."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.jobs import plan_job
from dam_sync.http.rates.shared import month_after
from dam_sync.model.errors import StopKind, StopRequested
from tests.support.virtual.moves import Move, Simulation, differences, options_of
from tests.support.virtual.universe import Tenant, Universe

LIMITED = "e_profiles"
CALLS, DAY = 30, 86_400.0
COUNTER = "GET /v2/usage/api"


class LateCounter(Simulation):
    """The counter of calls ends at the last midnight."""

    def _tenant(self, universe: Universe, role: str, kind: str, rows: Sequence[Any]) -> Tenant:
        return universe.tenant(kind, rows, **options_of(kind), **({"usage_late": True} if kind == LIMITED else {}))


def stopped(move: Move) -> str:
    """The code of what stopped a run, empty if it is complete."""
    try:
        move.live()
    except StopRequested as stop:
        move.universe.do(move.universe.network.calm())
        return stop.code
    return ""


def counted(tenant: Tenant, month: datetime) -> int:
    """Calls of a month, as they are billed."""
    days = tenant.app.world.api_days.items()
    return sum(n for (day, name), n in days if (day.year, day.month) == (month.year, month.month) and name != COUNTER)


@pytest.mark.parametrize("late", [True, False])
def test_no_month_exceeds_its_allowance_and_the_last_run_completes_all(tmp_path: Path, late: bool) -> None:
    kinds = ("a_hypermedia", LIMITED)
    with Simulation(tmp_path / "whole", kinds).moving() as move:
        move.live()
        want = move.state()
        assert counted(move.target, move.universe.clock.now()) > CALLS
    simulation = (LateCounter if late else Simulation)(tmp_path, kinds, options={"calls_per_month": CALLS})
    months = 1
    with simulation.moving() as move:
        universe, clock = move.universe, move.universe.clock
        plan = universe.do(plan_job(move.job, universe.options()))
        assert [note for note in plan.notes if f"its monthly allowance of {CALLS} are left until 2026-02-01" in note]
        universe.do(clock.sleep(DAY))  # only the counter of the service knows of the calls of a plan
        while stopped(move):
            assert CALLS - 5 < counted(move.target, clock.now()) <= CALLS
            for _ in range(2):  # the same, whatever the counter contains meanwhile
                universe.do(clock.sleep(DAY))
                assert stopped(move) == StopKind.MONTHLY_ALLOWANCE
            assert counted(move.target, clock.now()) <= CALLS
            universe.do(clock.sleep((month_after(clock.now()) - clock.now()).total_seconds()))
            months += 1
        assert counted(move.target, clock.now()) <= CALLS
        got = move.state()
    assert 1 < months < 9  # an asset that lacks a version is read again, by three calls, in each month that begins so
    got.journal = want.journal  # an upload session does not live for a month: its steps are recorded again
    assert list(differences(got, want, in_doubt=0)) == []
