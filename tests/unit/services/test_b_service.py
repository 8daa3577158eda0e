"""Service B against its emulator: the ways of its own that lose or double something without care."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import AssetId, Draft, Marker, Patch, Placement, Rights
from dam_sync.model.errors import (
    Conflict,
    ContractBroken,
    DamSyncError,
    Denied,
    InvalidValue,
    NotFound,
    Rejected,
    Transient,
)
from dam_sync.model.estimator import Estimator
from dam_sync.model.service import Service, Window
from dam_sync.model.values import Json, Term
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.service import DocumentsService
from dam_sync.services.b_documents.target.create_once import asset_name
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.drafts import worked
from tests.conformance.tenant import Start, Tenant, content
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connections import body, entries
from tests.support.state.memory_journal import Crash, MemoryJournal

KIND = "b_documents"
CREATE = "POST /api/v1/id/*"
EVERYTHING = Window()


def draft(key: str, **more: Any) -> Draft:
    fields = {"lib:srckey": key, "lib:title": "New", **more.pop("fields", {})}
    return Draft(Marker("lib:srckey", key), **{"filename": f"{key}.jpg", "profile": "Photo", "fields": fields, **more})


async def made(tenant: Tenant, service: Service, wanted: Draft, journal: MemoryJournal | None = None) -> AssetId:
    async with content(tenant, wanted.filename, seed=wanted.filename) as (given, digest):
        memory = journal or MemoryJournal()
        identity = await worked(lambda: service.create(wanted, given, memory), memory)
    assert tenant.truth()[identity]["versions"][-1]["digests"]["md5"] == digest
    return identity


# -- creates -----------------------------------------------------------------------------------------------------------


async def test_a_create_that_was_rolled_back_keeps_its_upload(tenant: Tenant) -> None:
    """Without X-Batch-No-Drop the batch would be dropped, and the file would be sent a second time."""
    service = tenant.connect()
    await service.schema()
    tenant.fail({"match": CREATE, "nth": 1, "do": "play:rollback"})
    with tenant.costs() as spent:
        await made(tenant, service, draft("kept"))
    assert spent["POST /api/v1/id/{}"] == 2
    assert spent["POST /api/v1/upload/{}/{}"] == 1


class DroppingTransport(AlteredTransport):
    """Batches go with the call that names them."""

    def sent(self, request: httpx.Request) -> httpx.Request:
        request.headers.pop("X-Batch-No-Drop", None)
        return request


async def test_without_the_header_the_upload_is_lost_and_sent_again(tenant: Tenant) -> None:
    tenant.transport = DroppingTransport()
    service = tenant.connect()
    await service.schema()
    tenant.fail({"match": CREATE, "nth": 1, "do": "play:rollback"})
    with tenant.costs() as spent:
        await made(tenant, service, draft("dropped"))
    assert spent["POST /api/v1/upload/{}/{}"] == 2


@pytest.mark.parametrize(
    "faults",
    [
        # the service responds 201 and stores no file
        pytest.param([{"match": CREATE, "nth": 1, "do": "advance:20000"}], id="its batch ended"),
        # the service responds 409 without a body for a day
        pytest.param(
            [{"match": CREATE, "nth": 1, "do": "play:crash"}, {"match": CREATE, "nth": 1, "do": "status:503"}],
            id="its key is blocked by a request that died",
        ),
    ],
)
async def test_a_create_that_has_to_begin_again_makes_one_asset(tenant: Tenant, faults: list[dict[str, Json]]) -> None:
    service = tenant.connect()
    await service.schema()
    tenant.fail(*faults)
    identity = await made(tenant, service, draft("interrupted"))
    assert [row["id"] for row in tenant.marked("interrupted")] == [identity]


async def test_a_replace_whose_batch_ended_keeps_no_old_file(tenant: Tenant) -> None:
    """The service returns 200 and keeps the old file."""
    service = tenant.connect()
    identity, journal = await made(tenant, service, draft("old")), MemoryJournal()
    tenant.fail({"match": "PUT /api/v1/id/*", "nth": 1, "do": "advance:20000"})
    async with content(tenant, "new.jpg", seed="new") as (given, digest):
        await worked(lambda: service.replace(identity, given, journal), journal)
    versions = tenant.truth()[identity]["versions"]
    assert [len(versions), versions[-1]["digests"]["md5"]] == [2, digest]


async def test_a_property_that_the_service_dropped_is_reported(tenant: Tenant) -> None:
    """It returns 200 and stores nothing of a property that the document's type has not."""
    service = tenant.connect()
    plain = Draft(Marker("dc:source", "plain"), "a.bin", "File", fields={"dc:source": "plain"})
    async with content(tenant, "a.bin") as (given, _):
        identity = await service.create(plain, given, MemoryJournal())
    with pytest.raises(Rejected, match="lib:note") as refused:
        await service.update(identity, Patch(fields={"lib:note": "x", "dc:rights": "©"}))
    assert refused.value.asset == identity


