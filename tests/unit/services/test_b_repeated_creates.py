"""Service B: creates that are tried again after the source changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dam_sync.model.asset import AssetId, Draft, Marker, Rights
from dam_sync.model.errors import InvalidValue
from dam_sync.model.service import Service
from tests.conformance.tenant import Start, Tenant, content
from tests.support.state.memory_journal import MemoryJournal

KIND = "b_documents"
STATE = "POST */automation/Document.FollowLifecycleTransition"


def draft(**more: object) -> Draft:
    fields = {"lib:srckey": "again", "lib:title": "Before", "lib:note": "as it was"}
    wanted = Draft(Marker("lib:srckey", "again"), "again.jpg", profile="Photo", status="published", fields=fields)
    return replace(wanted, **more)  # type: ignore[arg-type]


async def created(tenant: Tenant, service: Service, wanted: Draft, journal: MemoryJournal, size: int = 700) -> AssetId:
    async with content(tenant, wanted.filename, size, seed=f"again {size}") as (given, _):
        return await service.create(wanted, given, journal)


async def test_an_asset_refused_after_its_create_takes_the_values_it_has_now(tenant: Tenant) -> None:
    journal = MemoryJournal()
    tenant.fail({"match": STATE, "nth": 1, "do": "status:400"})
    with pytest.raises(InvalidValue):
        await created(tenant, tenant.connect(), draft(), journal)
    now = draft(fields={**draft().fields, "lib:title": "After", "lib:note": "as it is"})
    identity = await created(tenant, tenant.connect(), now, journal)
    (row,) = tenant.marked("again")
    assert row["id"] == identity
    assert [row["fields"]["lib:title"], row["fields"]["lib:note"]] == ["After", "as it is"]
    assert row["status"] == "published"


async def test_it_takes_the_file_it_has_now(tenant: Tenant) -> None:
    journal = MemoryJournal()
    tenant.fail({"match": STATE, "nth": 1, "do": "status:400"})
    with pytest.raises(InvalidValue):
        await created(tenant, tenant.connect(), draft(), journal)
    identity = await created(tenant, tenant.connect(), draft(), journal, size=900)
    assert [file["size"] for file in tenant.truth()[identity]["versions"]][-1] == 900


async def test_a_group_that_was_created_in_between_may_read(start: Start) -> None:
    tenant, journal = start(), MemoryJournal()
    wanted = draft(rights=Rights(groups=frozenset({"staff"})))
    tenant.fail({"match": "POST */automation/Document.AddPermission", "nth": 1, "do": "status:400"})
    with pytest.raises(InvalidValue):
        await created(tenant, tenant.connect(), wanted, journal)
    now = replace(wanted, fields={**wanted.fields, "lib:title": "After"})
    identity = await created(tenant, tenant.connect(), now, journal)
    (row,) = tenant.marked("again")
    assert row["id"] == identity
    assert [row["fields"]["lib:title"], row["rights"]["groups"]] == ["After", ["staff"]]
