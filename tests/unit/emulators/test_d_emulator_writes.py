"""The emulated service D and its writes: metadata, versions, links, the recycle bin. Numbers are those of wire D 12."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dam_sync.emulators.d_templates import emulator
from dam_sync.emulators.kit.catalogue import catalogue_of
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from tests.support.services.emulated_d import EVERY, Api, asset_row, library, schema_rows, served

INVALID = (403, {"status": "error", "message": "Invalid fields for metadata template"})
UTC_FEBRUARY_10 = 1_770_681_600_000


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with served(library(4)) as made:
        yield made


def kept(api: Api, made: Any, slug: str) -> Any:
    """What the store has under a search field."""
    attribute = api.attributes()[slug]["id"]
    rows = api.get(f"/asset/{made['objectId']}")["metadata"]
    (row,) = [row for row in rows if row["metadataDefinitionId"] == attribute]
    return {key: value for key, value in row.items() if key != "metadataDefinitionId"}


def deleted(api: Api, made: Any, action: str = "delete") -> Any:
    return api.post(f"/asset/{made['objectId']}/delete", {"action": action, "deleteType": "full"})


def linked(api: Api, primary: Any, *secondaries: Any, kind: str = "derivative") -> list[str]:
    rows = [{"id": each["objectId"], "linkType": kind} for each in secondaries]
    return [row["message"] for row in api.post(f"/asset/{primary['objectId']}/link", {"secondaryIds": rows})]


def test_10_every_form_is_checked(api: Api) -> None:
    made, red, blue = api.made("forms.jpg"), api.value("Red"), api.value("Blue")
    document = api.attributes("Documents")
    ids = api.attributes()
    path = f"/asset/{made['objectId']}"
    wrong = [
        api.entry("title", "x" * 251),
        api.entry("notes", "x" * 10_001),
        api.entry("title", {"valueId": red["valueId"]}),
        api.entry("title", None),  # required
        api.entry("shoot_date", "2026-02-10"),
        api.entry("shoot_date", "02/30/2026"),
        api.entry("shoot_date", "2/10/2026"),
        api.entry("shoot_date", UTC_FEBRUARY_10),
        api.entry("campaign", "Red"),
        api.entry("campaign", [red]),
        api.entry("campaign", {"valueId": "unknown"}),
        api.entry("channels", red),
        api.entry("channels", [red, {"valueId": "unknown"}]),
        api.entry("usage_table", [[api.entry("title", "no column")]]),
        {"metadataDefinitionId": ids["usage_table"]["id"], "metadataDefinitionTableValue": "text"},
        {"metadataDefinitionId": ids["system_mime_type"]["id"], "metadataDefinitionValue": "image/png"},
        {"metadataDefinitionId": "unknown", "metadataDefinitionValue": "x"},
        {"name": "Title", "value": "x"},
    ]
    before = api.get(path)["metadata"]
    for entry in wrong:
        assert api.refused("PATCH", path, {"metadata": [entry]}) == INVALID, entry
    assert api.get(path)["metadata"] == before
    assert document["migration_key"]["id"] == ids["migration_key"]["id"]
    for entry in (api.entry("title", "x" * 250), api.entry("notes", "x" * 10_000), api.entry("channels", [red, blue])):
        told = api.patch(path, {"metadata": [entry]})
        assert told == {"status": "success", "message": "Asset update was successful"}


def test_11_values_are_denormalised(api: Api) -> None:
    red, blue = api.value("Red"), api.value("Blue")
    columns = {each["searchField"]: each["id"] for each in api.attributes()["usage_table"]["tableFieldsDenormalized"]}
    levels = [each["id"] for each in api.attributes()["category"]["cascadeFieldsDenormalized"]]
    row = [
        {"metadataDefinitionId": columns["usage_category"], "metadataDefinitionValue": red},
        {"metadataDefinitionId": columns["usage_until"], "metadataDefinitionValue": "02/18/2026"},
    ]
    cascade = [{"metadataDefinitionId": levels[n], "metadataDefinitionValue": v} for n, v in enumerate((red, blue))]
    made = api.made(
        "rich.jpg",
        api.entry("shoot_date", "02/10/2026"),
        api.entry("campaign", red),
        api.entry("channels", [red, blue]),
        api.entry("usage_table", [row]),
        api.entry("category", cascade),
    )
    api.world.advance(5)
    read = api.get(f"/asset/{made['objectId']}")
    shown = read["metadataDenormalized"]
    assert shown["shoot_date"] == UTC_FEBRUARY_10
    assert (shown["campaign"], shown["channels"]) == ("Red", ["Red", "Blue"])
    assert shown["usage_table"] == [{"usage_category": "Red", "usage_until": UTC_FEBRUARY_10 + 8 * 86_400_000}]
    assert shown["category"] == {"level_1": "Red", "level_2": "Blue"}
    assert shown["notes"] is None
    assert shown["system_metadata_templates"] == "Images"
    assert shown["system_security_templates"] == ["Full Access"]
    assert kept(api, made, "shoot_date") == {"metadataDefinitionValue": "02/10/2026"}
    assert kept(api, made, "usage_table") == {"metadataDefinitionTableValue": [row]}
    assert kept(api, made, "notes") == {}
    system = kept(api, made, "system_metadata_templates")
    assert system == {"metadataDefinitionValue": {"valueId": read["metadataTemplateId"]}}


def test_10_levels_come_in_their_order(api: Api) -> None:
    levels = [each["id"] for each in api.attributes()["category"]["cascadeFieldsDenormalized"]]
    rows = [{"metadataDefinitionId": each, "metadataDefinitionValue": api.value("Red")} for each in levels[::-1]]
    assert api.refused("POST", "/asset", api.body("cascade.jpg", api.entry("category", rows))) == INVALID


def test_an_update_changes_only_what_is_sent(api: Api) -> None:
    made = api.made("partial.jpg", api.entry("notes", "kept"), api.entry("campaign", api.value("Red")))
    api.world.advance(60)
    cleared = {"metadataDefinitionId": api.attributes()["campaign"]["id"]}
    api.patch(f"/asset/{made['objectId']}", {"metadata": [cleared, api.entry("title", "Changed")]})
    assert kept(api, made, "notes") == {"metadataDefinitionValue": "kept"}
    assert kept(api, made, "campaign") == {}
    read = api.get(f"/asset/{made['objectId']}")
    assert read["lastUpdatedEpoch"] - read["createdEpoch"] == 60_000
    inner = api.security("Inner Circle")
    api.patch(f"/asset/{made['objectId']}", {"securityTemplateIds": [inner]})
    assert api.get(f"/asset/{made['objectId']}")["securityTemplateIds"] == [inner]  # the whole list


def test_the_simplified_calls(api: Api) -> None:
    body = api.body("simple.jpg")
    entries = [
        {"name": "Title", "value": "Simple"},
        {"name": "Channels", "value": ["Red"]},
        {"name": "Usage Table", "value": [[{"name": "Usage Category", "value": "Blue"}]]},
    ]
    told = api.post("/assets/asset", {**body, "metadata": entries})
    assert told["status"] == "success"
    made = told["data"]
    assert made["url"]
    shown = api.get(f"/assets/asset/{made['objectId']}", empty="false", system="false")["data"]
    assert {entry["name"]: entry["value"] for entry in shown["metadata"]} == {
        "Title": "Simple",
        "Channels": ["Red"],
        "Usage Table": [[{"name": "Usage Category", "value": "Blue"}]],
    }
    api.patch(f"/assets/asset/{made['objectId']}", {"metadata": [{"name": "Campaign", "value": "Red"}]})
    assert kept(api, made, "campaign") == {"metadataDefinitionValue": api.value("Red")}
    for wrong in ({"name": "Nothing", "value": "x"}, {"name": "Campaign", "value": "Purple"}):
        assert api.refused("PATCH", f"/assets/asset/{made['objectId']}", {"metadata": [wrong]}) == INVALID
    bare = api.post("/assets/asset", {**body, "filename": "", "metadata": entries})["data"]
    assert "url" not in bare


def test_15_the_recycle_bin(api: Api) -> None:
    made = api.uploaded("binned.jpg")
    before = api.get(f"/asset/{made['objectId']}")
    api.world.advance(212)
    told = deleted(api, made)
    assert told["message"] == "Master Object update was successful"
    assert isinstance(told["data"], str)
    read = api.get(f"/asset/{made['objectId']}")
    assert read["fileState"] == read["metadataState"] == "recycle bin"
    assert read["lastUpdatedEpoch"] == before["lastUpdatedEpoch"]
    assert read["fileDeletedEpoch"] == read["metadataDeletedEpoch"] == int(api.world.now().timestamp() * 1000)
    assert read["fileDeletedBy"] == before["createdBy"]
    assert api.refused("PATCH", f"/asset/{made['objectId']}", {"metadata": []})[0] == 403
    assert api.refused("GET", f"/asset/{made['objectId']}/content")[0] == 403
    api.world.advance(5)
    assert made["objectId"] not in {row["objectId"] for row in api.scan()["result"]}
    assert made["objectId"] in {row["objectId"] for row in api.scan(includeDeleted=True)["result"]}
    deleted(api, made, "undelete")
    assert "fileDeletedEpoch" not in api.get(f"/asset/{made['objectId']}")
    path = f"/asset/{made['objectId']}/delete"
    assert api.refused("POST", path, {"action": "undelete"}) == (403, {"message": "Failed to UnDelete Asset"})
    assert api.refused("POST", path, {"action": "purge"}) == (502, {"message": "Internal server error"})
    assert api.refused("POST", path, {}) == (502, {"message": "Internal server error"})
    assert api.refused("POST", "/asset/unknown/delete", {"action": "delete"})[0] == 500


def test_17_versions_are_records_of_their_own(api: Api) -> None:
    first = api.uploaded("v1.jpg", b"one")
    second = api.uploaded("v2.jpg", b"two", originalFileId=first["originalFileId"])
    assert second["originalFileId"] == first["fileId"] != second["fileId"]
    assert second["objectId"] != first["objectId"]
    rows = api.get(f"/asset/{first['objectId']}/version")
    assert [(row["filename"], row["currentVersion"]) for row in rows] == [("v1.jpg", "N"), ("v2.jpg", "Y")]
    assert rows[0]["versionNumber"] < rows[1]["versionNumber"]
    assert [row["objectId"] for row in api.get(f"/asset/{first['fileId']}/version")] == [
        row["objectId"] for row in rows
    ]
    assert api.get(f"/asset/{first['objectId']}/latest")["objectId"] == second["objectId"]
    assert api.get(f"/asset/{first['objectId']}")["filename"] == "v1.jpg"  # the old id goes on working
    link = api.get(f"/asset/{first['objectId']}/content")["presignedURL"]
    assert api.bare.get(link).content == b"one"
    listed = {row["objectId"] for row in api.scan()["result"]}
    assert (first["objectId"] in listed, second["objectId"] in listed) == (False, True)
    row = api.truth()["v2.jpg"]
    assert (row["id"], [each["name"] for each in row["versions"]]) == (first["fileId"], ["v1.jpg", "v2.jpg"])
    api.post(f"/asset/{first['objectId']}/version/promote")
    assert api.get(f"/asset/{second['objectId']}/latest")["objectId"] == first["objectId"]
    assert api.refused("POST", "/asset", {**api.body(), "metadata": [], "originalFileId": first["fileId"]}) == INVALID


@pytest.mark.parametrize("variant", ["", "delete_family"])
def test_deleting_one_version_or_the_family(variant: str) -> None:
    with served(schema_rows(), variant=variant) as api:
        first = api.uploaded("v1.jpg")
        second = api.uploaded("v2.jpg", originalFileId=first["fileId"])
        deleted(api, second)
        states = [row["fileState"] for row in api.get(f"/asset/{first['fileId']}/version")]
        family = variant == "delete_family"
        assert states == ["recycle bin" if family else "available", "recycle bin"]
        if not family:  # the newest live one is current again, and a new version can come
            assert api.get(f"/asset/{first['objectId']}")["currentVersion"] == "Y"
            assert api.made("v3.jpg", originalFileId=first["fileId"])["objectId"]


def test_18_each_link_has_a_result_of_its_own(api: Api) -> None:
    one, two, three = (api.made(f"link-{n}.jpg") for n in (1, 2, 3))
    assert linked(api, one, two, three, {"objectId": "unknown"}) == [
        "Relationship created successfully",
        "Relationship created successfully",
        "Asset not found",
    ]
    assert linked(api, one, two) == ["Relationship exists"]
    assert linked(api, two, three) == ["Relationship created successfully"]
    assert linked(api, three, one) == ["Circular dependency"]
    assert linked(api, three, one, kind="child") == ["Relationship created successfully"]  # cycles are of one type
    assert linked(api, one, one, kind="child") == ["Circular dependency"]
    rows = api.get(f"/asset/{two['objectId']}/link")
    ends = {(row["primaryId"], row["secondaryId"]) for row in rows}
    assert ends == {(one["objectId"], two["objectId"]), (two["objectId"], three["objectId"])}
    assert {row["relationshipId"] for row in rows} == {"-".join(pair) for pair in ends}
    deleted(api, three)
    assert len(api.get(f"/asset/{two['objectId']}/link")) == 2  # binned targets included


def test_18_links_are_removed(api: Api) -> None:
    one, two = api.made("un-1.jpg"), api.made("un-2.jpg")
    linked(api, one, two)
    body = {"secondaryIds": [{"id": two["objectId"], "linkType": "derivative"}]}
    (told,) = api.patch(f"/asset/{one['objectId']}/link", body)
    assert told["message"] == "Relationship deleted successfully"
    (told,) = api.patch(f"/asset/{one['objectId']}/link", body)
    pair = f"{one['objectId']}-{two['objectId']}"
    assert told == {"status": "error", "message": f"relationship retrieval failed [{pair}]"}


def test_18_links_that_cannot_be_read(api: Api) -> None:
    path = f"/asset/{api.made()['objectId']}/link"
    assert api.refused("POST", path, {}) == (400, {"message": "Failed to create Relationship"})
    text = 'Invalid Request: ["Missing Secondary Object ID or Link Type for Relationship 0"]'
    assert api.refused("POST", path, {"secondaryIds": [{"id": "x"}]}) == (400, text)


@pytest.mark.parametrize(
    ("variant", "taken"),
    [
        ("", {"placed_graphic"}),
        ("hyphen", {"placed-graphic"}),
        ("both_spellings", {"placed_graphic", "placed-graphic"}),
    ],
)
def test_18_the_spelling_of_placed_graphics(variant: str, taken: set[str]) -> None:
    with served(schema_rows(), variant=variant) as api:
        one = api.made("page.indd")
        for kind in ("placed_graphic", "placed-graphic"):
            (message,) = linked(api, one, api.made(f"{kind}.jpg"), kind=kind)
            assert (message == "Relationship created successfully") is (kind in taken)


@pytest.mark.parametrize("variant", ["", "links_move"])
def test_14_a_new_version_and_the_links_of_the_old(variant: str) -> None:
    with served(schema_rows(), variant=variant) as api:
        one, other = api.made("one.jpg"), api.made("other.jpg")
        linked(api, one, other)
        new = api.made("two.jpg", originalFileId=one["fileId"])
        counts = [len(api.get(f"/asset/{each['objectId']}/link")) for each in (one, new)]
        assert counts == ([0, 1] if variant else [1, 0])


def test_a_catalogue_is_loaded_as_far_as_it_fits() -> None:
    rows = [
        *schema_rows(),
        {"record": "field", "key": "ok", "label": "Cleared", "kind": "flag", "types": ["Images"]},
        {"record": "field", "key": "seen", "label": "Seen", "kind": "instant", "types": ["Images"]},
        {"record": "field", "key": "words", "label": "Words", "kind": "text", "multiple": True, "types": ["Images"]},
        asset_row(1, relations=[{"kind": "Views", "target": "2"}], placements=[
            {"kind": "folder", "path": ["Press", "2024"]}, {"kind": "label", "path": ["Best"]}]),
        asset_row(2, status="trash", tags=["sea", "été"], fields={
            "title": {"texts": {"fr": "Mer", "en": "Sea"}}, "ok": False, "seen": {"instant": "2026-02-10T23:30:00Z"},
            "words": ["a", "b"], "usage_table": [{"row": {"usage_category": "Red"}}]},
            rights={"groups": ["Inner Circle"], "release_at": "2026-03-01T10:00:00Z"},
            versions=[{"name": f"v{n}.jpg", "generate": {"size": 9, "seed": n}} for n in (1, 2, 3)]),
        asset_row(3, versions=[]),
    ]  # fmt: skip
    with served(rows, tags_field="keywords", release_field="embargo") as api:
        one, two, three = list(api.served.app.state.dump())
        assert one["placements"] == [{"kind": "collection", "path": ["Press / 2024"], "id": one["placements"][0]["id"]}]
        assert one["relations"] == [{"kind": "derivative", "target": two["id"]}]
        assert (two["status"], two["rights"]["groups"], two["tags"]) == ("trash", ["Inner Circle"], ["sea", "été"])
        assert two["rights"]["release_at"] == "2026-03-01T00:00:00Z"  # day precision
        assert two["fields"]["title"] == "Sea"
        assert two["fields"]["ok"] is False
        assert two["fields"]["seen"] == {"date": "2026-02-10"}
        assert [term["label"] for term in two["fields"]["words"]] == ["a", "b"]
        assert two["fields"]["usage_table"][0]["row"]["usage_category"]["label"] == "Red"
        assert [version["name"] for version in two["versions"]] == ["v1.jpg", "v2.jpg", "v3.jpg"]
        assert three["versions"] == []
        assert api.scan(**EVERY)["totalCount"] == 5


def test_unknown_options_are_refused() -> None:
    world = Environment()
    for wrong in ({"colour": 1}, {"variant": "third"}):
        with pytest.raises(ValueError, match="unknown"):
            emulator(world, Faults(), ObjectStore(world), wrong)
    app = emulator(world, Faults(), ObjectStore(world), {"variant": "second", "lag": "3", "rate": 0})
    app.state.load(catalogue_of([]), None)
    assert not list(app.state.dump())
