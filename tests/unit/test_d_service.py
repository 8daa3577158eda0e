"""Service D's own ways: ids before bytes, versions as records, an index that is behind, errors inside success."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, FileRef, Patch, Relation
from dam_sync.model.capabilities import Feature
from dam_sync.model.errors import (
    Conflict,
    DamSyncError,
    Denied,
    InvalidValue,
    NotFound,
    Rejected,
    Transient,
    Unsupported,
)
from dam_sync.model.schema import FieldKind
from dam_sync.model.service import Window
from dam_sync.model.values import Row, Term
from dam_sync.services.d_templates import facts
from tests.support import scripted_d as d
from tests.support.connected import Bytes, body, entries
from tests.support.journal import MemoryJournal
from tests.support.scripted_d import Opened, draft, refusing_versions, scripted

EVERYTHING = Window()


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    async with scripted() as one:
        yield one


# -- credential and schema ---------------------------------------------------------------------------------------------


async def test_a_wrong_key_is_told_from_a_wrong_password(opened: Opened) -> None:
    with pytest.raises(Denied) as key:
        await opened.connect({**d.AUTH, "api_key": "key-000000000"}).probe()
    with pytest.raises(Denied) as password:
        await opened.connect({**d.AUTH, "password": "wrong-Pass-1"}).probe()
    assert "api_key" in key.value.hint
    assert "password" in password.value.hint
    assert "API key" not in str(password.value)


async def test_probe_counts_assets_and_not_versions(opened: Opened) -> None:
    first = opened.script.add()
    opened.script.add(family=opened.script.records[first]["fileId"])
    account = await opened.connect().probe()
    assert (account.user, account.total) == ("svc@example.test", 1)
    assert ": 1 of the listed records" in account.as_source[0]


async def test_parts_that_no_option_names_are_to_be_decided(opened: Opened) -> None:
    account = await opened.connect(release_field="", status_field="", tags_field="").probe()
    assert [one.text for one in account.undecided_as("source")] == ["expiry dates are not read"]
    (one,) = account.undecided_as("target")
    assert (one.part, one.text) == (Feature.EXPIRY, "expiry dates are not written")
    assert '`expiry_field: ""`' in one.hint


async def test_templates_become_types_and_attributes_fields(opened: Opened) -> None:
    schema = await opened.connect().schema()
    assert [each.name for each in schema.types] == ["Photo"]
    kinds = {key: field.kind for key, field in schema.fields.items() if not field.system}
    assert kinds == {
        "title": FieldKind.TEXT,
        "source_key": FieldKind.TEXT,
        "shoot_date": FieldKind.DATE,
        "colors": FieldKind.TERM,
        "usage": FieldKind.ROWS,
        "area": FieldKind.TERM,
    }
    assert schema.vocabularies["area"].hierarchical
    assert schema.fields["title"].required
    assert schema.groups == {"Full Access"}
    assert schema.capabilities.parts == {"groups", "versions", "relations"}


async def test_every_form_of_value_is_read_and_written(opened: Opened) -> None:
    values = {
        "shoot_date": date(2026, 2, 10),
        "colors": (Term("Red", d.RED, ("Red",)), Term("Blue", d.BLUE, ("Blue",))),
        "usage": (Row({"until": date(2026, 2, 18)}), Row({"until": date(2027, 1, 1)})),
        "area": Term("Coast", f"{d.NORTH}/{d.COAST}", ("North", "Coast"), d.NORTH),
    }
    service = opened.connect()
    made = await service.create(draft(**values), None, MemoryJournal())
    found = (await opened.connect().fetch(made)).fields
    assert {key: found[key] for key in values} == values
    (row,) = opened.script.records.values()
    sent = {entry["metadataDefinitionId"]: entry for entry in row["metadata"]}
    assert sent[d.DAY]["metadataDefinitionValue"] == "02/10/2026"
    assert sent[d.TABLE]["metadataDefinitionTableValue"][0][0]["metadataDefinitionValue"] == "02/18/2026"
    assert [one["metadataDefinitionId"] for one in sent[d.PATH]["metadataDefinitionValue"]] == ["level-0", "level-1"]


async def test_what_a_template_does_not_take_is_refused_before_any_call(opened: Opened) -> None:
    service = opened.connect()
    await service.schema()
    before = dict(service.calls)
    wrong: list[dict[str, Any]] = [
        {"nothing": "x"},
        {"title": "x" * 251},
        {"colors": (Term("Green"),)},
        {"shoot_date": "soon"},
        {"system_created_by": "me"},
    ]
    for fields in wrong:
        with pytest.raises(InvalidValue):
            await service.create(draft(**fields), None, MemoryJournal())
    assert set(service.calls) - set(before) <= {facts.SECURITY}
    assert not opened.script.records


async def test_an_asset_that_is_refused_by_itself_keeps_no_other_back(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = opened.script
    one, two = script.add(), script.add()
    script.links.append({"primaryId": one, "secondaryId": two, "linkType": "child"})
    monkeypatch.setattr(script, "_asset", lambda identity: d.said({"message": "You may not do this"}, 403))
    found = await opened.connect().fetch(AssetId(script.records[one]["fileId"]))
    assert [loss.path for loss in found.losses] == ["relations"]
    monkeypatch.setattr(script, "_create", lambda body: d.said({"message": "You may not do this"}, 403))
    with pytest.raises(Rejected, match="You may not do this"):
        await opened.connect().create(draft(), None, MemoryJournal())
    monkeypatch.setattr(script, "_create", lambda body: d.said({"message": "Forbidden"}, 403))
    with pytest.raises(Denied):
        await opened.connect().create(draft(), None, MemoryJournal())


# -- versions are records of their own ---------------------------------------------------------------------------------


async def test_a_family_is_one_asset_however_far_apart_its_versions_lie(opened: Opened) -> None:
    script = opened.script
    first = script.add(b"one")
    family = script.records[first]["fileId"]
    for _ in range(150):
        script.add()
    script.add(b"two", family)
    for _ in range(120):
        script.add()
    last = script.add(b"three", family)
    near = script.add(b"a")
    script.add(b"b", script.records[near]["fileId"])
    service = opened.connect(relations="off")
    told = await entries(service)
    found = {entry.id: entry for entry in told}
    assert len(told) == len(found) == 1 + 150 + 120 + 1
    asset = found[AssetId(family)].asset
    assert asset is not None
    assert [file.size for file in asset.versions] == [3, 3, 5]
    assert asset.file is not None
    assert asset.file.id == f"{family}/{last}"
    assert script.calls["GET /v1/asset/{id}/version"] <= 2
    assert await opened.connect(relations="off").fetch(AssetId(family)) == asset


@pytest.mark.parametrize("error", [Denied, NotFound])
@pytest.mark.parametrize("apart", [0, 120])
async def test_a_family_that_may_not_be_read_keeps_no_other_back(
    opened: Opened, error: type[DamSyncError], apart: int
) -> None:
    script = opened.script
    family = AssetId(script.records[script.add(b"one")]["fileId"])
    for _ in range(apart):
        script.add()
    script.add(b"two", family)
    other = AssetId(script.records[script.add(b"other")]["fileId"])
    await script.clock.sleep(7200)
    since = script.clock.now()
    for one in (family, other):
        await opened.connect().update(one, Patch(fields={"title": "Changed"}))
    opened.service = refusing_versions(family, error)
    for window, number in ((EVERYTHING, 2 + apart), (Window(since=since), 2)):
        service = opened.connect(relations="off")
        told = await entries(service, window)
        found = {entry.id: entry.asset for entry in told}
        assert len(told) == len(found) == number
        assert found[other] is not None
        assert (found[family] is None) == bool(apart or window != EVERYTHING)
    with pytest.raises(error):
        await service.fetch(family)


@pytest.mark.parametrize("told", [(404, {"message": "Not Found"}), (200, [])])
async def test_an_older_version_is_never_taken_for_the_whole_asset(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, told: tuple[int, Any]
) -> None:
    script, (status, reply) = opened.script, told
    family = AssetId(script.records[script.add(b"one")]["fileId"])
    script.add(b"two", family)
    alone = AssetId(script.records[script.add(b"one")]["fileId"])
    monkeypatch.setattr(script, "_versions", lambda one: d.said(reply, status))
    service = opened.connect(relations="off")
    with pytest.raises(Transient):
        await service.fetch(family)
    with pytest.raises(Transient):
        await service.replace(family, Bytes("new.jpg", b"three"), MemoryJournal())
    assert len((await service.fetch(alone)).versions) == 1


async def test_a_promoted_first_version_keeps_the_later_ones(opened: Opened) -> None:
    script = opened.script
    first = script.add(b"one")
    for _ in range(120):
        script.add()
    later = script.add(b"later", script.records[first]["fileId"])
    script.records[first]["currentVersion"], script.records[later]["currentVersion"] = "Y", "N"
    found = {entry.id: entry.asset for entry in await entries(opened.connect(relations="off"))}
    asset = found[AssetId(script.records[first]["fileId"])]
    assert asset is not None
    assert [file.size for file in asset.versions] == [5, 3]


async def test_an_asset_stays_where_only_one_version_was_binned(opened: Opened) -> None:
    script = opened.script
    first = script.add(b"one")
    second = script.add(b"two!", script.records[first]["fileId"])
    script.records[second] |= {"fileState": "recycle bin", "metadataState": "recycle bin"}
    (entry,) = await entries(opened.connect(relations="off"))
    assert not entry.deleted
    assert entry.asset is not None
    assert [file.size for file in entry.asset.versions] == [3]


async def test_a_crawl_goes_on_behind_any_page(opened: Opened) -> None:
    script = opened.script
    first = script.add(b"one")
    for _ in range(230):
        script.add()
    script.add(b"two", script.records[first]["fileId"])
    service = opened.connect(relations="off")
    async for shard in service.shards(EVERYTHING):
        batches = [batch async for batch in service.crawl(shard, None)]
        for number, batch in enumerate(batches[:-1]):
            other = opened.connect(relations="off")
            rest = [e.id async for b in other.crawl(shard, batch.cursor) for e in b.entries]
            assert rest == [e.id for b in batches[number + 1 :] for e in b.entries]


async def test_a_refused_cursor_begins_anew_and_leaves_out_what_is_older(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(230):
        opened.script.add()
    service = opened.connect(relations="off")
    (shard,) = [shard async for shard in service.shards(EVERYTHING)]
    batches = [batch async for batch in service.crawl(shard, None)]
    cursor = {**(batches[0].cursor or {}), "cursor": "cmVmdXNlZA=="}
    scan = opened.script._scan

    def refusing(body: Any) -> Any:
        if body.get("cursor") == "cmVmdXNlZA==":
            return d.said({"status": "error", "message": "Invalid Search Query"}, 400)
        return scan(body)

    monkeypatch.setattr(opened.script, "_scan", refusing)
    rest = [e.id async for b in service.crawl(shard, cursor) for e in b.entries]
    wanted = [e.id for b in batches[1:] for e in b.entries]
    assert set(wanted) <= set(rest)
    assert len(rest) <= len(wanted) + 1


async def test_pages_too_large_for_the_gateway_are_halved(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(130):
        opened.script.add()
    scan = opened.script._scan
    limits = []

    def narrow(body: Any) -> Any:
        limits.append(body["limit"])
        return d.said({"message": "Internal server error"}, 502) if body["limit"] > 30 else scan(body)

    monkeypatch.setattr(opened.script, "_scan", narrow)
    assert len(await entries(opened.connect(relations="off"))) == 130
    assert {100, 50, 25} <= set(limits)


async def test_a_scan_without_a_total_is_counted_by_a_search(opened: Opened) -> None:
    opened.script.totals = False
    for _ in range(130):
        opened.script.add()
    service = opened.connect(relations="off")
    (shard,) = [shard async for shard in service.shards(EVERYTHING)]
    assert shard.params["total"] == 130
    assert len(await entries(service)) == 130


# -- links of 20 seconds -----------------------------------------------------------------------------------------------


async def test_every_opening_asks_for_a_link_of_its_own(opened: Opened) -> None:
    opened.script.add(b"bytes")
    service = opened.connect()
    (entry,) = await entries(service)
    assert entry.asset is not None
    assert entry.asset.file is not None
    for _ in range(3):
        await opened.script.clock.sleep(60)
        assert await body(service, entry.asset.file) == b"bytes"
    assert opened.script.story.count("content object-0001") == 3


async def test_a_link_that_ended_on_the_way_is_renewed(opened: Opened) -> None:
    opened.script.add(b"bytes")
    opened.script.vanish = 2
    service = opened.connect()
    file = (await service.fetch(AssetId("file-0001"))).file
    assert file is not None
    assert await body(service, file) == b"bytes"


async def test_content_of_a_stub_is_no_file_and_of_nobody_not_found(opened: Opened) -> None:
    opened.script.add(None)
    service = opened.connect()
    for record in ("object-0001", "object-9999"):
        with pytest.raises(NotFound):
            await service.open(FileRef(f"file-0001/{record}", "a.jpg"))


# -- 200 with an error inside ------------------------------------------------------------------------------------------


async def test_a_relation_is_judged_by_what_is_inside_the_answer(opened: Opened) -> None:
    script = opened.script
    one, two = AssetId(script.records[script.add()]["fileId"]), AssetId(script.records[script.add()]["fileId"])
    service = opened.connect()
    for _ in range(2):
        await service.relate(one, Relation("derivative", two))
    assert len(script.links) == 1
    with pytest.raises(Conflict):
        await service.relate(two, Relation("derivative", one))
    await service.relate(one, Relation("placed_graphic", two))
    assert script.links[-1]["linkType"] == "placed-graphic"
    with pytest.raises(Unsupported):
        await service.relate(one, Relation("Views of the object", two))
    relations = (await opened.connect().fetch(one)).relations
    assert relations == {Relation("derivative", two), Relation("placed_graphic", two)}


async def test_relations_into_the_bin_are_told_and_not_moved(opened: Opened) -> None:
    script = opened.script
    one, two = script.add(), script.add(fileState="recycle bin", metadataState="recycle bin")
    script.links.append({"primaryId": one, "secondaryId": two, "linkType": "child"})
    found = await opened.connect().fetch(AssetId(script.records[one]["fileId"]))
    assert not found.relations
    assert [loss.path for loss in found.losses] == ["relations"]


async def test_a_collection_that_was_not_made_is_an_error(opened: Opened) -> None:
    service = opened.connect()
    with pytest.raises(Rejected, match="missing"):
        await service.ensure_container("collection", ("refused",))
    made = await service.ensure_container("collection", ("Spring",))
    assert await service.ensure_container("collection", ("Spring",)) == made
    assert len(opened.script.collections) == 1


@pytest.mark.parametrize("newer", ["taken", "missing", "without effect"])
async def test_collections_hold_files_and_are_read_back(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, newer: str
) -> None:
    script = opened.script
    first = script.add()
    asset = AssetId(script.records[first]["fileId"])
    current = script.records[script.add(family=asset)]["fileId"]
    if newer != "taken":
        answer = ({"message": "Missing Authentication Token"}, 403) if newer == "missing" else ({"message": "ok"}, 200)
        monkeypatch.setattr(script, "_fill", lambda identity, body: d.said(*answer))
    service = opened.connect()
    place = await service.ensure_container("collection", ("Spring",))
    script.collections[place.id]["collectionDocument"].append(facts.NIL)
    await service.place(place, [asset], [])
    assert current in script.collections[place.id]["collectionDocument"]
    assert [found.assets async for found in opened.connect().members()] == [(asset,)]
    await service.place(place, [], [asset])
    assert current not in script.collections[place.id]["collectionDocument"]


async def test_a_call_without_effect_is_not_proven_by_what_was_there_before(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = opened.script
    one, two = (AssetId(script.records[script.add()]["fileId"]) for _ in range(2))
    monkeypatch.setattr(script, "_fill", lambda identity, body: d.said({"message": "ok"}, 200))
    service = opened.connect()
    place = await service.ensure_container("collection", ("Spring",))
    script.collections[place.id]["collectionDocument"].append(one)
    await service.place(place, [one], [two])
    await service.place(place, [two], [])
    assert script.collections[place.id]["collectionDocument"] == [one, two]
    await service.place(place, [], [one])
    assert script.collections[place.id]["collectionDocument"] == [two]


async def test_a_call_that_changed_something_is_trusted_from_then_on(opened: Opened) -> None:
    script = opened.script
    assets = [AssetId(script.records[script.add()]["fileId"]) for _ in range(3)]
    service = opened.connect()
    place = await service.ensure_container("collection", ("Spring",))
    for asset in assets:
        await service.place(place, [asset], [])
    assert script.collections[place.id]["collectionDocument"] == assets
    assert (service.calls[facts.FILL], service.calls[facts.COLLECTION]) == (3, 2)


@pytest.mark.parametrize(
    ("newer", "call"), [(True, "_fill"), (False, "_fill_whole"), (False, "_collection")], ids=["newer", "older", "read"]
)
async def test_a_collection_that_may_not_be_filled_keeps_no_other_back(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, newer: bool, call: str
) -> None:
    script = opened.script
    asset = AssetId(script.records[script.add()]["fileId"])
    service = opened.connect()
    place = await service.ensure_container("collection", ("Spring",))
    if not newer:
        missing = {"message": "Missing Authentication Token"}
        monkeypatch.setattr(script, "_fill", lambda identity, body: d.said(missing, 403))
    monkeypatch.setattr(script, call, lambda *_: d.said({"message": "You may not do this"}, 403))
    with pytest.raises(Rejected, match="You may not do this") as told:
        await service.place(place, [asset], [])
    assert "collection" in told.value.hint


async def test_many_members_are_found_out_by_a_scan_and_not_one_by_one(opened: Opened) -> None:
    script = opened.script
    files = [script.records[script.add()]["fileId"] for _ in range(250)]
    newer = script.records[script.add(family=files[0])]["fileId"]
    for number in range(3):
        members = [newer, facts.NIL, *files[1:], "file-9999"]
        script.collections[f"c-{number}"] = {
            "collectionId": f"c-{number}",
            "name": f"C{number}",
            "collectionDocument": members,
        }
    service = opened.connect()
    found = [membership async for membership in service.members()]
    assert [set(each.assets) for each in found] == [set(files)] * 3
    assert service.calls[facts.SCAN] <= 4
    assert service.calls[facts.ASSET] == 1


async def test_a_new_value_counts_once_it_is_applied(opened: Opened) -> None:
    service = opened.connect()
    made = await service.ensure_term("colors", Term("Green"))
    assert made.id == "value-green"
    assert await service.ensure_term("colors", Term("Green")) == made
    assert (service.calls[facts.ADD_TERMS], service.calls[facts.APPLY]) == (1, 1)
    below = await service.ensure_term("area", Term("Hills", parent=d.NORTH))
    assert (below.path, below.parent) == (("North", "Hills"), d.NORTH)
    with pytest.raises(NotFound):
        await service.ensure_term("nothing", Term("x"))


async def test_new_values_of_one_list_are_added_by_one_round_of_calls(opened: Opened) -> None:
    service = opened.connect()
    await service.schema()
    fresh = (Term("Green", path=("Green",)), Term("Grey", path=("Grey",)))
    told = service.estimate_terms(fresh)
    before = dict(service.calls)
    made = await service.ensure_terms("colors", (*fresh, Term("Red", path=("Red",))))
    assert [(term.label, term.id) for term in made] == [
        ("Green", "value-green"),
        ("Grey", "value-grey"),
        ("Red", d.RED),
    ]
    spent = {name: number - before.get(name, 0) for name, number in service.calls.items()}
    assert {name: number for name, number in spent.items() if number} == told
    assert told == {facts.ADD_TERMS: 1, facts.APPLY: 1, facts.VOCABULARY: 1}
    below = await service.ensure_terms("area", (Term("Hills", parent=d.NORTH), Term("Plain", parent=d.NORTH)))
    assert [term.path for term in below] == [("North", "Hills"), ("North", "Plain")]
    assert service.calls[facts.ADD_TERMS] == 2


async def test_a_value_that_was_never_applied_is_applied_when_it_is_refused(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a process that ended between adding a value and applying it."""
    create = opened.script._create
    service = opened.connect()

    def strict(body: Any) -> Any:
        if facts.APPLY not in opened.script.calls:
            return d.said({"status": "error", "message": "Invalid fields for metadata template"}, 403)
        return create(body)

    monkeypatch.setattr(opened.script, "_create", strict)
    await service.create(draft(colors=(Term("Red", d.RED),)), None, MemoryJournal())
    assert len(opened.script.records) == 1
    assert service.calls[facts.APPLY] == 1
