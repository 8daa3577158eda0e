"""Assets that were made at the target without a file, and get their first one from the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dam_sync.model.asset import AssetId
from tests.support.connected import Bytes
from tests.support.everything import fileless
from tests.support.journal import MemoryJournal
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.universe import LAGS

NAME, DATA = "fresh.jpg", b"fresh" * 200


class WithoutFile(Simulation):
    """One asset of the source has no file."""

    def filled(self) -> list[Any]:
        return [*super().filled(), fileless(90)]


async def given(move: Move, asset: AssetId) -> None:
    """Somebody gives it its file."""
    async with move.side("source") as service:
        await service.schema()
        await service.replace(asset, Bytes(NAME, DATA, known=True), MemoryJournal())


def seconds(move: Move, pause: float) -> float:
    """Of the run that brings the file, so long after the one that made the asset."""
    clock, move.full = move.universe.clock, True
    move.live()
    asset = next(AssetId(row["id"]) for row in move.source.assets if not row["versions"])
    move.universe.do(clock.sleep(pause))
    move.universe.do(given(move, asset))
    began = clock.monotonic()
    move.live()
    assert len([row for row in move.target.assets if row["filename"] == NAME and len(row["versions"]) == 1]) == 1
    return clock.monotonic() - began


def test_a_first_file_that_comes_soon_takes_no_longer_than_one_that_comes_late(tmp_path: Path) -> None:
    """The target waits for a file of an asset that was made just before, unless it is known that none is under way."""
    simulation, taken = WithoutFile(tmp_path, ("b_documents", "d_templates")), []
    for pause in (2 * LAGS, 0.0):
        with simulation.moving() as move:
            taken.append(seconds(move, pause))
    assert taken[1] < 2 * taken[0]
