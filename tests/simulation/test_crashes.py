"""A crash at every commit, every call and every change of a folder, over pairs of services, in virtual time: the next
run leaves no trace of it.

`make sim N=10000 SEED=7` tries so many points by another choice; the same seed chooses the same points.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.simulation.conftest import TRIED
from tests.support.pairs import ids, pairs
from tests.support.virtual.crashes import POINTS, SEED, tried
from tests.support.virtual.moves import Simulation

PAIRS = pairs(1)


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_no_crash_leaves_a_trace(
    tmp_path: Path, kinds: tuple[str, str], record_property: Callable[[str, object], None]
) -> None:
    came = tried(Simulation(tmp_path, kinds, SEED), -(-POINTS // len(PAIRS)))
    record_property(TRIED, str(came))
    assert came.faults == [], f"seed {came.seed}"
    assert came.crashes >= POINTS // len(PAIRS)
