"""Service A, where an undocumented write does something else than was assumed: it is noticed at the first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import AssetId, Draft, FileRef, Marker, Patch
from dam_sync.model.errors import Rejected, SafetyStop, Transient
from dam_sync.model.estimator import Estimator
from dam_sync.model.service import Service
from dam_sync.model.values import Json, Localized, Value
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connected_a import FULL, Open, Tenant, asset, draft_for, serving
from tests.support.services.connections import Bytes, entries
from tests.support.state.memory_journal import MemoryJournal

MANY: dict[str, Any] = {
    "legend": Localized({"en": "Light", "fr": "Lumière"}),
    "rating": 3,
    "cleared": True,
    "keywords": ("sea", "dawn"),
}


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def tried(calls: Iterable[Awaitable[Any]]) -> list[Any]:
    """The results, or errors, of calls that are made at once."""
    return await asyncio.gather(*calls, return_exceptions=True)


async def ids_of(service: Service) -> list[AssetId]:
    await service.schema()
    return [entry.id for entry in await entries(service)]


# -- removal (assumption 21) -------------------------------------------------------------------------------------------


async def test_a_removal_that_purges_is_the_only_one(opened: Open) -> None:
    tenant = opened(*[asset(number) for number in range(1, 6)], variant="delete-purges")
    service = tenant.connect()
    refused = await tried(service.remove(each) for each in await ids_of(service))
    assert {type(error) for error in refused} == {SafetyStop}
    assert "deletes: none" in refused[0].hint
    assert len(tenant.truth()) == 4


# -- selection and bulk (assumption 18) --------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["shared-selection", "uncounted-selection"])
async def test_no_bulk_is_sent_to_a_selection_with_media_of_others(opened: Open, variant: str) -> None:
    tenant = opened(FULL, asset(2), variant=variant)
    service = tenant.connect()
    before = tenant.truth()
    drafts = [await draft_for(service, key, **MANY) for key in ("m-1", "m-2", "m-3")]
    made = await tried(service.create(each, Bytes("a.jpg", b"a"), MemoryJournal()) for each in drafts)
    after = tenant.truth()
    assert {each: after[each] for each in before} == before
    for identity, key in zip(made, ("m-1", "m-2", "m-3"), strict=True):
        found = await service.fetch(identity)
        assert (found.fields["legacy_id"], found.fields["rating"], found.status) == (key, 3, "published")


async def test_a_selection_of_one_media_costs_one_look_in_a_run(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    looks = []
    for key in ("m-1", "m-2"):
        draft = await draft_for(service, key, **MANY)
        with tenant.costs() as spent:
            await service.create(draft, Bytes("a.jpg", b"a"), MemoryJournal())
        looks.append(sum(number for call, number in spent.items() if call.startswith("GET") and "selections" in call))
    assert looks == [1, 0]


class Several(AlteredTransport):
    """A bulk that says that it wrote to two media."""

    def altered(self, request: httpx.Request, body: Json) -> Json:
        return {**body, "updatedCount": 2} if request.url.path.endswith("/bulks") else body


async def test_a_bulk_that_wrote_to_several_media_stops_the_run(opened: Open) -> None:
    tenant = opened()
    tenant.transport = Several()
    service = tenant.connect()
    with pytest.raises(SafetyStop, match="wrote to 2 media"):
        await service.create(await draft_for(service, **MANY), Bytes("a.jpg", b"a"), MemoryJournal())


# -- a media that nobody may see (assumption 16) -----------------------------------------------------------------------


async def hidden_drafts(service: Service, number: int) -> list[Draft]:
    base = await draft_for(service)
    folder = frozenset(place for place in base.placements if place.kind == "folder")
    keys = [f"m-{each}" for each in range(number)]
    fields: list[dict[str, Value]] = [{"legacy_id": key, "title": Localized({"en": key})} for key in keys]
    return [
        Draft(Marker("legacy_id", key), "a.jpg", base.profile, "", each, folder)
        for key, each in zip(keys, fields, strict=True)
    ]


@pytest.mark.parametrize("variant", ["published-at-once", "no-status"])
async def test_one_media_is_seen_at_most_where_new_ones_are_published(opened: Open, variant: str) -> None:
    tenant = opened(variant=variant)
    service = tenant.connect()
    drafts = await hidden_drafts(service, 5)
    refused = await tried(service.create(each, Bytes("a.jpg", b"a"), MemoryJournal()) for each in drafts)
    assert {getattr(error, "code", "created") for error in refused} == {"published-at-once"}
    assert [row["status"] for row in tenant.truth().values()] == ["draft"]


# -- memberships (assumption 20) ---------------------------------------------------------------------------------------


async def test_memberships_that_no_list_shows_are_read_in_the_media(opened: Open) -> None:
    tenant = opened(asset(1, placements=[]), variant="no-member-lists")
    service = tenant.connect()
    (media,) = await ids_of(service)
    places = {place.text: place async for place in service.containers()}
    both = frozenset({places["/Press"], places["/Press/2024"], places["/Highlight"]})
    await service.update(media, Patch(placements_add=both))
    await service.update(media, Patch(placements_remove=frozenset({places["/Press"]})))
    assert {place["path"][-1] for place in tenant.truth()[media]["placements"]} == {"2024", "Highlight"}
    with pytest.raises(Rejected, match="does not show it"):
        await service.update(media, Patch(placements_remove=frozenset({places["/Highlight"]})))


async def test_a_membership_that_nothing_shows_is_not_taken_as_written(opened: Open) -> None:
    tenant = opened(asset(1, placements=[]), variant="no-members")
    service = tenant.connect()
    (media,) = await ids_of(service)
    places = {place.text: place async for place in service.containers()}
    with pytest.raises(Rejected, match="does not show it"):
        await service.update(media, Patch(placements_add=frozenset({places["/Press"]})))


# -- listing by id (assumption 1) --------------------------------------------------------------------------------------


async def test_all_media_are_listed_where_a_filter_by_id_is_not_heeded(opened: Open) -> None:
    tenant = opened(*[asset(number) for number in range(1, 251)], variant="ids-ignored")
    service = tenant.connect(read_only=True)
    assert {entry.id for entry in await entries(service)} == set(tenant.truth())


# -- what a write should leave alone (assumptions 19, 25, 26) ----------------------------------------------------------


async def annotated(tenant: Tenant, service: Service) -> list[AssetId]:
    found = await ids_of(service)
    for each in found:
        await service.update(each, Patch(fields={"annotation": "OK", "point_of_interest": "10,20"}))
    return found


async def test_a_status_that_resets_other_properties_is_written_once(opened: Open) -> None:
    tenant = opened(*[asset(number) for number in range(1, 5)], variant="put-resets")
    service = tenant.connect()
    found = await annotated(tenant, service)
    refused = await tried(service.update(each, Patch(status="archived")) for each in found)
    assert {type(error) for error in refused} == {SafetyStop}
    assert "annotation and pointOfInterest" in str(refused[0])
    kept = [(await service.fetch(each)).fields.get("annotation") for each in found]
    assert sorted(map(str, kept)) == ["None", "OK", "OK", "OK"]


async def test_a_status_that_changes_nothing_else_costs_what_it_did(opened: Open) -> None:
    tenant = opened(*[asset(number) for number in range(1, 3)])
    service = tenant.connect()
    for each in await annotated(tenant, service):
        told = Estimator(service).write(Patch(status="archived"))
        with tenant.costs() as spent:
            await service.update(each, Patch(status="archived"))
        assert spent.total() == sum(told.values())


class Undigested(AlteredTransport):
    """Media and versions do not show digests."""

    def altered(self, request: httpx.Request, body: Json) -> Json:
        rows = (body.get("_embedded") or {}).get("file-version", [])
        for each in (body, *rows):
            each.pop("checkSums", None)
        return body


@pytest.mark.parametrize(("size", "known"), [(1001, False), (1500, True)])
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
async def test_a_version_whose_response_was_lost_is_not_taken_for_the_file_before(
    opened: Open, fault: str, size: int, known: bool
) -> None:
    tenant = opened(asset(1))
    tenant.transport = Undigested()
    service = tenant.connect()
    (media,) = await ids_of(service)
    content, journal = Bytes("photo 1.jpg", b"n" * size), MemoryJournal()
    tenant.faults.add([{"match": "POST /api/dam/medias/*/file-versions", "nth": 1, "do": fault}])
    with pytest.raises(Transient):
        await service.replace(media, content, journal)
    if known:
        await service.replace(media, content, journal)
        assert [version["size"] for version in tenant.truth()[media]["versions"]] == [1001, size]
    else:
        with pytest.raises(Rejected, match="whether it arrived is unknown"):
            await service.replace(media, content, journal)


async def test_a_rename_that_drops_the_description_of_a_folder_is_the_only_one(opened: Open) -> None:
    tenant = opened(variant="put-folder-title-only")
    service = tenant.connect()
    async with httpx.AsyncClient(auth=("dam-sync", "secret-a")) as people:
        for title in ("One", "Two"):
            body = {"title": title, "description": f"About {title}"}
            assert (await people.post(f"{tenant.served.url}/api/dam/folder-tree", json=body)).status_code == 201
    places = {place.text: place async for place in service.containers()}
    for title in ("One", "Two"):
        with pytest.raises(SafetyStop, match="removed its description 'About One'"):
            await service.rename_container(places[f"/{title}"], (f"New {title}",))
    assert {place.text async for place in tenant.connect().containers()} >= {"/New One", "/Two"}


async def test_a_return_to_an_older_version_that_drops_the_later_ones_is_the_only_one(opened: Open) -> None:
    tenant = opened(*[{**FULL, "id": each, "relations": []} for each in ("1", "2")], variant="current-drops")
    service = tenant.connect()
    first, second = await ids_of(service)
    for each in (first, second):
        oldest = (await service.fetch(each)).versions[0]
        with pytest.raises(SafetyStop, match="removed 1 of its versions"):
            await service.restore_version(each, FileRef(oldest.id, oldest.name))
    assert [len(tenant.truth()[each]["versions"]) for each in (first, second)] == [1, 2]
