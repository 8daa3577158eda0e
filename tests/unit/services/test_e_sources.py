"""What service E gives as a source beyond fields and files: public links, tags, documents, and what it keeps back."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from dam_sync.model.asset import Asset, AssetId, Loss
from dam_sync.model.errors import Transient
from dam_sync.model.service import Service
from dam_sync.services.e_profiles.codec import wire
from dam_sync.services.e_profiles.codec.fields import TenantSchema
from tests.support.services.connected_e import Open, asset, serving
from tests.support.services.connections import body, entries


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def only(service: Service) -> Asset:
    (entry,) = await entries(service)
    assert entry.asset == await service.fetch(entry.id)
    assert entry.asset is not None
    return entry.asset


async def test_public_links_are_read_where_asked_for_at_no_call(opened: Open) -> None:
    tenant = opened(asset(1))
    with tenant.costs() as plain:
        assert not (await only(tenant.connect(read_only=True))).source_links
    with tenant.costs() as spent:
        links = (await only(tenant.connect(read_only=True, public_links="on"))).source_links
    assert spent == plain
    assert set(links) == {"original", "640px-landscape", "Web / (large)*"}  # templates lead nowhere
    async with httpx.AsyncClient(verify=False) as http:
        assert len((await http.get(links["original"])).content) == 1001


async def test_tags_of_people_and_generated_tags_are_stored_apart(opened: Open) -> None:
    tenant = opened(asset(1, tags=["sea"], machine_tags=["rim", "alloy"]))
    found = await only(tenant.connect(read_only=True))
    assert found.tags == {"sea"}
    assert found.machine_tags == {"rim", "alloy"}


def test_a_document_without_a_link_is_a_named_loss() -> None:
    row = {"id": "a", "version_id": "v", "filename": "a.jpg"}
    documents = [{"uuid": "d1", "title": "release.pdf", "downloadUrl": "https://cdn.example/x"}]
    documents.append({"uuid": "d2", "title": "contract.pdf", "downloadUrl": ""})
    found = wire.asset_of(row, TenantSchema(), wire.More(documents=documents))
    assert [file.name for file in found.attachments] == ["release.pdf"]
    assert found.losses == (Loss("attachments", "no download link", "contract.pdf"),)
    assert found.id == AssetId("a")


@pytest.mark.parametrize("enumerate", ["slices", "scroll"])
async def test_a_release_that_cannot_expand_tags_is_asked_without_them(opened: Open, enumerate: str) -> None:
    """Wire E 7, 10: an unknown word in `expand` is a 400, and tags came late."""
    spent = {}
    for variant in ("", "older"):
        tenant = opened(*(asset(number, tags=["sea"]) for number in range(3)), variant=variant)
        service = tenant.connect(read_only=True, enumerate=enumerate)
        with tenant.costs() as spent[variant]:
            found = [await service.fetch(entry.id) for entry in await entries(service)]
        assert {one.id for one in found} == set(tenant.truth())
        assert [one.tags for one in found] == [frozenset[str]() if variant else frozenset({"sea"})] * 3
    assert spent["older"] - spent[""] == {"GET /v2/assets/search": 1}


async def test_a_file_whose_size_is_listed_in_kilobytes_does_not_arrive_empty(opened: Open) -> None:
    """Wire E 4: a known failure is a 200 without a byte, and older servers list sizes in kB alone."""
    tenant = opened(asset(1), variant="older")
    service = tenant.connect(read_only=True)
    (file,) = (await only(service)).versions
    assert file.size is None
    for connection in (service, tenant.connect(read_only=True)):
        tenant.faults.add([{"match": "GET *download-deferred*", "nth": 1, "do": "empty"}])
        with pytest.raises(Transient, match="without a byte"):
            await body(connection, file)
        assert len(await body(connection, file)) == 1001
