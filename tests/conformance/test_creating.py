"""The contract of a target: create and find, with every fault in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Draft, Marker
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.errors import InvalidValue, NotFound, Rejected, StopRequested, Unsupported
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Term
from tests.conformance.catalogue import MARKER, SCHEMA
from tests.conformance.drafts import KEYS, check_made, full_draft, made, marked, plain_draft, values_for, worked, writes
from tests.conformance.tenant import Tenant, content
from tests.support.services.connections import alike, body
from tests.support.state.memory_journal import Crash, MemoryJournal

Fresh = Callable[..., Tenant]
pytestmark = pytest.mark.needs(Operation.CREATE, Operation.FIND)


async def test_an_asset_is_created_with_everything(tenant: Tenant, service: Service, schema: Schema) -> None:
    draft = await full_draft(tenant, service)
    identity, digest = await made(tenant, service, draft)
    assert check_made(tenant, schema, draft, digest)["id"] == identity


async def test_what_was_created_is_read_back_the_same(tenant: Tenant, service: Service, schema: Schema) -> None:
    draft = await full_draft(tenant, service)
    identity, _ = await made(tenant, service, draft)
    found = await tenant.connect(read_only=True).fetch(identity)
    assert found.tags == draft.tags
    assert found.filename == draft.filename
    assert "types" in tenant.absent or found.type == "Photo"
    assert not draft.rights.groups or found.rights.groups == draft.rights.groups
    parts = service.capabilities.parts
    assert "release" not in parts or found.rights.release_at == draft.rights.release_at
    assert "expiry" not in parts or found.rights.expires_at == draft.rights.expires_at
    for key, value in draft.fields.items():
        if not isinstance(value, tuple | Term):
            assert found.fields[key] == value
    if Operation.MEMBERS not in service.capabilities:
        assert found.placements >= draft.placements


@pytest.mark.parametrize("key", KEYS)
async def test_each_kind_of_field_can_be_created(tenant: Tenant, service: Service, schema: Schema, key: str) -> None:
    draft = await plain_draft(service, fields=await values_for(service, schema, [key]))
    check_made(tenant, schema, draft, (await made(tenant, service, draft))[1])


async def test_the_least_is_enough(tenant: Tenant, service: Service, schema: Schema) -> None:
    draft = await plain_draft(service)
    check_made(tenant, schema, draft, (await made(tenant, service, draft))[1])


@pytest.mark.parametrize("size", [1, 4096, 5 << 20], ids=["byte", "small", "spooled"])
async def test_files_of_any_size_arrive_whole(tenant: Tenant, service: Service, schema: Schema, size: int) -> None:
    draft = await plain_draft(service)
    identity, digest = await made(tenant, service, draft, size)
    check_made(tenant, schema, draft, digest)
    tenant.advance(30)  # until the service has looked at the file
    file = (await service.fetch(identity)).file
    assert file is not None
    assert file.size == size == len(await body(service, file))


@pytest.mark.needs("limits:parts", "limits:single_bytes")
async def test_a_large_file_goes_in_parts(tenant: Tenant, service: Service, schema: Schema) -> None:
    draft = await plain_draft(service)
    assert service.limits.single_bytes is not None
    _, digest = await made(tenant, service, draft, service.limits.single_bytes + 12_345)
    check_made(tenant, schema, draft, digest)


@pytest.mark.needs("limits:parts", "limits:single_bytes")
@pytest.mark.parametrize("fault", ["reset_after", "status:503"])
@pytest.mark.needs("network")
async def test_a_large_file_survives_faults_in_its_parts(fresh: Fresh, schema: Schema, fault: str) -> None:
    tenant = fresh()
    service = tenant.connect()
    draft, journal = await plain_draft(service), MemoryJournal()
    size = (service.limits.single_bytes or 0) + 12_345
    async with content(tenant, draft.filename, size) as (given, digest):
        tenant.fail(
            {"match": "P* *", "nth": 2, "do": fault},
            {"match": "P* *", "nth": 4, "do": fault},
        )
        await worked(lambda: service.create(draft, given, journal), journal)
    check_made(tenant, schema, draft, digest)


async def test_an_asset_without_a_file_is_made_or_refused(tenant: Tenant, service: Service, schema: Schema) -> None:
    draft = await plain_draft(service)
    if "fileless" in tenant.wired.refuses:
        with pytest.raises(Unsupported):
            await service.create(draft, None, MemoryJournal())
        assert not tenant.marked(draft.marker.value if draft.marker else "")
    else:
        await service.create(draft, None, MemoryJournal())
        assert not check_made(tenant, schema, draft)["versions"]


async def test_the_name_of_an_asset_without_a_file_is_stored_as_the_target_declares(
    tenant: Tenant, service: Service
) -> None:
    if "fileless" in tenant.wired.refuses:
        return
    draft = await plain_draft(service, filename="no file.jpg")
    identity = await service.create(draft, None, MemoryJournal())
    tenant.advance(30)
    assert (await service.fetch(identity)).filename == service.bare_filename(draft)


NAMES = [
    "Œuvre d’été (1).jpg",
    "a b  c.JPG",
    "no extension",
    "x" * 90 + ".jpg",
    "日本.jpg",
    "a'b\"c&d=e.jpg",
    "50%.jpg",
]


@pytest.mark.parametrize("name", NAMES)
async def test_odd_file_names_are_stored_or_refused(
    tenant: Tenant, service: Service, schema: Schema, name: str
) -> None:
    draft = await plain_draft(service, filename=name)
    try:
        _, digest = await made(tenant, service, draft)
    except InvalidValue:
        assert "names" in tenant.wired.refuses
        assert not tenant.marked(draft.marker.value if draft.marker else "")
    else:
        check_made(tenant, schema, draft, digest)


@pytest.mark.parametrize(
    "wrong",
    [
        {"fields": {"no such field": "x"}},
        pytest.param({"fields": {"rating": "many"}}, marks=pytest.mark.needs("write:number")),
        pytest.param({"profile": "no such profile"}, marks=pytest.mark.needs("types")),
    ],
    ids=["field", "value", "profile"],
)
@pytest.mark.needs("checks")
async def test_what_cannot_be_written_is_refused_and_leaves_nothing(
    tenant: Tenant, service: Service, wrong: dict[str, Any]
) -> None:
    before = set(tenant.truth())
    if "fields" in wrong:
        wrong = {"fields": {tenant.key(name): value for name, value in wrong["fields"].items()}}
    draft = await plain_draft(service, **wrong)
    with pytest.raises(Rejected) as refused:
        await made(tenant, service, draft)
    assert refused.value.service == service.kind
    assert set(tenant.truth()) == before


@pytest.mark.needs("checks")
async def test_a_container_that_does_not_exist_is_refused(tenant: Tenant, service: Service) -> None:
    draft = await full_draft(tenant, service)
    if not draft.placements:
        return  # `place` fills them
    lost = frozenset(replace(place, id="") for place in draft.placements)
    with pytest.raises(InvalidValue):
        await made(tenant, service, replace(draft, placements=lost))


# -- crashes and lost responses ----------------------------------------------------------------------------------------


async def attempted(tenant: Tenant, draft: Draft, blow_at: int) -> tuple[MemoryJournal, str]:
    """One process that ends at that moment, and another that goes on."""
    journal = MemoryJournal(blow_at)
    service = tenant.connect()
    async with content(tenant, draft.filename, seed=str(draft.marker)) as (given, digest):
        try:
            await service.create(draft, given, journal)
        except Crash:
            journal.blow_at = None
            other = tenant.connect()
            await worked(lambda: other.create(draft, given, journal), journal)
    return journal, digest


@pytest.mark.calls(2500)
async def test_no_crash_doubles_an_asset_or_leaves_it_incomplete(
    tenant: Tenant, service: Service, schema: Schema
) -> None:
    base = await full_draft(tenant, service)
    for blow_at in range(1, 60):
        draft = renamed(base, f"crash-{tenant.world.word(4)}-{blow_at}")
        journal, digest = await attempted(tenant, draft, blow_at)
        check_made(tenant, schema, draft, digest)
        await tenant.disconnect()
        if journal.blow_at is not None:
            break
    else:
        raise AssertionError("no end of crash points")
    assert blow_at > 3


def renamed(draft: Draft, key: str) -> Draft:
    field = draft.marker.field if draft.marker else MARKER
    return replace(draft, marker=Marker(field, key), filename=f"{key}.jpg", fields={**draft.fields, field: key})


@pytest.mark.calls(4000)
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
@pytest.mark.needs("network")
async def test_no_lost_write_doubles_an_asset(tenant: Tenant, service: Service, schema: Schema, fault: str) -> None:
    """Each write call of a create is lost in turn, before or after it was done; another process goes on."""
    base = await full_draft(tenant, service)
    await made(tenant, service, renamed(base, f"first-{fault}"))  # what a tenant is given once is there from now on
    with tenant.costs() as spent:
        await made(tenant, service, renamed(base, f"whole-{fault}"))
    for name, times in writes(spent):
        for nth in range(1, times + 1):
            draft, journal = renamed(base, f"{fault}-{tenant.world.word(8)}"), MemoryJournal()
            one, other = tenant.connect(), tenant.connect()
            await one.schema()
            tenant.faults.clear()
            tenant.fail({"match": name, "nth": nth, "do": fault})
            async with content(tenant, draft.filename, seed=str(draft.marker)) as (given, digest):
                try:
                    await one.create(draft, given, journal)
                except Exception:  # noqa: BLE001 - whatever ended the first process, the other must end well
                    await worked(lambda s=other, d=draft, g=given, m=journal: s.create(d, g, m), journal)  # type: ignore[misc]
            assert not tenant.faults.unhit()
            check_made(tenant, schema, draft, digest)
            await tenant.disconnect()


@pytest.mark.calls(2500)
@pytest.mark.needs("network")
async def test_a_run_stopped_at_any_call_goes_on(tenant: Tenant, service: Service, schema: Schema) -> None:
    base = await full_draft(tenant, service)
    stops = 0
    for most in range(1, 60):
        draft, journal = renamed(base, f"stop-{tenant.world.word(4)}-{most}"), MemoryJournal()
        async with content(tenant, draft.filename, seed=str(draft.marker)) as (given, digest):
            try:
                await tenant.connect(max_calls=most).create(draft, given, journal)
            except StopRequested:
                stops += 1
                other = tenant.connect()
                await worked(lambda s=other, d=draft, g=given, m=journal: s.create(d, g, m), journal)  # type: ignore[misc]
                check_made(tenant, schema, draft, digest)
                await tenant.disconnect()
                continue
        check_made(tenant, schema, draft, digest)
        break
    assert stops > 3


async def test_twins_made_at_once_stay_apart(tenant: Tenant, service: Service, schema: Schema) -> None:
    """Equal bytes, and equal names where a name alone is no identity; some responses are lost."""
    same = service.capabilities.writes(Feature.SAME_NAMES)
    drafts = [await plain_draft(service) for _ in range(6)]
    drafts = [replace(draft, filename="same.jpg" if same else draft.filename) for draft in drafts]
    await made(tenant, service, await plain_draft(service))
    with tenant.costs() as spent:  # what every asset costs, containers and terms being there
        await made(tenant, service, await plain_draft(service))
    for name, _ in writes(spent):
        if name.startswith("POST"):
            tenant.fail({"match": name, "nth": 1, "do": "reset_after"})

    async def make(draft: Draft) -> AssetId:
        journal = MemoryJournal()
        async with content(tenant, draft.filename) as (given, _):
            return await worked(lambda: service.create(draft, given, journal), journal)

    found = await asyncio.gather(*(make(draft) for draft in drafts))
    assert [check_made(tenant, schema, draft)["id"] for draft in drafts] == found


# -- find --------------------------------------------------------------------------------------------------------------


async def test_the_marker_finds_exactly_its_asset(tenant: Tenant, service: Service) -> None:
    assets = [await marked(tenant, service, key) for key in ("find-1", "find-1-1", "find-11", "FIND_1")]
    for identity, marker in assets:
        assert await service.find(marker) == identity


async def test_find_waits_out_the_lag(fresh: Fresh) -> None:
    tenant = fresh(SCHEMA, lag=20)
    identity, marker = await marked(tenant, tenant.connect())
    assert await tenant.connect().find(marker) == identity


@pytest.mark.needs(Operation.REMOVE)
async def test_a_new_asset_is_found_though_one_in_the_trash_has_its_marker(fresh: Fresh) -> None:
    """As after a rollback and another run that was killed; otherwise it would be created twice."""
    tenant = fresh(SCHEMA, lag=20)
    service = tenant.connect()
    before, marker = await marked(tenant, service, "again")
    tenant.advance(60)
    await service.remove(before)
    tenant.advance(60)
    identity, _ = await marked(tenant, tenant.connect(), "again")
    assert await tenant.connect().find(marker) == identity


async def test_the_lag_is_no_longer_because_the_service_sets_its_clock_back(fresh: Fresh) -> None:
    """What a killed process made is looked for as long as the index may take for it, and then made again."""
    tenant = fresh(SCHEMA, lag=20)
    identity, marker = await marked(tenant, tenant.connect())
    tenant.advance(-3_600)
    assert await tenant.connect().find(marker) == identity


async def test_nothing_is_found_only_after_the_lag(tenant: Tenant, service: Service) -> None:
    before = tenant.world.now()
    assert await service.find(Marker(tenant.key(MARKER), "nobody")) is None
    assert tenant.world.now() - before >= min(service.limits.lag, timedelta(seconds=30))


async def test_a_look_for_a_marker_costs_little_and_waits_for_nothing(tenant: Tenant, service: Service) -> None:
    """Asked before each create: it may find an asset in the trash, and never another one."""
    identity, marker = await marked(tenant, service)
    tenant.advance(7200)  # what other tests created is not new any more
    await service.look_for(marker)  # signs in again
    for asked, found in ((marker, identity), (replace(marker, value=f"{marker.value}x"), None)):
        before, calls = tenant.world.now(), sum(service.calls.values())
        assert await service.look_for(asked) == found
        assert sum(service.calls.values()) - calls <= 3
        assert tenant.world.now() - before < timedelta(seconds=5)


@pytest.mark.needs(Operation.REMOVE)
async def test_find_sees_the_truth_of_a_changed_marker(tenant: Tenant, service: Service) -> None:
    """The index may show the old value; the asset itself decides."""
    _, marker = await marked(tenant, service)
    assert await service.find(replace(marker, value=f"{marker.value}x")) is None


async def test_what_was_created_can_be_fetched_at_once(tenant: Tenant, service: Service) -> None:
    identity, _ = await made(tenant, service, await plain_draft(service))
    assert (await service.fetch(identity)).id == identity
    with pytest.raises(NotFound):
        await service.fetch(AssetId("999999999"))


async def test_calls_are_counted_as_the_service_counts_them(tenant: Tenant) -> None:
    service = tenant.connect()
    with tenant.costs() as spent:
        await service.probe()
        await made(tenant, service, await full_draft(tenant, service))
    assert alike(service.calls) == spent
