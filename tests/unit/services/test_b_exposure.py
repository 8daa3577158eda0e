"""Service B as a target: a document is seen by nobody, at no moment, who is not meant to see it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import AssetId, Draft, Marker, Patch, Rights
from dam_sync.model.audience import Audience
from dam_sync.model.capabilities import Feature
from dam_sync.model.errors import Conflict, Rejected
from dam_sync.model.estimator import Estimator
from dam_sync.model.service import Service
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.tenant import Start, Tenant, content
from tests.support.network.altered_transport import AlteredTransport
from tests.support.state.memory_journal import Crash, MemoryJournal

KIND = "b_documents"
STAFF = Rights(groups=frozenset({"staff"}))
EVERYBODY = ["group:public", "group:staff", "user"]
WRITER = {"name": "mover", "password": "p", "groups": ["movers"]}


@pytest.fixture
def tenant(start: Start) -> Tenant:
    return start([*SCHEMA, asset(1), {"record": "container", "kind": "folder", "path": ["Press"]}])


def draft(key: str = "k", **more: Any) -> Draft:
    fields = {"lib:srckey": key, "lib:title": "New", **more.pop("fields", {})}
    return Draft(Marker("lib:srckey", key), **{"filename": f"{key}.jpg", "profile": "Photo", "fields": fields, **more})


async def made(tenant: Tenant, service: Service, wanted: Draft, journal: MemoryJournal | None = None) -> AssetId:
    async with content(tenant, wanted.filename, seed=wanted.filename) as (given, _):
        return await service.create(wanted, given, journal or MemoryJournal())


def seen(tenant: Tenant) -> dict[str, Any]:
    """Who sees which asset now, and what became visible to whom since the start."""
    with httpx.Client(trust_env=False, verify=False) as plain:
        found: dict[str, Any] = plain.get(f"{tenant.served.url}/_emulator/audience").json()
    return found


async def let(tenant: Tenant, place: str, name: str, permission: str) -> None:
    """A right given by the administrator."""
    async with httpx.AsyncClient(auth=("Administrator", "secret-b"), trust_env=False, verify=False) as raw:
        body = {"input": f"doc:{place}", "params": {"users": [name], "permission": permission, "acl": "local"}}
        url = f"{tenant.served.url}/api/v1/automation/Document.AddPermission"
        (await raw.post(url, json=body)).raise_for_status()


def opened(tenant: Tenant, identity: AssetId) -> set[str]:
    return {row["viewer"] for row in seen(tenant)["opened"] if row["asset"] == identity}


async def press(service: Service) -> frozenset[Any]:
    return frozenset([place async for place in service.containers() if place.path == ("Press",)])


# -- creates -----------------------------------------------------------------------------------------------------------


async def test_a_document_for_some_is_seen_by_nobody_else_at_any_moment(tenant: Tenant) -> None:
    service = tenant.connect()
    wanted = draft(rights=STAFF, placements=await press(service), status="published", tags=frozenset({"sea"}))
    identity = await made(tenant, service, wanted)
    assert opened(tenant, identity) == {"group:staff"}
    row = tenant.truth()[identity]
    assert [place["path"] for place in row["placements"]] == [["Press"]]
    assert (await service.fetch(identity)).rights.groups == {"staff"}


async def test_a_closed_document_is_seen_by_nobody(tenant: Tenant) -> None:
    service = tenant.connect()
    identity = await made(tenant, service, draft(rights=STAFF, placements=await press(service), closed=True))
    assert opened(tenant, identity) == set()
    assert [place["path"] for place in tenant.truth()[identity]["placements"]] == [["Press"]]


async def test_a_document_for_all_goes_where_it_belongs_at_once(tenant: Tenant) -> None:
    service = tenant.connect()
    with tenant.costs() as spent:
        identity = await made(tenant, service, draft())
    assert spent["POST /api/v1/automation/Document.Move"] == 0
    assert opened(tenant, identity) == set(EVERYBODY)


async def test_no_crash_opens_or_doubles_a_document(tenant: Tenant) -> None:
    for blow_at in range(1, 60):
        wanted, journal = draft(f"k-{blow_at}", rights=STAFF, tags=frozenset({"a"})), MemoryJournal(blow_at)
        service = tenant.connect()
        try:
            await made(tenant, service, wanted, journal)
            break
        except Crash:
            journal.blow_at = None
            identity = await made(tenant, tenant.connect(), wanted, journal)
        assert [row["id"] for row in tenant.marked(f"k-{blow_at}")] == [identity]
        assert opened(tenant, identity) == {"group:staff"}
    else:
        raise AssertionError("no end of crash points")
    assert blow_at > 8


async def test_a_document_that_people_moved_after_a_crash_is_not_made_again(tenant: Tenant) -> None:
    """Where it was created nothing is left of it."""
    press = next(iter([each async for each in tenant.connect().containers() if each.path == ("Press",)]))
    for blow_at in range(1, 60):
        wanted, journal = draft(f"m-{blow_at}", rights=STAFF), MemoryJournal(blow_at)
        try:
            await made(tenant, tenant.connect(), wanted, journal)
            break
        except Crash:
            journal.blow_at = None
            for row in tenant.marked(f"m-{blow_at}"):
                await tenant.connect().update(row["id"], Patch(placements_add=frozenset({press})))
            tenant.advance(90_000)  # behind the day for which responses are replayed
            identity = await made(tenant, tenant.connect(), wanted, journal)
        assert [row["id"] for row in tenant.marked(f"m-{blow_at}")] == [identity]
    assert blow_at > 8


async def test_rights_that_changed_between_two_tries_are_never_the_old_ones(tenant: Tenant) -> None:
    journal = MemoryJournal()
    tenant.fail({"match": "POST */automation/Document.FollowLifecycleTransition", "nth": 1, "do": "status:400"})
    wanted = draft(rights=STAFF, status="published")
    with pytest.raises(Exception, match="400"):
        await made(tenant, tenant.connect(), wanted, journal)
    identity = await made(tenant, tenant.connect(), replace(wanted, closed=True, status="published"), journal)
    assert seen(tenant)["now"].get(identity) is None


async def test_the_closed_folder_is_made_once_and_looked_at_by_later_runs(tenant: Tenant) -> None:
    await made(tenant, tenant.connect(), draft("one", rights=STAFF))
    with tenant.costs() as spent:
        await made(tenant, tenant.connect(), draft("two", rights=STAFF))
    assert spent["POST /api/v1/id/{}"] == 1
    assert spent["POST /api/v1/automation/Document.AddPermission"] == 1


async def test_a_closed_folder_that_somebody_opened_is_closed_again(tenant: Tenant) -> None:
    service = tenant.connect()
    await made(tenant, service, draft("one", rights=STAFF))
    folder = next(place for place in [p async for p in service.containers()] if place.path == ("dam-sync closed",))
    await let(tenant, folder.id, "public", "Read")
    identity = await made(tenant, tenant.connect(), draft("two", rights=STAFF))
    assert opened(tenant, identity) == {"group:staff"}


class OpenTransport(AlteredTransport):
    """Whoever is given a right, somebody else has it too, and keeps it."""

    def altered(self, request: httpx.Request, body: Any) -> Any:
        if request.url.path.endswith(("/Document.AddPermission", "/Document.RemovePermission")):
            for acl in body["contextParameters"]["acls"]:
                acl["aces"] = [{**ace, "username": "public"} for ace in acl["aces"][:1]] + acl["aces"]
        return body


async def test_a_document_that_stays_open_to_others_is_reported_and_not_moved(tenant: Tenant) -> None:
    """The response shows somebody whom the block should have shut out."""
    service = tenant.connect()
    await made(tenant, service, draft("one", rights=STAFF))
    tenant.transport = OpenTransport()
    service = tenant.connect()
    with pytest.raises(Rejected, match="others can still read the document: public"):
        await made(tenant, service, draft("two", rights=STAFF, placements=await press(service)))
    (row,) = tenant.marked("two")
    assert [place["path"] for place in row["placements"]] == [["dam-sync closed"]]


async def test_what_is_there_already_of_a_state_that_was_lost_is_not_doubled(tenant: Tenant) -> None:
    first = await made(tenant, tenant.connect(), draft(rights=STAFF))
    tenant.advance(90_000)
    with pytest.raises(Conflict, match="already"):
        await made(tenant, tenant.connect(), draft(rights=STAFF))
    assert [row["id"] for row in tenant.marked("k")] == [first]


async def test_a_user_who_is_no_administrator_keeps_its_own_right(start: Start) -> None:
    rows = [*SCHEMA, asset(1)]
    tenant = start(rows, users=[WRITER])
    await let(tenant, "/default-domain/workspaces", "mover", "Everything")
    service = tenant.connect({"flow": "basic", "login": "mover", "password": "p"})
    await service.schema()
    wanted = draft(rights=STAFF)
    told = Estimator(service).write(wanted, 700)
    with tenant.costs() as spent:
        identity = await made(tenant, service, wanted)
        await service.end_shared()
    assert sum(told.values()) == sum(spent.values()) - spent["POST /api/v1/automation/Repository.Query"]
    await service.update(identity, Patch(fields={"lib:title": "Changed"}))
    assert opened(tenant, identity) - {"person:mover"} == {"group:staff"}


# -- changes -----------------------------------------------------------------------------------------------------------


def viewers_at(tenant: Tenant, identity: AssetId) -> list[str]:
    found: list[str] = seen(tenant)["now"].get(identity, [])
    return found


async def test_readers_are_taken_away_before_anything_new_is_written(tenant: Tenant) -> None:
    service = tenant.connect()
    identity = await made(tenant, service, draft(rights=Rights(groups=frozenset({"staff", "public"}))))
    tenant.fail({"match": "PUT /api/v1/id/*", "nth": 1, "do": "status:400"})
    with pytest.raises(Exception, match="400"):
        await service.update(identity, Patch(fields={"lib:title": "Secret"}, rights=STAFF))
    assert viewers_at(tenant, identity) == ["group:staff"]


async def test_new_readers_come_after_everything_is_written(tenant: Tenant) -> None:
    service = tenant.connect()
    identity = await made(tenant, service, draft(rights=STAFF))
    tenant.fail({"match": "PUT /api/v1/id/*", "nth": 1, "do": "status:400"})
    more = Patch(fields={"lib:title": "Harmless"}, rights=Rights(groups=frozenset({"public"})))
    with pytest.raises(Exception, match="400"):
        await service.update(identity, more)
    assert viewers_at(tenant, identity) == []
    await service.update(identity, more)
    assert viewers_at(tenant, identity) == ["group:public"]


async def test_an_open_document_is_limited_by_its_first_groups(tenant: Tenant) -> None:
    service = tenant.connect()
    identity = await made(tenant, service, draft())
    await service.update(identity, Patch(rights=STAFF))
    assert viewers_at(tenant, identity) == ["group:staff"]


@pytest.mark.parametrize("rights", [Rights(), STAFF])
async def test_a_document_is_closed_and_opened(tenant: Tenant, rights: Rights) -> None:
    service = tenant.connect()
    identity = await made(tenant, service, draft(rights=rights))
    before = viewers_at(tenant, identity)
    tenant.fail({"match": "PUT /api/v1/id/*", "nth": 1, "do": "status:400"})
    with pytest.raises(Exception, match="400"):
        await service.update(identity, Patch(fields={"lib:title": "Secret"}, closed=True))
    assert viewers_at(tenant, identity) == []
    tenant.fail({"match": "PUT /api/v1/id/*", "nth": 1, "do": "status:400"})
    opening = Patch(fields={"lib:title": "Harmless"}, closed=False, rights=rights)
    with pytest.raises(Exception, match="400"):
        await service.update(identity, opening)
    assert viewers_at(tenant, identity) == []
    await service.update(identity, opening)
    assert viewers_at(tenant, identity) == before


@pytest.mark.parametrize(
    "patch", [Patch(closed=True), Patch(closed=False), Patch(closed=False, rights=STAFF), Patch(rights=STAFF)]
)
async def test_closing_and_opening_cost_what_was_estimated(tenant: Tenant, patch: Patch) -> None:
    service = tenant.connect()
    identity = await made(tenant, service, draft())
    told = Estimator(service).write(patch)
    with tenant.costs() as spent:
        await service.update(identity, patch)
    assert sum(told.values()) == sum(spent.values())


async def test_a_closed_draft_costs_what_was_estimated(tenant: Tenant) -> None:
    for key in ("one", "two"):
        service = tenant.connect()
        await service.schema()
        _ = [place async for place in service.containers()]
        told = Estimator(service).write(draft(key, closed=True), 700)
        with tenant.costs() as spent:
            await made(tenant, service, draft(key, closed=True))
            await service.end_shared()
        assert sum(told.values()) == sum(spent.values())


# -- who would see it --------------------------------------------------------------------------------------------------


async def test_the_audience_of_a_draft(tenant: Tenant) -> None:
    """Neither states nor dates hide a document of this service."""
    service = tenant.connect()
    schema = await service.schema()
    assert schema.capabilities.writes(Feature.CLOSED)
    assert service.audience(draft()) == Audience()
    assert service.audience(draft(status="archived")) == Audience()
    assert service.audience(draft(rights=STAFF)) == Audience(groups=frozenset({"staff"}))
    assert service.audience(draft(rights=Rights(groups=frozenset({"staff", "members"})))) == Audience()
    closed = service.audience(draft(closed=True, rights=STAFF))
    assert closed.hidden
    assert closed.groups == {"administrators", service.tenant.user.now.name if service.tenant.user.now else ""}
