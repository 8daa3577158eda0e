"""The contract of links: a source gives one that opens for anybody, a target fetches a file by one, and what it does
not fetch is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from urllib.request import urlopen

import pytest

from dam_sync.http.redaction import redact
from dam_sync.model.asset import AssetId, Draft, FileLink, FileRef
from dam_sync.model.capabilities import Operation
from dam_sync.model.estimator import Estimator
from dam_sync.model.service import Service
from dam_sync.model.values import Json
from dam_sync.transfer.linked import LinkedContent
from tests.conformance.drafts import plain_draft
from tests.conformance.tenant import Tenant, content
from tests.support.services.connections import body
from tests.support.state.memory_journal import Crash, MemoryJournal

Fresh = Callable[..., Tenant]
SIZE = 70_000
LINK = FileLink("https://files.source.example/one?Signature=secret", "one")
TWO_HOURS = timedelta(hours=2)
links = pytest.mark.needs(Operation.DOWNLOAD_LINK, "network")
fetches = pytest.mark.needs("fetches", Operation.CREATE, Operation.FIND)


# -- sources ---------------------------------------------------------------------------------------------------------


async def file_of(tenant: Tenant, service: Service) -> FileRef:
    """The file of an asset, as it was read."""
    file = (await service.fetch(tenant.of_catalogue(1))).file
    assert file is not None
    return file


@links
async def test_a_link_opens_without_a_credential_for_as_long_as_was_asked(fresh: Fresh) -> None:
    tenant = fresh()
    source = tenant.connect(read_only=True)
    file = await file_of(tenant, source)
    link = await source.download_link(file, TWO_HOURS)
    assert link
    tenant.advance(TWO_HOURS.total_seconds() - 60)
    assert await asyncio.to_thread(opened, link) == await body(source, file)


@links
async def test_there_is_no_link_that_would_end_before(fresh: Fresh) -> None:
    tenant, life = fresh(), timedelta(days=400)
    source = tenant.connect(read_only=True)
    link = await source.download_link(await file_of(tenant, source), life)
    tenant.advance(life.total_seconds() - 60)
    assert not link or await asyncio.to_thread(opened, link)


@links
async def test_a_link_is_not_shown(fresh: Fresh) -> None:
    tenant = fresh()
    source = tenant.connect(read_only=True)
    file = await file_of(tenant, source)
    link = await source.download_link(file, TWO_HOURS)
    assert link not in repr(file) + repr(FileLink(link, "one"))
    signature = link.rpartition("=")[2]
    assert "=" not in link or signature not in redact(link)


@links
async def test_what_a_link_will_cost_is_what_it_costs(fresh: Fresh) -> None:
    tenant = fresh()
    source = tenant.connect(read_only=True)
    file = await file_of(tenant, source)
    estimated = Estimator(source).link(file)
    with tenant.costs() as spent:
        await source.download_link(file, TWO_HOURS)
    assert spent.total() == sum((estimated or {}).values())


def opened(link: str) -> bytes:
    """What anybody gets who has a link."""
    with urlopen(link) as reply:
        return bytes(reply.read())


# -- targets ---------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def linked(tenant: Tenant, name: str, served: int, *, file: str = "") -> AsyncIterator[tuple[LinkedContent, str]]:
    """A file with a link, by which the target gets `served` bytes of it, none at all for 0; and the MD5 of the
    file."""
    async with content(tenant, name, SIZE, seed=file) as (given, digest):
        data = await given.read(0, SIZE)

        async def fetch(url: str) -> AsyncIterator[bytes]:
            assert url == LINK.url
            if not served:
                raise ConnectionRefusedError(url)
            yield data[:served]

        tenant.world.fetch = fetch

        @asynccontextmanager
        async def open_content() -> AsyncIterator[Json]:
            yield given

        async with LinkedContent.of(
            FileRef("1", name, SIZE, "image/jpeg"), FileLink(LINK.url, file), open_content
        ) as made:
            yield made, digest


def check_one(tenant: Tenant, draft: Draft, made: AssetId, digest: str) -> None:
    """Exactly one asset has the marker outside the trash, and it has one file, the right one."""
    assert draft.marker is not None
    [row] = [row for row in tenant.marked(draft.marker.value) if row["status"] != "trash"]
    assert row["id"] == made
    assert row["versions"][-1]["digests"]["md5"] == digest
    assert row["filename"] == draft.filename


@fetches
async def test_the_target_fetches_a_file_by_its_link(fresh: Fresh) -> None:
    tenant = fresh()
    service = tenant.connect()
    draft = await plain_draft(service)
    async with linked(tenant, draft.filename, SIZE) as (given, digest):
        made = await service.create(draft, given, MemoryJournal())
    assert not given.is_open, "the bytes went through us"
    assert tenant.world.fetches == 1
    check_one(tenant, draft, made, digest)


@fetches
async def test_a_fetched_file_costs_what_was_estimated(fresh: Fresh) -> None:
    tenant = fresh()
    service = tenant.connect()
    await service.schema()
    first = await plain_draft(service)
    async with linked(tenant, first.filename, SIZE) as (given, _):
        await service.create(first, given, MemoryJournal())
    draft = await plain_draft(service)
    estimated = Estimator(service).fetched(draft)
    with tenant.costs() as spent:
        async with linked(tenant, draft.filename, SIZE) as (given, _):
            await service.create(draft, given, MemoryJournal())
    assert spent.total() <= sum(estimated.values()) + 1
    assert sum(estimated.values()) <= spent.total() + 1


@fetches
@pytest.mark.parametrize("served", [0, SIZE - 1], ids=["dead", "other"])
async def test_a_file_that_does_not_come_is_sent(fresh: Fresh, served: int) -> None:
    tenant = fresh()
    service = tenant.connect()
    draft = await plain_draft(service)
    async with linked(tenant, draft.filename, served) as (given, digest):
        made = await service.create(draft, given, MemoryJournal())
    assert given.is_open
    tenant.advance(60)
    check_one(tenant, draft, made, digest)


@fetches
@pytest.mark.calls(4_000)
@pytest.mark.parametrize("served", [SIZE, 0, SIZE - 1], ids=["whole", "dead", "other"])
async def test_a_crash_leaves_no_second_asset_and_no_other_file(fresh: Fresh, served: int) -> None:
    tenant = fresh()
    service = tenant.connect(clock=None, options={"fetch_seconds": 60})
    moment = 0
    while True:
        moment += 1
        draft, journal = await plain_draft(service), MemoryJournal(blow_at=moment)
        async with linked(tenant, draft.filename, served) as (given, digest):
            try:
                made = await service.create(draft, given, journal)
                crashed = False
            except Crash:
                crashed, journal.blow_at = True, None
                made = await service.create(draft, given, journal)
        tenant.advance(60)
        check_one(tenant, draft, made, digest)
        assert "secret" not in repr(journal.done), "a link was recorded"
        if not crashed:
            break
    assert moment > 4


@fetches
@pytest.mark.calls(4_000)
async def test_a_file_that_changed_after_a_crash_is_fetched_as_it_is_now(fresh: Fresh) -> None:
    tenant = fresh()
    service = tenant.connect()
    moment, crashed = 0, True
    while crashed:
        moment, crashed = moment + 1, False
        draft, journal = await plain_draft(service), MemoryJournal(blow_at=moment)
        async with linked(tenant, draft.filename, SIZE) as (given, _):
            try:
                await service.create(draft, given, journal)
            except Crash:
                crashed, journal.blow_at = True, None
        if crashed:
            async with linked(tenant, draft.filename, SIZE, file="two") as (given, digest):
                made = await service.create(draft, given, journal)
            tenant.advance(60)
            if not any("read-back" in name or name == "tags" for name in journal.done):
                check_one(tenant, draft, made, digest)
    assert moment > 4
