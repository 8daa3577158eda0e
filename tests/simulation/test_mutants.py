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
from tests.support.virtual.batch_probes import PROBES
from tests.support.virtual.crashes import SEED, left_by
from tests.support.virtual.fuse import AFTER, CALL, COMMIT, Fuse
from tests.support.virtual.moves import Simulation, differences
from tests.support.virtual.mutants import SAFEGUARDS

MOST = 60  # crash points tried until one is noticed
OF_BATCHES = {
    "C: record of a shared create": "a lost create",
    "C: name": "a lost create",
    "C: file": "a lost create",
    "C: time": "a lost create",
    "C: token": "a lost create",
    "C: names apart": "a lost create",
    "C: token of the alike": "two lost creates",
    "C: reading back": "files mixed up",
    "C: division of creates": "a refused create",
    "C: division of values": "a guilty value",
    "C: record of values in part": "a guilty value",
    "C: look for values": "lost values",
    "B: index": "a quiet run",
    "B: end of batches": "a quiet run",
    "B: look at files": "a batch that is gone",
    "B: record of files": "recorded files",
    "B: count of losses": "a server that loses batches",
    "B: batch alone": "a server that loses batches in use",
    "A: unmarked": "assets gone meanwhile",
    "A: is recorded": "a twin gone meanwhile",
}
"""Safeguards of what shares calls, each with the probe that misses it."""
TO_D, TO_E = ("a_hypermedia", "d_templates"), ("a_hypermedia", "e_profiles")


def noticed(simulation: Simulation) -> Iterator[str]:
    """What crashes before responses came leave behind, one after the other."""
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


@pytest.mark.parametrize("safeguard", OF_BATCHES)
def test_what_happens_to_a_batch_misses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, safeguard: str) -> None:
    probe = PROBES[OF_BATCHES[safeguard]]
    reference = probe.reference(tmp_path)
    SAFEGUARDS[safeguard](monkeypatch)
    assert next(probe.found(reference), None), f"nobody misses the {safeguard}"


def test_every_safeguard_is_taken_away_once_and_every_probe_misses_one() -> None:
    assert {name for name in SAFEGUARDS if ": " in name} == set(OF_BATCHES)
    assert set(PROBES) == set(OF_BATCHES.values())
