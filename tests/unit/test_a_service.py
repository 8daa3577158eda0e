"""Service A against its emulator over sockets: two readings of one contract."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, date, datetime, timedelta

import pytest

from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Marker, Patch, Placement, Relation
from dam_sync.model.errors import (
    ConfigError,
    DamSyncError,
    Denied,
    InvalidValue,
    NotFound,
    Rejected,
    SessionGone,
    StopRequested,
    TooLarge,
    Transient,
    Unsupported,
)
from dam_sync.model.schema import FieldKind
from dam_sync.model.service import Context, Operation, Window
from dam_sync.model.values import Json, Localized, Person, Place, Term, Value
from dam_sync.net.auth import Basic, ClientCredentials, SignedToken
from dam_sync.services.a_hypermedia import KIND, facts
from dam_sync.services.a_hypermedia.connecting import credential
from tests.support.served_a import FULL, PASSWORD, Bytes, Open, Remembered, asset, body, draft_for, entries, serving


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


# -- as a source -------------------------------------------------------------------------------------------------------


async def test_probe_tells_who_we_are_and_what_we_see(opened: Open) -> None:
    tenant = opened(asset(1), asset(2))
    service = tenant.connect()
    account = await service.probe()
    assert (account.user, account.total) == ("dam-sync", 2)
    assert account.release.startswith("4.")
    assert abs(account.clock_skew) < timedelta(seconds=5)


async def test_a_wrong_password_is_denied(opened: Open) -> None:
    service = opened().connect({**PASSWORD, "password": "wrong"})
    with pytest.raises(Denied):
        await service.probe()


async def test_a_signed_token_opens_too(opened: Open) -> None:
    auth = {"flow": "signed_token", "client_id": "demo-instance-id", "login": "dam-sync", "key": "sharedkey123"}
    service = opened(asset(1)).connect({**auth, "algorithm": "HS256"})
    assert (await service.probe()).total == 1


@pytest.mark.parametrize(
    ("auth", "kind"),
    [
        (PASSWORD, Basic),
        ({"flow": "signed_token", "client_id": "i", "login": "l", "key": "k" * 32, "algorithm": "HS512"}, SignedToken),
        (
            {"flow": "client_credentials", "token_url": "http://127.0.0.1:1/t", "client_id": "i", "client_secret": "s"},
            ClientCredentials,
        ),
    ],
)
def test_each_flow_makes_its_credential(auth: Mapping[str, str], kind: type) -> None:
    assert set(auth) == {"flow", *KIND.flows[auth["flow"]]}
    assert isinstance(credential(Context("http://127.0.0.1:1", auth)), kind)


def test_what_the_options_refuse_is_said() -> None:
    for options in ({"keyset": "maybe"}, {"timezone": "Mars/Olympus"}, {"index_lag": "soon"}):
        with pytest.raises(ConfigError, match=next(iter(options))):
            KIND.connect(Context("http://127.0.0.1:1", PASSWORD, options))
    with pytest.raises(ConfigError, match="saml"):
        KIND.connect(Context("http://127.0.0.1:1", {"flow": "saml"}))


async def test_the_schema_of_the_instance(opened: Open) -> None:
    service = opened().connect()
    schema = await service.schema()
    kinds = {key: schema.fields[key].kind for key in ("title", "legend", "shot_date", "subject", "country", "spot")}
    assert kinds == {
        "title": FieldKind.TEXT,
        "legend": FieldKind.LONG_TEXT,
        "shot_date": FieldKind.DATE,
        "subject": FieldKind.TERM,
        "country": FieldKind.TERM,
        "spot": FieldKind.PLACE,
    }
    assert schema.fields["title"].localized
    assert schema.fields["title"].required
    assert schema.fields["keywords"].multiple
    assert schema.fields["title"].types == {"Photo", "Video"}
    assert schema.vocabularies["subject"].label == "Subjects"
    assert schema.vocabularies["country"].closed
    assert schema.statuses is not None
    assert {"published", "Internal"} <= schema.statuses
    assert schema.labels == frozenset({"Highlight"})
    assert schema.locales == ("en", "fr")


async def test_content_languages_are_asked_of_the_instance(opened: Open) -> None:
    service = opened(asset(1), languages=["fr", "en"]).connect(locales=None)
    assert set((await service.schema()).locales) == {"en", "fr"}


async def test_terms_and_containers(opened: Open) -> None:
    service = opened().connect()
    terms = {term.label: term async for term in service.terms("subject")}
    assert terms["Sea"].path == ("Nature", "Sea")
    assert (terms["Sea"].parent, terms["Nature"].parent) == (terms["Nature"].id, "")
    assert terms["Sea"].labels == {"en": "Sea", "fr": "Mer"}
    assert terms["Sea"].synonyms == {"en": ("Ocean",)}
    assert [term.label async for term in service.terms("country")] == ["France", "Spain"]
    assert [place.text async for place in service.containers()] == ["/Press", "/Press/2024", "/Highlight"]


def check_full(found: Asset) -> None:
    assert found.fields["title"] == Localized({"en": "Harbour at dawn", "fr": "Port à l’aube"})
    assert found.fields["legend"] == Localized({"en": "First light"})
    assert found.fields["shot_date"] == date(2025, 2, 6)
    assert found.fields["seen_at"] == datetime(2025, 2, 6, 10, 30, tzinfo=UTC)
    assert (found.fields["rating"], found.fields["cleared"]) == (12.5, True)
    assert found.fields["keywords"] == ("harbour", "dawn")
    assert found.fields["spot"] == Place(48.382, -4.495, "Brest, France")
    assert [term.label for term in found.fields["subject"]] == ["Sea"]  # type: ignore[union-attr]
    assert found.fields["country"].label == "France"  # type: ignore[union-attr]
    assert (found.status, found.substatus, found.type) == ("published", "Internal", "Photo")
    assert {place.text for place in found.placements} == {"/Press/2024", "/Highlight"}
    assert [file.name for file in found.versions] == ["old.jpg", "harbour.jpg"]
    assert [file.name for file in found.attachments] == ["plan.pdf"]
    assert [relation.kind for relation in found.relations] == ["Views of the object"]


@pytest.mark.parametrize("zone", ["Europe/Paris", None])
async def test_one_asset_complete(opened: Open, zone: str | None) -> None:
    tenant = opened(FULL, asset(2))
    service = tenant.connect(timezone=zone)
    first, second = await entries(service)
    found = await service.fetch(first.id)
    check_full(found)
    assert found.revision == first.revision
    assert {relation.target for relation in found.relations} == {second.id}
    truth = tenant.truth()[first.id]
    assert [file.digests["md5"] for file in found.versions] == [row["digests"]["md5"] for row in truth["versions"]]


async def test_a_plain_asset_costs_one_call_a_language(opened: Open) -> None:
    tenant = opened(asset(1), asset(2))
    service = tenant.connect()
    first, second = await entries(service)
    await service.fetch(first.id)
    with tenant.costs() as spent:
        await service.fetch(second.id)
    assert sum(spent.values()) == 2


@pytest.mark.parametrize("number", [0, 1, 100, 101, 230])
async def test_every_asset_is_listed_once(opened: Open, number: int) -> None:
    tenant = opened(*[asset(n + 1) for n in range(number)])
    service = tenant.connect()
    found = await entries(service)
    assert len(found) == len({entry.id for entry in found}) == number
    assert {entry.id for entry in found} == set(tenant.truth())
    assert all(entry.asset is None for entry in found)


async def test_without_a_keyset_pages_are_read(opened: Open) -> None:
    service = opened(*[asset(n + 1) for n in range(130)]).connect(keyset="off")
    assert len({entry.id for entry in await entries(service)}) == 130


@pytest.mark.parametrize("dated", [True, False])
async def test_a_library_beyond_the_reach_is_cut(opened: Open, monkeypatch: pytest.MonkeyPatch, dated: bool) -> None:
    """By date where the dates differ, by folder within a second that holds too many."""
    monkeypatch.setattr(facts, "PAGE", 10)
    monkeypatch.setattr(facts, "REACH", 40)
    records = []
    for number in range(1, 121):
        when = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=7 * number if dated else 0)
        folder = ["Press", "2024"] if number % 4 == 0 else [f"Box {number % 4}"]
        places = [{"kind": "folder", "path": folder, "id": ""}]
        records.append(asset(number, imported_at=when.isoformat(), placements=places))
    boxes = [{"record": "container", "kind": "folder", "path": [f"Box {number}"]} for number in (1, 2, 3)]
    tenant = opened(*boxes, *records, window=40)
    service = tenant.connect(keyset="off")
    shards = [shard async for shard in service.shards(Window())]
    assert len(shards) >= 4
    assert {"container" in shard.params for shard in shards if shard.expected} == {not dated}
    assert all((shard.expected or 0) <= 40 for shard in shards)
    found = [entry.id for entry in await entries(service)]
    assert sorted(found) == sorted(tenant.truth())


async def test_a_crawl_goes_on_from_any_cursor(opened: Open) -> None:
    service = opened(*[asset(n + 1) for n in range(250)]).connect()
    (shard,) = [shard async for shard in service.shards(Window())]
    batches = [batch async for batch in service.crawl(shard, None)]
    assert [len(batch.entries) for batch in batches] == [100, 100, 50]
    again = [batch async for batch in service.crawl(shard, batches[0].cursor)]
    assert [batch.entries for batch in again] == [batch.entries for batch in batches[1:]]
    assert shard.expected == 250


async def test_a_rich_search_saves_the_single_reads(opened: Open) -> None:
    tenant = opened(FULL, asset(2), asset(3), rich_search=True)
    service = tenant.connect()
    found = await entries(service)
    whole = [entry for entry in found if entry.asset is not None]
    for entry in whole:
        assert entry.asset == await service.fetch(entry.id)
    thin = [entry.id for entry in found if entry.asset is None]
    assert [tenant.truth()[identity]["catalogue_id"] for identity in thin] == ["1"]  # has versions and links


@pytest.mark.parametrize("keyset", ["auto", "off"])
@pytest.mark.parametrize("details", [True, False])
async def test_a_delta_holds_what_changed_and_what_went_into_the_trash(
    opened: Open, keyset: str, details: bool
) -> None:
    tenant = opened(*[asset(n + 1) for n in range(5)], trash_details=details)
    service = tenant.connect(keyset=keyset)
    first, second, *_ = await entries(service)
    tenant.world.advance(3600)
    since = tenant.world.now()
    await service.update(first.id, Patch(fields={"rating": 99}))
    await service.remove(second.id)
    found = {entry.id: entry for entry in await entries(service, Window(since, since + timedelta(hours=1)))}
    assert set(found) == {first.id, second.id}
    assert found[second.id].deleted
    assert not found[first.id].deleted
    assert found[first.id].revision != first.revision


async def test_files_open_at_any_offset_and_links_are_renewed(opened: Open) -> None:
    tenant = opened(FULL, asset(2))
    service = tenant.connect()
    entry, _ = await entries(service)
    found = await service.fetch(entry.id)
    for file in (*found.versions, *found.attachments):
        whole = await body(service, file)
        assert len(whole) == file.size
        assert await body(service, file, 100) == whole[100:]
        forgotten = FileRef(file.id, file.name, file.size)
        assert await body(service, forgotten) == whole
        if md5 := file.digests.get("md5"):
            assert hashlib.md5(whole).hexdigest() == md5
    await service.replace(entry.id, Bytes("newer.jpg", b"n" * 50), Remembered())
    assert len(await body(service, found.versions[-1])) == 1200  # the link has changed, the version has not


async def test_no_download_right_is_said_and_not_worked_around(opened: Open) -> None:
    for level in ("NONE", "BD"):
        tenant = opened(asset(1), download_level=level)
        service = tenant.connect()
        (entry,) = await entries(service)
        found = await service.fetch(entry.id)
        assert found.file is not None
        with pytest.raises(Rejected, match=level):
            await body(service, found.file)


async def test_odd_addresses_are_read(opened: Open) -> None:
    service = opened(FULL, asset(2), odd_hrefs=True, odd_descriptors=True).connect()
    first, _ = await entries(service)
    found = await service.fetch(first.id)
    check_full(found)
    assert found.file is not None
    assert len(await body(service, found.file)) == 1200
    made = await service.create(await draft_for(service), Bytes("new.jpg", b"x" * 500), Remembered())
    assert (await service.fetch(made)).filename == "new.jpg"


# -- as a target -------------------------------------------------------------------------------------------------------


def plain(counted: Mapping[str, int]) -> Counter[str]:
    """Calls by method and path with its slots made alike."""
    alike: Counter[str] = Counter()
    for name, number in counted.items():
        alike["/".join("{}" if part.startswith("{") else part for part in name.split("/"))] += number
    return alike


async def test_create_writes_everything_at_the_cost_it_told(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    terms = {term.label: term async for term in service.terms("subject")}
    countries = {term.label: term async for term in service.terms("country")}
    draft = await draft_for(
        service,
        legend=Localized({"fr": "Première lumière"}),
        shot_date=date(2025, 2, 6),
        seen_at=datetime(2025, 2, 6, 10, 30, tzinfo=UTC),
        rating=12.5,
        cleared=True,
        keywords=("harbour", "dawn"),
        subject=(terms["Sea"],),
        country=countries["Spain"],
        spot=Place(48.382, -4.495, "Brest, France"),
        point_of_interest="65.85,34.93",
    )
    told = service.forecast(draft, 5000)
    with tenant.costs() as spent:
        made = await service.create(draft, Bytes("new.jpg", b"x" * 5000), Remembered())
    assert plain(spent) == plain(told)
    found = await service.fetch(made)
    assert {key: found.fields[key] for key in draft.fields if key not in ("subject", "country")} == {
        key: value for key, value in draft.fields.items() if key not in ("subject", "country")
    }
    assert [term.label for term in found.fields["subject"]] == ["Sea"]  # type: ignore[union-attr]
    assert found.fields["country"].label == "Spain"  # type: ignore[union-attr]
    assert found.status == "published"
    assert {place.text for place in found.placements} == {"/Press/2024", "/Highlight"}
    assert found.file is not None
    assert found.file.digests["md5"] == hashlib.md5(b"x" * 5000).hexdigest()


@pytest.mark.parametrize("status", ["", "published", "Internal", "archived"])
async def test_few_fields_are_written_one_by_one_at_the_cost_told(opened: Open, status: str) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    base = await draft_for(service)
    draft = Draft(base.marker, "a.jpg", "Photo", status, base.fields)
    told = service.forecast(draft, 10)
    with tenant.costs() as spent:
        made = await service.create(draft, Bytes("a.jpg", b"x" * 10), Remembered())
    assert plain(spent) == plain(told)
    found = await service.fetch(made)
    assert found.status == {"": "draft", "Internal": "published"}.get(status, status)
    assert found.placements == frozenset()


async def test_a_media_may_be_metadata_only(opened: Open) -> None:
    service = opened().connect()
    made = await service.create(await draft_for(service), None, Remembered())
    found = await service.fetch(made)
    assert found.file is None
    assert found.fields["title"] == Localized({"en": "New", "fr": "Nouveau"})


READINGS: list[Json] = [
    {"put_clears": True},
    {"word_match": True},
    {"title_from_file": True},
    {"memberships_update": True},
    {"large_chunks": False},
    {"silent_writes": True},
    {"zone": "America/New_York"},
]


@pytest.mark.parametrize("reading", READINGS, ids=str)
async def test_each_open_reading_gives_the_same_asset(opened: Open, reading: Json) -> None:
    tenant = opened(asset(1), **reading)
    service = tenant.connect(timezone=reading.get("zone", "Europe/Paris"))
    draft = await draft_for(service, shot_date=date(2025, 2, 6), annotation="OK", rating=3, keywords=("a b", "c"))
    made = await service.create(draft, Bytes("new.jpg", b"x" * 500), Remembered())
    await service.update(made, Patch(fields={"annotation": None, "point_of_interest": "10,20"}, status="Internal"))
    found = await service.fetch(made)
    assert {key: value for key, value in found.fields.items() if key in draft.fields} == {
        key: value for key, value in draft.fields.items() if key != "annotation"
    }
    assert [float(part) for part in str(found.fields["point_of_interest"]).split(",")] == [10, 20]
    assert (found.status, found.substatus, found.filename) == ("published", "Internal", "new.jpg")
    assert {place.text for place in found.placements} == {"/Press/2024", "/Highlight"}
    assert await service.find(Marker("legacy_id", "m-1")) == made


async def test_the_marker_finds_exactly_its_asset(opened: Open) -> None:
    service = opened().connect()
    made = await service.create(await draft_for(service, "m-1"), Bytes("a.jpg", b"a"), Remembered())
    await service.create(await draft_for(service, "m-1-1"), Bytes("b.jpg", b"b"), Remembered())
    assert await service.find(Marker("legacy_id", "m-1")) == made
    assert await service.find(Marker("legacy_id", "m")) is None


async def test_find_waits_out_the_lag(opened: Open) -> None:
    service = opened(lag=0.2).connect()
    made = await service.create(await draft_for(service), Bytes("a.jpg", b"a"), Remembered())
    assert await service.find(Marker("legacy_id", "m-1")) == made


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("known", [True, False])
async def test_a_create_whose_answer_was_lost_is_found_again(opened: Open, listed: bool, known: bool) -> None:
    tenant = opened(drafts_in_folder=listed, lag=0.1)
    service = tenant.connect()
    draft, steps, content = await draft_for(service), Remembered(), Bytes("new.jpg", b"x" * 500, known=known)
    tenant.faults.add([{"match": "POST /api/dam/folders/*/medias", "nth": 1, "do": "reset_after"}])
    with pytest.raises(Transient):
        await service.create(draft, content, steps)
    assert not tenant.faults.unhit()
    made = await service.create(draft, content, steps)
    assert set(tenant.truth()) == {made}
    assert (await service.fetch(made)).fields["legacy_id"] == "m-1"


async def test_a_lost_answer_of_an_older_release_is_found_by_date(opened: Open) -> None:
    tenant = opened(asset(1), release="4.15.0", lag=0.1)
    service = tenant.connect()
    draft, steps, content = await draft_for(service), Remembered(), Bytes("new.jpg", b"x" * 500)
    tenant.faults.add([{"match": "POST /api/dam/medias", "nth": 1, "do": "reset_after"}])
    with pytest.raises(Transient):
        await service.create(draft, content, steps)
    await service.create(draft, content, steps)
    assert len(tenant.truth()) == 2


async def test_a_create_that_never_happened_is_made(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    draft, steps, content = await draft_for(service), Remembered(), Bytes("new.jpg", b"x" * 500)
    tenant.faults.add([{"match": "POST /api/dam/folders/*/medias", "nth": 1, "do": "reset_before"}])
    with pytest.raises(Transient):
        await service.create(draft, content, steps)
    made = await service.create(draft, content, steps)
    assert set(tenant.truth()) == {made}


async def test_twins_are_never_taken_for_each_other(opened: Open) -> None:
    """Same name, same bytes: one answer is lost, the other media has no mark yet when the run breaks off."""
    tenant = opened(lag=0.1)
    service = tenant.connect()
    content = Bytes("same.jpg", b"x" * 500)
    first, second = await draft_for(service, "m-1"), await draft_for(service, "m-2")
    tenant.faults.add(
        [
            {"match": "POST /api/dam/folders/*/medias", "nth": 1, "do": "reset_before"},
            {"match": "PUT /api/dam/medias/*/metadatas/legacy_id", "times": 6, "do": "status:503"},
        ]
    )
    one, two = Remembered(), Remembered()
    for draft, steps in ((first, one), (second, two)):
        with pytest.raises(DamSyncError):
            await service.create(draft, content, steps)
    tenant.faults.clear()
    fresh = tenant.connect()  # a new process
    await fresh.schema()
    made = {"m-1": await fresh.create(first, content, one)}
    for _ in range(2):
        try:
            made["m-2"] = await fresh.create(second, content, two)
        except SessionGone:
            continue
    assert {key: (await fresh.fetch(found)).fields["legacy_id"] for key, found in made.items()} == {
        "m-1": "m-1",
        "m-2": "m-2",
    }
    assert set(made.values()) == set(tenant.truth())


async def test_stopped_before_any_call_it_goes_on_without_a_twin(opened: Open) -> None:
    tenant = opened()
    ready = tenant.connect()
    content, places = Bytes("new.jpg", b"x" * 500), (await draft_for(ready)).placements
    stops = 0
    for calls in range(1, 60):
        steps = Remembered()
        fields: dict[str, Value] = {
            "legacy_id": f"m-{calls}",
            "title": Localized({"en": f"Title {calls}"}),
            "rating": calls,
        }
        draft = Draft(Marker("legacy_id", f"m-{calls}"), "new.jpg", "Photo", "published", fields, places)
        try:
            await tenant.connect(max_calls=calls).create(draft, content, steps)
            break
        except StopRequested:
            stops += 1
        made = await tenant.connect().create(draft, content, steps)
        found = await ready.fetch(made)
        assert {key: found.fields[key] for key in fields} == fields
        assert (found.status, {place.text for place in found.placements}) == (
            "published",
            {"/Press/2024", "/Highlight"},
        )
        assert len(tenant.truth()) == stops
    assert stops >= 12
    assert len(tenant.truth()) == stops + 1


async def test_twins_made_at_once_with_lost_answers_stay_apart(opened: Open) -> None:
    tenant = opened(lag=0.05)
    service = tenant.connect()
    base = await draft_for(service)
    tenant.faults.add([{"match": "POST /api/dam/folders/*/medias", "every": 3, "do": "reset_after"}])

    async def make(number: int) -> str:
        mark, steps = f"m-{number}", Remembered()
        fields: dict[str, Value] = {"legacy_id": mark, "title": Localized({"en": mark})}
        draft = Draft(Marker("legacy_id", mark), "same.jpg", "Photo", "published", fields)
        while True:
            try:
                return await service.create(draft, Bytes("same.jpg", b"x" * 500), steps)
            except (Transient, SessionGone):
                continue

    async with asyncio.TaskGroup() as group:
        tasks = {f"m-{number}": group.create_task(make(number)) for number in range(8)}
    assert base.marker is not None
    assert set(tenant.truth()) == {task.result() for task in tasks.values()}
    for mark, task in tasks.items():
        assert (await service.fetch(AssetId(task.result()))).fields["legacy_id"] == mark


async def test_an_expired_descriptor_begins_anew(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    draft, steps, content = await draft_for(service), Remembered(), Bytes("new.jpg", b"x" * 500)
    tenant.faults.add([{"match": "POST /api/dam/folders/*/medias", "nth": 1, "do": "advance:90000"}])
    with pytest.raises(SessionGone):
        await service.create(draft, content, steps)
    made = await service.create(draft, content, steps)
    assert set(tenant.truth()) == {made}


async def test_a_large_file_goes_in_ranges_and_resumes(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    data = bytes(range(256)) * 180_000  # 46 MB: three ranges
    content, steps, draft = Bytes("film.jpg", data), Remembered(), await draft_for(service)
    tenant.faults.add([{"match": "PUT /api/dam/files/*", "nth": 2, "do": "reset_after"}])
    told = service.forecast(draft, len(data))
    assert told["PUT /api/dam/files/{fileId}"] == 3
    made = await service.create(draft, content, steps)
    assert not tenant.faults.unhit()
    found = await service.fetch(made)
    assert found.file is not None
    assert found.file.digests["md5"] == hashlib.md5(data).hexdigest()


async def test_an_old_release_takes_no_large_files(opened: Open) -> None:
    service = opened(release="4.30.0").connect()
    assert (await service.probe()).notes
    with pytest.raises(TooLarge):
        await service.create(await draft_for(service), Bytes("film.jpg", bytes(50_000_001)), Remembered())


async def test_a_release_without_folder_creation(opened: Open) -> None:
    tenant = opened(release="4.15.0")
    service = tenant.connect()
    draft = await draft_for(service)
    told = service.forecast(draft, 500)
    with tenant.costs() as spent:
        made = await service.create(draft, Bytes("new.jpg", b"x" * 500), Remembered())
    assert plain(spent) == plain(told)
    assert {place.text for place in (await service.fetch(made)).placements} == {"/Press/2024", "/Highlight"}


async def test_update_makes_fields_exactly_what_it_says(opened: Open) -> None:
    tenant = opened(FULL, asset(2))
    service = tenant.connect()
    first, _ = await entries(service)
    await service.schema()
    before = await service.fetch(first.id)
    places = {place.text: place async for place in service.containers()}
    patch = Patch(
        fields={"title": Localized({"en": "Harbour"}), "keywords": ("sea",), "country": None, "legend": None},
        status="archived",
        placements_add=frozenset({places["/Press"]}),
        placements_remove=frozenset({places["/Press/2024"], places["/Highlight"]}),
    )
    told = service.forecast(patch)
    with tenant.costs() as spent:
        await service.update(first.id, patch)
    assert plain(spent) == plain(told)
    await service.update(first.id, patch)
    found = await service.fetch(first.id)
    assert found.fields["title"] == Localized({"en": "Harbour"})
    assert found.fields["keywords"] == ("sea",)
    assert {"country", "legend"}.isdisjoint(found.fields)
    assert found.status == "archived"
    assert {place.text for place in found.placements} == {"/Press"}
    assert found.fields["rating"] == before.fields["rating"]
    assert found.versions == before.versions


async def test_a_new_version_after_a_lost_answer_is_one(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    (entry,) = await entries(service)
    content, steps = Bytes("newer.jpg", b"n" * 50), Remembered()
    tenant.faults.add([{"match": "POST /api/dam/medias/*/file-versions", "nth": 1, "do": "reset_after"}])
    with pytest.raises(Transient):
        await service.replace(entry.id, content, steps)
    await service.replace(entry.id, content, steps)
    found = await service.fetch(entry.id)
    assert [file.name for file in found.versions] == ["photo 1.jpg", "newer.jpg"]
    assert found.revision != entry.revision
    with tenant.costs() as spent:
        await service.replace(entry.id, Bytes("newest.jpg", b"m" * 60), Remembered())
    assert plain(spent) == plain(service.forecast(FileRef("", "newest.jpg", 60)))


async def test_remove_trashes_and_never_purges(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    (entry,) = await entries(service)
    for _ in range(3):
        await service.remove(entry.id)
    assert (await service.fetch(entry.id)).status == "trash"


async def test_terms_are_found_or_made_in_every_language(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    await service.schema()
    terms = {term.label: term async for term in service.terms("subject")}
    wanted = Term("Coast", parent=terms["Nature"].id, labels={"en": "Coast", "fr": "Côte"}, synonyms={"en": ("Shore",)})
    with tenant.costs() as spent:
        made = await service.ensure_term("subject", wanted)
    assert plain(spent) == plain(service.forecast(wanted))
    assert await service.ensure_term("subject", wanted) == made
    assert (await service.ensure_term("subject", terms["Sea"])).id == terms["Sea"].id
    again = {term.label: term async for term in service.terms("subject")}
    assert (again["Coast"].labels, again["Coast"].synonyms) == ({"en": "Coast", "fr": "Côte"}, {"en": ("Shore",)})
    with pytest.raises(InvalidValue):
        await service.ensure_term("subject", Term("x" * 101))
    with pytest.raises(Unsupported):
        await service.ensure_term("country", Term("Atlantis"))
    assert (await service.ensure_term("country", Term("Spain"))).id


async def test_containers_are_found_or_made(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    top = await service.ensure_container("folder", ("Library",))
    with tenant.costs() as spent:
        below = await service.ensure_container("folder", ("Library", "Été"), top.id)
    assert plain(spent) == plain(service.forecast(Placement("folder", ("Library", "Été"))))
    assert await service.ensure_container("folder", ("Library", "Été"), top.id) == below
    assert below in [place async for place in service.containers()]
    assert (await service.ensure_container("label", ("Highlight",))).id
    with pytest.raises(Unsupported):
        await service.ensure_container("label", ("New",))


async def test_an_error_among_calls_at_once_is_the_error_itself(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    await service.schema()
    tenant.faults.add([{"match": "GET /api/dam/folder-tree/*", "do": "status:404"}])
    tenant.faults.add([{"match": "GET /api/dam/thesauruses/*", "do": "status:404"}])
    with pytest.raises(NotFound):
        [place async for place in service.containers()]
    with pytest.raises(NotFound):
        [term async for term in service.terms("subject")]
    assert not tenant.faults.unhit()


async def test_attachments_and_links(opened: Open) -> None:
    tenant = opened(FULL, asset(2), asset(3))
    service = tenant.connect()
    first, second, third = await entries(service)
    await service.attach(first.id, Bytes("more.pdf", b"m" * 40, "application/pdf"), Remembered())
    await service.relate(first.id, Relation("Views of the object", third.id))
    await service.relate(first.id, Relation("Views of the object", third.id))
    found = await service.fetch(first.id)
    assert {relation.target for relation in found.relations} == {second.id, third.id}
    assert [file.name for file in found.attachments] == ["plan.pdf", "more.pdf"]
    assert await body(service, found.attachments[-1]) == b"m" * 40
    with pytest.raises(Unsupported):
        await service.relate(first.id, Relation("No such kind", third.id))


async def test_what_the_target_refuses_parks_the_asset_before_anything_is_made(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    for fields in ({"nothing": "x"}, {"rating": "many"}, {"shot_date": "soon"}, {"width": 5}):
        with pytest.raises(InvalidValue):
            await service.create(await draft_for(service, **fields), Bytes("a.jpg", b"a"), Remembered())
    assert not tenant.truth()


async def test_a_publication_without_its_mandatory_field_is_refused_with_a_hint(opened: Open) -> None:
    service = opened().connect()
    base = await draft_for(service)
    draft = Draft(base.marker, "a.jpg", "Photo", "published", {"legacy_id": "m-1", "title": Localized({"en": ""})})
    with pytest.raises(InvalidValue) as refused:
        await service.create(draft, Bytes("a.jpg", b"a"), Remembered())
    assert "mandatory" in refused.value.hint


async def test_a_source_writes_nothing(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect(read_only=True)
    (entry,) = await entries(service)
    await service.fetch(entry.id)
    with pytest.raises(DamSyncError):
        await service.remove(entry.id)
    assert (await service.fetch(entry.id)).status == "published"


async def test_another_deployment_with_its_own_words(opened: Open) -> None:
    tenant = opened(FULL, asset(2), prefix="acme", header_prefix="X-ACME-")
    service = tenant.connect(relation_prefix="acme", header_prefix="X-ACME-")
    first, _ = await entries(service)
    check_full(await service.fetch(first.id))
    made = await service.create(await draft_for(service), Bytes("new.jpg", b"x"), Remembered())
    assert (await service.fetch(made)).status == "published"


def test_every_ability_is_there_but_bulk_placing_and_membership_listing() -> None:
    missing = set(Operation) - KIND.service.implemented
    assert missing == {Operation.PLACE, Operation.MEMBERS}
    assert Person("x").name == "x"
    assert AssetId("1") == "1"
