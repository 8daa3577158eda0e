"""What service A says that writing will cost, where the first session differs from the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

import pytest

from dam_sync.model.asset import AssetId, Patch
from dam_sync.model.estimator import Estimator
from dam_sync.model.service import Service
from tests.support.services.connected_a import Open, Tenant, asset, draft_for, serving
from tests.support.services.connections import Bytes
from tests.support.state.memory_journal import MemoryJournal


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


def alike(counted: Mapping[str, int]) -> Counter[str]:
    """Calls by road, the slots of their paths made alike."""
    found: Counter[str] = Counter()
    for name, number in counted.items():
        found["/".join("{}" if part.startswith("{") else part for part in name.split("/"))] += number
    return +found


async def check(tenant: Tenant, service: Service, key: str, *, placed: bool) -> None:
    """As a run does it: nothing is read of the tree where a mapping places nothing."""
    draft = await draft_for(tenant.connect(), key)
    await service.schema()
    draft = draft if placed else replace(draft, placements=frozenset())
    told = Estimator(service).write(draft, 300)
    with tenant.costs() as spent:
        await service.create(draft, Bytes(f"{key}.jpg", key.encode() * 100), MemoryJournal())
    assert alike(spent) == alike(told)


@pytest.mark.parametrize("placed", [True, False])
async def test_an_estimate_is_exact_in_the_first_session_and_in_the_next(opened: Open, placed: bool) -> None:
    tenant = opened(asset(1))
    for session in range(3):
        service = tenant.connect()
        await check(tenant, service, f"{session}-1", placed=placed)
        await check(tenant, service, f"{session}-2", placed=placed)
    titles = [place.text async for place in tenant.connect().containers()]
    assert titles.count("/dam-sync staging") == (not placed)  # only for what gets no folder


async def test_no_call_renames_a_file_so_the_schema_does_not_hold_it(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    assert "filename" not in (await service.schema()).capabilities.parts
    (identity,) = tenant.truth()
    with tenant.costs() as spent:
        await service.update(AssetId(identity), Patch(filename="new.jpg"))
    assert not spent
    assert not Estimator(service).write(Patch(filename="new.jpg"))


async def test_the_tree_is_listed_again_for_an_unknown_folder(opened: Open) -> None:
    tenant = opened(asset(1), asset(2))
    service, other = tenant.connect(read_only=True), tenant.connect()
    first, second = (AssetId(identity) for identity in tenant.truth())
    assert {place.text for place in (await service.fetch(first)).placements} == {"/Press/2024"}
    await other.schema()
    made = await other.ensure_container("folder", ("Later",))
    await other.update(second, Patch(placements_add=frozenset({made})))
    assert {place.text for place in (await service.fetch(second)).placements} == {"/Press/2024", "/Later"}
