"""Service D's adapter against its emulator, under every reading of the contract that it plays."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Draft, FileRef, Marker, Patch, Relation, Rights
from dam_sync.model.errors import ConfigError, Conflict, InvalidValue, NotFound
from dam_sync.model.estimator import Estimator
from dam_sync.model.service import Service, Window
from dam_sync.model.values import Json
from tests.conformance.catalogue import SCHEMA, asset, library
from tests.conformance.tenant import Tenant, content, started
from tests.support.services.connections import Bytes, body, entries
from tests.support.state.memory_journal import MemoryJournal

READINGS = [
    "",
    "second",
    "older",
    "hyphen",
    "both_spellings",
    "links_move",
    "missing_404",
    "refuse_complete,always_urls",
    "always_urls",
    "delete_family",
    "no_total",
    "field_names",
    "shapes",
    "refresh_blank",
    "least_multipart",
    "refuse_empty",
]
NAMED = {"tags_field": "tags", "status_field": "state", "release_field": "released", "expiry_field": "expires"}
KEY = "srckey"
Start = Callable[..., Tenant]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    running: list[Tenant] = []

    def begin(records: Any = None, **options: Json) -> Tenant:
        running.append(started("d_templates", library() if records is None else records, tmp_path, **options))
        return running[-1]

    yield begin
    for tenant in running:
        await tenant.disconnect()
        tenant.served.stop()


def draft(key: str, **more: Any) -> Draft:
    fields = {"title": "New", KEY: key}
    return Draft(Marker(KEY, key), f"{key}.jpg", "Photo", fields=fields, **more)


async def made(tenant: Tenant, service: Service, key: str, **more: Any) -> tuple[AssetId, str]:
    async with content(tenant, f"{key}.jpg", 700, seed=key) as (given, digest):
        return await service.create(draft(key, **more), given, MemoryJournal()), digest


@pytest.mark.parametrize("reading", READINGS)
async def test_a_life_of_an_asset_under_every_reading(start: Start, reading: str) -> None:
    tenant = start(variant=reading)
    service = tenant.connect()
    one, first = await made(tenant, service, "one")
    two, _ = await made(tenant, service, "two")
    async with content(tenant, "one.jpg", 800, seed="again") as (given, second):
        await service.replace(one, given, MemoryJournal())
    await service.update(one, Patch(fields={"note": "changed", "title": "Other"}))
    await service.update(one, Patch(fields={"note": None}))
    three = tenant.of_catalogue(3)
    wanted = {Relation("derivative", one), Relation("placed_graphic", three)}
    for _ in range(2):
        for relation in wanted:
            await service.relate(two, relation)
    with pytest.raises(Conflict):
        await service.relate(two, Relation("child", one))
    place = await service.ensure_container("collection", ("Spring",))
    await service.place(place, [one, two], [])
    await service.place(place, [], [two])
    tenant.advance(60)
    other = tenant.connect(read_only=True)
    await other.fetch(one)
    tenant.advance(60)  # the index shows what the service has made of the files
    found = await other.fetch(one)
    assert [file.digests["md5"] for file in found.versions] == [first, second]
    assert [hashlib.md5(await body(other, file)).hexdigest() for file in found.versions] == [first, second]
    assert (found.fields["title"], found.fields.get("note")) == ("Other", None)
    assert (await other.fetch(two)).relations == wanted
    inside = [m.assets async for m in other.members() if m.placement.path == ("Spring",)]
    assert inside == [(one,)]
    listed = {entry.id: entry for entry in await entries(other)}
    assert set(listed) == set(tenant.truth())
    assert listed[one].asset == found
    assert await other.find(Marker(KEY, "one")) == one
    await service.remove(one)
    assert tenant.truth()[one]["status"] == "trash"
    tenant.advance(60)
    delta = {entry.id: entry.deleted for entry in await entries(tenant.connect(), Window(tenant.world.now()))}
    assert delta[one]


@pytest.mark.parametrize("reading", ["", "always_urls", "refuse_complete,always_urls"])
async def test_a_file_of_no_bytes_is_a_file(start: Start, reading: str) -> None:
    tenant = start(variant=reading)
    service = tenant.connect()
    for _ in range(2):
        made = await service.create(draft("zero"), Bytes("zero.txt", b"", known=True), MemoryJournal())
        tenant.advance(60)
        found = await tenant.connect(read_only=True).fetch(made)
        assert found.file is not None
        assert (found.file.size, found.file.digests) == (0, {"md5": hashlib.md5(b"").hexdigest()})
        assert await body(service, found.file) == b""
    await service.replace(made, Bytes("zero.txt", b"", known=True), MemoryJournal())
    tenant.advance(60)
    assert len((await tenant.connect(read_only=True).fetch(made)).versions) == 2


@pytest.mark.parametrize("reading", ["", "least_multipart"])
async def test_small_files_are_sent_with_their_size_where_the_job_says_so(start: Start, reading: str) -> None:
    tenant = start(variant=reading)
    service = tenant.connect(options={"small_uploads": "session"})
    await service.schema()
    told = Estimator(service).write(draft("one"), 700)
    with tenant.costs() as spent:
        first, digest = await made(tenant, service, "one")
    if not reading:
        assert sum(spent.values()) == sum(told.values())
    with tenant.costs() as spent:
        await made(tenant, service, "two")
    completes = sum(number for name, number in spent.items() if name.endswith("asset/complete"))
    assert completes == (0 if reading else 1)
    assert spent["POST /v1/asset"] == 1
    tenant.advance(60)
    found = await tenant.connect(read_only=True).fetch(first)
    assert [file.digests["md5"] for file in found.versions] == [digest]


@pytest.mark.parametrize("reading", ["", "missing_404", "missing_empty"])
async def test_an_asset_without_file_has_none_whatever_its_content_returns(start: Start, reading: str) -> None:
    tenant = start([*SCHEMA, asset(1, versions=[])], variant=reading)
    service = tenant.connect(read_only=True)
    identity = tenant.of_catalogue(1)
    assert not (await service.fetch(identity)).versions
    record = (await service.version_groups.known(identity)).object  # type: ignore[attr-defined]
    with pytest.raises(NotFound):
        await service.open(FileRef(f"{identity}/{record}", "a.jpg"))


@pytest.mark.parametrize("reading", ["", "second"])
async def test_options_name_what_the_service_cannot_store(start: Start, reading: str) -> None:
    tenant = start(variant=reading, **NAMED)
    service = tenant.connect(options=NAMED)
    schema = await service.schema()
    assert {"tags", "status", "release", "expiry"} <= schema.capabilities.parts
    assert not set(NAMED.values()) & schema.fields.keys()
    rights = Rights(datetime(2027, 1, 1, 8, tzinfo=UTC), datetime(2028, 1, 1, 8, tzinfo=UTC), frozenset({"staff"}))
    tags = frozenset({"sea", "new one"})
    told = Estimator(service).write(draft("x", rights=rights, tags=tags, status="archived"), 700)
    before = dict(service.calls)
    identity, _ = await made(tenant, service, "x", rights=rights, tags=tags, status="archived")
    spent = {name: number - before.get(name, 0) for name, number in service.calls.items()}
    if not reading:
        assert {name: number for name, number in spent.items() if number} == told
    found = await tenant.connect(options=NAMED).fetch(identity)
    assert (found.tags, found.status) == (tags, "archived")
    assert found.rights.release_at == datetime(2027, 1, 2, tzinfo=UTC)  # never earlier than was asked
    assert found.rights.expires_at == datetime(2028, 1, 1, tzinfo=UTC)  # never later
    await service.update(
        identity,
        Patch(
            tags_add=frozenset({"third"}),
            tags_remove=frozenset({"sea"}),
            status="published",
            cleared=frozenset({"expiry"}),
        ),
    )
    found = await tenant.connect(options=NAMED).fetch(identity)
    assert (found.tags, found.status) == ({"new one", "third"}, "published")
    assert found.rights.expires_at is None
    with pytest.raises(InvalidValue):
        await service.update(identity, Patch(status="nowhere"))
    with pytest.raises(ConfigError):
        await tenant.connect(options={**NAMED, "tags_field": "title"}).schema()


async def test_other_kinds_of_records_are_no_assets_and_nil_is_no_member(start: Start) -> None:
    tenant = start(actions=3, nil_members=True)
    service = tenant.connect(read_only=True)
    assert {entry.id for entry in await entries(service)} == set(tenant.truth())
    assert {asset for m in [m async for m in service.members()] for asset in m.assets} <= set(tenant.truth())


async def test_pages_too_large_are_split(start: Start) -> None:
    rows = [asset(number) for number in range(1, 61)]
    tenant = start([*SCHEMA, *rows], page_most=60_000)
    found = await entries(tenant.connect(read_only=True, options={"relations": "off"}))
    assert {entry.id for entry in found} == set(tenant.truth())


@pytest.mark.parametrize("kept", [3, 1_000])
async def test_members_are_found_however_many_files_were_listed(start: Start, kept: int) -> None:
    placed = [{"kind": "collection", "path": ["Best of"]}]
    rows = [{**asset(number), "placements": placed} for number in range(1, 11)]
    tenant = start([*SCHEMA, {"record": "container", "kind": "collection", "path": ["Best of"]}, *rows])
    service = tenant.connect(read_only=True, options={"relations": "off"})
    service.version_groups.files_kept = kept
    await entries(service)
    assert len(service.version_groups.files) == (0 if kept < len(rows) else len(rows))
    (members,) = [each.assets async for each in service.members()]
    assert {*members} == set(tenant.truth())


async def test_collections_too_large_for_one_page_are_split(start: Start) -> None:
    names = [f"Collection {number}" for number in range(7)]
    placed = [{"kind": "collection", "path": [name]} for name in names]
    rows = [{**asset(number), "placements": placed} for number in range(1, 61)]
    collections = [{"record": "container", "kind": "collection", "path": [name]} for name in names]
    tenant = start([*SCHEMA, *collections, *rows], page_most=10_000)
    service = tenant.connect(read_only=True)
    with tenant.costs() as spent:
        members = {
            each.placement.path[0]: len(each.assets)
            async for each in service.members()
            if each.placement.path[0] in names
        }
    assert members == dict.fromkeys(names, len(rows))
    assert 4 < spent["POST /v1/search/collection"] < 12
    assert {each.path[0] async for each in service.containers()} >= {*names}


async def test_a_version_repeats_the_metadata_that_was_written_after_the_asset_was_read(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1)])
    service, one = tenant.connect(), tenant.of_catalogue(1)
    await service.fetch(one)
    await service.update(one, Patch(fields={"title": "Written since"}))
    await service.replace(one, Bytes("again.jpg", b"another file", known=True), MemoryJournal())
    assert (await service.fetch(one)).fields["title"] == "Written since"
