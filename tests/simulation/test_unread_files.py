"""A file that its service had not read when it was moved is not sent again as a version once its size is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.model.asset import AssetId, Patch
from tests.conformance.drafts import plain_draft
from tests.support.connected import Bytes
from tests.support.journal import MemoryJournal
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.universe import LAGS

NAME = "fresh.jpg"
DATA = b"fresh" * 200
READING = 600.0  # seconds that the source takes to read a file


async def uploaded(move: Move) -> AssetId:
    """Somebody puts a file into the source by hand."""
    async with move.side("source") as service:
        draft = replace(await plain_draft(service, "source"), filename=NAME)
        return await service.create(draft, Bytes(NAME, DATA, known=True), MemoryJournal())


async def renamed(move: Move, asset: AssetId) -> None:
    """Somebody gives it another name there."""
    async with move.side("source") as service:
        await service.schema()
        await service.update(asset, Patch(filename="other.jpg"))


@pytest.mark.parametrize("target", ["c_brandlibrary", "d_templates"])
def test_it_is_one_version(tmp_path: Path, target: str) -> None:
    with Simulation(tmp_path, ("e_profiles", target)).moving() as move:
        tenant = move.source.app.state.tenant
        tenant.options = replace(tenant.options, processing=READING)
        identity = move.universe.do(uploaded(move))
        move.universe.do(move.universe.clock.sleep(READING / 4))
        move.full = True
        move.live()
        before = versions(move)
        assert before[NAME] == [len(DATA)]
        move.universe.do(move.universe.clock.sleep(LAGS))
        move.universe.do(renamed(move, identity))
        move.universe.do(move.universe.clock.sleep(LAGS))
        move.live()
        assert versions(move) == {**{name: before[name] for name in before if name != NAME}, "other.jpg": [len(DATA)]}


def versions(move: Move) -> dict[str, list[int]]:
    """Sizes of all versions at the target, by file name."""
    return {row["filename"]: [each["size"] for each in row["versions"]] for row in move.target.assets}
