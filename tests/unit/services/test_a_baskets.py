"""Baskets of service A: named by a note, read as collections where the job asks for them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dam_sync.model.capabilities import Operation
from tests.support.services.connected_a import Open, asset, serving

RED = {"record": "container", "kind": "basket", "path": ["Red"]}
IN_RED = [{"kind": "basket", "path": ["Red"]}, {"kind": "folder", "path": ["Press", "2024"], "id": ""}]


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def test_baskets_that_are_not_read_are_counted(opened: Open) -> None:
    tenant = opened(RED, {**RED, "path": ["Empty"]}, asset(1, placements=IN_RED))
    account = await tenant.connect(read_only=True).probe()
    assert [one.text for one in account.undecided_as("source")] == ["2 baskets are not read"]
    assert not account.undecided_as("target"), "a target has none to read"
    assert not (await tenant.connect().probe()).undecided_as("source")
    assert not (await tenant.connect(read_only=True, baskets="off").probe()).undecided_as("source"), "it is decided"
    assert Operation.MEMBERS not in tenant.connect(read_only=True).capabilities


async def test_no_basket_needs_no_decision(opened: Open) -> None:
    tenant = opened(asset(1))
    assert not (await tenant.connect(read_only=True).probe()).undecided_as("source")


@pytest.mark.parametrize("status", [403, 404, 405])
async def test_an_instance_without_baskets_says_nothing(opened: Open, status: int) -> None:
    tenant = opened(asset(1))
    tenant.faults.add([{"match": "GET /api/dam/baskets", "do": f"status:{status}"}])
    assert not (await tenant.connect(read_only=True).probe()).undecided_as("source")


async def test_baskets_are_collections_where_the_job_asks_for_them(opened: Open) -> None:
    tenant = opened(RED, asset(1, placements=IN_RED), asset(2))
    service = tenant.connect(read_only=True, baskets="on")
    assert not (await service.probe()).notes
    assert Operation.MEMBERS in service.capabilities
    (found,) = [membership async for membership in service.members()]
    assert (found.placement.kind, found.placement.path) == ("collection", ("Red",))
    assert found.assets == (tenant.of_catalogue(1),)
