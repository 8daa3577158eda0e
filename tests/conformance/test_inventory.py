"""The inventory of every service agrees with what its emulator holds, and costs no more calls than it says."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from dam_sync.engine.inventory.gather import Inspection
from dam_sync.engine.inventory.reading import Sampling
from dam_sync.engine.inventory.rights import EXPIRED, EXPIRING
from dam_sync.model.asset import Placement
from dam_sync.model.capabilities import Feature
from dam_sync.model.inventory import SideInventory
from dam_sync.model.run_options import RunOptions
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json
from tests.conformance.catalogue import ARCHIVED, FULL, SCHEMA, TRASHED, asset, crowd, moment
from tests.conformance.tenant import Tenant, true_fields
from tests.support.services.connections import HastyClock

NOW, LATER = moment(datetime.now(UTC)), "2999"
SOON = moment(datetime.now(UTC) + timedelta(days=30))
PAST = "2020-06-01T00:00:00Z"
SAME = {"filename": "twice.jpg", "versions": [{"name": "twice.jpg", "generate": {"size": 4_321, "seed": 77}}]}
TYPED = {"title": {"texts": {"en": "Quay"}}, "subject": [{"id": "2", "label": "Sea"}]}
COMPARED = ("title", "legend", "note", "body", "shot", "rating", "keywords", "subject", "country", "mail", "web")
CHEAP = 40  # calls besides those for assets, fields and types


def stock() -> Iterator[Json]:
    """The small library with a file that is there three times, an expired asset and one that soon will be."""
    yield from (*SCHEMA, FULL, TRASHED, ARCHIVED)
    yield from (asset(number, **SAME) for number in (10, 11, 12))
    yield asset(13, rights={"expires_at": PAST}, fields=TYPED)
    yield asset(14, rights={"expires_at": SOON}, fields=TYPED)
    yield from (asset(number) for number in (2, *range(20, 31)))


@pytest.fixture(scope="module")
def stocked(start: Callable[..., Tenant]) -> Tenant:
    return start(list(stock()))


@pytest.fixture(scope="module")
def everything(stocked: Tenant) -> tuple[SideInventory, Schema]:
    """The inventory of all assets, taken once."""
    return asyncio.run(taken(stocked))


async def taken(tenant: Tenant, sample: str = "100%") -> tuple[SideInventory, Schema]:
    service = tenant.connect(read_only=True)
    options = RunOptions(clock=HastyClock(tenant.world))
    inspection = Inspection("source", tenant.kind.name, service, tenant.kind.not_moved, Sampling.of(sample), options)
    side = await inspection.run()
    schema = await service.schema()
    await tenant.disconnect()
    return side, schema


def living(tenant: Tenant) -> list[Json]:
    return [row for row in tenant.truth().values() if row["status"] != "trash"]


def test_every_asset_is_counted_once(stocked: Tenant, everything: tuple[SideInventory, Schema]) -> None:
    side, _ = everything
    rows = living(stocked)
    assert (side.whole, side.read, side.total) == (True, len(rows), len(rows))
    assert sum(one.assets for one in side.by_type.values()) == len(rows)
    assert {name: one.assets for name, one in side.by_status.items()} == Counter(row["status"] for row in rows)
    assert {name: one.assets for name, one in side.by_year.items()} == {"2024": len(rows)}
    assert sum(one.bytes or 0 for one in side.by_status.values()) == side.bytes


def test_fill_rates_are_those_of_the_tenant(stocked: Tenant, everything: tuple[SideInventory, Schema]) -> None:
    side, schema = everything
    filled = Counter(key for row in living(stocked) for key in true_fields(row, schema))
    found = {one.key: one for one in side.fields}
    for name in COMPARED:
        key = stocked.key(name)
        assert (name, found[key].filled) == (name, filled[key])
        assert found[key].counted
        assert found[key].assets == len(living(stocked))
        assert not found[key].distinct.exceeded
        assert bool(found[key].samples) == bool(filled[key])


def test_bytes_are_those_of_all_files(stocked: Tenant, everything: tuple[SideInventory, Schema]) -> None:
    side, _ = everything
    able = stocked.connect().capabilities
    unsized = next((risk.assets or 0 for risk in side.unseen if "published size" in risk.what), 0)
    files = [file for row in living(stocked) for file in _files(row, versions=able.reads(Feature.VERSIONS))]
    least = sum(file["size"] for file in files) - unsized * 2_000
    assert least <= (side.bytes or 0) <= sum(file["size"] for file in files)
    assert unsized <= 1


def _files(row: Json, *, versions: bool) -> list[Json]:
    own = row["versions"] if versions else row["versions"][-1:]
    return [*own, *row["attachments"]]


def test_unused_terms_are_those_that_no_asset_needs(stocked: Tenant, everything: tuple[SideInventory, Schema]) -> None:
    side, schema = everything
    key = schema.fields[stocked.key("subject")].vocabulary
    (subjects,) = (one for one in side.vocabularies if one.key == key)
    needed = {"Sea", "City"} | ({"Nature"} if schema.vocabularies[key].hierarchical else set())
    unused = {path.rpartition("/")[2] for path in subjects.unused}
    assert unused == {"Nature", "Wood", "Sea", "City"} - needed
    assert subjects.unused_number == len(unused)
    assert subjects.unlisted == ()
    assert {use.path.rpartition("/")[2]: use.assets for use in subjects.common} == {"Sea": 3, "City": 1}


@pytest.mark.needs("containers")
def test_containers_have_their_members(stocked: Tenant, everything: tuple[SideInventory, Schema]) -> None:
    side, schema = everything
    there, every = _members(living(stocked)), _members(stocked.truth().values())
    found = {(one.kind, one.path): one.assets for one in side.containers}
    for (kind, text), number in every.items():
        if kind in schema.container_kinds:  # a list of members may have some that are in the trash
            assert found[kind, text] in (number, there[kind, text])


def _members(rows: Iterable[Json]) -> Counter[tuple[str, str]]:
    places = (place for row in rows for place in row["placements"])
    return Counter((place["kind"], Placement(place["kind"], tuple(place["path"])).text) for place in places)


def test_equal_files_are_found(stocked: Tenant, everything: tuple[SideInventory, Schema]) -> None:
    side, _ = everything
    found = side.duplicates
    published = "read:digests" not in stocked.absent
    assert found.by == ("digest" if published else "name and size")
    assert (found.groups, found.surplus, found.bytes) == (1, 2, 2 * 4_321)
    (group,) = found.examples
    assert (group.assets, group.size, len(group.examples)) == (3, 4_321, 3)


@pytest.mark.needs("read:expiry")
def test_expiry_risks_are_found(stocked: Tenant, everything: tuple[SideInventory, Schema]) -> None:
    side, _ = everything
    risks = {risk.what: risk.assets for risk in side.rights}
    public = [row for row in living(stocked) if row["status"] == "published"]
    expired = [row for row in public if (row["rights"].get("expires_at") or LATER) < NOW]
    assert risks[EXPIRED] == len(expired) == 1
    assert risks[EXPIRING] == 1


async def test_a_sample_says_so_and_costs_less(stocked: Tenant, everything: tuple[SideInventory, Schema]) -> None:
    whole = everything[0].calls
    with stocked.costs() as spent:
        side, schema = await taken(stocked, "3")
    assert (side.whole, side.read) == (False, 3)
    assert side.reading.startswith("the first 3")
    assert sum(spent.values()) <= sum(whole.values()) + len(schema.fields) + len(schema.types) + CHEAP
    shared, _ = await taken(stocked, "40%")
    assert 0 < shared.read < len(living(stocked))
    assert shared.total == len(living(stocked))
    assert "hash" in shared.reading


async def test_what_is_not_moved_is_reported_with_a_reason(stocked: Tenant) -> None:
    side, _ = await taken(stocked, "1")
    told = [one.what for one in side.not_moved]
    assert told == [one.what for one in stocked.kind.not_moved if one.way != "target"]
    assert len(told) == len(set(told))
    assert all(one.why and one.where for one in side.not_moved)


@pytest.mark.needs("counts")
async def test_what_the_service_counts_is_true(stocked: Tenant) -> None:
    source = stocked.connect(read_only=True)
    await source.probe()
    schema, rows = await source.schema(), living(stocked)
    counts = await source.counts(tuple(schema.fields))
    filled = Counter(key for row in rows for key in true_fields(row, schema))
    own = [stocked.key(name) for name in (*COMPARED, "cleared")]
    assert counts.assets == len(rows) or (counts.notes and stocked.variant)
    assert counts.types in ({}, {"Photo": len(rows)})
    assert counts.statuses in ({}, Counter(row["status"] for row in rows))
    assert counts.years in ({}, {"2024": len(rows)})
    assert {key: counts.filled[key] for key in own if key in counts.filled} == {
        key: filled[key] for key in own if key in counts.filled
    }
    members = _members(rows)
    assert {(one.kind, one.text): number for one, number in counts.containers.items() if number} == {
        key: number for key, number in members.items() if key in {(one.kind, one.text) for one in counts.containers}
    }
    assert counts.notes == () or stocked.variant  # a reading of the contract in which nothing is counted


@pytest.mark.needs("counts")
async def test_everything_that_is_said_to_be_counted_is(stocked: Tenant) -> None:
    source = stocked.connect(read_only=True)
    await source.probe()
    counts = await source.counts(())
    named = {one.counted for one in stocked.kind.not_moved} - {""}
    assert set(counts.not_moved) == named or stocked.variant
    assert all(number >= 0 for number in counts.not_moved.values())
    assert counts.not_moved.get("trashed") in (None, 1)
    assert (counts.filled, counts.terms, counts.years) == ({}, {}, {})  # the assets were read, which shows as much


@pytest.mark.needs("counts")
async def test_a_sample_has_numbers_of_the_whole_library(
    stocked: Tenant, everything: tuple[SideInventory, Schema]
) -> None:
    whole, _ = everything
    side, _ = await taken(stocked, "1")
    assert (side.whole, side.read) == (False, 1)
    assert side.total == whole.read or (side.total is None and stocked.variant)
    for ours, theirs in ((side.by_type, whole.by_type), (side.by_status, whole.by_status)):
        if all(one.counted for one in ours.values()):
            assert {key: one.assets for key, one in ours.items()} == {key: one.assets for key, one in theirs.items()}
    known = {one.key: one for one in whole.fields}
    counted = [one for one in side.fields if one.counted and one.key in map(stocked.key, COMPARED)]
    assert {one.key: (one.filled, one.assets) for one in counted} == {
        one.key: (known[one.key].filled, known[one.key].assets) for one in counted
    }
    unused = {one.key: set(one.unused) for one in whole.vocabularies}
    told = [one for one in side.vocabularies if one.unused_number is not None]
    assert {one.key: set(one.unused) for one in told} == {one.key: unused[one.key] for one in told}


@pytest.mark.needs("counts")
async def test_counting_costs_the_same_however_large_the_library(start: Callable[..., Tenant]) -> None:
    """Facets and counts instead of a crawl: three times the assets cost no call more."""
    spent = []
    for size in (20, 60):
        tenant = start(list(crowd(size)))
        source = tenant.connect(read_only=True)
        await source.probe()
        fields = tuple((await source.schema()).fields)
        with tenant.costs() as calls:
            counts = await source.counts(fields)
        assert counts.assets in (size, None if tenant.variant else size)
        spent.append(sum(calls.values()))
        await tenant.disconnect()
    assert spent[0] == spent[1]
