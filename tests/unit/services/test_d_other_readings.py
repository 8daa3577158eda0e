"""Service D where an undocumented write or a record has the other reading: noticed before anything is lost or shown."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import AssetId, Patch, Placement
from dam_sync.model.audience import Restriction, RestrictionKind
from dam_sync.model.errors import Rejected
from dam_sync.model.service import Service
from dam_sync.services.d_templates import facts
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.tenant import Start, Tenant, content
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connections import entries
from tests.support.state.memory_journal import MemoryJournal

KIND = "d_templates"
UNKNOWN = Restriction(RestrictionKind.DENIED, "the service does not show its security templates")


async def connected(tenant: Tenant) -> Service:
    service = tenant.connect(options={"relations": "off"})
    await service.schema()
    return service


def library(number: int = 4) -> list[Any]:
    placed = [{"kind": "collection", "path": ["Best of"]}]
    return [*SCHEMA, *(asset(n, placements=placed if n < number else []) for n in range(1, number + 1))]


async def listed(service: Service) -> dict[str, AssetId]:
    return {entry.asset.filename: entry.id for entry in await entries(service) if entry.asset}


async def best_of(service: Service) -> Placement:
    return next(place for place in [one async for one in service.containers()] if place.path == ("Best of",))


def members(tenant: Tenant, path: str = "Best of") -> set[str]:
    place = {"kind": "collection", "path": [path]}
    return {
        row["filename"]
        for row in tenant.truth().values()
        if any({key: each[key] for key in place} == place for each in row["placements"])
    }


# -- collections -------------------------------------------------------------------------------------------------------


async def test_members_that_an_addition_threw_out_are_put_back(start: Start) -> None:
    tenant = start(library(), variant="updates_replace")
    service = await connected(tenant)
    ids = await listed(service)
    await service.place(await best_of(service), [ids["photo 4.jpg"]], [])
    assert members(tenant) == set(ids)


async def test_additions_at_once_throw_nobody_out(start: Start) -> None:
    rows = [*library(3), *(asset(n, placements=[]) for n in range(5, 9))]
    tenant = start(rows, variant="updates_replace")
    service = await connected(tenant)
    ids, place = await listed(service), await best_of(service)
    news = [ids[name] for name in ids if name not in members(tenant)]
    await asyncio.gather(*(service.place(place, [one], []) for one in news))
    assert members(tenant) == set(ids)


async def test_an_addition_that_keeps_the_others_is_read_back_once(start: Start) -> None:
    rows = [*library(3), *(asset(n, placements=[]) for n in range(5, 9))]
    tenant = start(rows)
    service = await connected(tenant)
    ids, place = await listed(service), await best_of(service)
    news = [ids[name] for name in ids if name not in members(tenant)]
    for one in news:
        await service.place(place, [one], [])
    assert (service.calls[facts.FILL], service.calls[facts.COLLECTION]) == (len(news), 2)


async def test_a_collection_made_here_is_not_read_before_it_is_filled(start: Start) -> None:
    tenant = start(library())
    service = await connected(tenant)
    ids = list((await listed(service)).values())
    for number in range(3):
        await service.place(await service.ensure_container("collection", (f"New {number}",)), ids[:1], [])
    assert (service.calls[facts.FILL], service.calls[facts.COLLECTION]) == (3, 2)


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["", "bare_id_keeps"])
async def test_a_value_is_cleared_in_either_way(start: Start, variant: str) -> None:
    tenant = start(library(1), variant=variant)
    service = await connected(tenant)
    (identity,) = (await listed(service)).values()
    await service.update(identity, Patch(fields={"rating": None}))
    assert "rating" not in tenant.truth()[identity]["fields"]


async def test_a_value_that_nothing_clears_is_reported(start: Start) -> None:
    tenant = start(library(1), variant="bare_id_keeps,nothing_clears")
    service = await connected(tenant)
    (identity,) = (await listed(service)).values()
    with pytest.raises(Rejected, match="accepted to clear rating, and the values are still there"):
        await service.update(identity, Patch(fields={"rating": None}))


# -- who may see it ----------------------------------------------------------------------------------------------------


class UnshownTransport(AlteredTransport):
    """Rows of listings leave out who may see a record."""

    def altered(self, request: httpx.Request, body: Any) -> Any:
        if isinstance(body, dict) and request.url.path.endswith(("/scan", "/search")):
            for rows in (value for value in body.values() if isinstance(value, list)):
                for row in rows:
                    if isinstance(row, dict):
                        row.pop("securityTemplateIds", None)
        return body


async def test_rows_that_do_not_show_who_may_see_them_are_read_by_their_ids(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1, rights={"groups": ["staff"]})])
    tenant.transport = UnshownTransport()
    (entry,) = await entries(await connected(tenant))
    assert entry.asset is not None
    assert entry.asset.rights.groups == {"staff"}


async def test_an_asset_that_never_shows_who_may_see_it_is_not_one_for_everybody(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1, rights={"groups": ["staff"]})], variant="no_security")
    service = await connected(tenant)
    (entry,) = await entries(service)
    assert entry.asset is not None
    assert UNKNOWN in entry.asset.rights.restrictions
    async with content(tenant, "new.jpg", seed="new") as (given, _):
        with pytest.raises(Rejected, match="does not show the security templates"):
            await service.replace(entry.id, given, MemoryJournal())
    assert len(tenant.truth()[entry.id]["versions"]) == 1
