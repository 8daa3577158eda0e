"""Service C's own ways, on its emulator: each test fails without the care it is about."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import AssetId, Draft, Marker, Patch, Rights
from dam_sync.model.errors import (
    ConfigError,
    Denied,
    IntegrityError,
    InvalidValue,
    NotFound,
    Transient,
    Unsupported,
)
from dam_sync.model.service import Service, Window
from dam_sync.model.values import Json, Term
from dam_sync.services.c_brandlibrary import facts
from tests.conformance.catalogue import MARKER, SCHEMA, asset
from tests.conformance.tenant import Start, Tenant, content
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connections import entries
from tests.support.services.small_limits import changed
from tests.support.state.credential_store import MemoryCredentialStore
from tests.support.state.memory_journal import MemoryJournal

KIND = "c_brandlibrary"
LATER = {"readiness": "later"}


def draft(key: str, **more: Any) -> Draft:
    fields = {"title": f"Title of {key}", MARKER: key, **more.pop("fields", {})}
    return Draft(Marker(MARKER, key), f"{key}.jpg", fields=fields, **more)


async def made(tenant: Tenant, service: Service, wanted: Draft, journal: MemoryJournal | None = None) -> AssetId:
    async with content(tenant, wanted.filename, seed=str(wanted.marker)) as (given, _):
        return await service.create(wanted, given, journal or MemoryJournal())


def raw(tenant: Tenant, path: str, **params: str) -> Json:
    """What the service itself says."""
    key = tenant.wired.auth[0]["token"]
    reply = httpx.get(
        f"{tenant.served.url}/api/v4{path}", params=params, headers={"Authorization": f"Bearer {key}"}, verify=False
    )
    assert reply.status_code == 200
    return reply.json()


def records(tenant: Tenant, identity: AssetId) -> Counter[tuple[str, str]]:
    """Records of custom fields, doubled ones counted."""
    rows = raw(tenant, f"/assets/{identity}/custom_field_values")["data"]
    return Counter((row["attributes"]["key"], row["attributes"]["value"]) for row in rows)


# -- a bad key sees an empty list --------------------------------------------------------------------------------------


@pytest.mark.parametrize("listing", ["containers", "members", "shards"])
async def test_an_empty_list_is_not_believed_without_a_proven_key(start: Start, listing: str) -> None:
    """The service responds to a bad key with 200 and no rows: never taken for an empty library."""
    tenant = start()
    service = tenant.connect(tenant.wired.denied, read_only=True)
    rows = service.shards(Window()) if listing == "shards" else getattr(service, listing)()
    with pytest.raises(Denied) as denied:
        [row async for row in rows]
    assert "key" in denied.value.message


async def test_a_key_that_is_revoked_while_listing_is_no_empty_section(start: Start) -> None:
    tenant = start()
    service = tenant.connect(read_only=True)
    shards = [shard async for shard in service.shards(Window())]
    tenant.served.app.state.tenant.accounts._tokens.clear()
    with pytest.raises(Denied):
        [batch async for batch in service.crawl(shards[0], None)]


async def test_a_good_key_of_an_empty_library_is_proven_once(start: Start) -> None:
    tenant = start(SCHEMA)
    service = tenant.connect(read_only=True)
    assert await entries(service) == []
    assert service.calls[facts.WHOAMI] == 1


async def test_the_note_for_a_guest_says_that_he_sees_less(start: Start) -> None:
    user = {"token": "guest-token-1", "level": "guest", "scope": "library:Acme", "email": "guest@example.org"}
    tenant = start(users=[user])
    account = await tenant.connect({"flow": "token", "token": "guest-token-1"}).probe()
    assert any("guest" in note or "role" in note for note in account.notes)
    assert not any("role" in note or "guest" in note for note in (await tenant.connect().probe()).notes)


async def test_several_libraries_want_a_choice(start: Start) -> None:
    tenant = start(more_libraries=["Other"])
    with pytest.raises(ConfigError) as several:
        await tenant.connect().probe()
    assert "Acme" in several.value.hint
    assert "Other" in several.value.hint
    chosen = tenant.connect(options={"library": "Acme"})
    assert (await chosen.probe()).total == len(tenant.shown())
    with pytest.raises(ConfigError):
        await tenant.connect(options={"library": "Nowhere"}).probe()


# -- creating: the token, the second calls -----------------------------------------------------------------------------


async def test_the_token_is_removed_when_the_asset_is_complete(start: Start) -> None:
    tenant = start()
    service = tenant.connect()
    identity = await made(tenant, service, draft("t-1", fields={"description": "Real words"}))
    assert raw(tenant, f"/assets/{identity}")["data"]["attributes"]["description"] == "Real words"


async def test_an_asset_whose_values_are_missing_is_found_by_its_token_and_completed(start: Start) -> None:
    """The marker's own field comes in a second call: between the two only the description shows whose the asset is."""
    tenant = start()
    journal, wanted = MemoryJournal(), draft("half-1", fields={"description": "Real words"})
    tenant.fail({"match": "POST */custom_field_values", "do": "status:503", "times": 1})
    with pytest.raises(Transient):
        await made(tenant, tenant.connect(), wanted, journal)
    (row,) = [row for row in tenant.truth().values() if "dam_sync" in str(row["fields"].get("description"))]
    assert row["fields"].get(MARKER) is None
    assert wanted.marker is not None
    reader = tenant.connect(read_only=True)
    assert await reader.find(wanted.marker) == row["id"]
    assert (await reader.fetch(row["id"])).fields["description"] == "Real words"
    assert await made(tenant, tenant.connect(), wanted, journal) == row["id"]
    assert records(tenant, row["id"]) == {(MARKER, "half-1"): 1, ("title", "Title of half-1"): 1}


