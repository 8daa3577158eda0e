"""Assets that vanish from the source between a crash and the next run leave no partial create in the target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
        partial = unlinked(move)
        assert partial, "there is no partial create yet"
        move.universe.do(emptied(move))
        move.live_to_the_end()
        assert not unlinked(move)
        assert recorded(move) == {row: [False, True] for row in partial}, "so that `explain` says where it went"
        assert not move.state().left["step"]


async def emptied(move: Move) -> None:
    """Somebody puts every asset of the source into the trash."""
    async with move.service("source") as service:
        await service.schema()
        for row in move.source.assets:
            await service.remove(AssetId(row["id"]))


def recorded(move: Move) -> dict[str, Any]:
    """What the ledger says of moves to the trash, by asset of the target."""
    rows = ask(move.job, "SELECT target, changes FROM ledger WHERE operation LIKE '%remove%'")
    return {target: json.loads(changes)["trash"] for target, changes in rows}


def unlinked(move: Move) -> list[str]:
    """Living assets of the target that no link leads to."""
    links = {target for (target,) in ask(move.job, "SELECT target FROM link")}
    return [row["id"] for row in move.target.assets if row["status"] != "trash" and row["id"] not in links]