async def test_a_property_of_another_type_is_refused_before_any_call(tenant: Tenant) -> None:
    service = tenant.connect()
    await service.schema()
    with tenant.costs() as spent, pytest.raises(InvalidValue, match="lib:note"):
        await service.create(Draft(None, "a.bin", "File", fields={"lib:note": "x"}), None, MemoryJournal())
    assert not spent


async def test_the_creation_date_is_restored(tenant: Tenant) -> None:
    service, born = tenant.connect(), datetime(1987, 3, 1, 9, 30, tzinfo=UTC)
    wanted = draft("born", fields={"dc:created": born})
    identity = await made(tenant, service, wanted)
    assert tenant.truth()[identity]["created_at"] == "1987-03-01T09:30:00Z"
    assert (await service.fetch(identity)).created_at == born


async def test_what_is_recorded_of_a_create_has_no_link(tenant: Tenant) -> None:
    """A server that redirects downloads gives signed links with each document, and records stay in the state."""
    service, journal = tenant.connect(), MemoryJournal()
    born = draft("linked", fields={"dc:created": datetime(1987, 3, 1, tzinfo=UTC)}, tags=frozenset({"sea"}))
    await made(tenant, service, born, journal)
    recorded = json.dumps({name: result for name, (result, _) in journal.done.items()})
    assert "late" in recorded
    assert "://" not in recorded


async def test_a_twin_of_a_lost_create_goes(tenant: Tenant) -> None:
    """Another process that remembers nothing: the service names its document `name.millis` and says 201."""
    first = await made(tenant, tenant.connect(), draft("twin"))
    tenant.advance(90_000)  # behind the day for which responses are replayed
    assert await made(tenant, tenant.connect(), draft("twin")) == first
    assert len(tenant.marked("twin")) == 1


async def test_a_document_of_others_under_our_name_is_reported_and_stays(
    tenant: Tenant, raw: httpx.AsyncClient
) -> None:
    body = {"entity-type": "document", "type": "File", "name": asset_name("taken"), "properties": {"dc:title": "x"}}
    stranger = (await raw.post("/path/default-domain/workspaces", json=body)).json()["uid"]
    before = set(tenant.truth())
    with pytest.raises(Conflict, match="another document already has"):
        await made(tenant, tenant.connect(), draft("taken"))
    assert set(tenant.truth()) == before
    assert stranger in before


async def test_names_are_short_and_follow_from_the_marker() -> None:
    assert asset_name("a") == asset_name("a") != asset_name("b")
    assert len(asset_name("x" * 300)) == facts.NAME_LETTERS
    assert asset_name("a").isalnum()
    assert asset_name("a").islower()


async def test_an_unplaced_asset_goes_to_a_folder_that_is_made_when_it_is_needed(tenant: Tenant) -> None:
    service = tenant.connect(options={"folder": "Incoming/2026"})
    await service.schema()
    _ = [place async for place in service.containers()]
    told = Estimator(service).write(draft("home"), 700)
    identity = await made(tenant, service, draft("home"))
    await service.end_shared()
    assert dict(service.calls).items() >= told.items() - {("POST /api/v1/id/{docId}", 3)}
    assert told["POST /api/v1/id/{docId}"] == 3
    assert tenant.truth()[identity]["placements"][0]["path"] == ["Incoming", "2026"]


async def test_a_server_that_refuses_types_below_others_is_served(start: Start) -> None:
    """From 2025.8 on a WorkspaceRoot may refuse all but workspaces; collections and assets lie in a folder of ours."""
    tenant = start(strict_types=True)
    service = tenant.connect(options={"folder": "dam-sync"})
    await service.schema()
    _ = [place async for place in service.containers()]
    told = Estimator(service).write(Placement("collection", ("Best",)))
    with tenant.costs() as spent:
        await service.ensure_container("collection", ("Best",))
    assert spent == {"POST /api/v1/id/{}": 2} == {"POST /api/v1/id/{}": sum(told.values())}
    top = await service.ensure_container("folder", ("Top",))
    assert (await service.ensure_container("folder", ("Top", "Below"), top.id)).id
    await made(tenant, service, draft("strict"))


