"""What service A gives as a source beside fields and files: public links, relations, digests; what it keeps back."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from dam_sync.model.asset import AssetId, Loss, Relation
from tests.support.services.connected_a import FULL, Open, Tenant, asset, serving
from tests.support.services.connections import entries

PERMALINKS = "GET /api/dam/medias/{id}/permalinks"
LOGIN = ("dam-sync", "secret-a")


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


def first(tenant: Tenant) -> AssetId:
    return AssetId(next(key for key, row in tenant.truth().items() if row["catalogue_id"] == "1"))


async def test_public_links_are_read_where_asked_for(opened: Open) -> None:
    tenant = opened(asset(1), asset(2))
    with tenant.costs() as spent:
        assert not (await tenant.connect(read_only=True).fetch(first(tenant))).source_links
    assert not spent[PERMALINKS]
    with tenant.costs() as spent:
        links = (await tenant.connect(read_only=True, public_links="on").fetch(first(tenant))).source_links
    assert spent[PERMALINKS] == 1
    assert {"original", "preview"} <= links.keys()
    async with httpx.AsyncClient(verify=False) as http:
        original = (await http.get(links["original"])).content
    assert original == tenant.served.app.state.objects.generated(1001, 1).read()


async def test_public_links_come_with_a_rich_listing_too(opened: Open) -> None:
    tenant = opened(asset(1), asset(2), rich_search=True)
    service = tenant.connect(read_only=True, public_links="on")
    for entry in await entries(service):
        found = entry.asset or await service.fetch(entry.id)
        assert "original" in found.source_links


async def test_a_format_that_is_not_configured_has_no_link(opened: Open) -> None:
    tenant = opened(asset(1), original_permalink=False)
    links = (await tenant.connect(read_only=True, public_links="on").fetch(first(tenant))).source_links
    assert links
    assert "original" not in links


async def test_an_asset_gives_all_that_the_service_shows(opened: Open) -> None:
    tenant = opened(FULL, asset(2))
    found = await tenant.connect(read_only=True).fetch(first(tenant))
    truth = tenant.truth()[found.id]
    assert [dict(file.digests)["md5"] for file in found.versions] == [v["digests"]["md5"] for v in truth["versions"]]
    assert found.relations == {Relation("Views of the object", AssetId(truth["relations"][0]["target"]))}
    assert {(place.kind, place.path) for place in found.placements} == {
        ("folder", ("Press", "2024")),
        ("label", ("Highlight",)),
    }
    assert (found.status, found.substatus) == ("published", "Internal")
    assert [file.name for file in found.attachments] == ["plan.pdf"]
    assert not found.losses


async def test_an_attachment_that_is_not_online_is_a_named_loss(opened: Open) -> None:
    tenant = opened(FULL, asset(2))
    async with httpx.AsyncClient(base_url=f"{tenant.served.url}/api/dam", auth=LOGIN, verify=False) as http:
        body = {"fileName": "late.pdf", "mediaType": "application/pdf", "fileSize": 1234}
        assert (await http.post(f"/medias/{first(tenant)}/attachments", json=body)).status_code == 201
    found = await tenant.connect(read_only=True).fetch(first(tenant))
    assert [file.name for file in found.attachments] == ["plan.pdf"]
    assert found.losses == (Loss("attachments", "not online", "late.pdf, pending_to_online"),)


@pytest.mark.parametrize("keyset", ["auto", "off"])
async def test_pages_smaller_than_requested_are_all_read(opened: Open, keyset: str) -> None:
    """The largest page of an instance is not documented (wire A 2.2)."""
    service = opened(*[asset(number) for number in range(1, 131)], page_max=40).connect(keyset=keyset)
    assert len({entry.id for entry in await entries(service)}) == 130
