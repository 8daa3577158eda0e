"""Which fault scripts are tried over a pair of services, some of them in one move, and what came of them."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.support.pairs import KINDS
from tests.support.virtual.fault_scripts import ROLES, Reference, Script, scripts, stormed
from tests.support.virtual.moves import Simulation

NUMBER: Final = os.environ.get("DAM_SYNC_FAULTS", "")  # of scripts over all pairs; `all`; empty: each kind once a role
AT_ONCE: Final = int(os.environ.get("DAM_SYNC_AT_ONCE", "8"))  # scripts in one move


@dataclass
class Tried:
    """What came of the scripts of one pair."""

    seed: int
    scripts: int = 0
    every: int = 0
    stops: int = 0
    parked: int = 0
    verified: int = 0
    faults: list[str] = field(default_factory=list)
    unhit: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = f"{self.scripts} of {self.every} faults, seed {self.seed}"
        return f"{told}: {self.stops} runs were stopped, {self.parked} assets parked, {self.verified} lies verified"


def pairs(seed: int) -> list[tuple[str, str]]:
    """Each service once as source and once as target; which with which is the seed's choice."""
    kinds = list(KINDS)
    return [(kind, kinds[(number + seed) % len(kinds)]) for number, kind in enumerate(kinds)]


def tried(simulation: Simulation, share: int, part: slice = slice(None)) -> Tried:
    """The scripts that are chosen of this pair, one of `share`; of those of each kind this part."""
    reference = Reference.of(simulation)
    rng = random.Random(f"{simulation.seed} {simulation.kinds}")
    every = scripts(simulation.kinds, reference.calls, rng)
    picked = chosen(every, share, part, rng)
    came = Tried(simulation.seed, len(picked), len(every))
    for pack in packs(picked):
        try_pack(reference, pack, came)
    return came


def try_pack(reference: Reference, pack: Sequence[Script], came: Tried) -> None:
    """All of them in one move; each alone when something was wrong, and those that were not hit."""
    ending = stormed(reference, pack)
    came.stops += len(ending.stops)
    came.parked += len(ending.parked)
    came.verified += bool(ending.verified)
    if not ending.wrong and not ending.unhit:
        return
    if len(pack) == 1:
        came.faults += [f"{pack[0]}: {wrong}" for wrong in ending.wrong]
        came.unhit += map(str, ending.unhit)
        return
    before = len(came.faults)
    for script in pack if ending.wrong else ending.unhit:
        try_pack(reference, [script], came)
    if ending.wrong and len(came.faults) == before:
        came.faults.append(f"{'; '.join(map(str, pack))}: {ending.wrong}")


def chosen(every: Sequence[Script], share: int, part: slice, rng: random.Random) -> list[Script]:
    """All, or so many, or this part of one of each kind for each role."""
    if NUMBER == "all":
        return list(every)
    if NUMBER:
        return rng.sample(every, min(len(every), -(-int(NUMBER) // share)))
    mixed = rng.sample(every, len(every))
    one_of_each = {(script.role, script.do): script for script in mixed}
    return [one_of_each[kind] for kind in sorted(one_of_each)[part]]


def packs(picked: Sequence[Script]) -> Iterator[list[Script]]:
    """So many at once, of both sides in turn, no two at one call."""
    left = {role: [script for script in picked if script.role == role] for role in ROLES}
    while any(left.values()):
        pack: list[Script] = []
        for number in range(AT_ONCE):
            side = left[ROLES[number % 2]] or left[ROLES[(number + 1) % 2]]
            taken = next((each for each in side if each.call not in {other.call for other in pack}), None)
            if taken is not None:
                side.remove(taken)
                pack.append(taken)
        yield pack
