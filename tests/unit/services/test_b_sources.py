"""What service B gives as a source where the job asks for it: lasting addresses of files, sections of its copies."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from dam_sync.model.asset import AssetId, Entry, Placement
from dam_sync.model.service import Service, Window
from tests.conformance.tenant import Start, Tenant

KIND = "b_documents"
API = "/api/v1"
LOGIN = ("Administrator", "secret-b")


async def listed_by(service: Service) -> list[Entry]:
    """Every entry of a whole listing."""
    return [
        entry
        async for shard in service.shards(Window())
        async for batch in service.crawl(shard, None)
        for entry in batch.entries
    ]


def with_file(tenant: Tenant) -> AssetId:
    return AssetId(next(key for key, row in tenant.truth().items() if row["versions"] and row["status"] != "trash"))


async def as_administrator(tenant: Tenant, path: str, body: Any) -> Any:
    async with httpx.AsyncClient(base_url=tenant.served.url, auth=LOGIN, verify=False) as http:
        reply = await http.post(API + path, json=body, headers={"Accept": "application/json"})
    assert reply.status_code in (200, 201), reply.text
    return reply.json()


async def test_an_ordinary_library_is_read_without_losses(start: Start) -> None:
    found = [entry.asset for entry in await listed_by(start().connect(read_only=True)) if entry.asset]
    assert found
    assert [loss for asset in found for loss in asset.losses] == []


async def section(tenant: Tenant, parent: str, name: str) -> str:
    body = {"entity-type": "document", "type": "Section", "name": name, "properties": {"dc:title": name.title()}}
    return str((await as_administrator(tenant, f"/path{parent}", body))["uid"])


async def publish(tenant: Tenant, asset: str, where: str) -> None:
    body = {"input": f"doc:{asset}", "params": {"target": where, "override": True}}
    await as_administrator(tenant, "/automation/Document.PublishToSection", body)


@pytest.mark.parametrize("release", ["2025.10", "2021.20"])
async def test_the_address_of_a_file_is_told_where_asked_for_and_lasts(start: Start, release: str) -> None:
    """Older releases have no `blobUrl`: the address in `data` serves where it is the server's own."""
    tenant = start(release=release)
    asset = with_file(tenant)
    assert not (await tenant.connect(read_only=True).fetch(asset)).source_links
    links = (await tenant.connect(read_only=True, options={"public_links": "on"}).fetch(asset)).source_links
    assert "?" not in links["file"]
    async with httpx.AsyncClient(auth=LOGIN, follow_redirects=True, verify=False) as http:
        body = (await http.get(links["file"])).content
    assert len(body) == tenant.truth()[asset]["versions"][-1]["size"]


async def test_sections_come_with_the_asset_where_asked_for(start: Start) -> None:
    tenant = start()
    asset = with_file(tenant)
    press = await section(tenant, "/default-domain/sections", "press")
    year = await section(tenant, "/default-domain/sections/press", "year")
    await publish(tenant, asset, press)
    await publish(tenant, asset, year)
    silent = await tenant.connect(read_only=True).fetch(asset)
    assert not [place for place in silent.placements if place.kind == "section"]
    service = tenant.connect(read_only=True, options={"sections": "on"})
    listed = {entry.id: entry.asset for entry in await listed_by(service)}
    both = {Placement("section", ("Press",), press), Placement("section", ("Press", "Year"), year)}
    assert len(listed) == len(await listed_by(tenant.connect(read_only=True))), "copies are no assets"
    for found in (listed[asset], await service.fetch(asset)):
        assert found is not None
        assert {place for place in found.placements if place.kind == "section"} == both
    assert all(
        not [place for place in found.placements if place.kind == "section"]
        for key, found in listed.items()
        if found is not None and key != asset
    )


async def test_a_server_without_sections_is_asked_once(start: Start) -> None:
    tenant = start()
    plain, asking = (tenant.connect(read_only=True, options={"sections": word}) for word in ("off", "on"))
    await listed_by(plain)
    await listed_by(asking)
    assert sum(asking.calls.values()) - sum(plain.calls.values()) == 1
