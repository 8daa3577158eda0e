"""Folders and collections of service B: what was made meanwhile, what lies in the trash, how names are spelled."""

from __future__ import annotations

import unicodedata
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import Placement
from dam_sync.services.b_documents.taxonomy.containers import container_name
from tests.conformance.tenant import Tenant
from tests.support.network.altered_transport import AlteredTransport

KIND = "b_documents"
COMPOSED = unicodedata.normalize("NFC", "Été à Brest")
APART = unicodedata.normalize("NFD", COMPOSED)


async def operate(raw: httpx.AsyncClient, name: str, given: str, **params: Any) -> None:
    (await raw.post(f"/automation/{name}", json={"input": given, "params": params})).raise_for_status()


async def added(raw: httpx.AsyncClient, kind: str, title: str) -> str:
    """A document beside the library's own; its id."""
    body = {"entity-type": "document", "type": kind, "name": title[:8], "properties": {"dc:title": title}}
    reply = (await raw.post("/path/default-domain/workspaces", json=body)).raise_for_status()
    return str(reply.json()["uid"])


async def test_nothing_is_put_into_a_folder_of_the_trash(tenant: Tenant, raw: httpx.AsyncClient) -> None:
    """It is met above an asset of the trash, where its title is that of a folder that is wanted."""
    reader = tenant.connect()
    old = await added(raw, "Folder", "Spring")
    inside = tenant.of_catalogue(2)
    await operate(raw, "Document.Move", f"doc:{inside}", target=old)
    await operate(raw, "Document.Trash", f"doc:{old}")
    assert {place.path for place in (await reader.fetch(inside)).placements} == {("Spring",)}
    made = await reader.ensure_container("folder", ("Spring",))
    assert made.id != old


@pytest.mark.parametrize(("kind", "place"), [("Folder", "folder"), ("Collection", "collection")])
async def test_the_oldest_of_several_with_one_title_keeps_it_whatever_is_added(
    tenant: Tenant, raw: httpx.AsyncClient, kind: str, place: str
) -> None:
    """Ids are random: a later one may be the smaller one."""
    found = [await added(raw, kind, "Harbour") for _ in range(4)]
    oldest, *later = sorted(found, reverse=True)
    for day, each in enumerate((oldest, *later), 1):
        created = {"dc:created": f"2026-01-0{day}T08:00:00.000Z"}
        change = {"entity-type": "document", "uid": each, "properties": created}
        (await raw.put(f"/id/{each}", json=change)).raise_for_status()
    named = {p.id: p.path for p in [p async for p in tenant.connect(read_only=True).containers()] if p.kind == place}
    assert named[oldest] == ("Harbour",)
    assert all(named[each][0].startswith("Harbour [") for each in later)


async def test_a_collection_made_during_a_run_is_read(tenant: Tenant, raw: httpx.AsyncClient) -> None:
    """The asset's token shows it now and not later."""
    service = tenant.connect(read_only=True)
    await service.fetch(tenant.of_catalogue(1))
    fresh = await added(raw, "Collection", "Fresh")
    await operate(raw, "Document.AddToCollection", f"doc:{tenant.of_catalogue(2)}", collection=fresh)
    with tenant.costs() as spent:
        found = [await service.fetch(tenant.of_catalogue(2)) for _ in range(2)]
    assert all(Placement("collection", ("Fresh",), fresh) in asset.placements for asset in found)
    assert spent["POST /api/v1/automation/Repository.Query"] == 1


async def test_a_collection_that_cannot_be_seen_is_looked_for_once(tenant: Tenant, raw: httpx.AsyncClient) -> None:
    service = tenant.connect(read_only=True)
    await service.fetch(tenant.of_catalogue(1))
    hidden = await added(raw, "Collection", "Hidden")
    await operate(raw, "Document.AddToCollection", f"doc:{tenant.of_catalogue(2)}", collection=hidden)
    await operate(raw, "Document.Trash", f"doc:{hidden}")
    with tenant.costs() as spent:
        for _ in range(3):
            await service.fetch(tenant.of_catalogue(2))
    assert spent["POST /api/v1/automation/Repository.Query"] <= 1


@pytest.mark.parametrize("kind", ["Folder", "Collection"])
async def test_a_title_is_the_same_in_both_ways_to_write_its_accents(
    tenant: Tenant, raw: httpx.AsyncClient, kind: str
) -> None:
    there = await added(raw, kind, APART)
    service = tenant.connect()
    assert (await service.ensure_container(kind.lower(), (COMPOSED,))).id == there
    assert (kind.lower(), (APART,), there) in [(p.kind, p.path, p.id) async for p in service.containers()]
    made = await service.ensure_container(kind.lower(), (f"{APART} 2",))
    assert (await tenant.connect().ensure_container(kind.lower(), (f"{COMPOSED} 2",))).id == made.id


def test_names_follow_from_the_title_however_it_is_written() -> None:
    assert container_name("folder", APART) == container_name("folder", COMPOSED)


class FoldersAreCollections(AlteredTransport):
    """Folders have the facet of collections."""

    def altered(self, request: httpx.Request, body: Any) -> Any:
        if request.url.path.endswith("/config/types"):
            body["doctypes"]["Folder"]["facets"] = [*body["doctypes"]["Folder"].get("facets", ()), "Collection"]
        return body


async def test_whatever_has_the_facet_of_collections_is_one(tenant: Tenant, raw: httpx.AsyncClient) -> None:
    """Also where its type descends from none that we know (wire B 2.5)."""
    tenant.transport = FoldersAreCollections()
    lightbox = await added(raw, "Folder", "Lightbox")
    found = {place.id: place.path async for place in tenant.connect().containers() if place.kind == "collection"}
    assert found[lightbox] == ("Lightbox",)
