"""The contract of a source: probe, schema, shards, crawl."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

from dam_sync.model.asset import AssetId, Entry, Patch
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import ContractBroken, Denied, Transient, TruncatedListing
from dam_sync.model.schema import FieldKind, Schema
from dam_sync.model.service import Service, Shard, Window
from tests.conformance.abilities import every_ability
from tests.conformance.catalogue import MARKER, SCHEMA, asset, crowd
from tests.conformance.tenant import Tenant
from tests.conformance.wiring import WIRED
from tests.support.services.connections import EVERYTHING, entries
from tests.support.services.small_limits import changed

Fresh = Callable[..., Tenant]


# -- probe -------------------------------------------------------------------------------------------------------------


@pytest.mark.calls(20)
@pytest.mark.needs("network")
async def test_every_good_credential_is_proven(tenant: Tenant) -> None:
    for way in tenant.wired.auth:
        account = await tenant.connect(way).probe()
        assert account.tenant
        assert account.user
        assert abs(account.clock_skew) < timedelta(seconds=5)


@pytest.mark.needs("network")
def test_every_auth_method_of_the_connector_is_tried(library_tenant: Tenant) -> None:
    assert {way["flow"] for way in library_tenant.wired.auth} == set(library_tenant.kind.auth)


@pytest.mark.calls(20)
async def test_the_clock_is_compared(tenant: Tenant) -> None:
    account = await tenant.connect().probe()
    assert abs(account.clock_skew) < timedelta(seconds=5)


@pytest.mark.calls(5)
@pytest.mark.needs("network")
async def test_a_bad_credential_is_denied_at_once(tenant: Tenant) -> None:
    with pytest.raises(Denied):
        await tenant.connect(tenant.wired.denied).probe()


@pytest.mark.needs("network")
async def test_an_empty_tenant_proves_a_good_credential_and_not_a_bad_one(fresh: Fresh) -> None:
    tenant = fresh(SCHEMA)
    assert (await tenant.connect().probe()).total in (0, None)
    with pytest.raises(Denied):
        await tenant.connect(tenant.wired.denied).probe()


async def test_probe_counts_what_the_credential_sees(tenant: Tenant, source: Service) -> None:
    total = (await source.probe()).total
    living = sum(row["status"] != "trash" for row in tenant.truth().values())
    assert total in (None, living, len(tenant.truth()))


async def test_the_same_tenant_is_recognized_by_the_same_name(tenant: Tenant) -> None:
    names = {(await tenant.connect(way).probe()).tenant for way in tenant.wired.auth}
    assert len(names) == 1


async def test_probe_only_takes_abilities_away(tenant: Tenant) -> None:
    service = tenant.connect()
    before = service.capabilities.operations
    await service.probe()
    after, declared = service.capabilities.operations, tenant.kind.capabilities.operations
    assert after <= before <= declared


def test_abilities_are_exactly_those_written_down(library_tenant: Tenant, can: frozenset[str]) -> None:
    assert can == every_ability() - library_tenant.absent


# -- schema ------------------------------------------------------------------------------------------------------------

KINDS = {
    MARKER: {FieldKind.TEXT},
    "title": {FieldKind.TEXT},
    "legend": {FieldKind.LONG_TEXT, FieldKind.TEXT},
    "body": {FieldKind.HTML, FieldKind.LONG_TEXT},
    "shot": {FieldKind.DATE},
    "seen": {FieldKind.INSTANT, FieldKind.DATE},
    "rating": {FieldKind.NUMBER},
    "cleared": {FieldKind.FLAG},
    "subject": {FieldKind.TERM},
    "country": {FieldKind.TERM},
    "spot": {FieldKind.PLACE, FieldKind.TEXT},
    "mail": {FieldKind.EMAIL, FieldKind.TEXT},
    "web": {FieldKind.URL, FieldKind.TEXT},
}


TEXTUAL = frozenset({FieldKind.TEXT, FieldKind.LONG_TEXT, FieldKind.TERM})


@pytest.mark.parametrize("key", KINDS)
def test_each_field_has_its_kind(library_tenant: Tenant, schema: Schema, key: str) -> None:
    """A kind that the service says it has not is kept as text, or as a choice of texts."""
    lost = {kind for kind in KINDS[key] if f"write:{kind.value}" in library_tenant.absent}
    wanted = KINDS[key] if lost != KINDS[key] else TEXTUAL
    assert schema.fields[library_tenant.key(key)].kind in wanted


def test_fields_are_read_under_their_own_keys(schema: Schema) -> None:
    assert all(key == field.key for key, field in schema.fields.items())
    assert all(key == vocabulary.key for key, vocabulary in schema.vocabularies.items())


def test_the_required_field_is_required_and_only_it(library_tenant: Tenant, schema: Schema) -> None:
    own = [library_tenant.key(key) for key in KINDS]
    assert [key for key in own if schema.fields[key].required] == [library_tenant.key("title")]


def test_one_value_and_several_are_distinguished(library_tenant: Tenant, schema: Schema) -> None:
    several = {key for key in KINDS | {"keywords": {}} if schema.fields[library_tenant.key(key)].multiple}
    assert several == {"keywords", "subject"}


@pytest.mark.needs("types")
def test_the_type_is_there_with_a_profile_to_create_it(library_tenant: Tenant, schema: Schema) -> None:
    (photo,) = (each for each in schema.types if each.name == "Photo")
    assert photo.profile
    assert all("Photo" in schema.fields[library_tenant.key(key)].types for key in KINDS)


def test_every_term_field_has_a_vocabulary_that_can_be_read(library_tenant: Tenant, schema: Schema) -> None:
    termed = {key: field for key, field in schema.fields.items() if field.kind is FieldKind.TERM}
    assert {library_tenant.key("subject"), library_tenant.key("country")} <= termed.keys()
    assert {field.vocabulary for field in termed.values()} <= schema.vocabularies.keys()


def test_the_marker_field_can_be_searched_and_written(library_tenant: Tenant, schema: Schema) -> None:
    field = schema.fields[library_tenant.key(MARKER)]
    assert field.indexed
    assert field.editable
    assert field.max_length in (None, 250, 255)


def test_lengths_are_those_of_the_tenant(library_tenant: Tenant, schema: Schema) -> None:
    assert schema.fields[library_tenant.key("note")].max_length in (None, 250, 255)


@pytest.mark.calls(60)
async def test_the_schema_stays_the_same(tenant: Tenant) -> None:
    service = tenant.connect(read_only=True)
    with tenant.costs() as first:
        told = await service.schema()
    with tenant.costs() as second:
        assert await service.schema() == told
    assert told.capabilities == service.capabilities
    assert second.total() < first.total() or not first


def test_closed_lists_are_in_the_schema(library_tenant: Tenant, schema: Schema, can: frozenset[str]) -> None:
    if "groups" in schema.capabilities.parts and "checks" in can:
        assert schema.groups is not None
        assert {"public", "staff"} <= schema.groups
    if "status" in schema.capabilities.parts:
        assert schema.statuses is None or "published" in schema.statuses
    given = {kind for kind in library_tenant.wired.containers.values() if f"write:{kind}" not in library_tenant.absent}
    assert schema.container_kinds == given or (schema.container_kinds > given and "checks" not in can)


# -- shards and crawl --------------------------------------------------------------------------------------------------


def living(tenant: Tenant) -> set[AssetId]:
    return {key for key, row in tenant.truth().items() if row["status"] != "trash"}


async def by_shard(service: Service, window: Window = EVERYTHING) -> list[tuple[Shard, list[Entry]]]:
    found = []
    async for shard in service.shards(window):
        batches = [batch async for batch in service.crawl(shard, None)]
        assert batches[-1].cursor is None
        assert all(batch.cursor is not None for batch in batches[:-1])
        found.append((shard, [entry for batch in batches for entry in batch.entries]))
    return found


def check_whole(tenant: Tenant, found: list[tuple[Shard, list[Entry]]], *, crowded: bool = False) -> None:
    """Every asset exactly once, in one shard only; what is in the trash may come, marked. `crowded`: rows lie so close
    that all may be at the borders of shards."""
    for _, rows in found:
        assert len({entry.id for entry in rows}) == len(rows)
    seen = Counter(entry.id for _, rows in found for entry in rows)
    assert set(seen.values()) <= {1} or (crowded and tenant.wired.overlaps)
    assert living(tenant) <= set(seen) <= set(tenant.truth())
    marked = {entry.id for _, rows in found for entry in rows if entry.deleted}
    assert marked == set(seen) - living(tenant)
    assert len({shard.id for shard, _ in found}) == len(found)


async def test_every_asset_is_listed_exactly_once(tenant: Tenant, source: Service) -> None:
    check_whole(tenant, await by_shard(source))


async def test_what_is_only_counted_is_listed_as_well_without_more_calls_for_an_asset(fresh: Fresh) -> None:
    files = [{"name": f"{name}.jpg", "generate": {"size": 1000, "seed": 1}} for name in ("older", "newer")]
    tenant = fresh([*SCHEMA, *(asset(number, versions=files) for number in range(1, 13))])
    with tenant.costs() as counted:
        found = await by_shard(tenant.connect(read_only=True), Window(ids_only=True))
    check_whole(tenant, found)
    with tenant.costs() as whole:
        await entries(tenant.connect(read_only=True))
    assert counted.total() <= whole.total()
    assert not {call: number for call, number in counted.items() if number >= 12}


async def test_an_empty_tenant_lists_nothing(fresh: Fresh) -> None:
    assert await entries(fresh(SCHEMA).connect(read_only=True)) == []


async def test_one_asset_is_listed(fresh: Fresh) -> None:
    tenant = fresh([*SCHEMA, asset(1)])
    assert {entry.id for entry in await entries(tenant.connect(read_only=True))} == set(tenant.truth())


async def test_entries_have_revision_and_time_of_change(source: Service) -> None:
    for entry in await entries(source):
        assert entry.revision
        assert entry.changed_at is None or entry.changed_at.tzinfo is not None
        assert entry.asset is None or (entry.asset.id, entry.asset.revision) == (entry.id, entry.revision)


async def test_the_order_is_stable(source: Service) -> None:
    first = [entry.id for entry in await entries(source)]
    assert first == [entry.id for entry in await entries(source)]


@pytest.mark.calls(60)
async def test_many_rows_of_one_timestamp_are_listed_exactly_once(fresh: Fresh) -> None:
    tenant = fresh(crowd(230))
    service = tenant.connect(read_only=True, options=tenant.wired.lean)
    check_whole(tenant, await by_shard(service), crowded=True)
    assert not tenant.world.refused


async def test_a_crawl_goes_on_from_every_cursor(fresh: Fresh) -> None:
    tenant = fresh(crowd(230))
    service = tenant.connect(read_only=True, options=tenant.wired.lean)
    resumed = 0
    async for shard in service.shards(EVERYTHING):
        shard = Shard(shard.id, json.loads(json.dumps(dict(shard.params))), shard.expected)
        batches = [batch async for batch in service.crawl(shard, None)]
        for number, batch in enumerate(batches):
            if batch.cursor is None:
                continue
            resumed += 1
            other = tenant.connect(read_only=True, options=tenant.wired.lean)
            cursor = json.loads(json.dumps(dict(batch.cursor)))
            again = Counter([entry.id async for one in other.crawl(shard, cursor) for entry in one.entries])
            missing = {entry.id for one in batches[number + 1 :] for entry in one.entries} - again.keys()
            assert not missing
            assert set(again.values()) <= {1}
    assert resumed


async def test_shards_say_how_many_rows_they_hold(fresh: Fresh) -> None:
    tenant = fresh(crowd(120, apart=timedelta(minutes=7)))
    for shard, rows in await by_shard(tenant.connect(read_only=True, options=tenant.wired.lean)):
        assert shard.expected in (None, len(rows))


@pytest.mark.parametrize("apart", [timedelta(hours=7), timedelta(0)], ids=["spread", "at-once"])
async def test_nothing_lies_beyond_the_reach(fresh: Fresh, which: tuple[str, str], apart: timedelta) -> None:
    kind = WIRED[which[0]]
    tenant = fresh(crowd(160, apart=apart), **kind.narrow_emulated)
    tenant.limits = changed(which[0], **kind.limits)
    service = tenant.connect(read_only=True, options={**kind.lean, **kind.narrow})
    found = await by_shard(service)
    check_whole(tenant, found, crowded=not apart)
    assert len(found) >= 2 or apart == timedelta(0) or service.limits.reach is None
    assert not tenant.world.refused


async def test_a_listing_is_never_asked_for_more_than_a_page(fresh: Fresh) -> None:
    tenant = fresh(crowd(230))
    service = tenant.connect(read_only=True, options=tenant.wired.lean)
    shards = [shard async for shard in service.shards(EVERYTHING)]
    most = max([len(batch.entries) for shard in shards async for batch in service.crawl(shard, None)])
    assert 0 < most <= service.limits.page
    assert not tenant.world.refused


async def changed_and_removed(tenant: Tenant, service: Service) -> tuple[AssetId, AssetId]:
    """One asset changed and one removed, an hour after everything else; the index knows it."""
    changed, removed = tenant.of_catalogue(2), tenant.of_catalogue(3)
    await service.update(changed, Patch(fields={tenant.key("note"): "changed"}))
    await service.remove(removed)
    tenant.advance(300)
    return changed, removed


@pytest.mark.needs(Operation.UPDATE, Operation.REMOVE)
async def test_a_delta_holds_what_changed_and_what_was_deleted(fresh: Fresh) -> None:
    tenant = fresh()
    service = tenant.connect()
    before = {entry.id: entry for entry in await entries(service)}
    since = tenant.world.now()
    changed, removed = await changed_and_removed(tenant, service)
    found = await entries(service, Window(since=since))
    wanted = {changed: False, removed: True}
    if "read:trash" in tenant.absent:
        del wanted[removed]
        assert removed not in {entry.id for entry in await entries(service)}
    assert {entry.id: entry.deleted for entry in news(found, before)} == wanted


def news(found: list[Entry], before: dict[AssetId, Entry]) -> list[Entry]:
    """The entries that are not as they were: all of a delta but where a delta lists everything."""
    return [entry for entry in found if _mark(entry) != _mark(before.get(entry.id))]


def _mark(entry: Entry | None) -> tuple[str, bool] | None:
    return (entry.revision, entry.deleted) if entry else None


async def before_in(tenant: Tenant, service: Service) -> dict[AssetId, Entry]:
    """What there was, for services whose deltas list everything."""
    sweeps = service.limits.enumerates_all
    return {entry.id: entry for entry in await entries(service)} if sweeps else {}


@pytest.mark.needs(Operation.UPDATE, Operation.REMOVE)
async def test_a_delta_of_nothing_is_empty(fresh: Fresh) -> None:
    tenant = fresh()
    service = tenant.connect(read_only=True)
    before = await before_in(tenant, service)
    tenant.advance(7200)
    assert news(await entries(service, Window(since=tenant.world.now())), before) == []


@pytest.mark.needs(Operation.UPDATE, Operation.REMOVE)
async def test_a_window_ends_before_what_came_later(fresh: Fresh) -> None:
    tenant = fresh()
    service = tenant.connect()
    since = tenant.world.now()
    tenant.advance(7200)
    until = tenant.world.now()
    tenant.advance(7200)
    if service.limits.enumerates_all:
        return  # it lists what is, not when it came to be
    await changed_and_removed(tenant, service)
    assert await entries(service, Window(since, until)) == []


@pytest.mark.needs(Operation.CREATE, Operation.REMOVE)
async def test_what_was_deleted_leaves_a_full_crawl_or_is_marked(fresh: Fresh) -> None:
    tenant = fresh()
    service = tenant.connect()
    await service.remove(tenant.of_catalogue(4))
    tenant.advance(300)
    check_whole(tenant, await by_shard(service))


@pytest.mark.parametrize("fault", ["reset_after", "reset_before", "status:503", "throttle:2", "empty", "truncate:0.5"])
@pytest.mark.needs("network")
async def test_a_fault_while_listing_loses_no_asset(fresh: Fresh, fault: str) -> None:
    """Rows may come again after it, as the reader's rows are kept by id; or the listing ends in an error."""
    tenant = fresh(crowd(230))
    service = tenant.connect(read_only=True, options=tenant.wired.lean)
    await service.schema()
    tenant.fail({"match": tenant.wired.listing, "nth": 3, "do": fault})
    try:
        found = await entries(service)
    except (Transient, ContractBroken, TruncatedListing):
        found = await entries(service)
    assert {entry.id for entry in found} == set(tenant.truth())
