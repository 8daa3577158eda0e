"""Service D's own ways: ids before bytes, versions as records, an index that is behind, links of 20 seconds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, FileRef, Patch
from dam_sync.model.capabilities import Feature
from dam_sync.model.errors import ConfigError, DamSyncError, Denied, InvalidValue, NotFound, Rejected, Transient
from dam_sync.model.schema import FieldKind
from dam_sync.model.service import Window
from dam_sync.model.values import Row, Term
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.forms import MetadataForms, NamedAttributes, check
from tests.support.services import scripted_d as d
from tests.support.services.connections import Bytes, body, entries
from tests.support.services.scripted_d import Opened, draft, refusing_versions, scripted
from tests.support.state.memory_journal import MemoryJournal

EVERYTHING = Window()


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    async with scripted() as one:
        yield one


# -- credential and schema ---------------------------------------------------------------------------------------------


async def test_a_wrong_key_is_distinguished_from_a_wrong_password(opened: Opened) -> None:
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


@pytest.mark.parametrize(
    ("named", "wrong", "hint"),
    [
        ({"release_field": "zzz"}, "there is no attribute 'zzz'", "name the search field of a date; known: shoot_date"),
        ({"expiry_field": "title"}, "option expiry_field needs a date", "known: shoot_date"),
        ({"release_field": "shootdate"}, "there is no attribute", "did you mean shoot_date?"),
    ],
)
async def test_an_option_of_a_wrong_attribute_names_those_that_suit(
    opened: Opened, named: dict[str, str], wrong: str, hint: str
) -> None:
    with pytest.raises(ConfigError, match=wrong) as refused:
        await opened.connect(**named).schema()
    assert hint in refused.value.hint
    assert not refused.value.hint.rstrip().endswith(";")


async def test_an_option_that_no_attribute_suits_may_be_left_empty() -> None:
    with pytest.raises(ConfigError) as refused:
        check(MetadataForms({}, {}), NamedAttributes(release="zzz"))
    expected = 'the service has no date: create one there, or write `release_field: ""` to go without'
    assert refused.value.hint == expected


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


@pytest.mark.parametrize("call", ["_links", "_versions"])
async def test_an_id_that_the_backend_cannot_parse_keeps_no_other_back(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """A read that is 502 again and again is the trouble of that id (wire D 7)."""
    script = opened.script
    first = script.add(b"one", fileState="recycle bin", metadataState="recycle bin")
    family = AssetId(script.records[first]["fileId"])
    for _ in range(120):
        script.add()
    bad = {first, family, script.add(b"two", family)}
    respond = getattr(script, call)
    broken = d.said({"message": "Internal server error"}, 502)
    monkeypatch.setattr(script, call, lambda one: broken if one in bad else respond(one))
    service = opened.connect()
    found = {entry.id: entry for entry in await entries(service)}
    assert len(found) == 121
    assert [entry.id for entry in found.values() if entry.asset is None] == [family]
    assert not found[family].deleted
    with pytest.raises(Transient):
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


async def test_an_asset_stays_where_only_one_version_was_trashed(opened: Opened) -> None:
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


async def test_a_listing_with_a_refused_cursor_starts_again_and_leaves_out_what_is_older(
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


async def test_the_last_records_are_listed_though_earlier_ones_were_purged_in_between(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum of rows reaches a total that shrank while there are more (wire D 2.1: a cursor is the last row's place,
    and the index has no snapshot)."""
    script = opened.script
    made = [script.add() for _ in range(203)]
    wanted = {script.records[one]["fileId"] for one in made[5:]}

    def by_place(body: Any) -> Any:
        after = body.get("cursor", "")
        if after:
            for one in made[:5]:
                script.records.pop(one, None)
        rows = script._listed(body)
        page = [row for row in rows if row["objectId"] > after][: body["limit"]]
        cursor = {"cursor": page[-1]["objectId"]} if page else {}
        return d.said({"hitCount": len(page), "totalCount": len(rows), "result": script._as_shown(page), **cursor})

    monkeypatch.setattr(script, "_scan", by_place)
    service = opened.connect(relations="off")
    assert wanted <= {entry.id for entry in await entries(service)}


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
    assert limits[-8:] == [100, 50, *[25] * 6], "what was too large is not asked for again with each page"


async def test_pages_grow_again_after_some_that_the_gateway_carried(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One page of large records must not slow down the rest of the listing."""
    for _ in range(900):
        opened.script.add()
    scan = opened.script._scan
    limits = []

    def narrow(body: Any) -> Any:
        limits.append(body["limit"])
        heavy = len(limits) < 10 and body["limit"] > 30
        return d.said({"message": "Internal server error"}, 502) if heavy else scan(body)

    monkeypatch.setattr(opened.script, "_scan", narrow)
    assert len(await entries(opened.connect(relations="off"))) == 900
    assert limits[-1] == 100
    assert len(limits) < 40


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
