"""An instance whose media have their parts at other paths than the current layout: links are followed (spec 000)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx
import pytest

from dam_sync.model.asset import AssetId, Patch, Relation
from dam_sync.model.errors import NotFound
from dam_sync.model.values import Localized
from tests.support.services.connected_a import FULL, Open, asset, draft_for, serving
from tests.support.services.connections import Bytes, body, entries
from tests.support.state.memory_journal import MemoryJournal

MOVED = {"moved_parts": True}


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def test_a_media_is_read_with_all_its_parts(opened: Open) -> None:
    usual, moved = opened(FULL, asset(2)).connect(), opened(FULL, asset(2), **MOVED).connect()
    first, there = (await entries(usual))[0].id, (await entries(moved))[0].id
    found, wanted = await moved.fetch(there), await usual.fetch(first)
    assert (found.fields, found.placements, found.relations) == (wanted.fields, wanted.placements, wanted.relations)
    assert [file.name for file in found.versions] == ["old.jpg", "harbour.jpg"]
    assert [len(await body(moved, file)) for file in (*found.versions, *found.attachments)] == [900, 1200, 300]


class SlowRefusals(httpx.AsyncBaseTransport):
    """Carries requests over sockets; a 404 arrives once a media was read."""

    def __init__(self) -> None:
        self.usual, self.read = httpx.AsyncHTTPTransport(), asyncio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """See `httpx.AsyncBaseTransport`."""
        reply = await self.usual.handle_async_request(request)
        if re.search(r"/medias/\d+$", request.url.path) and request.method == "GET":
            self.read.set()
        elif reply.status_code == 404:
            await asyncio.wait_for(self.read.wait(), 30.0)
        return reply

    async def aclose(self) -> None:
        """Close every connection."""
        await self.usual.aclose()


async def test_links_that_another_call_reads_in_between_are_followed(opened: Open) -> None:
    tenant = opened(FULL, asset(2), **MOVED)
    first, second = (entry.id for entry in await entries(tenant.connect()))
    title = Localized({"en": "New"})
    async with aclosing(SlowRefusals()) as tenant.transport:
        service = tenant.connect()
        async with asyncio.TaskGroup() as group:
            group.create_task(service.update(first, Patch(fields={"title": title})))
            group.create_task(service.fetch(second))
        assert (await service.fetch(first)).fields["title"] == title


@pytest.mark.parametrize("bulk", ["auto", "off"])
async def test_a_media_is_written_before_any_was_read(opened: Open, bulk: str) -> None:
    tenant = opened(**MOVED)
    service = tenant.connect(bulk=bulk)
    made = await service.create(await draft_for(service), Bytes("a.jpg", b"x" * 10), MemoryJournal())
    other = await service.create(await draft_for(service, "m-2"), Bytes("b.jpg", b"y" * 10), MemoryJournal())
    await service.replace(made, Bytes("c.jpg", b"z" * 20), MemoryJournal())
    await service.attach(made, Bytes("plan.pdf", b"p" * 30, "application/pdf"), MemoryJournal())
    found = await service.fetch(made)
    assert found.fields["title"] == Localized({"en": "New", "fr": "Nouveau"})
    assert {place.text for place in found.placements} == {"/Press/2024", "/Highlight"}
    assert ([file.name for file in found.versions], len(found.attachments)) == (["a.jpg", "c.jpg"], 1)
    await service.update(made, Patch(placements_remove=found.placements))
    assert (await service.fetch(made)).placements == frozenset()
    assert other != made


async def test_relations_are_written_and_removed(opened: Open) -> None:
    service = opened(FULL, asset(2), **MOVED).connect()
    first, second = (entry.id for entry in await entries(service))
    (link,) = (await service.fetch(first)).relations
    await service.unrelate(first, link)
    assert not (await service.fetch(first)).relations
    await service.relate(first, Relation(link.kind, second))
    assert (await service.fetch(first)).relations == {link}


async def test_a_missing_asset_is_looked_for_once(opened: Open) -> None:
    tenant = opened(FULL, asset(2))
    service = tenant.connect()
    await service.schema()
    with tenant.costs() as spent, pytest.raises(NotFound):
        await service.update(AssetId("999999"), Patch(fields={"rating": 3}))
    assert [call.split()[0] for call in spent.elements()] == ["PUT", "GET"]
