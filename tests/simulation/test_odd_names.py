"""Names that contain what the product separates names with: nothing is lost, doubled or mixed up."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.jobs import run_job, verify_job
from dam_sync.engine.compare.patterns import RENAMED
from tests.support.jobs.folder_jobs import InFolder
from tests.support.pairs import EVERYTHING
from tests.support.services.profiles import FOLDER
from tests.support.virtual.fuse import AFTER, BEFORE, CALL, COMMIT, Fuse, Point
from tests.support.virtual.moves import Move
from tests.support.virtual.odd_names import REMOVE, Known, OddNames, OddSimulation, found, write
from tests.support.virtual.state_location import ask, change

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
    verdict = verified(move)
    assert verdict["equal"], verdict


def verified(move: Move) -> dict[str, Any]:
    return move.universe.do(verify_job(move.job, move.universe.options(), "fields", "100%")).as_json()["verdict"]


ARTS, BELOW = ("Arts/Crafts",), ("Arts", "Crafts")


@pytest.mark.parametrize("seen", [ARTS, BELOW])
def test_a_value_that_an_earlier_release_replaced_is_found_and_healed(tmp_path: Path, seen: tuple[str, ...]) -> None:
    """By a repair, not called a renaming, on whichever of both terms came first."""
    names = OddNames(0)
    for path in (ARTS, BELOW[:1], BELOW):
        names.terms[path] = str(len(names.terms) + 1)
    names.assets = {f"Picture {number}": ([path], [], []) for number, path in enumerate((ARTS, BELOW))}
    with OddSimulation(tmp_path, (FOLDER, FOLDER), names=names).moving() as move:
        move.live()
        replace_by(move, names, seen)
        verdict = verified(move)
        assert [(one["path"], one["pattern"] == RENAMED) for one in verdict["groups"]] == [("fields.subject", False)]
        move.universe.do(run_job(move.job, move.universe.options(repair=True)))
        assert_moved(move, names.wanted(), FOLDER)


def replace_by(move: Move, names: OddNames, seen: tuple[str, ...]) -> None:
    """As the release that took `seen` for both left the target, the draft, what stands for the term and is recalled."""
    (other,) = {ARTS, BELOW} - {seen}
    stands = dict(ask(move.job, "SELECT source, target FROM counterpart WHERE part = 'term'"))
    right, wrong = stands[names.terms[other]], stands[names.terms[seen]]
    row = (wrong, json.dumps(seen), json.dumps(seen), names.terms[other])
    change(move.job, "UPDATE counterpart SET target = ?, name = ?, wanted = ? WHERE source = ?", *row)
    (note,) = ask(move.job, "SELECT value FROM note WHERE key = 'terms met'")
    terms, met = json.loads(note[0]), {"label": seen[-1], "id": wrong}
    for known in terms["terms"].values():
        known |= {key: met for key in known if key.endswith(f"\n{names.terms[other]}\n{other[-1]}")}
    change(move.job, "UPDATE note SET value = ? WHERE key = 'terms met'", json.dumps(terms))
    change(move.job, "UPDATE link SET draft = replace(draft, ?, ?)", right, wrong)
    catalogue = InFolder(move.target.folder).path / "data" / "catalogue.jsonl"
    assets = [line for line in catalogue.read_text(encoding="utf-8").splitlines() if '"record": "asset"' in line]
    with catalogue.open("a", encoding="utf-8") as out:
        out.writelines(f"{line.replace(right, wrong)}\n" for line in assets if right in line)
