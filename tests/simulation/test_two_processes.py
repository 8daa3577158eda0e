"""Two processes at one job: the second is refused while the first lives, and takes over from one that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.model.errors import DamSyncError, SafetyStop, StoreBusy
from tests.support.pairs import KINDS
from tests.support.services.profiles import profile_of
from tests.support.virtual.crashes import IN_DOUBT
from tests.support.virtual.fuse import COMMIT, Fuse
from tests.support.virtual.moves import Move, Simulation, State, differences

TARGETS = KINDS
STILL = 45.0  # seconds a process stands still: longer than its lease lives


@pytest.fixture
def moving(tmp_path: Path, kind: str) -> Iterator[tuple[Move, State, Fuse]]:
    """A library to be moved, and how that ends; no process is known to have ended, as long as the universe lasts."""
    simulation = Simulation(tmp_path, ("a_hypermedia", kind))
    want, fuse = simulation.reference()
    with simulation.moving() as move:
        move.universe.storage = replace(move.universe.storage, process_exists=lambda pid: True)
        yield move, want, fuse


async def both(move: Move, commits: int) -> DamSyncError | None:
    """The first is well and at it when the second comes; the error of the second."""
    fuse, told = Fuse(), None
    first = asyncio.ensure_future(move.universe.process(move.job, fuse))
    await fuse.reaches(COMMIT, commits)
    try:
        await asyncio.ensure_future(move.universe.process(move.job, Fuse()))
    except DamSyncError as error:
        told = error
    await asyncio.gather(first, return_exceptions=True)
    return told


async def taken_over(move: Move, commits: int) -> BaseException | None:
    """The first stands still, the second does everything, the first wakes up; what the first ended with."""
    fuse = Fuse()
    first = asyncio.ensure_future(move.universe.process(move.job, fuse))
    await fuse.reaches(COMMIT, commits)
    fuse.frozen = asyncio.Event()
    await asyncio.sleep(STILL)
    await asyncio.ensure_future(move.universe.process(move.job, Fuse()))
    fuse.frozen.set()
    (ended,) = await asyncio.gather(first, return_exceptions=True)
    return ended if isinstance(ended, BaseException) else None


@pytest.mark.parametrize("kind", TARGETS)
def test_a_second_process_is_refused(moving: tuple[Move, State, Fuse]) -> None:
    move, want, fuse = moving
    told = move.universe.do(both(move, fuse.counts[COMMIT] // 2))
    assert isinstance(told, StoreBusy)
    assert "is active: process" in told.message
    assert list(differences(move.state(), want, in_doubt=0)) == []


@pytest.mark.parametrize("share", [0.4, 0.6, 0.8])
@pytest.mark.parametrize("kind", TARGETS)
def test_a_process_that_stood_still_writes_nothing_more(moving: tuple[Move, State, Fuse], share: float) -> None:
    move, want, fuse = moving
    ended = move.universe.do(taken_over(move, int(fuse.counts[COMMIT] * share)))
    assert isinstance(ended, SafetyStop), ended
    uses_up = profile_of(move.target.kind).uses_up
    assert list(differences(move.state(), want, in_doubt=IN_DOUBT, uses_up=uses_up)) == []
