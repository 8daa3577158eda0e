"""Names that contain what the product separates names with: nothing is lost, doubled or mixed up."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dam_sync.api.jobs import verify_job
from tests.support.pairs import EVERYTHING
from tests.support.services.profiles import FOLDER
from tests.support.virtual.fuse import AFTER, BEFORE, CALL, COMMIT, Fuse, Point
from tests.support.virtual.moves import Move
from tests.support.virtual.odd_names import REMOVE, Known, OddNames, OddSimulation, found, write

TREES = (FOLDER, "a_hypermedia", "b_documents")
CASES = [(kind, seed) for kind in TREES for seed in range(7 if EVERYTHING else 1)]
NAMES = 50 if EVERYTHING else 12  # 1,050 over all cases
KILLS = 12 if EVERYTHING else 3  # in each run


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_every_asset_has_its_own_terms_and_folders(tmp_path: Path, kind: str, seed: int) -> None:
    """After a run and after a delta, each of which was killed again and again."""
    names = OddNames(NAMES, seed, controls=kind == FOLDER)
    simulation = OddSimulation(tmp_path, (FOLDER, kind), policy=REMOVE, names=names)
    rng = random.Random(f"kills {kind} {seed}")
    with simulation.moving() as move:
        for edit in (lambda: None, names.edit):
            edit()
            write(move, names)
            move.full = edit == names.edit  # terms with other names at the source are no change of its assets
            killed(move, rng)
            assert_moved(move, names.wanted(), kind)


def killed(move: Move, rng: random.Random) -> None:
    """Runs that are killed, and one to the end."""
    for _ in range(KILLS):
        point = Point(rng.choice((COMMIT, CALL)), rng.choice((BEFORE, AFTER)), rng.randint(1, 8 * NAMES))
        move.live(Fuse(point))
    move.live_to_the_end()


def assert_moved(move: Move, wanted: dict[str, Known], kind: str) -> None:
    move.universe.do(move.universe.settle(move.job, "target"))
    got, number = found(move)
    assert number == len(got), "an asset is there twice"
    if kind != FOLDER:  # a service has spellings of its own for tags
        got, wanted = (
            {title: Known(one.terms, one.folders, frozenset()) for title, one in each.items()} for each in (got, wanted)
        )
    assert got == wanted
    report = move.universe.do(verify_job(move.job, move.universe.options(), "fields", "100%"))
    assert report.verdict["equal"], report.verdict