async def test_values_of_a_call_that_arrived_twice_are_there_once(start: Start) -> None:
    """A value record posted twice is there twice: equal ones are removed after the load (wire C 6.7)."""
    tenant = start()
    tenant.fail({"match": "POST */custom_field_values", "do": "twice"})
    identity = await made(tenant, tenant.connect(), draft("twice-1"))
    assert records(tenant, identity) == {(MARKER, "twice-1"): 1, ("title", "Title of twice-1"): 1}


@pytest.mark.parametrize("fault", ["reset_after", "reset_before"])
async def test_a_lost_create_is_looked_for_and_not_made_again(start: Start, fault: str) -> None:
    tenant = start(variant="lists_from_index,single_use", lag=20)
    journal, wanted = MemoryJournal(), draft("lost-1")
    tenant.fail({"match": "POST */libraries/*/assets", "do": fault, "nth": 1})
    with pytest.raises(Transient):
        await made(tenant, tenant.connect(), wanted, journal)
    other = tenant.connect()
    identity = await made(tenant, other, wanted, journal)
    (row,) = tenant.marked("lost-1")
    assert row["id"] == identity
    assert len(row["versions"]) == 1
    sent_anew = 1 if fault == "reset_before" else 0  # the lost create might have used the object up
    assert other.calls.get(facts.UPLOAD_REQUEST, 0) == sent_anew


async def test_the_index_is_not_believed_about_what_is_missing(start: Start) -> None:
    tenant = start(lag=300)
    service = tenant.connect()
    identity = await made(tenant, service, draft("gone-1"))
    tenant.advance(7200)
    await service.remove(identity)
    search = {"search": f'custom_fields.{MARKER}:"gone-1"'}
    library_id = raw(tenant, "/libraries")["data"][0]["id"]
    assert raw(tenant, f"/libraries/{library_id}/assets", **search)["meta"]["total_count"] == 1
    assert await service.find(Marker(MARKER, "gone-1")) is None


