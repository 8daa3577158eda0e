"""Runs for assets that webhooks named: a crash at any moment, and an asset that no longer exists, leave no trace."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.support.pairs import EVERYTHING
from tests.support.virtual.branching import branches
from tests.support.virtual.crashes import SEED, chosen, survived
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.moves import Move, Simulation

PAIRS = [("e_profiles", "c_brandlibrary"), ("d_templates", "e_profiles"), ("c_brandlibrary", "d_templates")]
POINTS = 60 if EVERYTHING else 4
GONE = "00000000-0000-4000-8000-000000000000"


@dataclass
class NamedMove(Move):
    """Its runs are those for named assets: all that there are, and one that is not."""

    def live(self, fuse: Fuse | None = None) -> Fuse:
        """See `Move.live`."""
        names = {str(row.get("object_id", row["id"])) for row in self.source.assets}
        return self.universe.live(self.job, fuse, only=frozenset({*names, GONE}), hinted=True)


@contextmanager
def changed(simulation: Simulation) -> Iterator[NamedMove]:
    """A library that was moved, and changed at the source since."""
    with simulation.moving() as move:
        move.live()
        move.change()
        yield NamedMove(move.universe, move.source, move.target, move.job)


@pytest.mark.parametrize("kinds", PAIRS if EVERYTHING else PAIRS[:1])
def test_no_crash_of_a_run_for_named_assets_leaves_a_trace(tmp_path: Path, kinds: tuple[str, str]) -> None:
    simulation = Simulation(tmp_path, kinds, SEED)
    with changed(simulation) as move:
        fuse = move.live()
        want = move.state()
        assert any("anew" in str(row) for row in want.assets)
    with changed(simulation) as move:
        plans = list(chosen(fuse, POINTS, random.Random(f"{SEED} {kinds}")))
        found = list(branches(move, plans, partial(survived, move, want)))
    assert [fault for branch in found for fault in branch.faults] == []
    assert sum(branch.crashes for branch in found) >= min(POINTS, len(fuse.points()))
