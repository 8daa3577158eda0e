"""A crash at every commit and at every call, over all pairs, in virtual time: the next run leaves no trace of it.

`make sim N=10000 SEED=7` tries so many points by another choice; the same seed chooses the same points.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.simulation.conftest import TRIED
from tests.support.pairs import KINDS
from tests.support.virtual.crashes import POINTS, SEED, tried
from tests.support.virtual.moves import Simulation

PAIRS = [(source, target) for source in KINDS for target in KINDS]


@pytest.mark.parametrize("kinds", PAIRS, ids=[f"{a[0]}-{b[0]}" for a, b in PAIRS])
def test_no_crash_leaves_a_trace(
    tmp_path: Path, kinds: tuple[str, str], record_property: Callable[[str, object], None]
) -> None:
    came = tried(Simulation(tmp_path, kinds, SEED), -(-POINTS // len(PAIRS)))
    record_property(TRIED, str(came))
    assert came.faults == [], f"seed {came.seed}"
    assert came.crashes >= POINTS // len(PAIRS)
