"""Service E listed in order of upload: each asset once, by few calls, under both readings of range ends."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from dam_sync.model.errors import ContractBroken, DamSyncError, TruncatedListing
from dam_sync.model.service import Batch, Service, Shard, Window
from dam_sync.model.values import Json
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.api.search import PATH
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connected_e import START, TOKEN, Open, Tenant, asset, serving
from tests.support.services.connections import EVERYTHING

SEARCH = "GET /v2/assets/search"
READINGS = ("", "exclusive", "second")


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


def spread(count: int, *, apart: float = 31.0) -> list[Json]:
    return [asset(n, START + timedelta(seconds=round(apart * n))) for n in range(1, count + 1)]


async def batches(service: Service, window: Window = EVERYTHING) -> list[tuple[Shard, Batch]]:
    return [(shard, batch) async for shard in service.shards(window) async for batch in service.crawl(shard, None)]


def ids(found: Sequence[tuple[Shard, Batch]]) -> Counter[str]:
    return Counter(entry.id for _, batch in found for entry in batch.entries)


def check(tenant: Tenant, found: Sequence[tuple[Shard, Batch]]) -> None:
    """Each asset once, no batch larger than a page."""
    assert ids(found) == Counter(tenant.truth().keys())
    assert max(len(batch.entries) for _, batch in found) <= 100
    assert not tenant.world.refused


@pytest.mark.parametrize("variant", READINGS)
async def test_a_library_costs_no_more_than_its_pages(opened: Open, variant: str) -> None:
    tenant = opened(*spread(1000), variant=variant)
    service = tenant.connect(read_only=True)
    await service.probe()
    await service.schema()
    with tenant.costs() as spent:
        found = await batches(service)
    check(tenant, found)
    assert set(spent) == {SEARCH}
    assert spent[SEARCH] <= 1.1 * 1000 / 100


@pytest.mark.parametrize("variant", READINGS)
@pytest.mark.parametrize("apart", [0.0, 0.004, 0.02, 0.5, 1.0])
async def test_assets_of_one_second_are_each_listed_once(opened: Open, variant: str, apart: float) -> None:
    tenant = opened(*spread(330, apart=apart), variant=variant)
    check(tenant, await batches(tenant.connect(read_only=True)))


@pytest.mark.parametrize("enumerate", ["slices", "scroll"])
async def test_assets_of_one_second_are_listed_in_one_order(opened: Open, enumerate: str) -> None:
    """A plan gives names to assets in this order, and a run the same ones; the service shuffles them (wire E 2.3)."""
    service = opened(*spread(40, apart=0.0)).connect(read_only=True, enumerate=enumerate)
    first, second = [list(ids(await batches(service))) for _ in range(2)]
    assert first == second


@pytest.mark.parametrize("enumerate", ["slices", "scroll"])
async def test_pages_are_as_long_as_the_limits_of_the_instance(opened: Open, enumerate: str) -> None:
    tenant = opened(*spread(20))
    tenant.limits = replace(facts.LIMITS, page=7)
    found = await batches(tenant.connect(read_only=True, enumerate=enumerate))
    check(tenant, found)
    assert max(len(batch.entries) for _, batch in found) == 7


@pytest.mark.parametrize("variant", READINGS)
async def test_a_crowded_second_has_neighbours(opened: Open, variant: str) -> None:
    crowd = [asset(n, START + timedelta(seconds=n // 120)) for n in range(360)]
    tenant = opened(*crowd, asset(900, START + timedelta(seconds=9)), variant=variant)
    check(tenant, await batches(tenant.connect(read_only=True)))


@pytest.mark.parametrize("variant", READINGS)
@pytest.mark.parametrize("apart", [0.004, 0.05, 7.0])
async def test_a_listing_goes_on_from_every_cursor(opened: Open, variant: str, apart: float) -> None:
    tenant = opened(*spread(430, apart=apart), variant=variant)
    found, everything = await batches(tenant.connect(read_only=True)), set(tenant.truth())
    check(tenant, found)
    for number, (shard, batch) in enumerate(found):
        if batch.cursor is None:
            continue
        cursor = json.loads(json.dumps(dict(batch.cursor)))
        again = [(shard, one) async for one in tenant.connect(read_only=True).crawl(shard, cursor)]
        assert set(ids(again).values()) <= {1}
        assert ids(found[: number + 1]).keys() | ids(again).keys() == everything


async def test_what_is_changed_during_a_listing_is_not_missed(opened: Open) -> None:
    tenant = opened(*spread(250))
    service = tenant.connect(read_only=True)
    before = set(tenant.truth())
    found: set[str] = set()
    async for shard in service.shards(EVERYTHING):
        async for batch in service.crawl(shard, None):
            found |= {entry.id for entry in batch.entries}
            await tenant.connect().remove(next(iter(batch.entries)).id)
    assert found == before


async def test_what_is_purged_during_a_listing_is_no_loss(opened: Open) -> None:
    tenant = opened(*spread(250))
    service = tenant.connect(read_only=True)
    found: set[str] = set()
    async for shard in service.shards(EVERYTHING):
        async for batch in service.crawl(shard, None):
            found |= {entry.id for entry in batch.entries}
            if len(found) <= 100:
                gone = max(tenant.truth().values(), key=lambda row: row["created_at"])["id"]
                purge(tenant, str(gone))
    assert len(found) == 249


def purge(tenant: Tenant, identity: str) -> None:
    """Deleted permanently, as an administrator does it."""
    with httpx.Client(
        base_url=tenant.served.url, headers={"Authorization": f"Bearer {TOKEN['token']}"}, verify=False
    ) as http:
        assert http.delete(f"/v2/assets/{identity}").is_success
        assert http.delete(f"/v2/assets/{identity}/permanent").is_success
    tenant.world.advance(60)


class ChangedRows(AlteredTransport):
    """Rows of searches are changed before they are read."""

    def __init__(self, change: Callable[[list[Json]], list[Json]]) -> None:
        super().__init__()
        self.change = change

    def altered(self, request: httpx.Request, body: Json) -> Json:
        return {**body, "items": self.change(body["items"])} if request.url.path.startswith(PATH) else body


class OtherQueries(AlteredTransport):
    """The service knows no upload date."""

    def sent(self, request: httpx.Request) -> httpx.Request:
        changed = re.sub(r"DateAdded:\[[^]]*\]", "Nonsense:({x})", request.url.params.get("query", ""))
        if not changed or not request.url.path.startswith(PATH):
            return request
        return httpx.Request(request.method, request.url.copy_set_param("query", changed), headers=request.headers)


@pytest.mark.parametrize(
    ("transport", "error"),
    [
        pytest.param(ChangedRows(lambda rows: rows[:-1]), TruncatedListing, id="a row less than promised"),
        pytest.param(ChangedRows(lambda rows: rows[::-1]), ContractBroken, id="another order"),
        pytest.param(OtherQueries(), TruncatedListing, id="upload date unknown to the service"),
    ],
)
async def test_a_listing_that_is_not_as_requested_is_not_believed(
    opened: Open, transport: AlteredTransport, error: type[DamSyncError]
) -> None:
    tenant = opened(*spread(250))
    tenant.transport = transport
    with pytest.raises(error):
        await batches(tenant.connect(read_only=True))


async def test_archived_assets_cost_one_more_call_for_each_page(opened: Open) -> None:
    some = [{**row, "status": "archived"} if n % 7 == 0 else row for n, row in enumerate(spread(420, apart=0.4))]
    tenant = opened(*some)
    service = tenant.connect(read_only=True)
    await service.probe()
    await service.schema()
    with tenant.costs() as spent:
        found = await batches(service)
    check(tenant, found)
    truth = {key: row["status"] for key, row in tenant.truth().items()}
    assert truth == {e.id: e.asset.status for _, batch in found for e in batch.entries if e.asset}
    assert spent.total() <= 5 * 4


async def test_a_delta_of_many_is_read_in_pages_too(opened: Open) -> None:
    late = START + timedelta(days=400)
    tenant = opened(*(row | {"changed_at": late.isoformat()} if n % 2 else row for n, row in enumerate(spread(430))))
    service = tenant.connect(read_only=True)
    await service.schema()
    with tenant.costs() as spent:
        found = await batches(service, Window(since=late))
    assert set(ids(found).values()) == {1}
    assert len(ids(found)) == 215
    assert spent[SEARCH] <= 3 + 2  # whether there are archived assets is learnt by two


class ShrinkingTransport(AlteredTransport):
    """A service whose scrolls return what there was when they were opened, and count what there is."""

    def altered(self, request: httpx.Request, body: Json) -> Json:
        return {**body, "total_count": body["total_count"] - 1} if request.url.path == f"{PATH}/scroll" else body


async def test_a_scroll_is_read_to_its_end_though_its_total_shrank(opened: Open) -> None:
    """Wire E 2.2: until a page is empty. What left the query meanwhile is counted no longer, and comes all the same."""
    tenant = opened(*spread(201))
    tenant.transport = ShrinkingTransport()
    check(tenant, await batches(tenant.connect(read_only=True, enumerate="scroll")))
