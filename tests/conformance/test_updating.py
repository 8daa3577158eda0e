"""The contract of a target: an update changes what its patch says, and nothing else."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dam_sync.model.asset import AssetId, Patch, Rights
from dam_sync.model.capabilities import MembershipWrite, Operation
from dam_sync.model.errors import InvalidValue, NotFound, Rejected
from dam_sync.model.schema import FieldKind, Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Json
from tests.conformance.drafts import (
    KEYS,
    creates_in,
    folder,
    one,
    places,
    spell,
    state,
    values_for,
    worked,
    writes,
)
from tests.conformance.tenant import Tenant, own_fields, true_fields
from tests.support.state.memory_journal import MemoryJournal

pytestmark = pytest.mark.needs(Operation.CREATE)
NOBODY = AssetId("00000000-0000-4000-8000-000000000000")
updates = pytest.mark.needs(Operation.UPDATE)


async def check_update(tenant: Tenant, service: Service, identity: AssetId, patch: Patch, **expected: Json) -> None:
    """Applied twice, it changes just what is expected."""
    before = state(tenant, identity)
    await service.update(identity, patch)
    once = state(tenant, identity)
    await service.update(identity, patch)
    assert state(tenant, identity) == once == {**before, **expected}


@updates
@pytest.mark.parametrize("key", KEYS)
async def test_each_kind_of_field_is_changed_alone(tenant: Tenant, service: Service, schema: Schema, key: str) -> None:
    identity = await one(tenant, service, full=True)
    before = true_fields(tenant.truth()[identity], schema)
    fields = await values_for(service, schema, [key], other=True)
    ((key, value),) = fields.items()
    for _ in range(2):
        await service.update(identity, Patch(fields=fields))
        after = true_fields(tenant.truth()[identity], schema)
        assert after.get(key) == own_fields({key: value}).get(key)
        assert {k: v for k, v in after.items() if k != key} == {k: v for k, v in before.items() if k != key}


@updates
@pytest.mark.parametrize("key", [key for key in KEYS if key != "title"])
async def test_each_kind_of_field_is_cleared(tenant: Tenant, service: Service, schema: Schema, key: str) -> None:
    identity = await one(tenant, service, full=True)
    before, key = true_fields(tenant.truth()[identity], schema), tenant.key(key)
    for _ in range(2):
        await service.update(identity, Patch(fields={key: None}))
        after = true_fields(tenant.truth()[identity], schema)
        assert after == {k: v for k, v in before.items() if k != key}
    assert not own_fields((await service.fetch(identity)).fields).get(key)


@updates
async def test_many_fields_are_changed_and_cleared_together(tenant: Tenant, service: Service, schema: Schema) -> None:
    identity = await one(tenant, service, full=True)
    fields = await values_for(service, schema, KEYS[::2], other=True)
    cleared = [tenant.key(name) for name in KEYS[1::2]]
    await service.update(identity, Patch(fields={**fields, **dict.fromkeys(cleared)}))
    found = true_fields(tenant.truth()[identity], schema)
    assert {key: found[key] for key in found if key in {*fields, *cleared}} == own_fields(fields)


@updates
async def test_an_empty_patch_costs_nothing(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    with tenant.costs() as spent:
        await service.update(identity, Patch())
    assert not spent


@updates
async def test_tags_are_added_and_removed(tenant: Tenant, service: Service, can: frozenset[str]) -> None:
    identity = await one(tenant, service)
    if "write:tags" in can:
        patch = Patch(tags_add=frozenset({"a", "b", "été"}))
        await check_update(tenant, service, identity, patch, tags=["a", "b", "été"])
        patch = Patch(tags_add=frozenset({"c"}), tags_remove=frozenset({"a", "never"}))
        await check_update(tenant, service, identity, patch, tags=["b", "c", "été"])


@updates
@pytest.mark.needs("write:release", "write:expiry", "write:groups")
async def test_rights_are_changed(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    rights = Rights(datetime(2021, 1, 2, tzinfo=UTC), datetime(2041, 1, 2, tzinfo=UTC), frozenset({"public", "staff"}))
    told = {"release_at": "2021-01-02T00:00:00Z", "expires_at": "2041-01-02T00:00:00Z", "groups": ["public", "staff"]}
    await check_update(tenant, service, identity, Patch(rights=rights), rights=told)
    assert (await service.fetch(identity)).rights == rights


@updates
@pytest.mark.needs("write:groups")
@pytest.mark.needs("checks")
async def test_an_unknown_group_is_refused(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    before = state(tenant, identity)
    with pytest.raises(Rejected):
        await service.update(identity, Patch(rights=Rights(groups=frozenset({"nobody"}))))
    assert state(tenant, identity)["rights"]["groups"] == before["rights"]["groups"]


@updates
@pytest.mark.needs("write:status")
async def test_the_status_is_changed(tenant: Tenant, service: Service, schema: Schema) -> None:
    identity = await one(tenant, service)
    told = sorted((schema.statuses or {"archived", "draft", "Internal"}) - {"trash"})
    assert len(told) >= 2 or schema.statuses is None
    for status in (*told, "published"):
        for _ in range(2):
            await service.update(identity, Patch(status=status))
            found = await service.fetch(identity)
            assert status in (found.status, found.substatus)


@updates
@pytest.mark.needs("write:status")
@pytest.mark.needs("checks")
async def test_an_unknown_status_is_refused(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    before = state(tenant, identity)
    with pytest.raises(InvalidValue):
        await service.update(identity, Patch(status="no such status"))
    assert state(tenant, identity) == before


@updates
@pytest.mark.needs("write:filename")
async def test_an_asset_is_renamed(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    await service.update(identity, Patch(filename="renamed.jpg"))
    assert tenant.truth()[identity]["filename"] == "renamed.jpg"


@updates
async def test_placements_are_added_and_removed(tenant: Tenant, service: Service) -> None:
    schema, kind = await service.schema(), tenant.wired.containers["folder"]
    if not creates_in(service, schema, kind) or service.capabilities.membership(kind) is MembershipWrite.AT_CREATION:
        return  # bulk work, see test_taxonomy; or where it was made it stays
    identity = await one(tenant, service, full=True)
    known = await places(tenant, service)
    add, gone = known[folder(tenant, "Archive")], known[folder(tenant, "Press", "2024")]
    patch = Patch(placements_add=frozenset({add}), placements_remove=frozenset({gone}))
    for _ in range(2):
        await service.update(identity, patch)
        found = {(place["kind"], tuple(place["path"])) for place in tenant.truth()[identity]["placements"]}
        assert (kind, add.path) in found
        assert (kind, gone.path) not in found


@updates
async def test_an_unknown_asset_cannot_be_updated(service: Service) -> None:
    with pytest.raises(NotFound) as missed:
        await service.update(NOBODY, Patch(fields={spell(service, "note"): "x"}))
    assert missed.value.asset == NOBODY


@updates
@pytest.mark.parametrize(
    ("name", "value"),
    [("no such field", "x"), pytest.param("rating", "many", marks=pytest.mark.needs("write:number"))],
    ids=["field", "value"],
)
@pytest.mark.needs("checks")
async def test_what_cannot_be_written_changes_nothing(tenant: Tenant, service: Service, name: str, value: str) -> None:
    identity = await one(tenant, service, full=True)
    before = state(tenant, identity)
    with pytest.raises(Rejected):
        await service.update(identity, Patch(fields={tenant.key(name): value}))
    assert state(tenant, identity) == before


@updates
@pytest.mark.calls(1500)
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
@pytest.mark.needs("network")
async def test_an_update_whose_response_is_lost_is_repeated(
    tenant: Tenant, service: Service, schema: Schema, can: frozenset[str], fault: str
) -> None:
    fields = await values_for(service, schema, KEYS[:6], other=True)
    patch = Patch(fields=fields, tags_add=frozenset({"x"}) if "write:tags" in can else frozenset())
    first = await one(tenant, service)
    with tenant.costs() as spent:
        await service.update(first, patch)
    assert writes(spent)
    for name, _ in writes(spent):
        identity, journal = await one(tenant, service), MemoryJournal()
        tenant.faults.clear()
        tenant.fail({"match": name, "nth": 1, "do": fault})
        await worked(lambda i=identity: service.update(i, patch), journal)  # type: ignore[misc]
        found = true_fields(tenant.truth()[identity], schema)
        assert {key: found[key] for key in fields} == own_fields(fields)
        assert set(tenant.truth()[identity]["tags"]) == patch.tags_add


@updates
async def test_updates_of_many_assets_at_once_stay_apart(tenant: Tenant, service: Service) -> None:
    ids = [await one(tenant, service) for _ in range(5)]
    note, mail = tenant.key("note"), tenant.key("mail")
    patches = [Patch(fields={note: f"note {n}", mail: f"{n}@example.org"}) for n in range(5)]
    await asyncio.gather(*(service.update(i, p) for i, p in zip(ids, patches, strict=True)))
    assert [tenant.value(i, "note") for i in ids] == [f"note {n}" for n in range(5)]


def test_every_kind_of_field_is_tried(library_tenant: Tenant, schema: Schema) -> None:
    """No kind the tenant has goes untested."""
    kinds = {field.kind for key, field in schema.fields.items() if field.editable and not field.system and field.types}
    tried = {schema.fields[library_tenant.key(key)].kind for key in KEYS}
    assert kinds <= tried | {FieldKind.TEXT}
    assert replace(Patch(), status="x").status == "x"
