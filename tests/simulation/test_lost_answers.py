"""The connection breaks at every call, before or after the target did its work: the run goes through, or the next one.

DAM_SYNC_SIM=1 (`make sim`) tries every call, without it only one in so many is.
"""

from __future__ import annotations

import pytest

from tests.simulation.conftest import TRIED, Record
from tests.support.fuse import Fuse
from tests.support.simulated import Simulation, State, differences, sampled

BREAKS = ["reset_before", "reset_after"]
IN_DOUBT = 1


@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize("how", BREAKS)
def test_a_lost_answer_leaves_no_trace(
    simulation: Simulation, reference: tuple[State, Fuse], how: str, record_property: Record
) -> None:
    want, fuse = reference
    chosen = sampled(range(1, fuse.calls + 1), BREAKS.index(how) * 7 + simulation.at_once)
    found, stopped = [], 0
    for number in chosen:
        with simulation.moving() as moved:
            moved.target.add_faults({"match": "*", "nth": number, "do": how})
            moved.live_to_the_end()
            stopped += bool(moved.told)
            assert moved.target.served is not None
            assert moved.target.served.app.faults.unhit() == []
            told = differences(moved.state(), want, in_doubt=IN_DOUBT)
            found += [f"{how} {number}: {each}" for each in told]
    record_property(TRIED, f"{len(chosen)} of {fuse.calls} calls, {stopped} had to be run again")
    assert found == []