async def test_an_index_has_its_time_before_nothing_is_found(start: Start) -> None:
    tenant = start(variant="index", lag=20)
    await made(tenant, tenant.connect(), draft("lags"))
    tenant.fail({"match": "POST */automation/Repository.Query", "every": 1, "do": "status:404"})
    service = tenant.connect()
    (row,) = tenant.marked("lags")
    assert await service.find(Marker("lib:srckey", "lags")) == row["id"]
    assert await service.find(Marker("lib:srckey", "nobody")) is None


async def test_a_folder_and_a_collection_of_one_name_are_two(tenant: Tenant) -> None:
    service = tenant.connect()
    folder = await service.ensure_container("folder", ("Both",))
    collection = await service.ensure_container("collection", ("Both",))
    assert folder.id != collection.id
    await service.place(collection, [tenant.of_catalogue(2)], [])
    assert collection in (await service.fetch(tenant.of_catalogue(2))).placements


SMALL = replace(facts.LIMITS, single_bytes=1000, parts=replace(facts.BOUNDS, preferred=1000, at_once=1))


class QuickServlet(DocumentsService):
    """Asks the servlet for small files too."""

    most_by_blob = 100


# -- files -------------------------------------------------------------------------------------------------------------


async def test_a_chunk_whose_response_was_lost_is_not_sent_again(tenant: Tenant) -> None:
    """The service returns 500 for a chunk it has."""
    tenant.limits = SMALL
    service = tenant.connect()
    await service.schema()
    tenant.fail({"match": "POST /api/v1/upload/*/0", "nth": 2, "do": "reset_after"})
    wanted = draft("chunks")
    with tenant.costs() as spent:
        async with content(tenant, wanted.filename, 4500) as (given, digest):
            identity = await service.create(wanted, given, MemoryJournal())
    assert spent["POST /api/v1/upload/{}/{}"] == 5
    assert tenant.truth()[identity]["versions"][0]["digests"]["md5"] == digest


@pytest.mark.parametrize("blow_at", range(4, 16))
async def test_chunks_go_on_in_another_process(tenant: Tenant, blow_at: int) -> None:
    """What the server holds is not sent again, whether or not we could note it."""
    tenant.limits = SMALL
    wanted, journal = draft(f"resumed-{blow_at}"), MemoryJournal(blow_at)
    await tenant.connect().schema()
    with tenant.costs() as spent:
        async with content(tenant, wanted.filename, 3500) as (given, digest):
            with pytest.raises(Crash):
                await tenant.connect().create(wanted, given, journal)
            journal.blow_at = None
            other = tenant.connect()
            identity = await worked(lambda: other.create(wanted, given, journal), journal)
    assert spent["POST /api/v1/upload/{}/{}"] == 4
    assert [row["id"] for row in tenant.marked(f"resumed-{blow_at}")] == [identity]
    assert tenant.truth()[identity]["versions"][0]["digests"]["md5"] == digest


async def test_behind_the_last_byte_nothing_is_asked(tenant: Tenant) -> None:
    """A range that begins at the end would bring the whole file."""
    service = tenant.connect()
    file = (await service.fetch(tenant.of_catalogue(1))).versions[-1]
    with tenant.costs() as spent:
        assert await body(service, file, file.size or 0) == b""
    assert not spent


@pytest.mark.parametrize("variant", ["", "login_redirect"])
async def test_large_files_come_from_the_servlet(start: Start, variant: str) -> None:
    tenant = start(variant=variant)
    tenant.service = QuickServlet
    service = tenant.connect(read_only=True)
    file = (await service.fetch(tenant.of_catalogue(1))).versions[0]
    assert len(await body(service, file)) == file.size
    assert service.calls["GET /nxfile/{repository}/{docId}/{path}"] == 1


async def test_a_digest_that_is_computed_later_is_no_error(start: Start) -> None:
    tenant = start(digest_lag=60)
    await made(tenant, tenant.connect(), draft("later"))


# -- listings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("since", [None, datetime(2026, 1, 1, tzinfo=UTC)], ids=["whole", "sweep"])
async def test_a_server_with_smaller_pages_loses_nothing(start: Start, since: datetime | None) -> None:
    """It gives its own number of rows and says that there is no next page."""
    tenant = start([*SCHEMA, *(asset(number) for number in range(1, 31))], max_page_size=7)
    found = await entries(tenant.connect(read_only=True), Window(since))
    assert sorted(entry.id for entry in found) == sorted(tenant.truth())
    assert all((entry.asset is None) == bool(since) for entry in found)


