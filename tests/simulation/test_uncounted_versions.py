"""A target that does not count the older versions of files, by option or because it has no such list: they are not
compared, and none counts as missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.api.jobs import verify_job
from tests.support.virtual.moves import Simulation

COUNTING, SOURCE = "c_brandlibrary", "e_profiles"


@pytest.mark.parametrize("counts", ["off", "on"])
def test_versions_that_are_not_counted_are_not_missing(tmp_path: Path, counts: str) -> None:
    simulation = Simulation(tmp_path, (SOURCE, COUNTING), options={"version_counts": counts})
    with simulation.moving() as move:
        move.live()
        move.universe.do(move.universe.settle(move.job, "target"))
        verdict = move.universe.do(verify_job(move.job, move.universe.options(), "digest", "100%")).verdict
    assert [*map(tuple, verdict["differences"])] == []
    assert verdict["not_compared"]["versions"] > 0
