"""Service B: users and groups are looked up before a right is given to them."""

from __future__ import annotations

import pytest

from dam_sync.model.asset import Draft, Marker, Patch, Rights
from dam_sync.model.errors import InvalidValue
from tests.conformance.tenant import Tenant, content
from tests.support.state.memory_journal import MemoryJournal

KIND = "b_documents"


def draft(*groups: str) -> Draft:
    fields = {"lib:srckey": "k", "lib:title": "New"}
    return Draft(
        Marker("lib:srckey", "k"), "k.jpg", profile="Photo", fields=fields, rights=Rights(groups=frozenset(groups))
    )


async def test_groups_and_users_are_looked_up_once(tenant: Tenant) -> None:
    service = tenant.connect(options={"groups": None})
    names = frozenset({"staff", "Administrator", "Everyone", "press 100%", "nobody"})
    with tenant.costs() as spent:
        assert await service.unknown_groups(names) == {"press 100%", "nobody"}
        assert await service.unknown_groups(frozenset({"nobody", "staff"})) == {"nobody"}
    assert spent == {"GET /api/v1/group/{}": 4, "GET /api/v1/user/{}": 3}


async def test_users_are_known_by_both_of_their_forms(tenant: Tenant) -> None:
    service = tenant.connect(options={"groups": None})
    names = frozenset({"Administrator", "user:Administrator", "group:staff", "nobody", "user:nobody"})
    with tenant.costs() as spent:
        assert await service.unknown_people(names) == {"nobody", "user:nobody"}
    assert spent == {"GET /api/v1/group/{}": 3, "GET /api/v1/user/{}": 2}


async def test_one_that_may_not_be_looked_up_counts_as_known(tenant: Tenant) -> None:
    service = tenant.connect(options={"groups": None})
    tenant.fail({"match": "GET /api/v1/group/*", "nth": 1, "do": "status:403"})
    assert await service.unknown_groups(frozenset({"press"})) == frozenset()


async def test_nothing_is_created_for_a_missing_group(tenant: Tenant) -> None:
    service = tenant.connect(options={"groups": None})
    await service.schema()
    before = set(tenant.truth())
    async with content(tenant, "k.jpg") as (given, _):
        with tenant.costs() as spent, pytest.raises(InvalidValue, match="no group or user press") as refused:
            await service.create(draft("press", "staff"), given, MemoryJournal())
    assert "security: groups" in refused.value.hint
    assert not [call for call in spent if not call.startswith("GET ")]
    with pytest.raises(InvalidValue, match="no group or user press"):
        await service.update(tenant.of_catalogue(2), Patch(rights=draft("press").rights))
    assert set(tenant.truth()) == before


async def test_a_group_that_others_gave_a_document_stays_though_the_job_does_not_list_it(tenant: Tenant) -> None:
    given, bare = tenant.of_catalogue(2), tenant.of_catalogue(3)
    await tenant.connect(options={"groups": None}).update(given, Patch(rights=draft("staff", "public").rights))
    service = tenant.connect(options={"groups": "staff"})
    await service.update(given, Patch(fields={"lib:title": "Other"}, rights=draft("staff", "public").rights))
    assert (await service.fetch(given)).rights.groups == {"staff", "public"}
    with pytest.raises(InvalidValue, match="no group public"):
        await service.update(bare, Patch(rights=draft("staff", "public").rights))
