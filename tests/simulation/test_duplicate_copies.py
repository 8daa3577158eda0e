"""Assets that are at the target twice, because a call arrived twice or long after it was given up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dam_sync.model.asset import AssetId
from dam_sync.model.codec import draft_from_json
from dam_sync.services.c_brandlibrary.codec import wire
from tests.support.state.memory_journal import MemoryJournal
from tests.support.virtual.state_location import ask
from tests.support.virtual.target_edits import BY_HAND, Edit, field
from tests.support.virtual.two_tenants import TwoTenants, scene

NOTE = Edit("text changed", "fields.note", field("note", BY_HAND))


def again(made: TwoTenants) -> tuple[str, str]:
    """Create the first linked asset again, as a call that arrives late does; the ids of source and copy."""
    source, draft = ask(made.job, "SELECT source, draft FROM link ORDER BY source LIMIT 1")[0]

    async def create() -> str:
        async with made.service() as service:
            await service.schema()
            return str(await service.create(draft_from_json(json.loads(draft)), None, MemoryJournal()))

    copy = made.universe.do(create())
    made.universe.do(made.settle())
    return str(source), copy


@pytest.mark.parametrize("kind", ["c_brandlibrary", "d_templates"])
def test_a_second_asset_with_the_marker_of_a_linked_one_is_a_difference(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (NOTE,)) as made:
        source, copy = again(made)
        verdict = made.verify()
        assert (verdict["doubled"], verdict["different"], verdict["clean"]) == (1, 0, False)
        assert [(one, other, found["path"]) for one, other, found in verdict["differences"]] == [
            (source, copy, "asset")
        ]

        async def remove() -> None:
            async with made.service() as service:
                await service.remove(AssetId(copy))

        made.universe.do(remove())
        made.universe.do(made.settle())
        assert made.verify()["clean"]


def test_a_copy_that_only_has_the_token_of_its_create_is_found(tmp_path: Path) -> None:
    """The first call of a create arrived twice: the second asset is complete but for its fields (wire C 6.9)."""
    with scene(tmp_path, "c_brandlibrary", (NOTE,)) as made:
        source, draft = ask(made.job, "SELECT source, draft FROM link ORDER BY source LIMIT 1")[0]
        parts = draft_from_json(json.loads(draft))
        assert parts.marker is not None
        tenant, asset = made.target.app.state.tenant, made.target.assets[0]
        first = tenant.assets[asset["id"]]

        async def late() -> str:
            async with made.service() as service:
                body = wire.create_body([wire.NewAsset(parts, None)], first.section)
                reply = await service._api.write("POST /api/v4/libraries/{id}/assets", (first.library,), body)
                return str(reply.json()["data"][0]["id"])

        copy = made.universe.do(late())
        made.universe.do(made.settle())
        verdict = made.verify()
        assert [(one, other) for one, other, _ in verdict["differences"]] == [(source, copy)]
        assert verdict["doubled"] == 1