async def test_a_listing_by_the_search_index_loses_nothing_and_is_reported(start: Start) -> None:
    """Operations are forbidden, so a search with a window and a lag is used."""
    rows = [*SCHEMA, *(asset(number) for number in range(1, 31))]
    tenant = start(rows, variant="index", max_page_size=5)
    service = tenant.connect(read_only=True)
    tenant.fail({"match": "POST */automation/Repository.Query", "every": 1, "do": "status:404"})
    tenant.advance(60)
    assert sorted(entry.id for entry in await entries(service)) == sorted(tenant.truth())
    assert any("index" in note for note in (await service.probe()).notes)


async def test_long_vocabularies_are_read_whole(start: Start) -> None:
    terms = [
        {"record": "term", "vocabulary": "countries", "id": f"c{n}", "labels": {"en": f"Country {n}"}}
        for n in range(130)
    ]
    tenant = start([*SCHEMA, *terms], max_page_size=40)
    assert len([term async for term in tenant.connect().terms("countries")]) == 132


async def test_a_full_listing_sees_changes_that_move_no_date(tenant: Tenant, raw: httpx.AsyncClient) -> None:
    """Tags by operation, rights and a folder's new title move no date."""
    service = tenant.connect(read_only=True)
    before = {entry.id: entry.revision for entry in await entries(service)}
    one, two = tenant.of_catalogue(2), tenant.of_catalogue(3)
    tagged = {"input": f"doc:{one}", "params": {"tags": "x"}}
    (await raw.post("/automation/Services.TagDocument", json=tagged)).raise_for_status()
    given = {"input": f"doc:{two}", "params": {"users": ["staff"], "permission": "Read", "acl": "local"}}
    (await raw.post("/automation/Document.AddPermission", json=given)).raise_for_status()
    now = {e.id: e.revision for e in await entries(service, Window(datetime(2026, 1, 1, tzinfo=UTC)))}
    assert {key for key in now if now[key] != before[key]} == {one, two}
    folder = next(place for place in [p async for p in service.containers()] if place.path == ("Press",))
    change = {"entity-type": "document", "uid": folder.id, "properties": {"dc:title": "Papers"}}
    (await raw.put(f"/id/{folder.id}", json=change)).raise_for_status()
    other = tenant.connect(read_only=True)
    later = {e.id: e.revision for e in await entries(other, Window(datetime(2026, 1, 1, tzinfo=UTC)))}
    assert all(later[key] != now[key] for key in now)
    assert {place.path for place in (await other.fetch(one)).placements} == {("Papers", "2024")}


# -- operations --------------------------------------------------------------------------------------------------------


async def test_text_that_the_server_would_run_is_never_sent(tenant: Tenant) -> None:
    service = tenant.connect(options={"groups": "expr:1+1"})
    identity = tenant.of_catalogue(2)
    with pytest.raises(InvalidValue, match="expr:"):
        await service.update(identity, Patch(rights=Rights(groups=frozenset({"expr:1+1"}))))


async def test_a_write_over_somebody_elses_is_done_over_the_newer_state(tenant: Tenant, raw: httpx.AsyncClient) -> None:
    service = tenant.connect()
    identity = await made(tenant, service, draft("both", tags=frozenset({"ours"})))
    tenant.fail({"match": f"PUT /api/v1/id/{identity}", "nth": 1, "do": "play:conflict"})
    await service.update(identity, Patch(tags_add=frozenset({"Fine Art"})))
    assert tenant.truth()[identity]["tags"] == ["Fine Art", "ours"]


@pytest.mark.parametrize(("do", "error"), [("odd:0", ContractBroken), ("empty", Transient)])
async def test_a_response_about_another_document_is_no_membership(
    tenant: Tenant, do: str, error: type[DamSyncError]
) -> None:
    service = tenant.connect()
    place = await service.ensure_container("collection", ("Set",))
    tenant.fail({"match": "POST *Document.AddToCollection", "nth": 1, "do": do})
    with pytest.raises(error, match="returned"):
        await service.place(place, [tenant.of_catalogue(2)], [])
    await service.place(place, [tenant.of_catalogue(2)], [])
    assert place in (await tenant.connect(read_only=True).fetch(tenant.of_catalogue(2))).placements


async def test_memberships_of_collections_are_added_and_removed(tenant: Tenant) -> None:
    service = tenant.connect()
    ids = [tenant.of_catalogue(number) for number in (2, 3, 4)]
    place = next(p for p in [p async for p in service.containers()] if p == Placement("collection", ("Best of",)))
    await service.place(place, ids, [])
    await service.place(place, [], ids[:1])
    inside = [i for i in ids if place in (await tenant.connect(read_only=True).fetch(i)).placements]
    assert inside == ids[1:]


