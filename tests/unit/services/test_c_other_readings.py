"""Service C where a response leaves out what hides an asset, or a change of it has no effect: never taken for done."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import AssetId, Draft, Marker, Patch, Rights
from dam_sync.model.audience import Restriction, RestrictionKind
from dam_sync.model.errors import Rejected
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.tenant import Start, Tenant, content
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connections import entries
from tests.support.state.memory_journal import MemoryJournal

KIND = "c_brandlibrary"
LATER = Rights(release_at=datetime(2040, 1, 1, tzinfo=UTC))
UNKNOWN = Restriction(RestrictionKind.UNRELEASED, "the service does not show whether it is approved")


def draft(**more: Any) -> Draft:
    return Draft(Marker("srckey", "k"), "k.jpg", fields={"srckey": "k", "name": "New"}, **more)


async def made(tenant: Tenant, wanted: Draft) -> AssetId:
    service = tenant.connect()
    await service.schema()
    async with content(tenant, wanted.filename, seed="k") as (given, _):
        return await service.create(wanted, given, MemoryJournal())


@pytest.mark.parametrize(
    "more", [{"closed": True}, {"status": "pending"}, {"rights": LATER}], ids=["closed", "pending", "dated"]
)
async def test_a_create_whose_response_does_not_show_what_hides_it_is_refused(start: Start, more: Any) -> None:
    tenant = start(SCHEMA, variant="silent_attributes")
    with pytest.raises(Rejected, match="the asset was created, but"):
        await made(tenant, draft(**more))
    assert not [row for row in tenant.truth().values() if row["status"] == "published"]


@pytest.mark.parametrize(
    "patch", [Patch(closed=True), Patch(status="pending"), Patch(rights=LATER)], ids=["closed", "pending", "dated"]
)
async def test_a_change_whose_response_does_not_show_what_hides_it_is_refused(start: Start, patch: Patch) -> None:
    tenant = start([*SCHEMA, asset(1)], variant="silent_attributes")
    service = tenant.connect()
    await service.schema()
    (identity,) = [entry.id for entry in await entries(service)]
    with pytest.raises(Rejected, match="the asset was changed, but"):
        await service.update(identity, patch)


async def test_dates_that_a_change_does_not_keep_are_reported(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1)], variant="edits_dates")
    service = tenant.connect()
    await service.schema()
    (identity,) = [entry.id for entry in await entries(service)]
    for _ in range(2):
        with pytest.raises(Rejected, match="availability_start was not stored"):
            await service.update(identity, Patch(rights=LATER))


async def test_dates_of_changes_are_read_back_once(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1), asset(2)])
    service = tenant.connect()
    await service.schema()
    ids = [entry.id for entry in await entries(service)]
    with tenant.costs() as spent:
        for identity in ids:
            await service.update(identity, Patch(rights=LATER))
    assert sum(spent[call] for call in spent if call.startswith("GET ")) == 1
    assert {row["rights"]["release_at"] for row in tenant.truth().values()} == {"2040-01-01T00:00:00Z"}


class SilentLists(AlteredTransport):
    """Lists do not show whether an asset is approved."""

    def altered(self, request: httpx.Request, body: Any) -> Any:
        if isinstance(body, dict) and isinstance(body.get("data"), list):
            for row in body["data"]:
                row.get("attributes", {}).pop("approved", None)
        return body


@pytest.mark.parametrize("silent", ["lists", "everywhere"])
async def test_an_asset_that_does_not_show_its_approval_is_not_published(start: Start, silent: str) -> None:
    tenant = start([*SCHEMA, asset(1, status="pending")], variant="silent_attributes" if silent != "lists" else "")
    if silent == "lists":
        tenant.transport = SilentLists()
    (entry,) = await entries(tenant.connect())
    assert entry.asset is not None
    if silent == "lists":
        assert entry.asset.status == "pending"
    else:
        assert UNKNOWN in entry.asset.rights.restrictions