@pytest.mark.parametrize("fault", ["reset_after", "reset_before"])
async def test_values_whose_response_was_lost_are_not_doubled(start: Start, fault: str) -> None:
    """A record posted twice is there twice (wire C 6.7)."""
    tenant = start()
    journal, wanted = MemoryJournal(), draft("double-1", fields={"keywords": ("harbour", "dawn")})
    tenant.fail({"match": "POST */custom_field_values", "do": fault, "nth": 2})
    with pytest.raises(Transient):
        await made(tenant, tenant.connect(), wanted, journal)
    identity = await made(tenant, tenant.connect(), wanted, journal)
    assert set(records(tenant, identity).values()) == {1}
    assert len(records(tenant, identity)) == 4


async def test_the_key_of_our_marker_is_made_once(start: Start) -> None:
    tenant = start()
    service = tenant.connect()
    assert facts.MARK_KEY in (await service.schema()).fields
    marks = [Marker(facts.MARK_KEY, f"own-{n}") for n in range(4)]
    drafts = [Draft(mark, f"{mark.value}.jpg", fields={"title": "x", facts.MARK_KEY: mark.value}) for mark in marks]
    ids = await asyncio.gather(*(made(tenant, service, each) for each in drafts))
    names = [key.name for key in tenant.served.app.state.tenant.keys.values()]
    assert names.count(facts.MARK_KEY) == 1
    assert [await service.find(mark) for mark in marks] == ids


async def test_what_cannot_be_is_refused_before_anything_is_sent(start: Start) -> None:
    tenant = start()
    service = tenant.connect(options={"extend_lists": "off"})
    await service.schema()
    for wrong in (
        draft("x-1", profile="Color"),
        draft("x-2", status="archived"),
        draft("x-3", fields={"country": "Atlantis"}),
        draft("x-4", rights=Rights(groups=frozenset({"staff"}))),
    ):
        with tenant.costs() as spent, pytest.raises((InvalidValue, Unsupported)):
            await made(tenant, service, wrong)
        assert not spent


async def test_approval_that_was_not_honoured_is_reported(start: Start) -> None:
    """The account's workflow keeps `approved` false; a second look sees it, a PUT mends it."""
    tenant = start(variant="no_approval")
    identity = await made(tenant, tenant.connect(), draft("a-1", status="published"))
    assert tenant.truth()[identity]["status"] == "published"


async def test_dates_that_are_not_stored_are_reported(start: Start) -> None:
    tenant = start(variant="no_dates")
    rights = Rights(datetime(2020, 1, 1, tzinfo=UTC), None)
    with pytest.raises(Exception, match="availability_start was not stored"):
        await made(tenant, tenant.connect(), draft("a-2", rights=rights))


async def test_a_duplicate_that_vanishes_later_is_not_found(start: Start) -> None:
    """Duplicate detection deletes an identical file ten minutes later, without a trace in the API."""
    tenant = start(variant="duplicates")
    service = tenant.connect()
    await service.schema()
    ids = []
    for key in ("twin-1", "twin-2"):
        async with content(tenant, "same.jpg", 900) as (given, _):
            ids.append(await service.create(draft(key), given, MemoryJournal()))
    assert await service.find(Marker(MARKER, "twin-2")) == ids[1]
    tenant.advance(700)
    other = tenant.connect(read_only=True)
    assert await other.find(Marker(MARKER, "twin-2")) is None
    with pytest.raises(NotFound) as gone:
        await other.fetch(ids[1])
    assert "deleted" in gone.value.hint
    found = {entry.id for entry in await entries(other)}
    assert ids[0] in found
    assert ids[1] not in found


# -- reading -----------------------------------------------------------------------------------------------------------


async def test_one_pending_asset_does_not_hide_a_whole_list(start: Start) -> None:
    """`fields=cdn_url` turns a list with one pending asset into 404: it is never asked for."""
    tenant = start([*SCHEMA, asset(1), asset(2, status="draft"), asset(3)], variant="cdn_strict")
    found = {entry.id: entry.asset for entry in await entries(tenant.connect(read_only=True))}
    assert set(found) == set(tenant.truth())
    assert Counter(each.status for each in found.values() if each) == {"published": 2, "pending": 1}


