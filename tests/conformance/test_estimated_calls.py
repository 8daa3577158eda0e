"""The contract in numbers: estimates, counters, limits; and a read-only connection."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Draft, FileRef, Patch, Placement, Relation
from dam_sync.model.capabilities import MembershipWrite, Operation
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import DamSyncError, Rejected, StopRequested
from dam_sync.model.estimator import Estimator
from dam_sync.model.schema import Schema
from dam_sync.model.service import TRASH, Service
from dam_sync.model.values import Term
from dam_sync.model.writes import Attachment, Membership, PartRemoval, Renaming
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.drafts import (
    KEYS,
    full_draft,
    made,
    places,
    plain_draft,
    spell,
    values_for,
    vocabulary_of,
    writes,
)
from tests.conformance.tenant import Tenant, content
from tests.support.services.connections import alike, body, entries
from tests.support.state.memory_journal import MemoryJournal

Fresh = Callable[..., Tenant]
estimates = pytest.mark.needs("costs")
creates = pytest.mark.needs(Operation.CREATE)


# -- estimates ---------------------------------------------------------------------------------------------------------


async def check(tenant: Tenant, told: Any, call: Callable[[], Awaitable[Any]], service: Service | None = None) -> None:
    """service: ends what this write would share with others."""
    with tenant.costs() as spent:
        await call()
        if service is not None:
            await service.end_shared()
    assert spent == alike(told)


async def create(tenant: Tenant, service: Service, draft: Draft, size: int) -> None:
    assert await places(tenant, service)  # as a run has read them before it plans
    told = Estimator(service).write(draft, size)
    await check(tenant, told, lambda: made(tenant, service, draft, size), service)


@contextmanager
def empty_may_be_refused(tenant: Tenant, size: int) -> Iterator[None]:
    """Skips the test where the service takes no file of no bytes, in one reading of its contract."""
    try:
        yield
    except Rejected as refused:
        if size or not tenant.variant or "empty" not in tenant.wired.refuses:
            raise
        pytest.skip(f"a file of no bytes is refused: {refused.message}")


@estimates
@creates
@pytest.mark.needs(Operation.ENSURE_TERM)
@pytest.mark.needs("network")
async def test_a_draft_with_a_term_that_is_still_to_be_made_costs_something(service: Service) -> None:
    """A plan makes no terms; it foretells them, and the drafts that use them after them."""
    term = Term("Moor", path=("Moor",))
    estimator = Estimator(service)
    assert estimator.write(term)
    draft = await plain_draft(service, fields={spell(service, "subject"): (replace(term, id="planned-1"),)})
    assert estimator.write(draft, 700)


@estimates
@creates
@pytest.mark.parametrize("size", [0, 10, 21_000_000], ids=["empty", "small", "large"])
@pytest.mark.parametrize("full", [True, False], ids=["full", "plain"])
async def test_a_create_costs_what_was_estimated(tenant: Tenant, service: Service, full: bool, size: int) -> None:
    draft = await (full_draft(tenant, service) if full else plain_draft(service))
    with empty_may_be_refused(tenant, size):
        await create(tenant, service, draft, size)


@estimates
@creates
@pytest.mark.parametrize("number", [0, 3, 4, 5, 8, len(KEYS)])
async def test_fields_cost_what_was_estimated(tenant: Tenant, service: Service, schema: Schema, number: int) -> None:
    values = await values_for(service, schema, KEYS[:number])
    await create(tenant, service, await plain_draft(service, fields=values), 10)


@estimates
@creates
@pytest.mark.parametrize("without", ["tags", "rights", "status", "placements"])
async def test_each_part_costs_what_was_estimated(tenant: Tenant, service: Service, without: str) -> None:
    draft = await full_draft(tenant, service)
    bare = {field.name: field.default for field in fields(Draft)}
    empty: Any = {"tags": frozenset(), "placements": frozenset(), "status": ""}.get(without, Draft(None, "").rights)
    assert without in bare
    await create(tenant, service, replace(draft, **{without: empty}), 10)


@estimates
@pytest.mark.needs(Operation.UPDATE)
@pytest.mark.parametrize("number", [1, 3, 5, len(KEYS)])
@pytest.mark.parametrize("clears", [True, False], ids=["clears", "sets"])
async def test_an_update_costs_what_was_estimated(
    tenant: Tenant, service: Service, schema: Schema, number: int, clears: bool
) -> None:
    identity, _ = await made(tenant, service, await full_draft(tenant, service))
    tenant.advance(90)
    single = [key for key in KEYS if key != "title" and not schema.fields[tenant.key(key)].multiple]
    keys = single[:number] if clears or "values" in tenant.wired.quiet else KEYS[:number]
    values = await values_for(service, schema, keys, other=True)
    patch = Patch(fields=dict.fromkeys(values) if clears else values)
    await check(tenant, Estimator(service).write(patch), lambda: service.update(identity, patch))


@estimates
@pytest.mark.needs(Operation.UPDATE)
async def test_a_mixed_update_costs_what_was_estimated(
    tenant: Tenant, service: Service, schema: Schema, can: frozenset[str]
) -> None:
    draft = await full_draft(tenant, service)
    identity, _ = await made(tenant, service, draft)
    tenant.advance(90)
    stays = MembershipWrite.AT_CREATION
    gone = frozenset(p for p in draft.placements if service.capabilities.membership(p.kind) is not stays)
    patch = Patch(fields={tenant.key("note"): "x"}, placements_remove=gone)
    if "write:tags" in can:
        patch = replace(patch, tags_add=frozenset({"x"}), tags_remove=frozenset({"sea"}))
    if "write:groups" in can:
        patch = replace(patch, rights=draft.rights)
    if "write:status" in can:
        patch = replace(patch, status=min(schema.statuses - {"published"}) if schema.statuses else "archived")
    await check(tenant, Estimator(service).write(patch), lambda: service.update(identity, patch))


@estimates
@pytest.mark.needs(Operation.REPLACE)
@pytest.mark.parametrize("size", [0, 10, 21_000_000], ids=["empty", "small", "large"])
async def test_a_version_costs_what_was_estimated(tenant: Tenant, service: Service, size: int) -> None:
    identity, _ = await made(tenant, service, await plain_draft(service))
    await service.end_shared()
    tenant.advance(90)
    name = tenant.truth()[identity]["filename"]
    for estimate in (Estimator(service).first_version, Estimator(service).write):
        async with content(tenant, name, size, seed=estimate.__name__) as (given, _):
            told, sent = estimate(FileRef("", name, size)), given
            with empty_may_be_refused(tenant, size):
                await check(tenant, told, lambda c=sent: service.replace(identity, c, MemoryJournal()), service)  # type: ignore[misc]
        tenant.advance(90)


@estimates
@pytest.mark.needs(Operation.ENSURE_TERM)
async def test_a_term_costs_what_was_estimated(tenant: Tenant, service: Service, schema: Schema) -> None:
    key = vocabulary_of(service, schema, "subject")
    assert [term async for term in service.terms(key)]
    for term in (Term("One"), Term("Two", labels={"en": "Two", "fr": "Deux"})):
        told, given = Estimator(service).write(term), term
        await check(tenant, told, lambda t=given: service.ensure_term(key, t))  # type: ignore[misc]


@estimates
@pytest.mark.needs(Operation.ENSURE_CONTAINER)
async def test_a_container_costs_what_was_estimated(tenant: Tenant, service: Service) -> None:
    kind = tenant.wired.containers["folder"]
    assert await places(tenant, service)
    parent, path = "", ("One", "Two", "Three")
    for depth in range(1, 2 if "nested" in tenant.absent else 4):
        told = Estimator(service).write(Placement(kind, path[:depth]))
        with tenant.costs() as spent:
            parent = (await service.ensure_container(kind, path[:depth], parent)).id
        assert spent == alike(told)


@estimates
@pytest.mark.needs(Operation.PLACE)
async def test_bulk_membership_costs_what_was_estimated(tenant: Tenant, service: Service) -> None:
    known = await places(tenant, service)
    ids = tuple(tenant.truth())
    for name in ("folder", "collection"):
        kind = tenant.wired.containers.get(name, "")
        place = next((place for place in known.values() if place.kind == kind), None)
        if place is None or service.capabilities.membership(kind) is not MembershipWrite.IN_BULK:
            continue
        await service.place(place, [], ids)
        for one in ids[:2]:  # what the first calls prove is read back: the second has a member that has to stay
            await service.place(place, [one], [])
        told = Estimator(service).write(Membership(place, ids[2:]))
        await check(tenant, told, lambda p=place: service.place(p, ids[2:], []))  # type: ignore[misc]


@estimates
@pytest.mark.needs(Operation.ATTACH)
async def test_an_attachment_costs_what_was_estimated(tenant: Tenant, service: Service) -> None:
    identity, _ = await made(tenant, service, await plain_draft(service))
    await service.end_shared()
    async with content(tenant, "paper.pdf", 500) as (given, _):
        told = Estimator(service).write(Attachment("paper.pdf"), 500)
        await check(tenant, told, lambda: service.attach(identity, given, MemoryJournal()), service)


@estimates
@pytest.mark.needs(Operation.RELATE)
async def test_a_relation_costs_what_was_estimated(tenant: Tenant, service: Service) -> None:
    for target in (tenant.of_catalogue(4), tenant.of_catalogue(5)):
        relation = Relation(tenant.relation, target)
        told = Estimator(service).write(relation)
        await check(tenant, told, lambda r=relation: service.relate(tenant.of_catalogue(1), r))  # type: ignore[misc]


@estimates
@pytest.mark.needs(Operation.ATTACH, Operation.DETACH)
async def test_removing_an_attachment_costs_what_was_estimated(tenant: Tenant, service: Service) -> None:
    identity, _ = await made(tenant, service, await plain_draft(service))
    await service.end_shared()
    async with content(tenant, "paper.pdf", 500) as (given, _):
        await service.attach(identity, given, MemoryJournal())
    tenant.advance(30)
    file = FileRef("", "paper.pdf", 500)
    told = Estimator(service).write(PartRemoval(file))
    await check(tenant, told, lambda: service.detach(identity, file, MemoryJournal()))


@estimates
@pytest.mark.needs(Operation.RELATE, Operation.UNRELATE)
async def test_removing_a_relation_costs_what_was_estimated(tenant: Tenant, service: Service) -> None:
    relations = [Relation(tenant.relation, tenant.of_catalogue(number)) for number in (4, 5)]
    for relation in relations:
        await service.relate(tenant.of_catalogue(1), relation)
    for relation in relations:
        told = Estimator(service).write(PartRemoval(relation))
        await check(tenant, told, lambda r=relation: service.unrelate(tenant.of_catalogue(1), r))  # type: ignore[misc]


@estimates
@pytest.mark.needs(Operation.RENAME_TERM)
async def test_renaming_terms_costs_what_was_estimated(tenant: Tenant, service: Service) -> None:
    key = vocabulary_of(service, await service.schema(), "subject")
    known = {term.label: term async for term in service.terms(key)}
    for old, new in (("Sea", "Ocean"), ("Nature", "Wild")):
        told = Estimator(service).write(Renaming(known[old]))
        await check(tenant, told, lambda o=known[old], n=new: service.rename_term(key, o, Term(n)))  # type: ignore[misc]
    renamed = {term.label: term async for term in service.terms(key)}
    for old, new in (("Sea", "Ocean"), ("Nature", "Wild")):
        await service.rename_term(key, renamed[new], Term(old))  # other tests look for it


@estimates
@pytest.mark.needs(Operation.RENAME_CONTAINER)
async def test_renaming_containers_costs_what_was_estimated(tenant: Tenant, service: Service) -> None:
    known = [place async for place in service.containers() if place.kind in service.capabilities.renames]
    for number, place in enumerate(known[-2:]):
        path = (*place.path[:-1], f"Renamed {number}")
        told = Estimator(service).write(Renaming(place))
        await check(tenant, told, lambda o=place, n=path: service.rename_container(o, n))  # type: ignore[misc]
        await service.rename_container(replace(place, path=path), place.path)  # other tests look for it


@estimates
@pytest.mark.needs("network")
async def test_an_estimate_sends_nothing(tenant: Tenant, service: Service) -> None:
    drafts = [await full_draft(tenant, service), await plain_draft(service)]
    with tenant.costs() as spent:
        for draft in drafts:
            assert Estimator(service).write(draft, 1000)
    assert not spent


# -- counters and limits -----------------------------------------------------------------------------------------------


async def test_reading_is_counted_as_the_service_counts_it(tenant: Tenant) -> None:
    service = tenant.connect(read_only=True)
    with tenant.costs() as spent:
        await service.probe()
        for entry in await entries(service):
            found = await service.fetch(entry.id)
            if found.file and found.status != TRASH:  # a service may give no link to those
                await body(service, found.file)
        assert await places(tenant, service)
        if Operation.TERMS in service.capabilities:
            assert [term async for term in service.terms(vocabulary_of(service, await service.schema(), "subject"))]
    assert alike(service.calls) == spent


@pytest.mark.needs("network")
async def test_retries_are_counted(tenant: Tenant) -> None:
    service = tenant.connect(read_only=True)
    tenant.fail({"match": "GET *", "times": 2, "do": "status:503"})
    with tenant.costs() as spent:
        await service.probe()
    assert alike(service.calls) == spent


async def test_a_new_connection_has_made_no_call(tenant: Tenant) -> None:
    assert not tenant.connect().calls


@pytest.mark.needs("network")
async def test_the_limit_of_calls_at_once_is_respected(fresh: Fresh) -> None:
    tenant = fresh([*SCHEMA, *(asset(number) for number in range(1, 41))])
    service = tenant.connect(read_only=True, concurrency=3)
    await service.schema()
    tenant.fail({"match": "GET *", "do": "delay:0.01"})
    ids = list(tenant.truth())
    await asyncio.gather(*(service.fetch(identity) for identity in ids))
    assert 2 <= tenant.world.peak_at_once <= 3


@pytest.mark.needs("network")
async def test_the_requested_rate_is_respected(fresh: Fresh) -> None:
    tenant = fresh([*SCHEMA, *(asset(number) for number in range(1, 41))], rate=None)
    service = tenant.connect(read_only=True, clock=SystemClock(), calls_per_second=25.0)
    await service.schema()
    ids = list(tenant.truth())[:16]
    await asyncio.gather(*(service.fetch(identity) for identity in ids))
    assert 10 <= tenant.world.peak_per_second <= 28
    assert not tenant.world.refused


@pytest.mark.needs("limits:per_second")
async def test_the_documented_rate_is_never_passed(fresh: Fresh) -> None:
    tenant = fresh()
    limit = tenant.connect().limits.pace.per_second
    faster = tenant.connect(calls_per_second=10_000.0).limits.pace.per_second
    assert limit is not None
    assert faster is not None
    assert faster < 2 * limit


@pytest.mark.needs("network")
async def test_too_fast_is_waited_out(tenant: Tenant) -> None:
    service = tenant.connect(read_only=True)
    await service.schema()
    tenant.fail({"match": "GET *", "times": 3, "do": "throttle:1"})
    before = tenant.world.now()
    await service.fetch(next(iter(tenant.shown())))
    assert (tenant.world.now() - before).total_seconds() >= 2


@pytest.mark.needs("network")
async def test_a_limit_of_calls_stops_the_run(tenant: Tenant) -> None:
    service = tenant.connect(read_only=True, max_calls=3)

    async def much() -> None:
        for _ in range(5):
            await service.probe()
            await entries(service)

    with tenant.costs() as spent, pytest.raises(StopRequested):
        await much()
    assert spent.total() == 3


def test_limits_make_sense(library_tenant: Tenant) -> None:
    limits = library_tenant.connect().limits
    assert limits.page > 0
    assert limits.reach is None or limits.reach >= limits.page
    assert limits.pace.at_once > 0
    assert limits.pace.storage_at_once > 0
    if limits.parts is not None:
        assert limits.parts.least <= limits.parts.preferred <= (limits.parts.most or limits.parts.preferred)
        assert limits.parts.split(limits.largest_bytes or 10**9)
    assert limits.single_bytes is None or limits.single_bytes <= (limits.largest_bytes or limits.single_bytes)


@pytest.mark.needs("network")
async def test_two_connections_count_apart(tenant: Tenant) -> None:
    one, two = tenant.connect(), tenant.connect()
    await one.probe()
    assert sum(Counter(one.calls).values())
    assert not two.calls


# -- read-only ---------------------------------------------------------------------------------------------------------

Write = Callable[[Tenant, Service, AssetId], Awaitable[Any]]


async def _create(tenant: Tenant, service: Service, identity: AssetId) -> None:
    async with content(tenant) as (given, _):
        await service.create(await plain_draft(service), given, MemoryJournal())


async def _replace(tenant: Tenant, service: Service, identity: AssetId) -> None:
    async with content(tenant, "photo 4.jpg") as (given, _):
        await service.replace(identity, given, MemoryJournal())


async def _attach(tenant: Tenant, service: Service, identity: AssetId) -> None:
    async with content(tenant) as (given, _):
        await service.attach(identity, given, MemoryJournal())


async def _detach(tenant: Tenant, service: Service, identity: AssetId) -> None:
    (row, *_) = tenant.truth()[identity]["attachments"] or [{"name": "a.pdf", "size": 1, "digests": {}}]
    await service.detach(identity, FileRef("", row["name"], row["size"], digests=row["digests"]), MemoryJournal())


async def _place(tenant: Tenant, service: Service, identity: AssetId) -> None:
    place = next(iter((await places(tenant, service)).values()))
    await service.place(place, [identity], [])


async def _ensure_term(tenant: Tenant, service: Service) -> None:
    await service.ensure_term(vocabulary_of(service, await service.schema(), "subject"), Term("Never"))


async def _rename_term(tenant: Tenant, service: Service) -> None:
    key = vocabulary_of(service, await service.schema(), "subject")
    sea = {term.label: term async for term in service.terms(key)}["Sea"]
    await service.rename_term(key, sea, Term("Never"))


async def _rename_container(tenant: Tenant, service: Service) -> None:
    kinds = service.capabilities.renames
    known = [place for place in (await places(tenant, service)).values() if not kinds or place.kind in kinds]
    await service.rename_container(known[0], (*known[0].path[:-1], "Never"))


WRITES: dict[Operation, Write] = {
    Operation.CREATE: _create,
    Operation.UPDATE: lambda tenant, service, identity: service.update(
        identity, Patch(fields={tenant.key("note"): "x"})
    ),
    Operation.REPLACE: _replace,
    Operation.RESTORE_VERSION: lambda tenant, service, identity: service.restore_version(
        identity, FileRef("00000000-0000-0000-0000-000000000000/1", "")
    ),
    Operation.REMOVE: lambda tenant, service, identity: service.remove(identity),
    Operation.ENSURE_TERM: lambda tenant, service, identity: _ensure_term(tenant, service),
    Operation.ENSURE_CONTAINER: lambda tenant, service, identity: service.ensure_container(
        tenant.wired.containers["folder"], ("Never",)
    ),
    Operation.RENAME_TERM: lambda tenant, service, identity: _rename_term(tenant, service),
    Operation.RENAME_CONTAINER: lambda tenant, service, identity: _rename_container(tenant, service),
    Operation.PLACE: _place,
    Operation.ATTACH: _attach,
    Operation.RELATE: lambda tenant, service, identity: service.relate(
        identity, Relation(tenant.relation, tenant.of_catalogue(5))
    ),
    Operation.DETACH: _detach,
    Operation.UNRELATE: lambda tenant, service, identity: service.unrelate(
        identity, Relation(tenant.relation, tenant.of_catalogue(2))
    ),
}
WITH_PARTS = {Operation.RELATE, Operation.UNRELATE, Operation.DETACH}  # tried on the asset that has them


@pytest.mark.parametrize("operation", [pytest.param(each, marks=pytest.mark.needs(each)) for each in WRITES])
async def test_a_source_never_writes(tenant: Tenant, source: Service, operation: Operation) -> None:
    before = json.dumps(list(tenant.truth().values()), sort_keys=True, default=str)
    identity = tenant.of_catalogue(1 if operation in WITH_PARTS else 4)
    with tenant.costs() as spent, pytest.raises(DamSyncError) as refused:
        await WRITES[operation](tenant, source, identity)
    assert not writes(spent)
    assert "read-only" in str(refused.value)
    assert json.dumps(list(tenant.truth().values()), sort_keys=True, default=str) == before


@pytest.mark.needs(Operation.REMOVE, Operation.RESTORE)
async def test_a_source_takes_nothing_out_of_the_trash(tenant: Tenant, source: Service) -> None:
    identity = tenant.of_catalogue(4)
    await tenant.connect().remove(identity)
    with tenant.costs() as spent, pytest.raises(DamSyncError, match="read-only"):
        await source.restore(identity, Draft(None, "", status="published"))
    assert not writes(spent)
    assert tenant.truth()[identity]["status"] == "trash"


def test_every_writing_operation_is_tried() -> None:
    reading = {Operation.FIND, Operation.MEMBERS, Operation.TERMS, Operation.CONTAINERS}
    reading |= {Operation.COUNTS, Operation.PUBLIC_LINKS, Operation.DOWNLOAD_LINK}
    elsewhere = {Operation.RESTORE, Operation.SUBSCRIBE}  # in tests of their own
    assert set(WRITES) == set(Operation) - reading - elsewhere


async def test_what_a_service_cannot_do_says_so(tenant: Tenant, service: Service) -> None:
    for operation in set(WRITES) - service.capabilities.operations:
        with pytest.raises(Rejected):
            await WRITES[operation](tenant, service, tenant.of_catalogue(4))
