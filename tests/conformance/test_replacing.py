"""The contract of a target: a new file becomes the current version, once."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from dam_sync.model.asset import AssetId, Patch
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.errors import Rejected
from dam_sync.model.journal_names import EQUAL_BEFORE
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.write_record import WriteRecord, recording
from tests.conformance.drafts import (
    one,
    plain_draft,
    worked,
    writes,
)
from tests.conformance.tenant import Tenant, content, true_fields
from tests.support.services.connections import body
from tests.support.state.memory_journal import Crash, MemoryJournal

pytestmark = pytest.mark.needs(Operation.CREATE)
NOBODY = AssetId("00000000-0000-4000-8000-000000000000")
replaces = pytest.mark.needs(Operation.REPLACE, "write:versions")


async def replaced(tenant: Tenant, service: Service, identity: AssetId, seed: str, size: int = 700) -> str:
    name = tenant.truth()[identity]["filename"]
    async with content(tenant, name, size, seed=seed) as (given, digest):
        await service.replace(identity, given, MemoryJournal())
    tenant.advance(30)
    return digest


def digests(tenant: Tenant, identity: AssetId) -> list[str]:
    return [file["digests"]["md5"] for file in tenant.truth()[identity]["versions"]]


@replaces
async def test_a_new_file_becomes_the_current_version(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service, full=True)
    first = digests(tenant, identity)
    wanted = [*first, *[await replaced(tenant, service, identity, f"v{n}") for n in range(2)]]
    assert digests(tenant, identity) == wanted
    found = await service.fetch(identity)
    assert found.file is not None
    assert hashlib.md5(await body(service, found.file)).hexdigest() == wanted[-1]
    kept = wanted[-1:] if "read:versions" in tenant.absent else wanted
    assert [hashlib.md5(await body(service, file)).hexdigest() for file in found.versions] == kept


@replaces
async def test_the_version_that_the_service_returned_is_noted_for_the_ledger(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service, full=True)
    noted = []
    for seed in ("v1", "v2"):
        with recording(WriteRecord(identity)) as record:
            await replaced(tenant, service, identity, seed)
        noted.append(record.version)
    assert all(noted)
    assert len(set(noted)) == 2


@replaces
async def test_an_asset_without_a_file_gets_one(tenant: Tenant, service: Service) -> None:
    """Also one whose file name was to be changed before: it has none until the file comes."""
    if "fileless" in tenant.wired.refuses:
        return
    identity = AssetId(await service.create(await plain_draft(service), None, MemoryJournal()))
    tenant.advance(30)
    if service.capabilities.writes(Feature.FILENAME):
        await service.update(identity, Patch(filename="first.jpg"))
    journal = MemoryJournal()
    async with content(tenant, "first.jpg", 700, seed="first") as (given, digest):
        await service.replace(identity, given, journal)
    tenant.advance(30)
    assert digests(tenant, identity) == [digest]
    assert tenant.truth()[identity]["filename"] == "first.jpg"
    assert await replaced(tenant, service, identity, "second") == digests(tenant, identity)[-1]
    assert len(digests(tenant, identity)) == 2


@replaces
async def test_the_first_file_of_an_asset_made_without_one_is_not_waited_for(tenant: Tenant, service: Service) -> None:
    """It costs no more calls than that of an asset which was made long ago."""
    if "fileless" in tenant.wired.refuses:
        return
    spent = []
    for age in (3600, 0):
        identity = AssetId(await service.create(await plain_draft(service), None, MemoryJournal()))
        tenant.advance(age)
        async with content(tenant, "first.jpg", 700, seed="first") as (given, digest):
            with tenant.costs() as calls:
                await service.give_first_file(identity, given, MemoryJournal())
        tenant.advance(30)
        assert digests(tenant, identity) == [digest]
        spent.append(calls.total())
    assert spent[1] <= spent[0]


@replaces
async def test_a_new_file_changes_nothing_else(tenant: Tenant, service: Service, schema: Schema) -> None:
    identity = await one(tenant, service, full=True)
    before = tenant.truth()[identity]
    await replaced(tenant, service, identity, "other")
    after = tenant.truth()[identity]
    assert true_fields(after, schema) == true_fields(before, schema)
    for part in ("tags", "rights", "placements", "status", "filename", "type"):
        assert after[part] == before[part]


@replaces
async def test_a_new_file_moves_the_revision(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    before = (await service.fetch(identity)).revision
    await replaced(tenant, service, identity, "other")
    assert (await service.fetch(identity)).revision != before


@replaces
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
@pytest.mark.needs("network")
async def test_a_version_whose_response_was_lost_is_not_doubled(tenant: Tenant, service: Service, fault: str) -> None:
    first = await one(tenant, service)
    with tenant.costs() as spent:
        await replaced(tenant, service, first, "x")
    for name, times in writes(spent):
        for nth in range(1, times + 1):
            identity, journal = await one(tenant, service), MemoryJournal()
            tenant.faults.clear()
            tenant.fail({"match": name, "nth": nth, "do": fault})
            filename = tenant.truth()[identity]["filename"]
            async with content(tenant, filename, seed="new") as (given, digest):
                call: Callable[[], Awaitable[None]] = lambda i=identity, g=given, s=journal: service.replace(i, g, s)  # type: ignore[misc]  # noqa: E731
                await worked(call, journal)
            assert len(digests(tenant, identity)) == 2
            assert digests(tenant, identity)[-1] == digest


@replaces
@pytest.mark.calls(1500)
async def test_no_crash_doubles_a_version(tenant: Tenant, service: Service) -> None:
    for blow_at in range(1, 30):
        identity, journal = await one(tenant, service), MemoryJournal(blow_at)
        filename = tenant.truth()[identity]["filename"]
        async with content(tenant, filename, seed="new") as (given, digest):
            try:
                await service.replace(identity, given, journal)
            except Crash:
                journal.blow_at = None
                other = tenant.connect()
                await worked(lambda s=other, i=identity, g=given, m=journal: s.replace(i, g, m), journal)  # type: ignore[misc]
        assert digests(tenant, identity)[1:] == [digest]
        if journal.blow_at is not None:
            break
    else:
        raise AssertionError("no end of crash points")


@replaces
@pytest.mark.calls(1500)
async def test_no_crash_loses_or_doubles_a_version_with_the_bytes_of_the_one_before(
    tenant: Tenant, service: Service
) -> None:
    for blow_at in range(1, 30):
        identity, journal = await one(tenant, service), MemoryJournal(blow_at)
        filename = tenant.truth()[identity]["filename"]
        first = await replaced(tenant, service, identity, "same")
        journal.done[EQUAL_BEFORE] = (1, journal.now)
        async with content(tenant, filename, seed="same", size=700) as (given, digest):
            try:
                await service.replace(identity, given, journal)
            except Crash:
                journal.blow_at = None
                other = tenant.connect()
                await worked(lambda s=other, i=identity, g=given, m=journal: s.replace(i, g, m), journal)  # type: ignore[misc]
        assert digests(tenant, identity)[1:] == [first, digest] == [digest, digest]
        tenant.advance(30)
        if journal.blow_at is not None:
            break
    else:
        raise AssertionError("no end of crash points")


@replaces
async def test_an_unknown_asset_takes_no_version(tenant: Tenant, service: Service) -> None:
    async with content(tenant) as (given, _):
        with pytest.raises(Rejected):
            await service.replace(NOBODY, given, MemoryJournal())


@pytest.mark.needs(Operation.RESTORE_VERSION, Operation.REPLACE, "read:versions")
async def test_an_older_version_becomes_the_current_one_and_the_newer_one_stays(
    tenant: Tenant, service: Service
) -> None:
    identity = await one(tenant, service)
    first = digests(tenant, identity)[-1]
    async with content(tenant, "photo 4.jpg") as (given, _):
        await service.replace(identity, given, MemoryJournal())
    tenant.advance(30)
    second = digests(tenant, identity)[-1]
    before = await service.fetch(identity)
    for _ in range(2):
        await service.restore_version(identity, before.versions[0])
    tenant.advance(30)
    after = await tenant.connect().fetch(identity)
    assert after.file is not None
    assert before.versions[0].agrees(after.file)
    assert after.placements == before.placements
    assert {first, second} <= {*digests(tenant, identity)}
    with pytest.raises(Rejected):
        await service.restore_version(identity, replace(before.versions[0], id=f"{NOBODY}/9", size=1))