async def test_dates_are_read_singly_only_where_there_are_some(start: Start) -> None:
    rights = {"release_at": "2020-01-01T00:00:00Z", "expires_at": "2050-01-01T00:00:00Z"}
    tenant = start([*SCHEMA, *(asset(number) for number in range(1, 30)), asset(30, rights=rights)])
    tenant.advance(60)
    service = tenant.connect(read_only=True)
    found = {entry.id: entry.asset for entry in await entries(service)}
    dated = [each for each in found.values() if each and each.rights.expires_at]
    assert [each.id for each in dated] == [tenant.of_catalogue(30)]
    assert dated[0].rights.release_at == datetime(2020, 1, 1, tzinfo=UTC)
    assert service.calls[facts.ASSET] == 1


async def test_a_deletion_while_listing_hides_no_other_asset(start: Start) -> None:
    """Pages are numbers: what goes away moves the later rows past the reader."""
    tenant = start([*SCHEMA, *(asset(number) for number in range(1, 41))])
    service, other = tenant.connect(read_only=True, options={"page": 10}), tenant.connect()
    shards = [shard async for shard in service.shards(Window())]
    gone: list[AssetId] = []
    found: Counter[AssetId] = Counter()
    async for batch in service.crawl(shards[0], None):
        found.update(entry.id for entry in batch.entries)
        if len(found) == 20 and not gone:
            gone = [tenant.of_catalogue(number) for number in range(1, 13)]
            for each in gone:
                await other.remove(each)
    assert set(tenant.truth()) - set(gone) <= set(found)
    assert set(found.values()) == {1}


async def test_a_section_beyond_reach_is_cut_by_day_and_second(start: Start) -> None:
    at = datetime(2024, 3, 1, 12, tzinfo=UTC)
    rows = []
    for number in range(1, 31):
        moment = (at + timedelta(minutes=number if number < 20 else number * 1000)).isoformat().replace("+00:00", "Z")
        rows.append(asset(number, versions=[], created_at=moment, imported_at=moment, changed_at=moment))
    tenant = start([*SCHEMA, *rows], result_window=10)
    tenant.limits = changed(tenant.kind.name, reach=10)
    tenant.advance(60)
    service = tenant.connect(read_only=True, options={"page": 10})
    shards = [shard async for shard in service.shards(Window())]
    assert len(shards) > 3
    found = Counter([entry.id for entry in await entries(service)])
    assert set(found) == set(tenant.truth())
    assert set(found.values()) == {1}


async def test_a_delta_beyond_reach_is_read_by_sections(start: Start) -> None:
    tenant = start()
    service = tenant.connect(read_only=True)
    since = datetime(2024, 3, 1, 14, 30, tzinfo=UTC)
    few = {entry.id for entry in await entries(service, Window(since=since + facts.OVERLAP))}
    assert 0 < len(few) < len(tenant.shown())
    tenant.limits = changed(tenant.kind.name, reach=3)
    many = {entry.id for entry in await entries(tenant.connect(read_only=True), Window(since=since + facts.OVERLAP))}
    assert many == few


async def test_a_full_listing_lists_everything(start: Start) -> None:
    tenant = start()
    service = tenant.connect(read_only=True, options={"delta": "sweep"})
    assert service.limits.enumerates_all
    listed = {entry.id for entry in await entries(service, Window(since=tenant.world.now()))}
    assert listed == set(tenant.shown())


async def test_older_versions_are_reported_as_lost(start: Start) -> None:
    tenant = start()
    service = tenant.connect(read_only=True)
    whole = await service.fetch(tenant.of_catalogue(1))
    assert [(loss.path, loss.detail) for loss in whole.losses] == [("versions", "2 older")]
    assert whole.file is not None
    assert whole.file.id.endswith("~3")
    listed = {entry.id: entry.asset for entry in await entries(service)}
    assert listed[whole.id] == whole


# -- writing files -----------------------------------------------------------------------------------------------------


