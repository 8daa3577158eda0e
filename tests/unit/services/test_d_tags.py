"""Tags of service D, which are values of one dropdown: changed without losing what nobody can name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Patch
from dam_sync.model.values import Term
from dam_sync.services.d_templates import facts
from tests.support.services import scripted_d as d
from tests.support.services.scripted_d import Opened, draft, scripted
from tests.support.state.memory_journal import MemoryJournal


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    async with scripted() as one:
        yield one


def tags_of(script: d.ScriptedD, record: str) -> Any:
    (entry,) = [one for one in script.records[record]["metadata"] if one["metadataDefinitionId"] == d.COLOR]
    return entry.get("metadataDefinitionValue")


@pytest.mark.parametrize("patch", [Patch(tags_add=frozenset({"Blue"})), Patch(tags_remove=frozenset({"Red"}))])
async def test_tags_that_nobody_can_name_stay(opened: Opened, patch: Patch) -> None:
    script = opened.script
    service = opened.connect(tags_field="colors", relations="off")
    await service.schema()
    script.vocabularies["vocabulary-colors"]["values"]["value-new"] = "New"  # type: ignore[index]
    values = [{"valueId": one} for one in (d.RED, "value-new", "value-gone")]
    record = script.add(metadata=[{"metadataDefinitionId": d.COLOR, "metadataDefinitionValue": values}])
    await service.update(AssetId(script.records[record]["fileId"]), patch)
    told = {one["valueId"] for one in tags_of(script, record)}
    assert told == {"value-new", "value-gone"} | ({d.RED, d.BLUE} if patch.tags_add else set())


async def test_a_single_tag_may_come_without_a_list(opened: Opened) -> None:
    script = opened.script
    entry = {"metadataDefinitionId": d.COLOR, "metadataDefinitionValue": {"valueId": d.RED}}
    record = script.add(metadata=[entry])
    service = opened.connect(tags_field="colors")
    await service.update(AssetId(script.records[record]["fileId"]), Patch(tags_add=frozenset({"Blue"})))
    assert tags_of(script, record) == [{"valueId": d.BLUE}, {"valueId": d.RED}]


async def test_one_name_however_its_characters_are_composed(opened: Opened) -> None:
    script = opened.script
    one, two = "Gr\u00fcn", "Gru\u0308n"
    script.vocabularies["vocabulary-colors"]["values"]["value-green"] = one  # type: ignore[index]
    service = opened.connect(tags_field="colors")
    assert (await service.ensure_term("colors", Term(two))).id == "value-green"
    made = await service.create(draft(), None, MemoryJournal())
    await service.update(made, Patch(tags_add=frozenset({one, two, "Red"})))
    assert len(tags_of(script, "object-0001")) == 2
    await service.update(made, Patch(tags_remove=frozenset({two})))
    assert tags_of(script, "object-0001") == [{"valueId": d.RED}]
    assert facts.ADD_TERMS not in service.calls
