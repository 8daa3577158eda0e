"""A state whose commits take longer than the calls of the services: after a crash at any call, nothing that an asset
recorded before it is missing, also if another asset made the call for both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from dam_sync.store.file.threads import Job
from tests.simulation.conftest import TRIED
from tests.support.pairs import EVERYTHING, ids
from tests.support.virtual import universe
from tests.support.virtual.batched_moves import TO_A, TO_B, TO_C, SharedSimulation, crash_points, crashed
from tests.support.virtual.crashes import SEED
from tests.support.virtual.fuse import CALL, Fuse
from tests.support.virtual.store_writer import VirtualWriter
from tests.support.virtual.universe import FUSE

COMMIT_SECONDS = 0.5
PAIRS = [TO_C, TO_B, TO_A]
SHARE = 1 if EVERYTHING else 40  # of the crash points, one of so many


class SlowWriter(VirtualWriter):
    """Commits one job after another, each some time after it was handed over."""

    def __init__(self, engine: Engine, path: Path, fuse: Fuse) -> None:
        super().__init__(engine, path, fuse)
        self._turn = asyncio.Lock()

    async def _awake(self, job: Job[Any]) -> Any:
        async with self._turn:
            await asyncio.sleep(COMMIT_SECONDS)
            return await super()._awake(job)


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_no_crash_on_a_slow_disk_leaves_a_trace(
    tmp_path: Path,
    kinds: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    monkeypatch.setattr(universe, "_writer", lambda engine, path: SlowWriter(engine, path, FUSE.get()))
    simulation = SharedSimulation(tmp_path, kinds, SEED)
    want, fuse = simulation.reference()
    points = [point for point in crash_points(fuse, SHARE) if point.kind == CALL]
    record_property(TRIED, f"{len(points)} crash points")
    assert list(crashed(simulation, want, points)) == []