async def test_an_attachment_whose_response_was_lost_is_not_appended_twice(start: Start) -> None:
    """PUT with attachments appends: a blind repetition would add the file again."""
    tenant = start()
    service, journal = tenant.connect(), MemoryJournal()
    identity = await made(tenant, service, draft("att-1"))
    tenant.fail({"match": "PUT */assets/*", "do": "reset_after", "nth": 1})
    async with content(tenant, "plan.pdf", 500) as (given, _):
        with pytest.raises(Transient):
            await service.attach(identity, given, journal)
        await service.attach(identity, given, journal)
    rows = raw(tenant, f"/assets/{identity}", include="attachments")["data"]["relationships"]["attachments"]["data"]
    assert len(rows) == 2


async def test_the_seventy_sixth_file_is_refused(start: Start) -> None:
    tenant = start()
    service = tenant.connect(options=LATER)
    identity = await made(tenant, service, draft("att-2"))
    files = [{"name": f"{n}.pdf", "generate": {"size": 10, "seed": n}} for n in range(74)]
    full = start([*SCHEMA, asset(1, attachments=files)])
    async with content(full, "more.pdf", 10) as (given, _):
        with pytest.raises(Exception, match="75"):
            await full.connect().attach(full.of_catalogue(1), given, MemoryJournal())
    assert identity in tenant.truth()


async def test_a_version_waits_for_the_one_before(start: Start) -> None:
    tenant = start(variant="stale_size", processing=90)
    service = tenant.connect(options=LATER)
    identity = await made(tenant, service, draft("v-1"))
    for number in range(2):
        async with content(tenant, "v-1.jpg", 800 + number, seed=f"v{number}") as (given, _):
            await service.replace(identity, given, MemoryJournal())
    assert [file["size"] for file in tenant.truth()[identity]["versions"]] == [700, 800, 801]


@pytest.mark.parametrize("variant", ["", "post_only"])
async def test_the_way_of_uploading_is_found_out_once(start: Start, variant: str) -> None:
    tenant = start(variant=variant)
    service = tenant.connect(options=LATER)
    await service.schema()
    for number in range(3):
        await made(tenant, service, draft(f"up-{number}"))
    assert service.calls[facts.UPLOAD_REQUEST] == 3


class OtherDigest(AlteredTransport):
    """The storage says that it got other bytes."""

    def received(self, request: httpx.Request, response: httpx.Response) -> None:
        if request.method == "PUT":
            response.headers["x-goog-hash"] = f"md5={base64.b64encode(bytes(16)).decode()}"


async def test_bytes_that_arrive_changed_are_seen(start: Start) -> None:
    tenant = start()
    tenant.transport = OtherDigest()
    with pytest.raises(IntegrityError):
        await made(tenant, tenant.connect(), draft("md5-1"))
    assert not tenant.marked("md5-1")


async def test_a_session_is_resumed_by_another_process_and_its_url_is_stored_apart(start: Start) -> None:
    """The URL of a session is a secret: it is in the credential store, not among the steps."""
    tenant = start(variant="partial_chunks")
    journal, credentials = MemoryJournal(), MemoryCredentialStore()
    size = 40_000_000
    wanted = draft("big-1")
    assert size > 2 * facts.CHUNK_BYTES
    async with content(tenant, wanted.filename, size) as (given, digest):
        tenant.fail({"match": "PUT *", "do": "status:404", "nth": 3})
        one = tenant.connect(credentials=credentials)
        with pytest.raises(Exception, match="ended"):
            await one.create(wanted, given, journal)
        tenant.fail({"match": "POST */assets", "do": "reset_before", "nth": 1})
        with pytest.raises(Transient):
            await one.create(wanted, given, journal)
        kept = json.dumps([journal.done[name][0] for name in journal.done])
        assert credentials.kept
        assert not any(address and address in kept for address in credentials.kept.values())
        identity = await tenant.connect(credentials=credentials).create(wanted, given, journal)
    (row,) = tenant.marked("big-1")
    assert row["id"] == identity
    assert [file["digests"]["md5"] for file in row["versions"]] == [digest]
    assert not any(credentials.kept.values())


# -- changing ----------------------------------------------------------------------------------------------------------