@pytest.mark.parametrize(("variant", "between"), [("", "/"), ("bar_paths,whole_path", "|")])
async def test_a_term_below_another_is_stored_by_its_path(start: Start, variant: str, between: str) -> None:
    tenant = start(variant=variant)
    service = tenant.connect()
    top = await service.ensure_term("subjects", Term("Building"))
    below = await service.ensure_term("subjects", Term("Tower", parent=top.id))
    identity = await made(tenant, service, draft("tower", fields={"lib:subject": (below,)}))
    (stored,) = tenant.value(identity, "subject")
    assert (stored["id"], stored["path"]) == (below.id.replace("/", between), ["Building", "Tower"])
    assert (await tenant.connect(read_only=True).fetch(identity)).fields["lib:subject"] == (below,)


# -- credentials and releases ------------------------------------------------------------------------------------------

CLIENT = {"flow": "oauth", "client_id": "dam-sync", "client_secret": "client-secret-b"}
WAYS: list[dict[str, str]] = [
    {"flow": "token", "login": "Administrator", "password": "secret-b"},
    {"flow": "signed_token", "login": "Administrator", "key": "shared-secret-b"},
    {**CLIENT},
    {**CLIENT, "grant": "jwt_bearer", "login": "Administrator", "key": "shared-secret-b"},
    {**CLIENT, "refresh_token": f"refresh-b-{'0' * 54}"},
]


@pytest.mark.parametrize("way", WAYS, ids=["login", "signed", "credentials", "bearer", "refresh"])
@pytest.mark.parametrize("variant", ["", "float_expiry"])
async def test_every_way_in_lasts(start: Start, way: dict[str, str], variant: str) -> None:
    """Also behind the end of a token."""
    tenant = start(variant=variant)
    service = tenant.connect(way)
    account = await service.probe()
    assert account.user
    tenant.advance(4000)
    assert (await service.fetch(tenant.of_catalogue(2))).filename == "photo 2.jpg"


async def test_client_credentials_need_a_newer_release(start: Start) -> None:
    tenant = start(release="2025.2")
    with pytest.raises(Denied) as refused:
        await tenant.connect(CLIENT).probe()
    assert "2025.3" in refused.value.hint


async def test_a_wrong_secret_of_a_client_is_named_first(tenant: Tenant) -> None:
    with pytest.raises(Denied) as refused:
        await tenant.connect({**CLIENT, "client_secret": "wrong"}).probe()
    assert refused.value.hint.startswith("check client_id and client_secret")


@pytest.mark.parametrize("variant", ["older", "ancient"])
async def test_older_releases_are_read_and_written(start: Start, variant: str) -> None:
    tenant = start(variant=variant)
    service = tenant.connect()
    release = (await service.probe()).release
    assert release == {"older": "2023.12", "ancient": "10.10-HF68"}[variant]
    identity = await made(tenant, service, draft("older"))
    assert (await service.fetch(identity)).filename == "older.jpg"


async def test_a_wrong_root_is_reported(tenant: Tenant) -> None:
    with pytest.raises(Exception, match="no folder /nowhere"):
        await tenant.connect(options={"root": "/nowhere"}).schema()


async def test_what_can_be_no_id_is_not_asked(tenant: Tenant) -> None:
    service = tenant.connect()
    await service.schema()
    with tenant.costs() as spent, pytest.raises(NotFound):
        await service.fetch(AssetId("../../config/types"))
    assert not spent


# -- reads -------------------------------------------------------------------------------------------------------------


async def test_assets_that_are_read_at_the_same_time_list_each_vocabulary_once(tenant: Tenant) -> None:
    service = tenant.connect()
    vocabularies = (await service.schema()).vocabularies
    assert isinstance(service, DocumentsService)
    with tenant.costs() as spent:
        await asyncio.gather(*(service.stored_terms(vocabularies) for _ in range(5)))
    another = tenant.connect()
    assert isinstance(another, DocumentsService)
    with tenant.costs() as alone:
        await another.stored_terms(vocabularies)
    assert spent["GET /api/v1/directory/{}"] == alone["GET /api/v1/directory/{}"]


async def test_terms_at_the_top_of_a_list_in_two_directories_are_no_values(tenant: Tenant) -> None:
    """The server takes an entry of `l10nsubjects` with its parent, and none of `topic` alone (wire B 5.1)."""
    depths = {name: each.least_depth for name, each in (await tenant.connect().schema()).vocabularies.items()}
    assert {name: depths[name] for name in ("l10nsubjects", "l10ncoverage", "topic", "nature")} == {
        "l10nsubjects": 2,
        "l10ncoverage": 2,
        "topic": 1,
        "nature": 1,
    }
