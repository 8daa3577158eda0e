"""An update that overwrites nothing does not compare the asset of the target, but looks whether it is in the trash."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.emulators import emulated_kinds
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.parking import ParkReason
from tests.support.virtual.target_edits import ATTACHMENTS, RELATIONS, TAGS, Edit, memberships
from tests.support.virtual.two_tenants import REOPENS, TwoTenants, scene

KINDS = {kind[0]: kind for kind in emulated_kinds()}
CASES = [
    ("a", memberships("folder")[0]),
    ("a", memberships("label")[2]),
    ("a", ATTACHMENTS[0]),
    ("b", TAGS[2]),
    ("b", memberships("collection")[0]),
    ("b", RELATIONS[0]),
    ("d", memberships("collection")[2]),
    ("e", TAGS[2]),
    ("e", memberships("category")[2]),
]


def trashed(made: TwoTenants, target: str) -> Asset:
    """Somebody moves it to the trash of the target; how it is there."""

    async def remove() -> Asset:
        async with made.service() as service:
            await service.schema()
            await service.remove(AssetId(target))
            return await service.fetch(AssetId(target))

    found = made.universe.do(remove())
    made.universe.do(made.settle())
    return found


def held(made: TwoTenants, target: str) -> Asset:
    """How it is at the target now."""

    async def fetch() -> Asset:
        async with made.service() as service:
            await service.schema()
            return await service.fetch(AssetId(target))

    return made.universe.do(fetch())


@pytest.mark.parametrize(("kind", "edit"), CASES, ids=[f"{kind} {edit.name}" for kind, edit in CASES])
def test_nothing_is_written_to_an_asset_in_the_trash(tmp_path: Path, kind: str, edit: Edit) -> None:
    with scene(tmp_path, KINDS[kind], (edit,), exposure=REOPENS) as made:
        made.edit("source")
        target = made.twin_of(edit)
        before = trashed(made, target)
        plan, report = made.plan(full=True), made.run(full=True)
        for found in (plan, report):
            assert found.counts.get("updated", 0) == 0
            assert [row["cause"] for row in found.parked] == [ParkReason.GONE]
        assert held(made, target) == before


@pytest.mark.parametrize(("kind", "look"), [("b", "GET /api/v1/id/{id}"), ("c", "GET /api/v4/assets/{id}")])
def test_the_look_costs_nothing_where_the_write_reads_the_asset(tmp_path: Path, kind: str, look: str) -> None:
    """Or where a removed asset is gone, so that a write to it is refused."""
    with scene(tmp_path, KINDS[kind], (TAGS[2],), exposure=REOPENS) as made:
        made.edit("source")
        world = made.target.app.world
        world.reset_calls()
        assert made.plan(full=True).counts["updated"] == 1
        planned = world.api_calls[look]
        world.reset_calls()
        assert made.run(full=True).counts["updated"] == 1
        assert (planned, world.api_calls[look]) == (1 if kind == "b" else 0, 1)
