"""The emulated service C writes as its wire contract says: assets, tags, fields, containers, and what is swallowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.services.emulated_c import Rig, asset_row

Start = Callable[..., Rig]


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda *rows, **options: stack.enter_context(Rig(rows, **options))


def single(**attributes: Any) -> dict[str, Any]:
    return {"data": {"attributes": attributes}}


def many(*rows: Any) -> dict[str, Any]:
    return {"data": {"attributes": list(rows)}}


def values(*pairs: tuple[Any, str]) -> dict[str, Any]:
    """Values for assets, as they are posted under a key."""
    return {
        "data": [
            {"attributes": {"value": text}, "relationships": {"asset": {"data": {"type": "assets", "id": asset}}}}
            for text, asset in pairs
        ]
    }


# -- assets ------------------------------------------------------------------------------------------------------------


def test_creating_needs_an_array_a_section_and_urls(start: Start) -> None:
    rig = start(more_libraries=["Other"])
    path, section = f"/libraries/{rig.library}/assets", rig.section
    row = {"name": "N", "attachments": [{"url": rig.uploaded(), "filename": "a.jpg"}]}
    rig.send("POST", path, many(row), 422)
    rig.send("POST", path, {**single(**row), "section_key": section}, 422)
    rig.send("POST", path, {**many({"name": "N", "attachments": [{"filename": "a"}]}), "section_key": section}, 422)
    rig.send("POST", path, {**many(row), "section_key": "nowhere"}, 404)
    other = next(each["id"] for each in rig.get("/libraries")["data"] if each["attributes"]["name"] == "Other")
    rig.send("POST", f"/libraries/{other}/assets", {**many(row), "section_key": section}, 422)
    assert rig.assets() == []
    made = rig.send("POST", path, {**many(row), "section_key": section})
    assert made["data"][0]["attributes"] == {
        "name": "N", "description": None, "thumbnail_url": None, "approved": True,
    }  # fmt: skip
    assert made["meta"]["total_count"] == 1


def test_a_batch_is_all_or_nothing_and_keeps_its_order(start: Start) -> None:
    rig = start()
    rig.create({"name": "A"}, {"name": 5}, status=422)
    assert rig.assets() == []
    made = rig.create(*({"name": name} for name in "BCA"))
    assert [row["attributes"]["name"] for row in made["data"]] == ["B", "C", "A"]
    rig.faults.add([{"match": "POST *assets", "do": "play:some_created"}])
    rig.create({"name": "D"}, {"name": "E"}, status=500)
    assert sorted(rig.assets()) == ["A", "B", "C", "D"]


def test_the_same_body_twice_makes_two_assets_and_a_lost_response_does_so_too(start: Start) -> None:
    rig = start()
    for _ in range(2):
        rig.create({"name": "Twin"})
    rig.faults.add([{"match": "POST *assets", "do": "play:fail_after", "times": 1}])
    rig.create({"name": "Twin"}, status=503)
    assert rig.assets() == ["Twin"] * 3


def test_an_asset_without_a_name_is_named_after_its_file_in_one_reading(start: Start) -> None:
    first, second = start(), start(variant="name_required")
    for rig, status in ((first, 200), (second, 422)):
        rig.create({"attachments": [{"url": rig.uploaded(), "filename": "logo.png"}]}, status=status)
    assert first.assets() == ["logo"]


def test_an_update_changes_what_is_sent_alone(start: Start) -> None:
    rig = start()
    dates = {"availability_start": "2024-02-23T18:22:49.771Z", "availability_end": "2027-02-23T18:22:49.771Z"}
    key = rig.create({"name": "N", "description": "D", "approved": False, **dates})["data"][0]["id"]
    fields = "availability,availability_start,availability_end"
    rig.send("PUT", f"/assets/{key}", single(approved=True, availability_start=None))
    found = rig.get(f"/assets/{key}", fields=fields)["data"]["attributes"]
    assert (found["description"], found["approved"], found["availability_start"]) == ("D", True, None)
    assert found["availability_end"] == dates["availability_end"]
    rig.send("PUT", f"/assets/{key}", single(name=""), 422)
    rig.send("PUT", f"/assets/{key}", single(approved="yes"), 422)
    rig.send("PUT", f"/assets/{key}", single(availability_end="soon"), 422)
    rig.send("PUT", f"/assets/{key}", many({"name": "X"}), 422)


def test_what_an_account_may_not_keep(start: Start) -> None:
    dated = start(variant="no_dates")
    key = dated.create({"name": "N", "availability_end": "2027-02-23T18:22:49.771Z"})["data"][0]["id"]
    assert dated.get(f"/assets/{key}", fields="availability_end")["data"]["attributes"]["availability_end"] is None
    flow = start(variant="no_approval")
    assert flow.create({"name": "N", "approved": True})["data"][0]["attributes"]["approved"] is False


def test_a_collection_is_joined_only_at_birth(start: Start) -> None:
    rig = start(asset_row("1"))
    kit = rig.named("collections", "Logo Kit")
    key = rig.create({"name": "N"}, path=f"/collections/{kit}/assets")["data"][0]["id"]
    rig.send("PUT", f"/assets/{rig.of('1')}", single(collections=[kit], section_key="x"))
    assert [row["id"] for row in rig.get(f"/collections/{kit}/assets")["data"]] == [key]
    assert rig.send("DELETE", f"/collections/{kit}") == {}
    rig.get(f"/collections/{kit}", 403)
    rig.get(f"/assets/{key}")


def test_edits_move_updated_at_as_the_knob_says(start: Start) -> None:
    for more, moves in (({}, True), ({"touch_asset_on": ["name"]}, False)):
        rig = start(asset_row("1"), **more)
        key = rig.of("1")
        stamps = [rig.truth(key)["changed_at"]]
        for call in (("PUT", f"/assets/{key}", single(name="X")), ("POST", f"/assets/{key}/tags", many({"name": "t"}))):
            rig.world.advance(10)
            rig.send(*call)
            stamps.append(rig.truth(key)["changed_at"])
        assert stamps[0] < stamps[1]
        assert (stamps[1] < stamps[2]) is moves


# -- tags --------------------------------------------------------------------------------------------------------------


def test_tags_are_records_of_one_asset(start: Start) -> None:
    rig = start(asset_row("1", tags=["logo"], machine_tags=["sky"]), asset_row("2", tags=["logo"]))
    key = rig.of("1")
    found = rig.send("POST", f"/assets/{key}/tags", many({"name": "Logo"}, {"name": "product"}))
    assert [row["attributes"]["name"] for row in found["data"]] == ["logo", "sky", "product"]
    assert [row["attributes"]["auto_generated"] for row in found["data"]] == [False, True, False]
    mine = found["data"][0]["id"]
    rig.send("PUT", f"/tags/{mine}", single(name="brand"))
    assert rig.truth(rig.of("2"))["tags"] == ["logo"]
    assert rig.truth(key)["tags"] == ["brand", "product"]
    rig.send("POST", f"/assets/{key}/tags", single(name="x"), 422)


def test_tags_go_some_time_after_they_were_deleted(start: Start) -> None:
    rig = start(asset_row("1", tags=["logo", "product"]))
    key = rig.of("1")
    path = f"/async/tags/assets/{key}"
    assert rig.send("DELETE", path, {"tags": ["PRODUCT"], "locale": "en"}) == {}
    assert rig.get(f"/assets/{key}/tags")["meta"]["total_count"] == 2
    rig.world.advance(3)
    assert [row["attributes"]["name"] for row in rig.get(f"/assets/{key}/tags")["data"]] == ["logo"]
    rig.send("DELETE", path, {}, 422)


# -- custom fields -----------------------------------------------------------------------------------------------------


def test_values_are_strings_of_many_assets_under_one_key(start: Start) -> None:
    rig = start(asset_row("1", fields={}), asset_row("2", fields={}))
    one, two = rig.of("1"), rig.of("2")
    key = rig.named("custom_field_keys", "srckey")
    path = f"/custom_field_keys/{key}/custom_field_values"
    found = rig.send("POST", path, values(("a", one), ("b", two), ("a", one)))
    assert [row["attributes"] for row in found["data"]] == [{"key": "srckey", "value": text} for text in "aba"]
    assert rig.truth(one)["fields"]["srckey"] == ["a", "a"], "posting again makes another record"
    empty: dict[str, Any] = {"data": {}}
    wrong = [values((5, one)), values(("", one)), values(("x", "nowhere")), values(("x", one), (1, two)), empty]
    for bad in wrong:
        assert rig.api.post(path, json=bad).status_code in (404, 422)
    assert rig.truth(one)["fields"]["srckey"] == ["a", "a"]
    value = found["data"][1]["id"]
    assert rig.send("PUT", f"/custom_field_values/{value}", single(value="c"))["data"]["attributes"]["value"] == "c"
    with_key = rig.get(f"/assets/{two}/custom_field_values", include="custom_field_key")
    assert with_key["included"][0]["attributes"]["name"] == "srckey"
    assert rig.send("DELETE", f"/custom_field_values/{value}") == {}
    assert "srckey" not in rig.truth(two)["fields"]
    rig.send("DELETE", f"/custom_field_values/{value}", None, 403)


def test_a_restricted_key_refuses_the_whole_request(start: Start) -> None:
    rig = start(asset_row("1", fields={}))
    one, key = rig.of("1"), rig.named("custom_field_keys", "colour")
    path = f"/custom_field_keys/{key}/custom_field_values"
    rig.send("POST", path, values(("Red", one), ("Green", one)), 422)
    assert "colour" not in rig.truth(one)["fields"]
    rig.send("PUT", f"/custom_field_keys/{key}", single(allowed_values=["Red", "Blue", "Green"]))
    rig.send("POST", path, values(("Green", one)))
    assert rig.truth(one)["fields"]["colour"] == "Green"


def test_second_readings_of_values(start: Start) -> None:
    rig = start(asset_row("1", fields={}), variant="value_array,one_value")
    one = rig.of("1")
    path = "/custom_field_keys/{}/custom_field_values"
    value = rig.send("POST", path.format(rig.named("custom_field_keys", "srckey")), values(("a", one)))["data"][0]["id"]
    assert rig.send("PUT", f"/custom_field_values/{value}", single(value="b"))["data"][0]["id"] == value
    rig.send("POST", path.format(rig.named("custom_field_keys", "srckey")), values(("c", one)), 422)
    rig.send("POST", path.format(rig.named("custom_field_keys", "keywords")), values(("c", one), ("d", one)))


def test_keys_are_made_in_bulk_renamed_and_deleted_with_their_values(start: Start) -> None:
    rig = start(asset_row("1"))
    path, one = f"/libraries/{rig.library}/custom_field_keys", rig.of("1")
    rig.send("POST", path, single(name="x"), 422)
    rig.send("POST", path, many({"name": "New"}, {"name": "srckey"}), 422)
    assert "New" not in [row["attributes"]["name"] for row in rig.get(path)["data"]]
    made = rig.send(
        "POST", path, many({"name": "New", "allowed_values": ["a"], "restricted": True}, {"name": "SRCKEY"})
    )
    assert made["data"][0]["attributes"] == {
        "name": "New", "allowed_values": ["a"], "restricted": True, "required": False, "prioritized": False,
        "position": 4,
    }  # fmt: skip
    key = rig.named("custom_field_keys", "srckey")
    rig.send("PUT", f"/custom_field_keys/{key}", single(name="colour"), 422)
    rig.send("PUT", f"/custom_field_keys/{key}", single(name="source"))
    assert rig.truth(one)["fields"]["source"] == "k1"
    assert rig.send("DELETE", f"/custom_field_keys/{key}") == {}
    assert set(rig.truth(one)["fields"]) == {"name", "colour"}
    found = rig.get(path, fields="values", include="custom_field_values")
    assert {"Red"} in [set(row["attributes"]["values"]) for row in found["data"]]


def test_five_keys_may_be_prioritized(start: Start) -> None:
    rig = start()
    path = f"/libraries/{rig.library}/custom_field_keys"
    rig.send("POST", path, many(*({"name": f"p{n}", "prioritized": True} for n in range(5))))
    rig.send("POST", path, many({"name": "p5", "prioritized": True}), 422)
    rig.send("POST", path, many({"name": "p5"}))


# -- containers --------------------------------------------------------------------------------------------------------


def test_sections_have_a_type_and_their_assets_take_it(start: Start) -> None:
    rig = start()
    path = f"/libraries/{rig.library}/sections"
    rig.send("POST", path, single(name="X", default_asset_type="Poster"), 422)
    made = rig.send("POST", path, single(name="Inks", default_asset_type="Color"))["data"]
    assert made["attributes"]["position"] == 2
    assert rig.create({"name": "Red"}, section=made["id"])["data"][0]["type"] == "colors"
    rig.send("POST", path, single(name="Inks", default_asset_type="Color"))


def test_a_taken_name_gets_another_slug_or_none(start: Start) -> None:
    first, second = start(), start(variant="slug_taken")
    row = single(name="Logo Kit", tagline="All")
    path = "/libraries/{}/collections"
    assert first.send("POST", path.format(first.library), row)["data"]["attributes"]["slug"] == "logo-kit-2"
    second.send("POST", path.format(second.library), row, 422)
    sent = single(name="Logo Kit", slug="kit_2")
    assert second.send("POST", path.format(second.library), sent)["data"]["attributes"]["slug"] == "kit_2"
    for slug in ("kit_2", "a b", ""):
        second.send("POST", path.format(second.library), single(name="Other", slug=slug), 422)


def test_libraries_are_made_and_changed(start: Start) -> None:
    rig = start()
    organization = rig.get("/organizations")["data"][0]["id"]
    made = rig.send("POST", f"/organizations/{organization}/libraries", single(name="Zwei", privacy="public"))["data"]
    assert (made["attributes"]["slug"], made["attributes"]["privacy"]) == ("zwei", "public")
    rig.send("PUT", f"/libraries/{made['id']}", single(slug="acme"), 422)
    assert rig.send("PUT", f"/libraries/{made['id']}", single(tagline="T"))["data"]["attributes"]["tagline"] == "T"


def test_labels_move_with_what_is_below_them(start: Start) -> None:
    placed = [{"kind": "label", "path": ["North", "Coast"]}]
    rig = start(asset_row("1", placements=placed))
    path = f"/libraries/{rig.library}/labels"
    north, coast = rig.named("labels", "North"), rig.named("labels", "Coast")
    top = rig.send("POST", path, single(name="Top"))["data"]["id"]
    moved = rig.send("PUT", f"/labels/{north}/move", single(parent_key=top))["data"]
    assert moved["attributes"]["path"] == [top, north]
    assert rig.get(f"/labels/{coast}")["data"]["attributes"]["depth"] == 3
    rig.send("PUT", f"/labels/{top}/move", single(parent_key=coast), 422)
    rig.send("PUT", f"/labels/{coast}", single(name="Shore"))
    assert rig.truth(rig.of("1"))["placements"][0]["path"] == ["Top", "North", "Shore"]
    assert rig.send("DELETE", f"/labels/{north}") == {}
    rig.get(f"/labels/{coast}", 403)
    body = {"data": {"asset_keys": [rig.of("1")], "label_key": top}}
    rig.send("POST", "/bulk_actions/assets/add_to_label", body, 404)


def test_second_readings_of_containers(start: Start) -> None:
    rig = start(asset_row("1"), variant="bare_answers,bulk_labels")
    assert rig.send("POST", f"/libraries/{rig.library}/collections", single(name="C"))["type"] == "collections"
    coast = rig.named("labels", "Coast")
    assert rig.send("PUT", f"/labels/{coast}", single(name="S"))["label"]["id"] == coast
    rig.send("POST", "/bulk_actions/assets/add_to_label", {"data": {"asset_keys": [rig.of("1")], "label_key": coast}})
    assert rig.get(f"/labels/{coast}/assets")["meta"]["total_count"] == 1


# -- the catalogue -----------------------------------------------------------------------------------------------------


def test_a_catalogue_is_loaded_as_far_as_the_service_can_hold_it(start: Start) -> None:
    place = [{"kind": "folder", "path": ["A", "B"]}, {"kind": "folder", "path": ["C"]}]
    fields = {
        "srckey": {"texts": {"fr": "Clé", "en": "Key"}}, "keywords": ["x", "y", "x"], "Shot by": {"date": "2024-05-31"},
        "colour": {"id": "", "label": "Green"}, "description": {"texts": {"en": "Words"}}, "unknown": 1,
    }  # fmt: skip
    rights = {"release_at": "2020-01-01T00:00:00Z", "groups": ["staff"]}
    rig = start(asset_row("1", placements=place, fields=fields, rights=rights), asset_row("2", placements=[]))
    row = rig.truth(rig.of("1"))
    assert row["fields"] == {
        "name": "1", "description": "Words", "srckey": "Key", "keywords": ["x", "y"], "Shot by": "2024-05-31",
        "colour": "Green",
    }  # fmt: skip
    assert [(each["kind"], each["path"]) for each in row["placements"]] == [("section", ["A / B"])]
    assert row["rights"] == {"release_at": "2020-01-01T00:00:00Z", "expires_at": None, "groups": []}
    assert rig.truth(rig.of("2"))["placements"][0]["path"] == ["Assets"]
    colour = rig.get(f"/libraries/{rig.library}/custom_field_keys")["data"][1]["attributes"]
    assert (colour["allowed_values"], colour["restricted"]) == (["Red", "Blue", "Green"], True)
    texts = [rig.truth(rig.of("2"))["fields"].get("description"), rig.get(f"/assets/{rig.of('2')}")["data"]]
    assert texts[0] is None
    assert texts[1]["attributes"]["description"] == ""


# -- bodies of any shape -----------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    (
        *("data", "attributes", "relationships", "asset", "id", "type", "value", "name", "url", "filename", "tags"),
        *("attachments", "section_key", "slug", "privacy", "default_asset_type", "allowed_values", "parent_key", "x"),
        *("approved", "availability_end", "description", "asset_keys", "label_key", "position", "prioritized"),
    )
)
LEAVES = st.none() | st.booleans() | st.integers() | WORDS
BODIES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=4))
OBJECTS = st.dictionaries(WORDS, BODIES, min_size=1, max_size=5)
ATTRIBUTES = OBJECTS | st.lists(OBJECTS, min_size=1, max_size=2) | BODIES
WRITES = (
    ("POST", "/libraries/{library}/assets"), ("POST", "/collections/{collection}/assets"), ("PUT", "/assets/{asset}"),
    ("PUT", "/attachments/{attachment}"), ("POST", "/assets/{asset}/tags"), ("DELETE", "/async/tags/assets/{asset}"),
    ("POST", "/custom_field_keys/{key}/custom_field_values"), ("POST", "/libraries/{library}/sections"),
    ("POST", "/libraries/{library}/collections"), ("PUT", "/collections/{collection}"), ("PUT", "/libraries/{library}"),
    ("POST", "/libraries/{library}/custom_field_keys"), ("PUT", "/custom_field_keys/{key}"),
    ("POST", "/libraries/{library}/labels"), ("PUT", "/labels/{label}"), ("PUT", "/labels/{label}/move"),
    ("POST", "/bulk_actions/assets/add_to_label"),
)  # fmt: skip


@pytest.fixture(scope="module")
def worn() -> Iterator[tuple[Rig, dict[str, str]]]:
    with Rig([asset_row("1")], variant="bulk_labels") as rig:
        ids = {
            "library": rig.library, "collection": rig.named("collections", "Logo Kit"), "asset": rig.of("1"),
            "attachment": rig.attachments(rig.of("1"))[0]["id"], "key": rig.named("custom_field_keys", "srckey"),
            "label": rig.named("labels", "Coast"), "section": rig.section,
        }  # fmt: skip
        yield rig, ids


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(WRITES), ATTRIBUTES, ATTRIBUTES)
def test_a_body_of_any_shape_is_taken_or_refused(
    worn: tuple[Rig, dict[str, str]], call: tuple[str, str], attributes: Any, more: Any
) -> None:
    rig, ids = worn
    body = {"data": {"attributes": attributes}, "section_key": ids["section"], "tags": more}
    for sent in (body, attributes, {"data": more}):
        answer = rig.api.request(call[0], call[1].format(**ids), json=sent)
        assert answer.status_code in (200, 400, 403, 404, 422), answer.text
