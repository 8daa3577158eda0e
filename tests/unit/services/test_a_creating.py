"""Service A as a target of new assets, against its emulator over sockets: whole, at the estimated cost, found again."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime

import pytest

from dam_sync.model.asset import AssetId, Draft, Marker, Patch
from dam_sync.model.errors import DamSyncError, InvalidValue, SessionGone, StopRequested, TooLarge, Transient
from dam_sync.model.estimator import Estimator
from dam_sync.model.values import GeoPoint, Json, Localized, Value
from tests.support.services.connected_a import Open, asset, draft_for, serving
from tests.support.services.connections import Bytes, alike
from tests.support.state.memory_journal import MemoryJournal

EDITOR = {"login": "editor", "password": "secret-e"}


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def test_create_writes_everything_at_the_estimated_cost(opened: Open) -> None:
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
        spot=GeoPoint(48.382, -4.495, "Brest, France"),
        point_of_interest="65.85,34.93",
    )
    told = Estimator(service).write(draft, 5000)
    with tenant.costs() as spent:
        made = await service.create(draft, Bytes("new.jpg", b"x" * 5000), MemoryJournal())
    assert alike(spent) == alike(told)
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
async def test_few_fields_are_written_one_by_one_at_the_estimated_cost(opened: Open, status: str) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    base = await draft_for(service)
    draft = Draft(base.marker, "a.jpg", "Photo", status, base.fields)
    told = Estimator(service).write(draft, 10)
    with tenant.costs() as spent:
        made = await service.create(draft, Bytes("a.jpg", b"x" * 10), MemoryJournal())
    assert alike(spent) == alike(told)
    found = await service.fetch(made)
    assert found.status == {"": "draft", "Internal": "published"}.get(status, status)
    assert found.placements == frozenset()


async def test_a_media_may_be_metadata_only(opened: Open) -> None:
    service = opened().connect()
    made = await service.create(await draft_for(service), None, MemoryJournal())
    found = await service.fetch(made)
    assert found.file is None
    assert found.fields["title"] == Localized({"en": "New", "fr": "Nouveau"})


@pytest.mark.parametrize("named", [False, True])
async def test_a_title_in_some_languages_is_the_only_one_at_the_estimated_cost(opened: Open, named: bool) -> None:
    tenant = opened(asset(1), title_from_file=named)
    service = tenant.connect()
    for number in range(2):
        draft = await draft_for(service, f"m-{number}", title=Localized({"fr": "Nouveau"}))
        told = Estimator(service).write(draft, 10)
        with tenant.costs() as spent:
            made = await service.create(draft, Bytes(f"{number}.jpg", b"x" * 10), MemoryJournal())
        assert named or alike(spent) == alike(told)
        assert (await service.fetch(made)).fields["title"] == Localized({"fr": "Nouveau"})


async def test_a_title_that_the_instance_keeps_does_not_park_the_asset(opened: Open) -> None:
    tenant = opened(title_from_file=True)
    service = tenant.connect()
    draft = await draft_for(service, title=Localized({"fr": "Nouveau"}))
    tenant.faults.add([{"match": "PUT /api/dam/medias/*/metadatas/title", "do": "status:400", "times": 1}])
    made = await service.create(draft, Bytes("a.jpg", b"x" * 10), MemoryJournal())
    assert (await service.fetch(made)).fields["title"] == Localized({"en": "a", "fr": "Nouveau"})


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
    made = await service.create(draft, Bytes("new.jpg", b"x" * 500), MemoryJournal())
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
    made = await service.create(await draft_for(service, "m-1"), Bytes("a.jpg", b"a"), MemoryJournal())
    await service.create(await draft_for(service, "m-1-1"), Bytes("b.jpg", b"b"), MemoryJournal())
    assert await service.find(Marker("legacy_id", "m-1")) == made
    assert await service.find(Marker("legacy_id", "m")) is None


async def test_find_waits_out_the_lag(opened: Open) -> None:
    service = opened(lag=0.2).connect()
    made = await service.create(await draft_for(service), Bytes("a.jpg", b"a"), MemoryJournal())
    assert await service.find(Marker("legacy_id", "m-1")) == made


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("known", [True, False])
async def test_a_create_whose_response_was_lost_is_found_again(opened: Open, listed: bool, known: bool) -> None:
    tenant = opened(drafts_in_folder=listed, lag=0.1)
    service = tenant.connect()
    draft, journal, content = await draft_for(service), MemoryJournal(), Bytes("new.jpg", b"x" * 500, known=known)
    tenant.faults.add([{"match": "POST /api/dam/folders/*/medias", "nth": 1, "do": "reset_after"}])
    with pytest.raises(Transient):
        await service.create(draft, content, journal)
    assert not tenant.faults.unhit()
    made = await service.create(draft, content, journal)
    assert set(tenant.truth()) == {made}
    assert (await service.fetch(made)).fields["legacy_id"] == "m-1"


async def test_a_lost_response_of_an_older_release_is_found_by_date(opened: Open) -> None:
    tenant = opened(asset(1), release="4.15.0", lag=0.1)
    service = tenant.connect()
    draft, journal, content = await draft_for(service), MemoryJournal(), Bytes("new.jpg", b"x" * 500)
    tenant.faults.add([{"match": "POST /api/dam/medias", "nth": 1, "do": "reset_after"}])
    with pytest.raises(Transient):
        await service.create(draft, content, journal)
    await service.create(draft, content, journal)
    assert len(tenant.truth()) == 2


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        pytest.param("reset_before", Transient, id="request lost"),
        pytest.param("advance:90000", SessionGone, id="descriptor expired"),
    ],
)
async def test_a_create_that_never_happened_is_made_again(opened: Open, fault: str, error: type[DamSyncError]) -> None:
    tenant = opened()
    service = tenant.connect()
    draft, journal, content = await draft_for(service), MemoryJournal(), Bytes("new.jpg", b"x" * 500)
    tenant.faults.add([{"match": "POST /api/dam/folders/*/medias", "nth": 1, "do": fault}])
    with pytest.raises(error):
        await service.create(draft, content, journal)
    made = await service.create(draft, content, journal)
    assert set(tenant.truth()) == {made}


async def test_twins_are_never_taken_for_each_other(opened: Open) -> None:
    """Same name, same bytes: one response is lost, the other media has no marker yet when the run breaks off."""
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
    one, two = MemoryJournal(), MemoryJournal()
    for draft, journal in ((first, one), (second, two)):
        with pytest.raises(DamSyncError):
            await service.create(draft, content, journal)
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


async def test_the_recorded_media_of_a_twin_is_not_taken_for_one_whose_response_was_lost(opened: Open) -> None:
    """The run broke off when the older one was recorded, but had no marker."""
    tenant = opened(lag=0.1)
    service = tenant.connect()
    content = Bytes("same.jpg", b"x" * 500)
    more: dict[str, Value] = {"rating": 1, "cleared": True, "keywords": ("a",)}
    lost, known = await draft_for(service, "m-1", **more), await draft_for(service, "m-2", **more)
    one, two = MemoryJournal(), MemoryJournal()
    one.others, two.others = [two], [one]
    tenant.faults.add(
        [
            {"match": "POST /api/dam/folders/*/medias", "nth": 2, "do": "reset_after"},
            {"match": "POST /api/dam/users/*/selections", "times": 6, "do": "status:503"},
        ]
    )
    for draft, journal in ((known, two), (lost, one)):
        with pytest.raises(Transient):
            await service.create(draft, content, journal)
    tenant.faults.clear()
    fresh = tenant.connect()  # a new process
    await fresh.schema()
    made = {draft.marker: await fresh.create(draft, content, journal) for draft, journal in ((lost, one), (known, two))}
    assert {marker.value: (await fresh.fetch(each)).fields["legacy_id"] for marker, each in made.items() if marker} == {
        "m-1": "m-1",
        "m-2": "m-2",
    }
    assert set(made.values()) == set(tenant.truth())


async def test_a_media_of_another_user_is_not_taken_for_one_whose_response_was_lost(opened: Open) -> None:
    tenant = opened(lag=0.1, users=[{**EDITOR, "permission": "ADMIN"}])
    service, other = tenant.connect(), tenant.connect({"flow": "basic", **EDITOR})
    draft, content, journal = await draft_for(service), Bytes("same.jpg", b"x" * 500), MemoryJournal()
    tenant.faults.add([{"match": "POST /api/dam/folders/*/medias", "nth": 1, "do": "reset_before"}])
    with pytest.raises(Transient):
        await service.create(draft, content, journal)
    (folder,) = (place for place in draft.placements if place.kind == "folder")
    theirs = await other.create(
        Draft(None, "same.jpg", "Photo", placements=frozenset({folder})), content, MemoryJournal()
    )
    made = await service.create(draft, content, journal)
    assert made != theirs
    assert set(tenant.truth()) == {made, theirs}


async def test_values_that_are_refused_leave_a_marked_draft_that_the_next_attempt_completes(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    more: dict[str, Value] = {"rating": 1, "cleared": True, "keywords": ("a",), "legend": Localized({"en": "A"})}
    await service.create(await draft_for(service, "m-0", **more), Bytes("a.jpg", b"a"), MemoryJournal())
    draft, journal = await draft_for(service, "m-1", **more), MemoryJournal()
    tenant.faults.add([{"match": "POST /api/dam/users/*/selections/*/bulks", "nth": 1, "do": "status:400"}])
    with pytest.raises(InvalidValue, match="stays at the target"):
        await service.create(draft, Bytes("b.jpg", b"b"), journal)
    partial = await service.find(Marker("legacy_id", "m-1"))
    assert partial is not None
    assert tenant.truth()[partial]["status"] == "draft"
    assert await service.create(draft, Bytes("b.jpg", b"b"), journal) == partial
    assert (await service.fetch(partial)).status == "published"


async def test_a_lost_response_of_the_values_is_repeated_and_the_marker_is_among_them(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    draft = await draft_for(service, rating=1, cleared=True, keywords=("a",))
    tenant.faults.add([{"match": "POST /api/dam/users/*/selections/*/bulks", "nth": 1, "do": "reset_after"}])
    with tenant.costs() as spent:
        made = await service.create(draft, Bytes("a.jpg", b"a"), MemoryJournal())
    assert not [call for call in spent if call.startswith(("PUT", "DELETE"))]
    assert (await service.fetch(made)).fields["legacy_id"] == "m-1"


@pytest.mark.parametrize("call", ["selections/*/bulks", "selections/*/medias"])
async def test_a_selection_that_was_deleted_early_is_made_again(opened: Open, call: str) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    more: dict[str, Value] = {"rating": 1, "cleared": True, "keywords": ("a",), "legend": Localized({"en": "A"})}
    await service.create(await draft_for(service, "m-0", **more), Bytes("a.jpg", b"a"), MemoryJournal())
    draft = await draft_for(service, "m-1", **more)
    tenant.faults.add([{"match": f"POST /api/dam/users/*/{call}", "nth": 1, "do": "status:404"}])
    made = await service.create(draft, Bytes("b.jpg", b"b"), MemoryJournal())
    found = await service.fetch(made)
    assert (found.status, found.fields["legacy_id"]) == ("published", "m-1")
    assert not tenant.faults.unhit()


async def test_the_first_hidden_media_of_each_folder_is_read_back(opened: Open) -> None:
    """The status of new media may depend on the folder."""
    tenant = opened(asset(1))
    service = tenant.connect()
    await service.schema()
    folders = {place.text: place async for place in service.containers()}
    base = await draft_for(service)
    read = []
    for number, path in enumerate(("/Press", "/Press", "/Press/2024")):
        mark = f"m-{number}"
        fields: dict[str, Value] = {"legacy_id": mark, "title": Localized({"en": mark})}
        draft = Draft(Marker("legacy_id", mark), "a.jpg", base.profile, "", fields, frozenset({folders[path]}))
        told = Estimator(service).write(draft, 1)
        with tenant.costs() as spent:
            await service.create(draft, Bytes("a.jpg", b"a"), MemoryJournal())
        assert alike(spent) == alike(told)
        read.append(sum(number for call, number in spent.items() if call == "GET /api/dam/medias/{id}"))
    assert read == [1, 0, 1]


async def test_stopped_before_any_call_it_goes_on_without_a_twin(opened: Open) -> None:
    tenant = opened()
    ready = tenant.connect()
    content, places = Bytes("new.jpg", b"x" * 500), (await draft_for(ready)).placements
    stops = 0
    for calls in range(1, 60):
        journal = MemoryJournal()
        fields: dict[str, Value] = {
            "legacy_id": f"m-{calls}",
            "title": Localized({"en": f"Title {calls}"}),
            "rating": calls,
        }
        draft = Draft(Marker("legacy_id", f"m-{calls}"), "new.jpg", "Photo", "published", fields, places)
        try:
            await tenant.connect(max_calls=calls).create(draft, content, journal)
            break
        except StopRequested:
            stops += 1
        made = await tenant.connect().create(draft, content, journal)
        found = await ready.fetch(made)
        assert {key: found.fields[key] for key in fields} == fields
        assert (found.status, {place.text for place in found.placements}) == (
            "published",
            {"/Press/2024", "/Highlight"},
        )
        assert len(tenant.truth()) == stops
    assert stops >= 12
    assert len(tenant.truth()) == stops + 1


async def test_twins_made_at_once_with_lost_responses_stay_apart(opened: Open) -> None:
    tenant = opened(lag=0.05)
    service = tenant.connect()
    base = await draft_for(service)
    tenant.faults.add([{"match": "POST /api/dam/folders/*/medias", "every": 3, "do": "reset_after"}])

    async def make(number: int) -> str:
        mark, journal = f"m-{number}", MemoryJournal()
        fields: dict[str, Value] = {"legacy_id": mark, "title": Localized({"en": mark})}
        draft = Draft(Marker("legacy_id", mark), "same.jpg", "Photo", "published", fields)
        while True:
            try:
                return await service.create(draft, Bytes("same.jpg", b"x" * 500), journal)
            except (Transient, SessionGone):
                continue

    async with asyncio.TaskGroup() as group:
        tasks = {f"m-{number}": group.create_task(make(number)) for number in range(8)}
    assert base.marker is not None
    assert set(tenant.truth()) == {task.result() for task in tasks.values()}
    for mark, task in tasks.items():
        assert (await service.fetch(AssetId(task.result()))).fields["legacy_id"] == mark


async def test_a_large_file_goes_in_ranges_and_resumes(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    data = bytes(range(256)) * 180_000  # 46 MB: three ranges
    content, journal, draft = Bytes("film.jpg", data), MemoryJournal(), await draft_for(service)
    tenant.faults.add([{"match": "PUT /api/dam/files/*", "nth": 2, "do": "reset_after"}])
    told = Estimator(service).write(draft, len(data))
    assert told["PUT /api/dam/files/{fileId}"] == 3
    made = await service.create(draft, content, journal)
    assert not tenant.faults.unhit()
    found = await service.fetch(made)
    assert found.file is not None
    assert found.file.digests["md5"] == hashlib.md5(data).hexdigest()


async def test_an_old_release_takes_no_large_files(opened: Open) -> None:
    service = opened(release="4.30.0").connect()
    assert (await service.probe()).notes
    with pytest.raises(TooLarge):
        await service.create(await draft_for(service), Bytes("film.jpg", bytes(50_000_001)), MemoryJournal())


async def test_a_release_without_folder_creation(opened: Open) -> None:
    tenant = opened(release="4.15.0")
    service = tenant.connect()
    draft = await draft_for(service)
    told = Estimator(service).write(draft, 500)
    with tenant.costs() as spent:
        made = await service.create(draft, Bytes("new.jpg", b"x" * 500), MemoryJournal())
    assert alike(spent) == alike(told)
    assert {place.text for place in (await service.fetch(made)).placements} == {"/Press/2024", "/Highlight"}


async def test_what_the_target_refuses_parks_the_asset_before_anything_is_made(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    for fields in ({"nothing": "x"}, {"rating": "many"}, {"shot_date": "soon"}, {"width": 5}):
        with pytest.raises(InvalidValue):
            await service.create(await draft_for(service, **fields), Bytes("a.jpg", b"a"), MemoryJournal())
    assert not tenant.truth()


async def test_a_publication_without_its_mandatory_field_is_refused_with_a_hint(opened: Open) -> None:
    service = opened().connect()
    base = await draft_for(service)
    draft = Draft(base.marker, "a.jpg", "Photo", "published", {"legacy_id": "m-1", "title": Localized({"en": ""})})
    with pytest.raises(InvalidValue) as refused:
        await service.create(draft, Bytes("a.jpg", b"a"), MemoryJournal())
    assert "mandatory" in refused.value.hint


async def test_a_refusal_after_the_media_was_made_says_what_stays(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect(bulk="off")
    tenant.faults.add([{"match": "PUT /api/dam/medias/*/metadatas/rating", "nth": 1, "do": "status:400"}])
    journal, draft = MemoryJournal(), await draft_for(service, rating=3)
    with pytest.raises(InvalidValue) as refused:
        await service.create(draft, Bytes("new.jpg", b"x" * 50), journal)
    (made,) = tenant.truth()
    assert f"media {made}, created for it, stays at the target" in refused.value.message
    assert await service.create(draft, Bytes("new.jpg", b"x" * 50), journal) == made
