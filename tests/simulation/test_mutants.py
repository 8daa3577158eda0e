"""A test of the tests: with one safeguard taken away, the simulation finds a duplicate, a loss or a repeated step.

`make sim-mutants` runs it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation.test_two_processes import both, taken_over
from tests.support.virtual.crashes import SEED, left_by
from tests.support.virtual.fuse import AFTER, CALL, COMMIT, Fuse
from tests.support.virtual.moves import Simulation, differences
from tests.support.virtual.mutants import SAFEGUARDS

MOST = 60  # crash points tried until one is noticed
TO_D, TO_E = ("a_hypermedia", "d_templates"), ("a_hypermedia", "e_profiles")


def noticed(simulation: Simulation) -> Iterator[str]:
    """What crashes before answers came leave behind, one after the other."""
    want, fuse = simulation.reference()
    lost = [point for point in fuse.points() if (point.kind, point.when) == (CALL, AFTER)]
    for point in random.Random(SEED).sample(lost, min(MOST, len(lost))):
        with simulation.moving() as move:
            move.live(Fuse(point))
            move.live_to_the_end()
            yield from (f"{point}: {each}" for each in left_by(move, want, [point]))


@pytest.mark.parametrize("kinds", [TO_D, TO_E], ids=["a-d", "a-e"])
@pytest.mark.parametrize("safeguard", ["intent", "found"])
def test_crashes_miss_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kinds: tuple[str, str], safeguard: str
) -> None:
    SAFEGUARDS[safeguard](monkeypatch)
    assert next(noticed(Simulation(tmp_path, kinds, SEED)), None), f"nobody misses the {safeguard}"


@pytest.mark.parametrize("kinds", [TO_D, TO_E], ids=["a-d", "a-e"])
def test_crashes_miss_the_wait_for_the_index(tmp_path: Path, kinds: tuple[str, str]) -> None:
    simulation = Simulation(tmp_path, kinds, SEED, options={"index_lag": 0})
    assert next(noticed(simulation), None), "nobody misses the wait for the index"


@pytest.mark.parametrize("safeguard", ["lease", "leash", "fence"])
def test_a_second_process_misses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, safeguard: str) -> None:
    simulation = Simulation(tmp_path, TO_D, SEED)
    want, fuse = simulation.reference()
    found: list[str] = []
    SAFEGUARDS[safeguard](monkeypatch)
    for commits in range(fuse.counts[COMMIT] // 8, fuse.counts[COMMIT]):
        with simulation.moving() as move:
            move.universe.storage = replace(move.universe.storage, process_exists=lambda pid: True)
            ended = move.universe.do((both if safeguard == "lease" else taken_over)(move, commits))
            found += [] if ended else ["nobody was stopped"]
            found += differences(move.state(), want, in_doubt=0 if safeguard == "lease" else 8)
        if found:
            return
    raise AssertionError(f"nobody misses the {safeguard}")


def test_garbled_bytes_miss_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = Simulation(tmp_path, TO_E, SEED)
    want, _ = simulation.reference()
    SAFEGUARDS["digest"](monkeypatch)
    with simulation.moving() as move:
        move.source.app.faults.add([{"match": "GET /medias/*.jpg", "nth": 1, "do": "garble"}])
        move.live_to_the_end()
        assert not move.source.app.faults.unhit()
        assert list(differences(move.state(), want, in_doubt=0)), "nobody misses the digest"
