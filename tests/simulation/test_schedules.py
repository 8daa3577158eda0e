"""Several faults, perhaps a crash, and hours between the runs, by chance: source and target end equal, or each
difference is parked by name and cleared once it is let be tried again.

`DAM_SYNC_SCHEDULES=500` tries so many, by `DAM_SYNC_SEED`; a failure names the line that repeats its schedule alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.virtual.crashes import SEED
from tests.support.virtual.moves import Simulation
from tests.support.virtual.schedules import blocks, tried

BLOCKS = blocks()


@pytest.mark.parametrize(
    ("kinds", "numbers"), BLOCKS, ids=[f"{kinds[0][0]}-{kinds[1][0]}-{numbers.start}" for kinds, numbers in BLOCKS]
)
def test_no_schedule_of_faults_leaves_a_trace(
    tmp_path: Path, kinds: tuple[str, str], numbers: range, record_property: Callable[[str, object], None]
) -> None:
    came = tried(Simulation(tmp_path, kinds, SEED), numbers)
    record_property("points tried", str(came))
    assert came.wrong == [], "\n".join(came.wrong)
