"""Crash points of a move: which there are, which are tried, and what each left behind."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from tests.support.sample.rotation import SEED as SEED
from tests.support.services.profiles import profile_of
from tests.support.virtual.branching import Branch, branches
from tests.support.virtual.fuse import Fuse, Point
from tests.support.virtual.moves import Move, Simulation, State, differences

POINTS: Final = int(os.environ.get("DAM_SYNC_SIM", "24"))  # crash points over all pairs
LATER, TWICE = 0.2, 0.1  # parts of the moves that bring changes over, and that crash again while they recover
IN_DOUBT = 8  # steps under way in one crash


@dataclass
class Tried:
    """What came of the crash points of one pair."""

    seed: int
    crashes: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.crashes} crash points, seed {self.seed}"


def tried(simulation: Simulation, number: int, changing: float = LATER) -> Tried:
    """About so many crashes, chosen by the simulation's seed among all there are; with `number` large, each of them.
    changing: the part of them that happens while changes are brought over."""
    came = Tried(simulation.seed)
    rng = random.Random(f"{simulation.seed} {simulation.kinds}")
    for later, share in ((False, 1 - changing), (True, changing)):
        if not share:
            continue
        want, fuse = simulation.reference(later=later)
        plans = list(chosen(fuse, max(1, round(number * share)), rng))
        with simulation.moving() as move:
            if later:
                move.live()
                move.change()
            for branch in branches(move, plans, partial(survived, move, want)):
                came.crashes += branch.crashes
                came.faults += branch.faults
            came.faults += [f"no crash: {each}" for each in differences(move.state(), want, in_doubt=0)]
    return came


def chosen(fuse: Fuse, number: int, rng: random.Random) -> Iterator[Sequence[Point]]:
    """So many lists of moments, one crash each: most of one, some of two."""
    every = fuse.points()
    number = min(number, len(every))
    for count in range(number):
        yield rng.sample(every, 2 if count < number * TWICE else 1)


def survived(move: Move, want: State, points: Sequence[Point]) -> Branch:
    """After the crash at the first of `points`: the others, one a life, and what they left once all is moved."""
    crashes = 1
    for point in points[1:]:
        if not move.live(Fuse(point)).blown:
            break  # a recovery may end before its own
        crashes += 1
    move.live_to_the_end()
    told = ", then ".join(map(str, points))
    return Branch(crashes, [f"{told}: {each}" for each in left_by(move, want, points)])


def left_by(move: Move, want: State, points: Sequence[Point]) -> Iterator[str]:
    """What differs from the reference."""
    uses_up = profile_of(move.target.kind).uses_up
    yield from differences(move.state(), want, in_doubt=IN_DOUBT * len(points), uses_up=uses_up)
