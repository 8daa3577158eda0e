"""The status of service D, which is a dropdown of the tenant: read and written in the neutral words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dam_sync.model.asset import AssetId, Draft, Marker, Patch
from dam_sync.model.estimator import Estimator
from dam_sync.model.service import Service
from tests.conformance.catalogue import SCHEMA, field
from tests.conformance.tenant import Start, Tenant
from tests.support.state.memory_journal import MemoryJournal

KIND = "d_templates"
OPTIONS = {"status_field": "state"}


def with_states(labels: Sequence[str], **more: Any) -> list[Any]:
    terms = [{"record": "term", "vocabulary": "states", "id": f"s-{one}", "labels": {"en": one}} for one in labels]
    vocabulary = {"record": "vocabulary", "key": "states", "label": "States"}
    return [*SCHEMA, vocabulary, *terms, field("state", "term", vocabulary="states", **more)]


def draft(status: str) -> Draft:
    fields = {"title": "New", "srckey": "one"}
    return Draft(Marker("srckey", "one"), "one.jpg", "Photo", fields=fields, status=status)


def connected(tenant: Tenant) -> Service:
    return tenant.connect(options={**OPTIONS, "relations": "off"})


async def written(tenant: Tenant, status: str) -> tuple[Service, AssetId]:
    service = connected(tenant)
    await service.schema()
    return service, await service.create(draft(status), None, MemoryJournal())


async def test_a_dropdown_in_capitals_is_read_and_named_in_the_same_words(start: Start) -> None:
    tenant = start(with_states(["Draft", "Published", "Archived", "In Review"]))
    service, made = await written(tenant, "archived")
    assert (await service.schema()).statuses == {"draft", "published", "archived", "in review"}
    found = await service.fetch(made)
    assert found.status == "archived"
    assert tenant.truth()[made]["fields"]["state"]["label"] == "Archived"
    await service.update(made, Patch(status="in review"))
    assert tenant.truth()[made]["fields"]["state"]["label"] == "In Review"
    found = await connected(tenant).fetch(made)
    assert (found.status, found.substatus) == ("published", "In Review")


async def test_published_is_an_empty_dropdown_where_it_has_no_such_value(start: Start) -> None:
    tenant = start(with_states(["Draft", "Final"]))
    service, made = await written(tenant, "draft")
    assert (await service.schema()).statuses == {"draft", "final", "published"}
    change = Patch(status="published")
    told = Estimator(service).write(change)
    with tenant.costs() as spent:
        await service.update(made, change)
    assert sum(spent.values()) == sum(told.values())
    assert (await connected(tenant).fetch(made)).status == "published"
    assert "state" not in tenant.truth()[made]["fields"]


async def test_a_required_dropdown_without_published_does_not_take_it(start: Start) -> None:
    tenant = start(with_states(["Draft", "Final"], required=True))
    assert (await connected(tenant).schema()).statuses == {"draft", "final"}
