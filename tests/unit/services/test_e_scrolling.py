"""Service E listed by pages and by scrolling, where pages get lost; and what changed since."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from dam_sync.model.asset import Patch
from dam_sync.model.errors import (
    ContractBroken,
    Transient,
    TruncatedListing,
)
from dam_sync.model.service import Window
from tests.support.services.connected_e import START, Open, asset, serving
from tests.support.services.connections import entries


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def test_every_asset_is_listed_in_order_of_upload(opened: Open) -> None:
    tenant = opened(*(asset(n, START + timedelta(minutes=n % 60, days=n // 60)) for n in range(250)))
    service = tenant.connect(read_only=True)
    await service.schema()
    found = await entries(service)
    assert {entry.id for entry in found} == set(tenant.truth())
    assert all(entry.asset is not None for entry in found)
    uploads = [entry.asset.created_at for entry in found if entry.asset]
    assert uploads == sorted(uploads, key=str)


async def test_a_second_that_overfills_a_page_is_scrolled(opened: Open) -> None:
    tenant = opened(*(asset(n, START) for n in range(230)), asset(300, START + timedelta(seconds=1)))
    service = tenant.connect(read_only=True)
    found = await entries(service)
    assert {entry.id for entry in found} == set(tenant.truth())
    assert tenant.world.api_calls["GET /v2/assets/search/scroll"] >= 2


async def test_scrolling_costs_few_calls(opened: Open) -> None:
    tenant = opened(*(asset(n, START + timedelta(minutes=n)) for n in range(350)))
    service = tenant.connect(read_only=True, enumerate="scroll")
    await service.schema()
    with tenant.costs() as spent:
        found = await entries(service)
    assert Counter(entry.id for entry in found) == Counter(tenant.truth().keys())
    assert spent.total() <= 10


async def test_a_scroll_that_lost_a_page_is_begun_again(opened: Open) -> None:
    tenant = opened(*(asset(n, START) for n in range(230)))
    tenant.faults.add([{"match": "GET /v2/assets/search/scroll", "nth": 1, "do": "reset_after"}])
    found = await entries(tenant.connect(read_only=True, enumerate="scroll"))
    assert {entry.id for entry in found} == set(tenant.truth())
    assert not tenant.faults.unhit()


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_a_scroll_whose_page_cannot_be_read_is_begun_again(opened: Open, times: int) -> None:
    tenant = opened(*(asset(n, START) for n in range(230)))
    tenant.faults.add([{"match": "GET /v2/assets/search/scroll", "times": times, "do": "odd"}])
    service = tenant.connect(read_only=True, enumerate="scroll")
    if times == 3:
        with pytest.raises(ContractBroken, match="items"):
            await entries(service)
    else:
        assert {entry.id for entry in await entries(service)} == set(tenant.truth())
    assert not tenant.faults.unhit()


async def test_a_listing_that_stays_short_is_not_believed(opened: Open) -> None:
    tenant = opened(*(asset(n, START) for n in range(230)))
    tenant.faults.add([{"match": "GET /v2/assets/search/scroll", "nth": n, "do": "reset_after"} for n in (1, 2, 3)])
    with pytest.raises((Transient, TruncatedListing)):
        await entries(tenant.connect(read_only=True, enumerate="scroll"))


async def test_a_delta_costs_what_changed(opened: Open) -> None:
    tenant = opened(*(asset(n) for n in range(1, 150)))
    service = tenant.connect()
    await service.schema()
    changed = tenant.of_catalogue(77)
    since = tenant.world.now()
    await service.update(changed, Patch(fields={"legend": "new"}))
    with tenant.costs() as spent:
        found = await entries(service, Window(since=since))
    assert [entry.id for entry in found] == [changed]
    assert spent.total() <= 3