async def test_generated_tags_are_left_alone(start: Start) -> None:
    tenant = start(variant="auto_tags")
    service = tenant.connect()
    identity = await made(tenant, service, draft("tag-1", tags=frozenset({"mine"})))
    tenant.advance(600)
    whole = await service.fetch(identity)
    assert whole.machine_tags
    gone = frozenset(whole.machine_tags | {"mine"})
    await service.update(identity, Patch(tags_remove=gone, tags_add=frozenset({"new"})))
    after = await service.fetch(identity)
    assert after.machine_tags == whole.machine_tags
    assert after.tags == {"new"}


async def test_a_list_only_grows(start: Start) -> None:
    tenant = start()
    service = tenant.connect()
    schema = await service.schema()
    vocabulary = schema.fields["country"].vocabulary
    before = [term.label async for term in service.terms(vocabulary)]
    await asyncio.gather(*(service.ensure_term(vocabulary, Term(f"New {n}")) for n in range(5)))
    after = [term.label async for term in tenant.connect().terms(vocabulary)]
    assert after[: len(before)] == before
    assert set(after) - set(before) == {f"New {n}" for n in range(5)}


@pytest.mark.parametrize("extends", ["on", "off"])
async def test_a_restricted_list_without_values_takes_none_until_one_is_added(start: Start, extends: str) -> None:
    themes = {"record": "vocabulary", "key": "themes", "closed": True}
    tenant = start([*SCHEMA, themes, {"record": "field", "key": "theme", "kind": "term", "vocabulary": "themes"}])
    service = tenant.connect(options={"extend_lists": extends})
    vocabulary = (await service.schema()).fields["theme"].vocabulary
    assert [term async for term in service.terms(vocabulary)] == []
    wanted = draft("t-1", fields={"theme": Term("Astrolabe", "Astrolabe")})
    with tenant.costs() as spent, pytest.raises(InvalidValue, match="'Astrolabe' is not one of them"):
        await made(tenant, service, wanted)
    assert not any(call.startswith(("POST", "PUT")) for call in spent)
    if extends == "off":
        with pytest.raises(Unsupported, match="restricted and does not contain 'Astrolabe'"):
            await service.ensure_term(vocabulary, Term("Astrolabe"))
        return
    assert (await service.ensure_term(vocabulary, Term("Astrolabe"))).label == "Astrolabe"
    assert await made(tenant, service, wanted)


async def test_an_asset_stays_where_it_was_made(start: Start) -> None:
    tenant = start()
    service = tenant.connect()
    identity = tenant.of_catalogue(2)
    places = {place.text: place async for place in service.containers() if place.kind == "section"}
    with tenant.costs() as spent, pytest.raises(Unsupported):
        await service.update(identity, Patch(placements_add=frozenset({places["/Archive"]})))
    assert not any(name.startswith(("PUT", "POST", "DELETE")) for name in spent)
    assert replace(Patch(), status="x").status == "x"


async def test_removing_twice_is_quiet_and_a_bad_key_is_not(start: Start) -> None:
    tenant = start()
    identity = tenant.of_catalogue(2)
    await tenant.connect().remove(identity)
    await tenant.connect().remove(identity)
    assert tenant.truth()[identity]["status"] == "trash"
    with pytest.raises(Denied):
        await tenant.connect(tenant.wired.denied).remove(tenant.of_catalogue(3))


async def test_an_asset_without_file_has_its_payload_or_a_loss(start: Start) -> None:
    """Colours and the like: their content comes by a field nobody documents, or not at all."""
    tenant = start([*SCHEMA, asset(1, versions=[])], asset_type="Color")
    service = tenant.connect(read_only=True)
    schema = await service.schema()
    assert schema.fields["asset_data"].system
    (entry,) = await entries(service)
    assert entry.asset == await service.fetch(entry.id)
    assert entry.asset is not None
    assert entry.asset.type == "colors"
    assert "asset_data" in entry.asset.fields or [loss.path for loss in entry.asset.losses] == ["payload"]
    assert "asset_data" not in (await start().connect().schema()).fields
