"""The contract of a target: detach and unrelate."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from dam_sync.model.asset import AssetId, FileRef, Relation
from dam_sync.model.capabilities import Operation
from dam_sync.model.service import Service
from tests.conformance.drafts import one, state, worked, writes
from tests.conformance.tenant import Tenant, content
from tests.support.services.connections import body
from tests.support.state.memory_journal import Crash, MemoryJournal

pytestmark = pytest.mark.needs(Operation.CREATE)
detaches = pytest.mark.needs(Operation.ATTACH, Operation.DETACH)
unrelates = pytest.mark.needs(Operation.RELATE, Operation.UNRELATE)


async def attached(tenant: Tenant, service: Service, *names: str, seed: str = "paper") -> tuple[AssetId, FileRef]:
    """A new asset with attachments of these names, all alike; the first as it was sent."""
    identity = await one(tenant, service)
    sent = None
    for name in names:
        async with content(tenant, name, 500, seed=seed) as (given, digest):
            await service.attach(identity, given, MemoryJournal())
            sent = sent or FileRef("", name, 500, digests={"md5": digest})
    tenant.advance(30)
    assert sent is not None
    return identity, sent


def attachments(tenant: Tenant, identity: AssetId) -> list[str]:
    return [row["name"] for row in tenant.truth()[identity]["attachments"]]


@detaches
async def test_one_attachment_is_removed_and_nothing_else(tenant: Tenant, service: Service) -> None:
    identity, sent = await attached(tenant, service, "a.pdf", "b.pdf", "c.pdf")
    before, journal = state(tenant, identity), MemoryJournal()
    for _ in range(2):
        await service.detach(identity, sent, journal)
    await tenant.connect().detach(identity, sent, MemoryJournal())
    after = state(tenant, identity)
    assert attachments(tenant, identity) == ["b.pdf", "c.pdf"]
    assert {key: after[key] for key in after if key != "attachments"} == {
        key: before[key] for key in before if key != "attachments"
    }
    async with content(tenant, "d.pdf", 50) as (given, _):
        await service.attach(identity, given, MemoryJournal())
    assert attachments(tenant, identity) == ["b.pdf", "c.pdf", "d.pdf"]
    kept = [hashlib.md5(await body(service, file)).hexdigest() for file in (await service.fetch(identity)).attachments]
    assert kept == [row["digests"]["md5"] for row in tenant.truth()[identity]["attachments"]]


@detaches
async def test_of_two_attachments_that_are_alike_one_is_removed(tenant: Tenant, service: Service) -> None:
    identity, sent = await attached(tenant, service, "a.pdf")
    async with content(tenant, "a.pdf", 500, seed="paper") as (given, _):
        await service.attach(identity, given, MemoryJournal())
    tenant.advance(30)
    journal = MemoryJournal()
    for _ in range(2):
        await service.detach(identity, sent, journal)
    assert attachments(tenant, identity) == ["a.pdf"]


@detaches
async def test_what_is_not_ours_is_not_detached(tenant: Tenant, service: Service) -> None:
    """Another name, another size, and the file of the asset itself."""
    identity, sent = await attached(tenant, service, "a.pdf")
    row = tenant.truth()[identity]
    (current,) = row["versions"]
    digests = {"md5": current["digests"]["md5"]}
    before = state(tenant, identity)
    for other in (
        replace(sent, name="b.pdf"),
        replace(sent, size=501),
        FileRef("", current["name"], current["size"], digests=digests),
    ):
        await service.detach(identity, other, MemoryJournal())
    assert state(tenant, identity) == before


@detaches
async def test_no_crash_detaches_twice(tenant: Tenant, service: Service) -> None:
    for blow_at in range(1, 12):
        identity, sent = await attached(tenant, service, "a.pdf")
        async with content(tenant, "a.pdf", 500, seed="paper") as (given, _):
            await service.attach(identity, given, MemoryJournal())
        tenant.advance(30)
        journal = MemoryJournal(blow_at)
        try:
            await service.detach(identity, sent, journal)
        except Crash:
            journal.blow_at = None
            other = tenant.connect()
            await worked(lambda s=other, i=identity, f=sent, m=journal: s.detach(i, f, m), journal)  # type: ignore[misc]
        assert attachments(tenant, identity) == ["a.pdf"]
        if journal.blow_at is not None:
            break
    else:
        raise AssertionError("no end of crash points")


@unrelates
async def test_a_relation_is_removed_and_others_stay(tenant: Tenant, service: Service) -> None:
    source, target = tenant.of_catalogue(1), tenant.of_catalogue(4)
    relation = Relation(tenant.relation, target)
    before = [row for row in tenant.truth()[source]["relations"] if row["target"] != target]
    assert before
    await service.relate(source, relation)
    for connected in (service, service, tenant.connect()):
        await connected.unrelate(source, relation)
    assert tenant.truth()[source]["relations"] == before
    assert relation not in (await service.fetch(source)).relations


@unrelates
async def test_a_missing_relation_needs_no_removal(tenant: Tenant, service: Service) -> None:
    before = tenant.truth()
    await service.unrelate(tenant.of_catalogue(4), Relation(tenant.relation, tenant.of_catalogue(1)))
    await service.unrelate(tenant.of_catalogue(1), Relation("no such kind", tenant.of_catalogue(2)))
    assert tenant.truth() == before


@unrelates
@pytest.mark.parametrize("fault", ["reset_before", "reset_after", "status:503"])
@pytest.mark.needs("network")
async def test_a_removed_relation_whose_response_was_lost_is_removed(
    tenant: Tenant, service: Service, fault: str
) -> None:
    relation = Relation(tenant.relation, tenant.of_catalogue(4))
    await service.relate(tenant.of_catalogue(1), relation)
    with tenant.costs() as spent:
        await service.unrelate(tenant.of_catalogue(1), relation)
    await service.relate(tenant.of_catalogue(1), relation)
    tenant.fail({"match": writes(spent)[0][0], "nth": 1, "do": fault})
    await worked(lambda: service.unrelate(tenant.of_catalogue(1), relation), MemoryJournal())
    assert relation not in (await service.fetch(tenant.of_catalogue(1))).relations
