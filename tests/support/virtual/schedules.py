"""Random schedules: some faults, perhaps a crash, and time between the runs, over random pairs, each by its number."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.support.pairs import KINDS
from tests.support.virtual.crashes import SEED
from tests.support.virtual.fault_scripts import Reference, Script, scripts, stormed
from tests.support.virtual.fuse import Point
from tests.support.virtual.moves import Simulation

NUMBER: Final = int(os.environ.get("DAM_SYNC_SCHEDULES", "15"))
ALONE: Final = os.environ.get("DAM_SYNC_SCHEDULE", "")  # the number of the only one to be tried
EACH: Final = 6  # schedules of one pair in a row, which share its reference
FEWEST, MOST = 2, 5  # faults in one
CRASHES: Final = 0.4  # part of the schedules with a crash
PAUSES: Final = (0.0, 30.0, 400.0, 4_000.0, 50_000.0)  # seconds between runs


@dataclass(frozen=True, slots=True)
class Schedule:
    """What goes wrong in one move, from its number alone."""

    number: int
    scripts: Sequence[Script]
    points: Sequence[Point]
    pauses: Sequence[float]

    def __str__(self) -> str:
        crash = f"; a crash {', '.join(map(str, self.points))}" if self.points else ""
        return f"{'; '.join(map(str, self.scripts))}{crash}; pauses of {list(self.pauses)} s"


@dataclass
class Tried:
    """What came of the schedules of one pair."""

    seed: int
    schedules: int = 0
    faults: int = 0
    hits: int = 0
    stops: int = 0
    parked: int = 0
    verified: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = f"{self.schedules} schedules, {self.hits} of {self.faults} faults struck, seed {self.seed}"
        return f"{told}: {self.stops} runs were stopped, {self.parked} assets parked, {self.verified} lies verified"


def blocks() -> list[tuple[tuple[str, str], range]]:
    """Pairs with the numbers of their schedules."""
    if ALONE:
        return [(pair_of(int(ALONE)), range(int(ALONE), int(ALONE) + 1))]
    return [(pair_of(start), range(start, min(start + EACH, NUMBER))) for start in range(0, NUMBER, EACH)]


def pair_of(number: int) -> tuple[str, str]:
    """The pair of a schedule; every pair once before any twice."""
    pairs = [(source, target) for source in KINDS for target in KINDS]
    turn, place = divmod(number // EACH, len(pairs))
    random.Random(f"pairs {SEED} {turn}").shuffle(pairs)
    return pairs[place]


def schedule(reference: Reference, number: int) -> Schedule:
    """The schedule of this number."""
    simulation = reference.simulation
    rng = random.Random(f"schedule {simulation.seed} {number}")
    every = scripts(simulation.kinds, reference.calls, rng)
    picked: dict[str, Script] = {}
    while len(picked) < FEWEST or (len(picked) < MOST and rng.random() < 0.6):
        script = rng.choice(every)
        picked.setdefault(script.call, script)
    points = [rng.choice(reference.points)] if rng.random() < CRASHES else []
    return Schedule(number, list(picked.values()), points, [rng.choice(PAUSES) for _ in range(3)])


def tried(simulation: Simulation, numbers: range) -> Tried:
    """These schedules, each in a move of its own."""
    reference = Reference.of(simulation)
    came = Tried(simulation.seed)
    for number in numbers:
        plan = schedule(reference, number)
        ending = stormed(reference, plan.scripts, plan.points, plan.pauses)
        came.schedules += 1
        came.faults += len(plan.scripts)
        came.hits += len(plan.scripts) - len(ending.unhit)
        came.stops += len(ending.stops)
        came.parked += len(ending.parked)
        came.verified += bool(ending.verified)
        if ending.wrong:
            came.wrong.append(f"{again(simulation.seed, number)}\n{plan}\n{ending.stops}\n{ending.wrong}")
    return came


def again(seed: int, number: int) -> str:
    """The line that repeats a schedule alone."""
    return f"DAM_SYNC_SEED={seed} DAM_SYNC_SCHEDULE={number} .venv/bin/pytest tests/simulation/test_schedules.py"
