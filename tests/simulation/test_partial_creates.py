"""Assets that vanish from the source between a crash and the next run leave no partial create in the target."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.model.asset import AssetId
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.state_location import ask

PART = 0.65  # of the calls of a move, behind which its process ends


@pytest.mark.parametrize("target", ["c_brandlibrary", "d_templates"])
def test_no_partial_create_stays_behind(tmp_path: Path, target: str) -> None:
    simulation = Simulation(tmp_path, ("a_hypermedia", target))
    _, fuse = simulation.reference()
    calls = [point for point in fuse.points() if str(point).startswith("after call")]
    with simulation.moving() as move:
        move.live(Fuse(calls[int(len(calls) * PART)]))
        assert unlinked(move), "there is no partial create yet"
        move.universe.do(emptied(move))
        move.live_to_the_end()
        assert not unlinked(move)
        assert not move.state().left["step"]


async def emptied(move: Move) -> None:
    """Somebody puts every asset of the source into the trash."""
    async with move.service("source") as service:
        await service.schema()
        for row in move.source.assets:
            await service.remove(AssetId(row["id"]))


def unlinked(move: Move) -> list[str]:
    """Living assets of the target that no link leads to."""
    links = {target for (target,) in ask(move.job, "SELECT target FROM link")}
    return [row["filename"] for row in move.target.assets if row["status"] != "trash" and row["id"] not in links]
