"""What service B returns as a source where the job asks for it: lasting URLs of files, sections of its copies."""

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
async def test_the_url_of_a_file_is_returned_where_requested_and_lasts(start: Start, release: str) -> None:
    """Older releases have no `blobUrl`: the URL in `data` serves where it is the server's own."""
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


# -- what a delta sees of others ---------------------------------------------------------------------------------------


async def revisions(tenant: Tenant) -> dict[AssetId, str]:
    """As a delta lists them: thin rows, by a connection of its own."""
    service = tenant.connect(read_only=True)
    window = Window(since=tenant.world.now())
    return {
        entry.id: entry.revision
        async for shard in service.shards(window)
        async for batch in service.crawl(shard, None)
        for entry in batch.entries
    }


async def folder_of(tenant: Tenant, asset: AssetId) -> str:
    body = {"params": {"query": f"SELECT * FROM Document WHERE ecm:uuid = '{asset}'", "pageSize": 1}}
    return str((await as_administrator(tenant, "/automation/Repository.Query", body))["entries"][0]["parentRef"])


async def new_collection(tenant: Tenant, members: list[AssetId]) -> str:
    body = {"entity-type": "document", "type": "Collection", "name": "best", "properties": {"dc:title": "Best"}}
    uid = str((await as_administrator(tenant, "/path/default-domain/workspaces", body))["uid"])
    add = {"input": f"docs:{','.join(members)}", "params": {"collection": uid}}
    await as_administrator(tenant, "/automation/Document.AddToCollection", add)
    return uid


async def operated(tenant: Tenant, operation: str, uid: str, **params: Any) -> None:
    await as_administrator(tenant, f"/automation/{operation}", {"input": f"doc:{uid}", "params": params})


async def test_a_delta_lists_the_members_of_a_renamed_and_of_a_trashed_collection_as_changed(start: Start) -> None:
    """Neither moves the token of a member (wire B 2.6)."""
    tenant = start()
    members = sorted(await revisions(tenant))[:2]
    collection = await new_collection(tenant, members)
    before = await revisions(tenant)
    await operated(tenant, "Document.Update", collection, properties={"dc:title": "Renamed"})
    renamed = await revisions(tenant)
    assert sorted(asset for asset in before if before[asset] != renamed[asset]) == members
    await operated(tenant, "Document.Trash", collection)
    trashed = await revisions(tenant)
    assert sorted(asset for asset in before if renamed[asset] != trashed[asset]) == members
    whole = {entry.id: entry.revision for entry in await listed_by(tenant.connect(read_only=True))}
    assert whole == trashed, "a whole listing gives the same revisions"
    service = tenant.connect(read_only=True)
    assert {asset: (await service.fetch(asset)).revision for asset in members} == {m: trashed[m] for m in members}


async def test_a_delta_lists_what_a_closed_folder_holds_as_changed(start: Start) -> None:
    """Inherited rights move the token of the folder only (wire B 2.6)."""
    tenant = start()
    before = await revisions(tenant)
    folder = await folder_of(tenant, next(iter(before)))
    await operated(tenant, "Document.BlockPermissionInheritance", folder, acl="local")
    after = await revisions(tenant)
    inside = {asset for asset in before if await folder_of(tenant, asset) == folder}
    assert {asset for asset in before if before[asset] != after[asset]} >= inside
