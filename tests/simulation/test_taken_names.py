"""A file name that somebody else's asset of the target has got between two runs is his: ours gets another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.model.asset import AssetId
from tests.conformance.drafts import plain_draft
from tests.support.services.connections import Bytes
from tests.support.state.memory_journal import MemoryJournal
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.universe import LAGS

NAME = "fresh.jpg"
OURS, HIS = b"ours" * 200, b"his" * 200


async def uploaded(move: Move, role: str, data: bytes) -> AssetId:
    """Somebody puts a file there by hand."""
    async with move.service(role) as service:
        draft = replace(await plain_draft(service, role), filename=NAME)
        return await service.create(draft, Bytes(NAME, data, known=True), MemoryJournal())


@pytest.mark.parametrize("first", ["before", "between"])
def test_a_name_that_is_taken_in_between_stays_with_its_asset(tmp_path: Path, first: str) -> None:
    with Simulation(tmp_path, ("a_hypermedia", "e_profiles")).moving() as move:
        if first == "between":
            move.live()
        his = move.universe.do(uploaded(move, "target", HIS))
        move.universe.do(uploaded(move, "source", OURS))
        move.universe.do(move.universe.clock.sleep(LAGS))
        move.live_to_the_end()
        rows = {row["id"]: row for row in move.target.assets}
        named = [row for row in rows.values() if row["versions"][-1]["size"] == len(OURS)]
        assert [version["size"] for version in rows[his]["versions"]] == [len(HIS)]
        assert rows[his]["filename"] == NAME
        assert len(named) == 1
        assert named[0]["filename"] != NAME
        assert move.stops == []
