"""A library that is moved in two waves ends as one that is moved at once, relations between the waves included, and a
crash of either run leaves no trace."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dam_sync.model.errors import SafetyStop, StopRequested
from tests.support.pairs import EVERYTHING, ids, pairs
from tests.support.services.profiles import FOLDER
from tests.support.virtual.branching import Branch, branches
from tests.support.virtual.crashes import POINTS, SEED, left_by
from tests.support.virtual.fuse import Fuse, Point
from tests.support.virtual.moves import Move, Simulation, State, differences
from tests.support.virtual.state_location import ask
from tests.support.virtual.universe import Tenant, Universe

PAIRS = pairs(1) if EVERYTHING else [("d_templates", "d_templates")]
RELATED = "asset.filename.startsWith('photo 2') || asset.filename.startsWith('twin')"
WAVES = [{"name": "first", "select": {"where": RELATED}}, {"name": "rest"}]
DAY = timedelta(days=1)
WAITING = "SELECT owner, other FROM relation"
WRITTEN = "SELECT run FROM ledger WHERE operation LIKE 'relate:2:%'"


class InWaves(Simulation):
    """The same move in two waves."""

    def _write(self, universe: Universe, tenants: Sequence[Tenant]) -> None:
        Simulation._write(self, universe, tenants)
        self.freeze()

    def freeze(self, **window: str) -> None:
        """Give the first wave this freeze window, or none."""
        yaml = YAML()
        job: Any = yaml.load(self._job)
        job["waves"] = [{**WAVES[0], **({"freeze": window} if window else {})}, WAVES[1]]
        yaml.dump(job, self._job)


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_a_move_in_two_waves_ends_as_a_move_in_one(tmp_path: Path, kinds: tuple[str, str]) -> None:
    folders = tmp_path / "whole", tmp_path / "waves"
    for folder in folders:
        folder.mkdir()
    whole, _ = Simulation(folders[0], kinds).reference()
    want, _, _ = reference(InWaves(folders[1], kinds))
    assert want.assets == whole.assets
    assert (want.terms, want.containers, want.left) == (whole.terms, whole.containers, whole.left)
    assert [row[:2] for row in want.links] == [row[:2] for row in whole.links]


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_no_crash_of_a_wave_leaves_a_trace(tmp_path: Path, kinds: tuple[str, str]) -> None:
    simulation = InWaves(tmp_path, kinds, SEED)
    want, *fuses = reference(simulation)
    rng = random.Random(f"{SEED} {kinds}")
    for second, fuse in enumerate(fuses):
        points = [[point] for point in rng.sample(fuse.points(), max(1, POINTS // 24 // len(PAIRS)))]
        with simulation.moving() as move:
            if second:
                move.live()
            found = list(branches(move, points, partial(survived, move, want)))
        assert [fault for branch in found for fault in branch.faults] == []
        assert sum(branch.crashes for branch in found) == len(points)


def test_a_relation_is_written_once_both_waves_are_moved(tmp_path: Path) -> None:
    with InWaves(tmp_path, (FOLDER, FOLDER)).moving() as move:
        move.live()
        assert ask(move.job, WAITING) == [("2", "1")]
        move.live()
        assert (ask(move.job, WAITING), ask(move.job, WRITTEN)) == ([], [(2,)])


def test_a_run_stops_at_the_end_of_its_freeze_window(tmp_path: Path) -> None:
    simulation = InWaves(tmp_path, ("d_templates", "d_templates"))
    with simulation.moving() as move:
        clock = move.universe.clock
        begin = clock.now()
        move.live()
        took = clock.now() - begin
        move.live()
        want = move.state()
    simulation.freeze(**{"from": f"{begin - DAY}", "to": f"{begin + took * 0.6}"})
    with simulation.moving() as move:
        with pytest.raises(StopRequested, match="at the end of the freeze window of wave first"):
            move.live()
        with pytest.raises(SafetyStop, match="its freeze window ended at"):
            move.live()
        simulation.freeze(**{"from": f"{begin - DAY}", "to": f"{begin + DAY}"})
        for _ in range(2):
            move.live_to_the_end()
        assert list(differences(move.state(), want, in_doubt=0)) == []


def reference(simulation: Simulation) -> tuple[State, Fuse, Fuse]:
    with simulation.moving() as move:
        fuses = move.live(), move.live()
        return move.state(), *fuses


def survived(move: Move, want: State, points: Sequence[Point]) -> Branch:
    """After the crash: as many runs as two waves need."""
    for _ in range(2):
        move.live_to_the_end()
    return Branch(1, [f"{points[0]}: {each}" for each in left_by(move, want, points)])
