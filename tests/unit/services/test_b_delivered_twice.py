"""Service B: calls that add something each time, delivered twice or without a response (wire B 6.5, 6.8)."""

from __future__ import annotations

import pytest

from dam_sync.model.asset import Relation
from dam_sync.model.errors import Conflict, Transient
from tests.conformance.tenant import Start, Tenant, content
from tests.support.state.memory_journal import MemoryJournal

KIND = "b_documents"
ATTACH = "POST *Blob.AttachOnDocument"
KIND_OF_RELATION = "Views of the object"
RELATE = "POST *Document.AddRelation"


@pytest.mark.parametrize("fault", ["twice", "reset_after", "status:503"])
async def test_an_attachment_is_added_once(tenant: Tenant, fault: str) -> None:
    service, asset = tenant.connect(), tenant.of_catalogue(2)
    before = len(tenant.truth()[asset]["attachments"])
    tenant.fail({"match": ATTACH, "nth": 1, "do": fault})
    async with content(tenant, "plan.pdf") as (given, _):
        await service.attach(asset, given, MemoryJournal())
    assert len(tenant.truth()[asset]["attachments"]) == before + 1


@pytest.mark.parametrize("fault", ["twice", "reset_after", "status:503"])
async def test_a_relation_is_added_once(tenant: Tenant, fault: str) -> None:
    service = tenant.connect()
    one, two = tenant.of_catalogue(2), tenant.of_catalogue(3)
    tenant.fail({"match": RELATE, "nth": 1, "do": fault})
    await service.relate(one, Relation(KIND_OF_RELATION, two))
    found = [relation for relation in (await service.fetch(one)).relations if relation.target == two]
    assert len(found) == 1


async def test_a_release_that_replays_nothing_gets_the_call_once(start: Start) -> None:
    """Before the key was known, a second call would add the file again (wire B 10)."""
    tenant = start(variant="ancient")
    service, asset = tenant.connect(), tenant.of_catalogue(2)
    before = len(tenant.truth()[asset]["attachments"])
    tenant.fail({"match": ATTACH, "nth": 1, "do": "reset_after"})
    journal = MemoryJournal()
    async with content(tenant, "plan.pdf") as (given, _):
        with pytest.raises(Transient):
            await service.attach(asset, given, journal)
        await service.attach(asset, given, journal)
    assert len(tenant.truth()[asset]["attachments"]) == before + 1


async def test_a_refusal_with_a_reason_is_not_waited_out(tenant: Tenant) -> None:
    """A conflict that says why is no delivery in progress (wire B 7.3)."""
    tenant.fail({"match": RELATE, "nth": 1, "do": "status:409"})
    with pytest.raises(Conflict):
        await tenant.connect().relate(tenant.of_catalogue(2), Relation(KIND_OF_RELATION, tenant.of_catalogue(3)))
