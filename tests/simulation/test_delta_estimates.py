"""A plan of a delta counts the calls that the run then sends: what was read to be compared is not read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.api.jobs import plan_job, run_job
from tests.support.virtual.scale.moved_library import SIDES, Kinds, learn, planted
from tests.support.virtual.scale.source_changes import change

SIZE = 120
BY = 0.05


@pytest.mark.parametrize("kinds", [Kinds(side, side) for side in SIDES], ids=[side.kind[0] for side in SIDES])
def test_the_calls_of_a_delta_are_those_of_its_plan(tmp_path: Path, kinds: Kinds) -> None:
    policy = {"deletes": "trash", "grace": "0s", "max_deletes": "50%"}
    with planted(tmp_path / "planted", learn(tmp_path / "model", kinds, **policy), SIZE, **policy) as made:
        change(made, kinds.source)
        made.settle()
        plan = made.universe.do(plan_job(made.job, made.universe.options()))
        run = made.universe.do(run_job(made.job, made.universe.options()))
        assert (plan.operations, run.parked) == (run.operations, [])
        for planned, sent in ((plan.source, run.source), (plan.target, run.target)):
            assert planned.total_calls == pytest.approx(sent.total_calls, rel=BY), (planned.calls, sent.calls)
