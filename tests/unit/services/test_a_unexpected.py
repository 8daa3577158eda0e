"""Service A where an instance spells, orders or refuses things in another way than assumed, over sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import Patch, Relation
from dam_sync.model.errors import IntegrityError, NotFound, Rejected, Transient, TruncatedListing, Unsupported
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia.api.connection import EntryPoints, HalRequest
from dam_sync.services.a_hypermedia.target.find import MediaFinder
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connected_a import FULL, Open, asset, draft_for, serving
from tests.support.services.connections import Bytes, body, entries
from tests.support.state.memory_journal import MemoryJournal


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


class Broken(Bytes):
    """Content whose bytes are not what its source promised."""

    async def check(self) -> None:
        raise IntegrityError("the digest differs")


async def test_bytes_that_fail_their_check_are_attached_in_no_attempt(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    (entry,) = await entries(service)
    journal = MemoryJournal()
    for _ in range(2):
        with pytest.raises(IntegrityError):
            await service.attach(entry.id, Broken("plan.pdf", b"p" * 40, "application/pdf"), journal)
    assert not (await service.fetch(entry.id)).attachments
    sound = Bytes("plan.pdf", b"p" * 40, "application/pdf")
    await service.attach(entry.id, sound, journal)
    assert sound.checked
    assert [file.name for file in (await service.fetch(entry.id)).attachments] == ["plan.pdf"]


async def test_folders_and_links_in_the_other_spelling_are_read_and_written(opened: Open) -> None:
    tenant = opened(FULL, asset(2), variant="plural-folders,bare-links")
    service = tenant.connect()
    first, _ = await entries(service)
    with tenant.costs() as spent:
        found = await service.fetch(first.id)
    assert not any(call.endswith("/folders") for call in spent)
    assert {place.text for place in found.placements} == {"/Press/2024", "/Highlight"}
    await service.attach(first.id, Bytes("more.pdf", b"m" * 40, "application/pdf"), MemoryJournal())
    more = (await service.fetch(first.id)).attachments[-1]
    assert await body(service, more) == b"m" * 40
    patch = Patch(placements_remove=frozenset(place for place in found.placements if place.kind == "folder"))
    tenant.faults.add([{"match": "DELETE /api/dam/folders/*", "nth": 1, "do": "status:404"}])
    with pytest.raises(Rejected, match="stays in"):
        await service.update(first.id, patch)


async def test_folders_are_listed_only_where_an_instance_embeds_none(opened: Open) -> None:
    tenant = opened(FULL, asset(2), embeds_folders=False)
    service = tenant.connect()
    for entry in await entries(service):
        assert "/Press/2024" in {place.text for place in (await service.fetch(entry.id)).placements}
    known = opened(asset(1), asset(2, placements=[]))
    service = known.connect()
    first, second = await entries(service)
    assert (await service.fetch(first.id)).placements
    with known.costs() as spent:
        assert not (await service.fetch(second.id)).placements
    assert not any(call.endswith("/folders") for call in spent)


@pytest.mark.parametrize("status", [404, 405])
async def test_an_instance_without_attachments_or_links_loses_no_asset(opened: Open, status: int) -> None:
    tenant = opened(FULL, asset(2))
    service = tenant.connect()
    first, second = await entries(service)
    tenant.faults.add(
        [
            {"match": f"GET /api/dam/medias/*/{part}", "do": f"status:{status}"}
            for part in ("attachments", "media-links")
        ]
    )
    found = await service.fetch(first.id)
    assert (found.attachments, found.relations) == ((), frozenset())
    assert [loss.path for loss in found.losses] == ["attachments", "relations"]
    assert len(found.versions) == 2
    with pytest.raises(Unsupported):
        await service.relate(first.id, Relation("Views of the object", second.id))


@pytest.mark.parametrize("part", ["attachments", "media-links", "folders"])
async def test_a_list_that_is_refused_for_one_media_alone_is_an_error_of_this_media(opened: Open, part: str) -> None:
    tenant = opened(FULL, asset(2), embeds_folders=False)
    service = tenant.connect()
    first, _ = await entries(service)
    tenant.faults.add([{"match": f"GET /api/dam/medias/{first.id}/{part}", "do": "status:404"}])
    with pytest.raises(Rejected, match=f"refused the {part} of this media, but lists those of others") as refused:
        await service.fetch(first.id)
    assert refused.value.asset == first.id


async def test_a_media_that_is_deleted_while_it_is_read_is_not_found(opened: Open) -> None:
    async def reading() -> None:
        raise NotFound("returned 404", code="media-not-found")

    service: Any = opened().connect()
    with pytest.raises(NotFound):
        await service._optional.read("attachments", "1", reading)


async def test_a_rich_search_is_not_proven_by_a_label(opened: Open) -> None:
    label = [{"kind": "label", "path": ["Highlight"], "id": ""}]
    tenant = opened(asset(1, placements=label), rich_search=True)
    assert all(entry.asset is None for entry in await entries(tenant.connect()))


async def test_rows_of_a_rich_search_come_in_every_language_whatever_the_user_prefers(opened: Open) -> None:
    tenant = opened(asset(1), asset(2), rich_search=True, languages=["fr", "en"])
    service = tenant.connect(locales="en,fr")
    for entry in await entries(service):
        assert entry.asset is not None
        assert entry.asset == await service.fetch(entry.id)


class CountingTransport(AlteredTransport):
    """Folders count three members more than they have, and show none."""

    def altered(self, request: httpx.Request, body: Json) -> Json:
        is_members = request.method == "GET" and "/dam/folders/" in request.url.path
        return {"_links": body["_links"], "totalCount": body["totalCount"] + 3} if is_members else body


async def test_a_folder_that_counts_more_than_it_shows_stops_no_recovery(opened: Open) -> None:
    tenant = opened()
    tenant.transport = CountingTransport()
    service = tenant.connect()
    draft, content, journal = await draft_for(service), Bytes("new.jpg", b"x" * 50), MemoryJournal()
    tenant.faults.add([{"match": "POST /api/dam/folders/*/medias", "nth": 1, "do": "reset_after"}])
    with pytest.raises(Transient):
        await service.create(draft, content, journal)
    await service.create(draft, content, journal)
    assert len(tenant.truth()) == 1


@pytest.mark.parametrize(
    ("importer", "own", "ours"), [("2", "2", True), ("3", "2", False), ("", "2", True), ("3", "", True)]
)
async def test_an_older_release_adopts_no_media_of_another_user(
    opened: Open, importer: str, own: str, ours: bool
) -> None:
    tenant = opened(release="4.15.9")
    service: Any = tenant.connect()
    entry: EntryPoints = await service._api.entry.get()
    object.__setattr__(entry, "user", own)
    finder: MediaFinder = service
    media = {"id": 1, "_embedded": {"importUser": {"id": int(importer)}} if importer else {}}
    assert await finder._is_ours(media) is ours


class RepeatingTransport(AlteredTransport):
    """Every page of the labels is the first, of `total` labels."""

    def __init__(self, total: int | None) -> None:
        super().__init__()
        self.total, self.asked = total, 0

    def instead(self, request: httpx.Request) -> Json:
        if not request.url.path.endswith("/labels"):
            return None
        self.asked += 1
        page = {"_links": {"next": {"href": "http://x/again"}}, "_embedded": {"label": [{"id": 1, "title": "x"}]}}
        return page if self.total is None else {**page, "totalCount": self.total}


@pytest.mark.parametrize("total", [1_000_000, None])
async def test_a_listing_that_repeats_its_page_ends_at_the_second(opened: Open, total: int | None) -> None:
    """As some proxy or a fault may respond: always the same page, and always another one to come."""
    tenant, transport = opened(asset(1)), RepeatingTransport(total)
    tenant.transport = transport
    service: Any = tenant.connect()
    reading = service._api.listed(HalRequest("GET", "labels"), "label")
    if total is None:
        assert await reading == [{"id": 1, "title": "x"}]
    else:
        with pytest.raises(TruncatedListing, match="1 of 1000000"):
            await reading
    assert transport.asked == 2
