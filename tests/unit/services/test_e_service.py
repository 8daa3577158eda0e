"""Assets of service E as they are read: versions, documents, trash, memberships."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime

import pytest

from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.errors import (
    DamSyncError,
    Denied,
    NotFound,
)
from dam_sync.model.values import Term
from tests.support.services.connected_e import Open, asset, serving
from tests.support.services.connections import body, entries


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def test_a_whole_asset_comes_with_its_entry(opened: Open) -> None:
    full = asset(
        1,
        fields={
            "title": "Harbour",
            "legend": "First light",
            "shotDate": {"date": "2025-02-06"},
            "rating": 12.5,
            "colors": [{"id": "c0", "label": "Red"}, {"id": "c2", "label": "Green / lime"}],
            "country": {"id": "k1", "label": "France"},
        },
        tags=["sea", "dawn"],
        rights={"groups": ["staff"], "release_at": "2020-01-01T00:00:00Z", "expires_at": "2050-01-01T00:00:00Z"},
    )
    tenant = opened(full)
    service = tenant.connect(read_only=True)
    (entry,) = await entries(service)
    found = entry.asset
    assert found is not None
    assert found == await service.fetch(entry.id)
    assert {key: found.fields[key] for key in ("title", "legend", "shotDate", "rating")} == {
        "title": "Harbour",
        "legend": "First light",
        "shotDate": date(2025, 2, 6),
        "rating": 12.5,
    }
    assert [term.label for term in found.fields["colors"]] == ["Red", "Green / lime"]  # type: ignore[union-attr]
    assert found.fields["country"] == Term("France", "France", ("France",))
    assert (found.type, found.status, found.filename) == ("Photo", "published", "photo 1.jpg")
    assert found.tags == {"sea", "dawn"}
    assert found.rights.groups == {"staff"}
    assert found.rights.expires_at == datetime(2050, 1, 1, tzinfo=UTC)
    assert entry.changed_at is not None
    assert not entry.deleted


async def test_versions_come_oldest_first_and_each_can_be_read(opened: Open) -> None:
    several = [{"name": "photo 1.jpg", "generate": {"size": 500 + n, "seed": n}} for n in range(3)]
    tenant = opened(asset(1, versions=several), asset(2))
    service = tenant.connect(read_only=True)
    found = {entry.id: entry.asset for entry in await entries(service)}
    first = next(each for each in found.values() if each is not None and each.filename == "photo 1.jpg")
    assert [file.size for file in first.versions] == [500, 501, 502]
    assert (await service.fetch(first.id)).versions == first.versions
    told = tenant.truth()[tenant.of_catalogue(1)]["versions"]
    for file, truth in zip(first.versions, told, strict=True):
        assert hashlib.md5(await body(service, file)).hexdigest() == truth["digests"]["md5"]


async def test_an_error_of_one_of_many_versions_is_raised_unchanged(opened: Open) -> None:
    several = [{"name": "a.jpg", "generate": {"size": 500 + n, "seed": n}} for n in range(2)]
    tenant = opened(*(asset(n, versions=several) for n in range(5)))
    tenant.faults.add([{"match": "GET /v2/assets/*/versions", "do": "status:401"}])
    with pytest.raises(Denied):
        await entries(tenant.connect(read_only=True))


async def test_an_asset_whose_versions_are_refused_is_listed_to_be_asked_for(opened: Open) -> None:
    several = [{"name": "a.jpg", "generate": {"size": 500 + n, "seed": n}} for n in range(2)]
    tenant = opened(*(asset(n, versions=several) for n in range(3)))
    tenant.faults.add([{"match": "GET /v2/assets/*/versions", "nth": 1, "do": "status:403"}])
    found = await entries(tenant.connect(read_only=True))
    assert len(found) == 3
    assert [entry.asset is None for entry in found].count(True) == 1


async def test_a_server_without_the_call_for_versions_returns_its_assets_all_the_same(opened: Open) -> None:
    several = [{"name": "a.jpg", "generate": {"size": 500 + n, "seed": n}} for n in range(2)]
    tenant = opened(asset(1, versions=several), asset(2), variant="older")
    tenant.faults.add([{"match": "GET /v2/assets/*/versions", "do": "status:404"}])
    service = tenant.connect(read_only=True)
    first, second = [await service.fetch(tenant.of_catalogue(number)) for number in (1, 2)]
    assert [file.name for file in first.versions] == ["a.jpg"]
    assert [loss.path for loss in first.losses] == ["versions"]
    assert not second.losses


async def test_an_asset_deleted_before_its_versions_were_read_is_not_found(opened: Open) -> None:
    files = [{"name": "a.jpg", "generate": {"size": 300 + n, "seed": n}} for n in range(2)]
    tenant = opened(asset(1, filename="a.jpg", versions=files))
    tenant.faults.add([{"match": "GET /v2/assets/*/versions", "do": "status:404"}])
    with pytest.raises(NotFound):
        await tenant.connect(read_only=True).fetch(tenant.of_catalogue(1))


async def test_attached_documents_are_read_where_asked_for(opened: Open) -> None:
    papers = [{"name": "release.pdf", "generate": {"size": 300, "seed": 9}}]
    tenant = opened(asset(1, attachments=papers), asset(2))
    assert not any(e.asset.attachments for e in await entries(tenant.connect(read_only=True)) if e.asset)
    service = tenant.connect(read_only=True, attachments="on")
    (found,) = [e.asset for e in await entries(service) if e.asset and e.asset.attachments]
    (paper,) = found.attachments
    assert paper.name == "release.pdf"
    truth = tenant.truth()[tenant.of_catalogue(1)]["attachments"][0]
    assert hashlib.md5(await body(service, paper)).hexdigest() == truth["digests"]["md5"]
    assert (await service.fetch(found.id)).attachments == found.attachments
    assert hashlib.md5(await body(tenant.connect(read_only=True), paper)).hexdigest() == truth["digests"]["md5"]


async def test_trash_and_archive_are_seen(opened: Open) -> None:
    tenant = opened(asset(1), asset(2, status="archived"), asset(3))
    target = tenant.connect()
    await target.remove(tenant.of_catalogue(3))
    service = tenant.connect(read_only=True)
    account = await service.probe()
    assert account.total == 3
    found = {e.asset.filename: e for e in await entries(service) if e.asset}
    statuses = {name: entry.asset.status for name, entry in found.items() if entry.asset}
    assert statuses == {"photo 1.jpg": "published", "photo 2.jpg": "archived", "photo 3.jpg": "trash"}
    assert [name for name, entry in found.items() if entry.deleted] == ["photo 3.jpg"]
    assert (await service.fetch(found["photo 2.jpg"].id)).status == "archived"


async def test_a_listing_reads_neither_versions_nor_documents_of_what_is_in_the_trash(opened: Open) -> None:
    several = [{"name": "a.jpg", "generate": {"size": 500 + n, "seed": n}} for n in range(2)]
    papers = [{"name": "release.pdf", "generate": {"size": 300, "seed": 9}}]
    tenant = opened(*(asset(number, versions=several, attachments=papers) for number in (1, 2)))
    await tenant.connect().remove(tenant.of_catalogue(2))
    tenant.world.reset_calls()
    found = await entries(tenant.connect(read_only=True, attachments="on"))
    assert [entry.asset.status for entry in found if entry.asset] == ["published", "trash"]
    assert tenant.world.api_calls["GET /v2/assets/{id}/versions"] == 1
    assert tenant.world.api_calls["GET /api/rest/asset/uuid/{id}"] == 1


async def test_memberships_are_read_from_the_containers(opened: Open) -> None:
    press = {"kind": "category", "path": ["Press"], "id": ""}
    deep = {"kind": "category", "path": ["Press", "A/B"], "id": ""}
    best = {"kind": "collection", "path": ["Best of"], "id": ""}
    tenant = opened(
        asset(1, placements=[press]), asset(2, placements=[deep]), asset(3, placements=[deep, best]), asset(4)
    )
    found: dict[str, set[str]] = {}
    async for membership in tenant.connect(read_only=True).members():
        names = {tenant.truth()[asset]["filename"] for asset in membership.assets}
        found.setdefault(f"{membership.placement.kind} {membership.placement.text}", set()).update(names)
    assert found == {
        "category /Press": {"photo 1.jpg"},
        "category /Press/A\\/B": {"photo 2.jpg", "photo 3.jpg"},
        "collection /Best of": {"photo 3.jpg"},
    }


async def test_what_a_listing_shows_of_the_categories_below_is_unsure(opened: Open) -> None:
    press, deep = ({"kind": "category", "path": path, "id": ""} for path in (["Press"], ["Press", "A/B"]))
    tenant = opened(asset(1, placements=[press]), asset(2, placements=[deep, press]), asset(3), variant="subtree")
    found: dict[tuple[str, bool], set[str]] = {}
    async for membership in tenant.connect(read_only=True).members():
        names = {tenant.truth()[asset]["filename"] for asset in membership.assets}
        found.setdefault((membership.placement.text, membership.unsure), set()).update(names)
    assert found == {
        ("/Press", False): {"photo 1.jpg"},
        ("/Press/A\\/B", False): {"photo 2.jpg"},
        ("/Press", True): {"photo 2.jpg"},
    }


async def test_a_source_cannot_be_written_to(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect(read_only=True)
    with pytest.raises(DamSyncError, match="read-only"):
        await service.remove(tenant.of_catalogue(1))
    assert not tenant.world.api_calls["DELETE /v2/assets/{id}"]


async def test_an_asset_is_the_same_however_it_is_read(opened: Open) -> None:
    tenant = opened(*(asset(n) for n in range(1, 6)))
    service = tenant.connect(read_only=True)
    listed: dict[AssetId, Asset | None] = {entry.id: entry.asset for entry in await entries(service)}
    assert listed == {identity: await service.fetch(identity) for identity in listed}
