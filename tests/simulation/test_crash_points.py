"""A crash at every commit and at every call, and the same run again: all there, once, and nothing done twice.

DAM_SYNC_SIM=1 (`make sim`) tries every point, without it only one in so many is.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tests.simulation.conftest import TRIED, Record
from tests.support.fuse import Fuse, Point
from tests.support.simulated import EVERY, Moved, Simulation, State, differences, sampled

IN_DOUBT = {1: 2, 4: 8}  # calls under way in one crash, by assets at once: each one's own, and those for drafts
PAIRS = 100
KINDS = [("commit", "before"), ("commit", "after"), ("call", "before"), ("call", "after")]


def points(fuse: Fuse, kind: str, when: str) -> list[Point]:
    """All there are, by what the reference run did."""
    return [Point(kind, when, number) for number in range(1, getattr(fuse, f"{kind}s") + 1)]


def faults_of(moved: Moved, crashes: Sequence[Point], reference: State, in_doubt: int) -> tuple[int, list[str]]:
    """After these crashes, one a run, and a run to the end: how many happened, and what differs from the reference."""
    happened = 0
    for point in crashes:
        if not moved.live(point).blown:
            break  # that run came to its end before the point
        happened += 1
    moved.live_to_the_end()
    told = differences(moved.state(), reference, in_doubt=in_doubt * happened)
    return happened, [f"{', then '.join(map(str, crashes))}: {each}" for each in told]


@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize(("kind", "when"), KINDS)
def test_a_crash_leaves_no_trace(
    simulation: Simulation, reference: tuple[State, Fuse], kind: str, when: str, record_property: Record
) -> None:
    want, fuse = reference
    offset = KINDS.index((kind, when)) * 7 + simulation.at_once
    chosen = sampled(points(fuse, kind, when), offset)
    happened, found = 0, []
    for point in chosen:
        with simulation.moving() as moved:
            crashed, faults = faults_of(moved, [point], want, IN_DOUBT[simulation.at_once])
            happened += crashed
            found += faults
    record_property(TRIED, f"{happened} crashes, of {getattr(fuse, f'{kind}s')} {kind}s")
    assert found == []
    assert happened >= len(chosen) // 2  # how often a run looks for work, and so its last commits, depends on the hour


@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize(("kind", "when"), KINDS)
def test_a_crash_while_changes_are_brought_over_leaves_no_trace(
    simulation: Simulation, later: tuple[State, Fuse], kind: str, when: str, record_property: Record
) -> None:
    want, fuse = later
    chosen = sampled(points(fuse, kind, when), KINDS.index((kind, when)) * 5 + 15 * (simulation.at_once == 4))
    happened, found = 0, []
    for point in chosen:
        with simulation.moving() as moved:
            moved.live()
            moved.change()
            crashed, faults = faults_of(moved, [point], want, IN_DOUBT[simulation.at_once])
            happened += crashed
            found += faults
    record_property(TRIED, f"{happened} crashes, of {getattr(fuse, f'{kind}s')} {kind}s")
    assert found == []


@pytest.mark.parametrize("at_once", [1, 4])
def test_a_crash_while_going_on_after_a_crash_leaves_no_trace(
    simulation: Simulation, reference: tuple[State, Fuse], record_property: Record
) -> None:
    want, fuse = reference
    rng = random.Random(simulation.at_once)
    every = [point for kind, when in KINDS for point in points(fuse, kind, when)]
    happened, found = 0, []
    for _ in range(max(1, PAIRS // EVERY)):
        with simulation.moving() as moved:
            crashed, faults = faults_of(moved, rng.sample(every, 2), want, IN_DOUBT[simulation.at_once])
            happened += crashed
            found += faults
    record_property(TRIED, f"{happened} crashes in {max(1, PAIRS // EVERY)} moves")
    assert found == []
