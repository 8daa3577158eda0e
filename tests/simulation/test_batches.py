"""Assets that share creates, values, upload batches and bulks: a crash at any boundary between them, and any lost or
refused response to what they share, costs none and doubles none; only the asset whose own call was refused is parked.

`make sim` tries every crash point and every response, `make test` some.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.simulation.conftest import TRIED
from tests.support.pairs import EVERYTHING, ids
from tests.support.sample.rotation import OfToday
from tests.support.virtual.batch_probes import PROBES
from tests.support.virtual.batched_moves import (
    TO_A,
    TO_B,
    TO_C,
    SharedSimulation,
    crash_points,
    crashed,
    shared_calls,
)
from tests.support.virtual.crashes import SEED
from tests.support.virtual.fault_scripts import Reference, Script, stormed

PAIRS = [TO_C, TO_B, TO_A]
SHARE = 1 if EVERYTHING else 40  # of the crash points, one of so many
FAULTS = ("mute", "lost", "status:422")
SOME = 1 if EVERYTHING else 7  # of the responses, one of so many


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_no_crash_between_assets_that_share_calls_leaves_a_trace(
    tmp_path: Path, kinds: tuple[str, str], record_property: Callable[[str, object], None], of_today: OfToday
) -> None:
    simulation = SharedSimulation(tmp_path, kinds, SEED)
    want, fuse = simulation.reference()
    points = of_today(crash_points(fuse, SHARE))
    record_property(TRIED, f"{len(points)} crash points")
    assert list(crashed(simulation, want, points)) == []


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_no_lost_or_refused_response_to_a_shared_call_leaves_a_trace(
    tmp_path: Path, kinds: tuple[str, str], record_property: Callable[[str, object], None], of_today: OfToday
) -> None:
    reference = Reference.of(SharedSimulation(tmp_path, kinds, SEED))
    every = [Script("target", call, do, str(n)) for call, n in shared_calls(reference) for do in FAULTS][::SOME]
    scripts = of_today(every)
    record_property(TRIED, f"{len(scripts)} responses")
    for script in scripts:
        ending = stormed(reference, [script])
        assert (ending.wrong, ending.unhit) == ([], []), script
        assert len(ending.parked) <= (script.do == "status:422"), script


@pytest.mark.parametrize("probe", PROBES)
def test_nothing_that_may_happen_to_a_batch_leaves_a_trace(tmp_path: Path, probe: str) -> None:
    """Each of these misses a safeguard that is taken away: see `test_mutants.py`."""
    assert list(PROBES[probe].found(PROBES[probe].reference(tmp_path))) == []
