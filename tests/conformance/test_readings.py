"""Readings of a contract that play alone: a life of an asset under each, in few tests."""

from __future__ import annotations

import hashlib

import pytest

from dam_sync.model.asset import Patch
from dam_sync.model.capabilities import Operation
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from tests.conformance.catalogue import library
from tests.conformance.drafts import KEYS, check_made, full_draft, made, values_for
from tests.conformance.tenant import Tenant, content, own_fields, true_fields
from tests.conformance.wiring import WIRED
from tests.support.services.connections import body, entries
from tests.support.state.memory_journal import MemoryJournal

READINGS = [(kind, reading) for kind, wired in WIRED.items() for reading in wired.readings]


@pytest.mark.needs(Operation.CREATE)
async def test_an_asset_is_created_with_everything(tenant: Tenant, service: Service, schema: Schema) -> None:
    draft = await full_draft(tenant, service)
    identity, digest = await made(tenant, service, draft)
    tenant.advance(30)
    assert check_made(tenant, schema, draft, digest)["id"] == identity


@pytest.mark.needs(Operation.UPDATE)
async def test_fields_are_changed_and_cleared(tenant: Tenant, service: Service, schema: Schema) -> None:
    identity, _ = await made(tenant, service, await full_draft(tenant, service))
    fields = await values_for(service, schema, KEYS[::2], other=True)
    cleared = [tenant.key(name) for name in KEYS[1::2]]
    for _ in range(2):
        await service.update(identity, Patch(fields={**fields, **dict.fromkeys(cleared)}))
        found = true_fields(tenant.truth()[identity], schema)
        assert {key: found[key] for key in found if key in {*fields, *cleared}} == own_fields(fields)


@pytest.mark.needs(Operation.REPLACE)
async def test_a_new_file_becomes_the_current_version(tenant: Tenant, service: Service) -> None:
    identity, first = await made(tenant, service, await full_draft(tenant, service))
    tenant.advance(30)
    filename = tenant.truth()[identity]["filename"]
    async with content(tenant, filename, 800, seed="again") as (given, second):
        await service.replace(identity, given, MemoryJournal())
    assert [file["digests"]["md5"] for file in tenant.truth()[identity]["versions"]] == [first, second]


async def test_every_asset_is_listed_and_read_as_it_is(tenant: Tenant, source: Service, schema: Schema) -> None:
    tenant.advance(60)
    assert {entry.id for entry in await entries(source)} >= {
        key for key, row in tenant.shown().items() if row["status"] != "trash"
    }
    for number in range(1, len([row for row in library() if row["record"] == "asset"])):
        identity = tenant.of_catalogue(number)
        row = tenant.truth()[identity]
        if row["status"] == "trash":
            continue
        found = await source.fetch(identity)
        wanted = tenant.as_read(true_fields(row, schema))
        fields = tenant.as_read(own_fields(found.fields))
        assert {key: value for key, value in fields.items() if key in wanted} == wanted
        assert found.file is not None
        assert hashlib.md5(await body(source, found.file)).hexdigest() == row["versions"][-1]["digests"]["md5"]
