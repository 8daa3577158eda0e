"""What service C gives as a source where the job asks for it: CDN links; and which assets are still there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Entry, Patch
from dam_sync.model.clock import SystemClock
from dam_sync.model.service import Service, Window
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.service import BrandLibraryService
from tests.conformance.catalogue import library
from tests.conformance.tenant import Tenant, started
from tests.support.services.connections import HastyClock
from tests.support.services.small_limits import changed

Start = Callable[..., Tenant]
ON = {"public_links": "on"}
DAY = timedelta(days=1)


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    made: list[Tenant] = []

    def begin(**options: Any) -> Tenant:
        made.append(started("c_brandlibrary", library(), tmp_path, **options))
        return made[-1]

    yield begin
    for tenant in made:
        await tenant.disconnect()
        tenant.served.stop()


async def listed_by(service: Service) -> list[Entry]:
    """Every entry of a whole listing."""
    return [
        entry
        async for shard in service.shards(Window())
        async for batch in service.crawl(shard, None)
        for entry in batch.entries
    ]


def published(tenant: Tenant) -> list[AssetId]:
    return [AssetId(key) for key, row in tenant.shown().items() if row["status"] == "published"]


async def test_cdn_links_are_read_where_asked_for_by_one_call_each(start: Start) -> None:
    tenant = start()
    asset = published(tenant)[0]
    plain, asking = tenant.connect(read_only=True), tenant.connect(read_only=True, options=ON)
    assert not (await plain.fetch(asset)).source_links
    link = (await asking.fetch(asset)).source_links["cdn"]
    assert f"/as/{asset}/" in link
    assert "?" not in link
    assert asking.calls[facts.ASSET] == plain.calls[facts.ASSET] + 1
    found = {entry.id: entry.asset for entry in await listed_by(asking)}
    listed = found[asset]
    assert listed is not None
    assert listed.source_links == {"cdn": link}


async def test_a_pending_asset_costs_no_call_and_breaks_no_listing(start: Start) -> None:
    """`cdn_url` turns a list with one pending asset into a 404: it is never asked of a list."""
    tenant = start()
    asset = published(tenant)[0]
    await tenant.connect().update(asset, Patch(status="pending"))
    asking = tenant.connect(read_only=True, options=ON)
    found = {entry.id: entry.asset for entry in await listed_by(asking)}
    pending = found[asset]
    assert pending is not None
    assert not pending.source_links
    plain = tenant.connect(read_only=True)
    await listed_by(plain)
    assert asking.calls[facts.ASSET] - plain.calls.get(facts.ASSET, 0) == len(published(tenant))
    assert any(each is not None and each.source_links for each in found.values())


async def test_an_account_without_a_cdn_has_no_links(start: Start) -> None:
    tenant = start(variant="no_cdn")
    assert not (await tenant.connect(read_only=True, options=ON).fetch(published(tenant)[0])).source_links


# -- relations that lists keep to themselves -------------------------------------------------------------------------


class Unclear(BrandLibraryService):
    """Believes no count of a moment ago."""

    clearly = 0.0


class ShortPages(BrandLibraryService):
    """Lists ids by two, and asks for one asset at most by its id."""

    long_page = 2
    asked_singly = 1


@pytest.mark.parametrize("variant", ["", "section_files", "messy", "no_empties"])
async def test_relations_that_a_list_leaves_out_are_read_singly(start: Start, variant: str) -> None:
    """A list may honour some includes alone, or name rows that it does not include: nothing of them is lost."""
    tenant = start(variant=variant)
    tenant.limits, tenant.service = changed(tenant.kind.name, reach=6), Unclear
    service = tenant.connect(read_only=True)
    await service.probe()
    found = await listed_by(service)
    singly = service.calls.get(facts.ASSET, 0)
    whole = {entry.id: await service.fetch(entry.id) for entry in found}
    assert {entry.id: entry.asset for entry in found} == whole
    assert len(found) == len(tenant.shown())
    assert any(asset.tags for asset in whole.values())
    if variant in ("", "no_empties"):
        assert singly < len(found), "a list that gives everything costs no call for each asset"


# -- what the service deleted ------------------------------------------------------------------------------------------


async def gone(service: Service, ids: list[AssetId], days: int = 9999) -> frozenset[AssetId]:
    return await service.missing(ids, SystemClock().now() - days * DAY)


async def test_missing_assets_are_found_by_few_calls(start: Start) -> None:
    tenant = start()
    service = tenant.connect(read_only=True)
    ids = published(tenant)
    assert len(ids) > facts.ASKED_SINGLY
    await service.probe()
    before = sum(service.calls.values())
    assert await gone(service, ids) == frozenset()
    assert sum(service.calls.values()) - before <= 1
    await tenant.connect().remove(ids[0])
    assert await gone(service, ids) == {ids[0]}
    assert await gone(service, ids[:2]) == {ids[0]}, "few are asked for one by one"


async def test_what_lies_behind_the_reach_is_found_by_its_section(start: Start) -> None:
    tenant = start()
    tenant.limits, tenant.service = changed(tenant.kind.name, reach=4), ShortPages
    ids = published(tenant)
    service = tenant.connect(read_only=True)
    await service.probe()
    assert await gone(service, ids) == frozenset()
    assert service.calls.get(facts.ASSET, 0) <= 1


async def test_assets_older_than_assumed_are_not_taken_for_missing(start: Start) -> None:
    tenant = start()
    assert await gone(tenant.connect(read_only=True), published(tenant), days=0) == frozenset()


# -- deltas of libraries beyond reach ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("page", "later", "looks"), [(4, 0.0, 0), (4, 600.0, 1), (1, 0.0, 1)])
async def test_few_changes_of_a_large_library_are_found_by_the_sample_of_its_fields(
    start: Start, page: int, later: float, looks: int
) -> None:
    """The sample is of the assets that changed last: if its last is older, no call is needed to see that all changes
    are within reach. It proves nothing a while later, nor if all that it shows is new."""
    tenant = start()
    tenant.limits, tenant.service = changed(tenant.kind.name, reach=4), Unclear
    clock, since = HastyClock(tenant.world), tenant.world.now()
    edited = published(tenant)[0]
    await tenant.connect().update(edited, Patch(fields={"title": "another"}))
    service = tenant.connect(clock=clock, read_only=True, options={"page": page})
    await service.probe()
    await service.schema()
    await clock.sleep(later)
    before = service.calls[facts.LIBRARY_ASSETS]
    shards = [shard async for shard in service.shards(Window(since=since + facts.OVERLAP))]
    assert [shard.id for shard in shards] == ["changes"]
    assert service.calls[facts.LIBRARY_ASSETS] - before == looks
    listed = [entry.id async for batch in service.crawl(shards[0], None) for entry in batch.entries]
    assert listed == [edited]


async def test_a_listing_gives_the_same_revisions_each_time(start: Start) -> None:
    """The rows of a relationship come in any order."""
    service = start().connect(read_only=True)
    first = {entry.id: entry.revision for entry in await listed_by(service)}
    for _ in range(3):
        assert {entry.id: entry.revision for entry in await listed_by(service)} == first
