"""Service C: who sees an asset at the source, who would see a draft, and how one is made that nobody sees."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dam_sync.model.asset import Patch, Rights
from dam_sync.model.audience import Audience, Restriction, RestrictionKind
from dam_sync.model.capabilities import Feature
from dam_sync.model.errors import Rejected
from dam_sync.model.estimator import Estimator
from dam_sync.model.service import Service
from dam_sync.services.c_brandlibrary.codec.fields import Keys
from dam_sync.services.c_brandlibrary.codec.wire import AssetDecodeContext, restrictions_of
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.tenant import Start, Tenant
from tests.support.services.connections import alike, entries
from tests.unit.services.test_c_service import draft, made

KIND = "c_brandlibrary"
LATER = datetime.now(UTC).replace(microsecond=0) + timedelta(days=30)
PLACED = {"placements": [{"kind": "collection", "path": ["Quiet"]}]}


def seen(tenant: Tenant) -> Any:
    """What outsiders see, and saw in the meantime."""
    return tenant.served.app.state.audience.as_json()


async def connected(tenant: Tenant, **options: Any) -> Service:
    service = tenant.connect(options=options)
    await service.schema()
    return service


async def restrictions(tenant: Tenant) -> dict[str, frozenset[Restriction]]:
    """As a listing shows them; reading one asset must show the same."""
    service = tenant.connect(read_only=True)
    found = {}
    for entry in await entries(service):
        whole = await service.fetch(entry.id)
        assert entry.asset is None or entry.asset.rights == whole.rights
        found[str(tenant.truth()[entry.id]["catalogue_id"])] = whole.rights.restrictions
    return found


async def test_a_collection_that_lists_leave_out_is_a_restriction(start: Start) -> None:
    quiet = {"record": "container", "kind": "collection", "path": ["Quiet"], "stealth": True}
    found = await restrictions(start([*SCHEMA, quiet, asset(1), asset(2, **PLACED)]))
    assert found["1"] == frozenset()
    assert found["2"] == frozenset({Restriction(RestrictionKind.CONTAINER, "collection Quiet (stealth)")})


def test_a_workspace_is_a_restriction() -> None:
    collection = {"id": "c1", "attributes": {"name": "Draft room", "public": False, "is_workspace": True}}
    row = {"id": "a", "attributes": {"approved": True}, "related": {"collections": [collection]}}
    assert restrictions_of(row, AssetDecodeContext(Keys())) == {
        Restriction(RestrictionKind.CONTAINER, "collection Draft room (workspace)")
    }


async def test_a_view_only_asset_may_not_be_downloaded(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1), asset(2, view_only=True)])
    found = await restrictions(tenant)
    assert found == {"1": frozenset(), "2": frozenset({Restriction(RestrictionKind.DOWNLOAD, "view-only")})}


def test_an_asset_that_the_search_lists_as_view_only_is_restricted() -> None:
    row = {"id": "a", "attributes": {"approved": True}, "related": {}}
    assert restrictions_of(row, AssetDecodeContext(Keys(), view_only={"b"})) == frozenset()
    assert restrictions_of(row, AssetDecodeContext(Keys(), view_only={"a"})) == {
        Restriction(RestrictionKind.DOWNLOAD, "view-only")
    }


async def test_a_draft_is_seen_as_its_status_and_dates_say(start: Start) -> None:
    service = await connected(start([*SCHEMA, asset(1)]))
    assert service.audience(draft("x")) == Audience()
    assert service.audience(draft("x", status="published")) == Audience()
    assert service.audience(draft("x", status="pending")).hidden
    assert service.audience(draft("x", closed=True)).hidden
    rights = Rights(LATER, LATER + timedelta(days=1))
    assert service.audience(draft("x", rights=rights)) == Audience("", rights.release_at, rights.expires_at)


@pytest.mark.parametrize("keep", ["on", "off"])
@pytest.mark.parametrize("variant", ["", "second"])
async def test_a_closed_draft_is_seen_by_nobody_until_it_is_opened(start: Start, variant: str, keep: str) -> None:
    tenant = start([*SCHEMA, asset(1)], variant=variant)
    service = await connected(tenant, keep_marker=keep)
    assert (await service.schema()).capabilities.writes(Feature.CLOSED)
    before = seen(tenant)
    closed = draft("m-1", status="published", closed=True)
    told = Estimator(service).write(closed, 700)
    with tenant.costs() as spent:
        identity = await made(tenant, service, closed)
    assert spent == alike(told)
    tenant.advance(90)
    assert seen(tenant)["opened"] == before["opened"]
    assert seen(tenant)["now"] == before["now"]
    opening = Patch(fields={"title": "Open"}, status="published", closed=False)
    told = Estimator(service).write(opening)
    with tenant.costs() as spent:
        await service.update(identity, opening)
    assert spent == alike(told)
    assert identity in seen(tenant)["now"]
    tenant.fail({"match": "PUT /api/v4/custom_field_values/*", "do": "status:422"})
    with pytest.raises(Rejected):
        await service.update(identity, Patch(fields={"title": "Shut"}, status="published", closed=True))
    assert identity not in seen(tenant)["now"], "it is hidden before anything else is written"


async def test_an_asset_is_opened_after_everything_else(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1)])
    service = await connected(tenant)
    identity = await made(tenant, service, draft("m-1", closed=True))
    tenant.fail({"match": "PUT /api/v4/custom_field_values/*", "nth": 1, "do": "status:422"})
    with pytest.raises(Rejected):
        await service.update(identity, Patch(fields={"title": "Open"}, closed=False))
    assert identity not in seen(tenant)["now"]
    await service.update(identity, Patch(fields={"title": "Open"}, closed=False))
    assert identity in seen(tenant)["now"]


DATED = [{"rights": Rights(release_at=LATER)}, {"rights": Rights(expires_at=datetime(2020, 1, 1, tzinfo=UTC))}]


@pytest.mark.parametrize("more", DATED)
@pytest.mark.parametrize("variant", ["no_dates", "no_dates,edits_approval"])
async def test_an_account_that_keeps_no_dates_gets_nothing_that_must_wait(
    start: Start, variant: str, more: Any
) -> None:
    tenant = start([*SCHEMA, asset(1)], variant=variant)
    service = await connected(tenant)
    before = seen(tenant)
    for key in ("m-1", "m-2"):
        with pytest.raises(Rejected, match="availability_"):
            await made(tenant, service, draft(key, status="published", **more))
    assert seen(tenant) == before


@pytest.mark.parametrize("more", DATED)
async def test_stored_dates_are_looked_at_once_a_run(start: Start, more: Any) -> None:
    tenant = start([*SCHEMA, asset(1)])
    service = await connected(tenant)
    looks = ("GET /api/v4/assets/{}", "PUT /api/v4/assets/{}")
    for key in ("m-1", "m-2"):
        wanted = draft(key, **more)
        told = Estimator(service).write(wanted, 700)
        with tenant.costs() as spent:
            identity = await made(tenant, service, wanted)
        assert {call: spent[call] for call in looks} == {call: alike(told)[call] for call in looks}
        assert tenant.truth()[identity]["status"] == "published"
        assert identity not in seen(tenant)["now"]
    assert not [row for row in seen(tenant)["opened"] if row["at"] < LATER.isoformat()]


async def test_a_new_collection_is_not_public(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1)])
    service = await connected(tenant)
    place = await service.ensure_container("collection", ("New",))
    assert tenant.served.app.state.tenant.collections[place.id].public is False


async def test_a_public_library_is_reported_before_anything_is_written(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1)], public_libraries=["Acme"])
    account = await tenant.connect().probe()
    assert any("public" in note for note in account.notes_as("target"))
    assert not any("public" in note for note in account.notes_as("source"))
    planned = await tenant.connect(read_only=True).probe()
    assert any("public" in note for note in planned.notes_as("target")), "a plan says it too"


@pytest.mark.parametrize(("window", "advised"), [(900, True), (0, False)])
async def test_duplicate_detection_is_mentioned_unless_the_job_says_that_it_is_off(
    start: Start, window: int, advised: bool
) -> None:
    account = await start(SCHEMA).connect(options={"duplicate_window": window}).probe()
    assert any("duplicate detection" in note for note in account.as_target) == advised
