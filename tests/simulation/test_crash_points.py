"""A crash at every commit and at every call, and the same run again: all there, once, and nothing done twice.

DAM_SYNC_SIM=1 (`make sim`) tries every point, without it only one in so many is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from tests.simulation.conftest import TRIED
from tests.support.fuse import Fuse, Point
from tests.support.simulated import Moved, Simulation, State, differences, sampled

ALONE = 2  # calls that are under way when a run that writes one asset at a time is killed: its own, and a draft's
Record = Callable[[str, object], None]
KINDS = [("commit", "before"), ("commit", "after"), ("call", "before"), ("call", "after")]


def points(fuse: Fuse, kind: str, when: str) -> list[Point]:
    """All there are, by what the reference run did."""
    return [Point(kind, when, number) for number in range(1, getattr(fuse, f"{kind}s") + 1)]


def faults_of(moved: Moved, crashes: Iterable[Point], reference: State, in_doubt: int) -> list[str]:
    """What differs from the reference after these crashes, one a run, and a run to the end."""
    crashes = list(crashes)
    for point in crashes:
        if not moved.live(point).blown:
            break  # this run ended before its point
    moved.live_to_the_end()
    where = ", then ".join(map(str, crashes))
    return [f"{where}: {told}" for told in differences(moved.state(), reference, in_doubt=in_doubt)]


@pytest.mark.parametrize(("kind", "when"), KINDS)
def test_a_crash_leaves_no_trace(
    simulation: Simulation, reference: tuple[State, Fuse], kind: str, when: str, record_property: Record
) -> None:
    want, fuse = reference
    chosen = sampled(points(fuse, kind, when), 5 * KINDS.index((kind, when)))
    found = []
    for point in chosen:
        with simulation.moving() as moved:
            found += faults_of(moved, [point], want, ALONE)
    record_property(TRIED, f"{len(chosen)} of {getattr(fuse, f'{kind}s')} points")
    assert found == []
