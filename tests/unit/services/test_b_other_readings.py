"""Service B where an undocumented write or listing has the other reading: noticed before anything is lost or shown."""

from __future__ import annotations

import pytest

from dam_sync.model.asset import AssetId, Patch, Rights
from dam_sync.model.errors import Rejected
from dam_sync.model.service import Service
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.tenant import Start, content
from tests.support.services.connections import entries
from tests.support.state.memory_journal import MemoryJournal

KIND = "b_documents"
STAFF = Rights(groups=frozenset({"staff"}))


async def listed(service: Service) -> AssetId:
    (entry,) = await entries(service)
    return entry.id


async def test_readers_who_stay_in_spite_of_a_block_are_reported(start: Start) -> None:
    service = start([*SCHEMA, asset(1)], variant="block_ignored").connect()
    with pytest.raises(Rejected, match="others can still read") as refused:
        await service.update(await listed(service), Patch(rights=STAFF))
    assert "inherit" in str(refused.value)


async def test_nothing_is_written_for_new_readers_while_others_still_read(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1)], variant="block_ignored")
    service = tenant.connect()
    identity = await listed(service)
    with pytest.raises(Rejected):
        await service.update(identity, Patch(rights=STAFF, fields={"lib:title": "For staff alone"}))
    assert tenant.truth()[identity]["fields"]["lib:title"] != "For staff alone"


async def test_a_file_is_not_overwritten_where_no_version_keeps_it(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1)], variant="minor_ignored")
    service = tenant.connect()
    identity = await listed(service)
    before = tenant.truth()[identity]["versions"]
    async with content(tenant, "new.jpg", seed="new") as (given, _):
        for _ in range(2):  # a retry does not take the first attempt for a proof
            with pytest.raises(Rejected, match="made no version"):
                await service.replace(identity, given, MemoryJournal())
    assert tenant.truth()[identity]["versions"] == before


async def test_rows_without_properties_are_read_one_by_one(start: Start) -> None:
    rows = [*SCHEMA, *(asset(number) for number in range(1, 4))]
    plain, bare = start(rows).connect(), start(rows, variant="bare_query").connect()
    for service in (plain, bare):
        assert len(await entries(service)) == 3

    def told(found: list[object]) -> list[tuple[object, ...]]:
        return sorted((each.filename, dict(each.fields), each.tags, len(each.versions)) for each in found)  # type: ignore[attr-defined]

    assert told([each.asset for each in await entries(bare)]) == told([each.asset for each in await entries(plain)])
