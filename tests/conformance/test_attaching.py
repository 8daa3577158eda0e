"""The contract of a target: attachments and relations are added once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from dam_sync.model.asset import Relation
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import Unsupported
from dam_sync.model.journal_names import EQUAL_BEFORE
from dam_sync.model.service import Service
from tests.conformance.catalogue import LINK, SCHEMA, asset
from tests.conformance.drafts import (
    one,
    worked,
)
from tests.conformance.tenant import Tenant, content
from tests.support.services.connections import body
from tests.support.state.memory_journal import Crash, MemoryJournal

Fresh = Callable[..., Tenant]
pytestmark = pytest.mark.needs(Operation.CREATE)
attaches = pytest.mark.needs(Operation.ATTACH, "write:attachments")
relates = pytest.mark.needs(Operation.RELATE, "write:relations")


@attaches
async def test_an_attachment_arrives_whole(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    async with content(tenant, "paper.pdf", 5000) as (given, digest):
        await service.attach(identity, given, MemoryJournal())
    (row,) = tenant.truth()[identity]["attachments"]
    assert (row["name"], row["size"], row["digests"]["md5"]) == ("paper.pdf", 5000, digest)
    (file,) = (await service.fetch(identity)).attachments
    assert hashlib.md5(await body(service, file)).hexdigest() == digest


@attaches
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.needs("network")
async def test_an_attachment_is_not_doubled(tenant: Tenant, service: Service, fault: str, nth: int) -> None:
    """The first write announces, the second carries the bytes to the storage host."""
    identity, journal = await one(tenant, service), MemoryJournal()
    async with content(tenant, "paper.pdf", 5000) as (given, digest):
        tenant.fail({"match": "P* *", "nth": nth, "do": fault})
        await worked(lambda: service.attach(identity, given, journal), journal)
    (row,) = tenant.truth()[identity]["attachments"]
    assert row["digests"]["md5"] == digest


@attaches
async def test_two_attachments_are_two(tenant: Tenant, service: Service) -> None:
    identity, journal = await one(tenant, service), MemoryJournal()
    for name in ("a.pdf", "b.pdf"):
        async with content(tenant, name, 50) as (given, _):
            await service.attach(identity, given, journal)
    assert [row["name"] for row in tenant.truth()[identity]["attachments"]] == ["a.pdf", "b.pdf"]


@attaches
@pytest.mark.calls(1500)
async def test_no_crash_loses_or_doubles_an_attachment_that_equals_another(tenant: Tenant, service: Service) -> None:
    for blow_at in range(1, 30):
        identity, journal = await one(tenant, service), MemoryJournal(blow_at)
        async with content(tenant, "a.pdf", 50) as (given, digest):
            await service.attach(identity, given, MemoryJournal())
            journal.done[EQUAL_BEFORE] = (1, journal.now)
            try:
                await service.attach(identity, given, journal)
            except Crash:
                journal.blow_at = None
                other = tenant.connect()
                await worked(lambda s=other, i=identity, g=given, m=journal: s.attach(i, g, m), journal)  # type: ignore[misc]
        rows = tenant.truth()[identity]["attachments"]
        assert [(row["name"], row["digests"]["md5"]) for row in rows] == [("a.pdf", digest)] * 2
        if journal.blow_at is not None:
            break
    else:
        raise AssertionError("no end of crash points")


@relates
async def test_a_relation_is_made_once(tenant: Tenant, service: Service) -> None:
    source, target = tenant.of_catalogue(1), tenant.of_catalogue(4)
    for _ in range(2):
        await service.relate(source, Relation(tenant.relation, target))
    rows = tenant.truth()[source]["relations"]
    assert sorted(row["target"] for row in rows) == sorted([tenant.of_catalogue(2), target])
    assert Relation(tenant.relation, target) in (await service.fetch(source)).relations


@relates
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
@pytest.mark.needs("network")
async def test_a_relation_whose_response_was_lost_is_one(fresh: Fresh, fault: str) -> None:
    link = {"relations": [{"kind": LINK, "target": "2"}]}
    tenant = fresh([*SCHEMA, asset(1, **link), asset(2), asset(3)])
    service = tenant.connect()
    source, target = tenant.of_catalogue(1), tenant.of_catalogue(3)
    tenant.fail({"match": "POST *", "nth": 1, "do": fault})
    await worked(lambda: service.relate(source, Relation(tenant.relation, target)), MemoryJournal())
    assert [row["target"] for row in tenant.truth()[source]["relations"]].count(target) == 1


@relates
@pytest.mark.needs("checks")
async def test_an_unknown_kind_of_relation_is_refused(tenant: Tenant, service: Service) -> None:
    with pytest.raises(Unsupported):
        await service.relate(tenant.of_catalogue(1), Relation("no such kind", tenant.of_catalogue(2)))
