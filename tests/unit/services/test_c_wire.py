"""The JSON of service C: envelopes, values, markers, links; pure functions."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.crawl.pagers import Page
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Marker, Patch, Revision, Rights
from dam_sync.model.errors import ContractBroken, InvalidValue
from dam_sync.model.schema import Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import GeoPoint, Localized, Term
from dam_sync.services.c_brandlibrary.codec import marks, wire
from dam_sync.services.c_brandlibrary.codec.envelope import document_of, made_of, related
from dam_sync.services.c_brandlibrary.codec.fields import Key, Keys, keys_of, schema_of
from dam_sync.services.c_brandlibrary.codec.values import decode, encode
from dam_sync.services.c_brandlibrary.source.listing import Pages
from dam_sync.services.c_brandlibrary.target.plan import values_of
from tests.support.mapping.tenant_schemas import compiled

MARK = Marker("srckey", "museum-1")
TEXT = Field("note", FieldKind.TEXT)


def row(**more: Any) -> dict[str, Any]:
    attributes = {"name": "A", "approved": True, "created_at": "2024-03-01T08:12:44.120Z", **more.pop("attributes", {})}
    return {"id": "a1", "type": "generic_files", "attributes": attributes, **more}


# -- envelopes ---------------------------------------------------------------------------------------------------------


def test_relations_are_resolved_once_and_may_dangle() -> None:
    identifiers = [{"id": "t1", "type": "tags"}, {"id": "t1", "type": "tags"}, {"id": "t2", "type": "tags"}]
    included = [{"id": "t1", "type": "tags", "attributes": {"name": "sea"}}]
    document = document_of(
        {"data": [row(relationships={"tags": {"data": identifiers}})], "included": included}, "GET x"
    )
    assert [(each["id"], each["attributes"]) for each in related(document.rows[0], "tags")] == [
        ("t1", {"name": "sea"}),
        ("t2", {}),
    ]


@pytest.mark.parametrize(
    ("meta", "total", "more"),
    [
        ({"total_count": 7}, 7, None),
        ({"total_count": 7, "next_page": 2}, 7, True),
        ({"total_count": 7, "next_page": None}, 7, False),
        ({}, None, None),
    ],
)
def test_a_page_says_whether_more_follow_or_only_its_total(
    meta: dict[str, Any], total: int | None, more: bool | None
) -> None:
    document = document_of({"data": [], "meta": meta}, "GET x")
    assert (document.total, document.more) == (total, more)


@pytest.mark.parametrize("reply", [[], "text", {"data": "text"}, {"data": [{"type": "assets"}]}, {"data": [1]}])
def test_another_shape_breaks_the_contract(reply: Any) -> None:
    with pytest.raises(ContractBroken):
        document_of(reply, "GET x")


def test_a_relation_without_its_wrapper_is_read() -> None:
    document = document_of({"data": row(relationships={"user": {"id": "u1", "type": "users"}})}, "GET x")
    assert [each["id"] for each in related(document.single, "user")] == ["u1"]


@pytest.mark.parametrize("wrap", [lambda made: {"data": made}, lambda made: made, lambda made: {"collections": [made]}])
def test_what_was_made_is_found_however_it_is_wrapped(wrap: Any) -> None:
    assert made_of(wrap({"id": "c1", "type": "collections", "attributes": {"name": "Kit"}}), "POST x")["id"] == "c1"


def test_pages_step_back_when_the_total_falls() -> None:
    """12 rows deleted before page 3 moved two pages of 10 past the reader."""
    pages = Pages(10)
    assert pages.after({"page": 3, "was": 40}, Page([1], 28)) == {"page": 1, "was": 28}
    assert pages.after({"page": 3, "was": 40}, Page([1], 40)) == {"page": 4, "was": 40}
    assert pages.after({"page": 4, "was": 40}, Page([1], 40)) is None


# -- markers -----------------------------------------------------------------------------------------------------------


def test_a_token_is_one_term_and_comes_off_again() -> None:
    token = marks.token_of(MARK)
    assert token.isalnum()
    assert token == token.lower()
    text = marks.marked("Real\nwords", MARK)
    assert marks.token_in(text) == token
    assert marks.unmarked(text) == "Real\nwords"
    assert marks.token_of(Marker("srckey", "museum-2")) != token


@settings(max_examples=60)
@given(st.text(max_size=60))
def test_any_description_survives_its_marker(text: str) -> None:
    assert marks.unmarked(marks.marked(text, MARK)) == text


def test_searches_are_quoted_and_odd_markers_refused() -> None:
    assert marks.by_value(Marker("my key", "a-1")) == 'custom_fields.my\\ key:"a-1"'
    for wrong in (Marker("srckey", 'a"b'), Marker("a:b", "x")):
        with pytest.raises(InvalidValue):
            marks.by_value(wrong)


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (None, ()),
        ("  ", ()),
        (" a ", ("a",)),
        (True, ("true",)),
        (3, ("3",)),
        (12.5, ("12.5",)),
        (7.0, ("7",)),
        (date(2024, 5, 31), ("2024-05-31",)),
        (datetime(2024, 5, 31, 10, tzinfo=UTC), ("2024-05-31T10:00:00.000Z",)),
        (("a", "b", "a", ""), ("a", "b")),
        (Term("Sea", "Sea", ("Sea",)), ("Sea",)),
        (Term("Sea", path=("Nature", "Sea")), ("Nature / Sea",)),
        (Localized({"en": "Sea"}), ('{"texts":{"en":"Sea"}}',)),
        (GeoPoint(1.5, 2.5, "Brest"), ('{"address":"Brest","latitude":1.5,"longitude":2.5}',)),
    ],
)
def test_every_value_is_text(value: Any, texts: tuple[str, ...]) -> None:
    assert encode(value) == texts


def test_equal_records_are_one_value_and_several_are_several() -> None:
    assert decode(TEXT, ["a", "a"]) == "a"
    assert decode(TEXT, ["a", "b"]) == ("a", "b")
    assert decode(Field("k", FieldKind.TERM, multiple=True), ["a"]) == (Term("a", "a", ("a",)),)
    assert decode(TEXT, [""]) is None


def test_keys_are_fields_and_lists_vocabularies() -> None:
    attributes = [
        {"name": " color ", "allowed_values": ["red"], "restricted": True, "required": True},
        {"name": "mood", "allowed_values": ["calm"]},
        {"name": "name", "allowed_values": []},
    ]
    rows = key_rows(*attributes)
    schema = schema_of(Keys.of(keys_of(rows), {"mood"}), extends=False)
    assert schema.fields["color"].required
    assert schema.vocabularies["color"].closed
    assert not schema.vocabularies["mood"].closed
    assert schema.fields["mood"].multiple
    assert schema.fields["custom:name"].label == "name"
    assert schema.fields["dam_sync_source_id"].editable
    assert Keys.of(keys_of(rows), ()).named("custom:name") == Key("2", "name")
    assert Keys.of(keys_of(rows), ()).named("name") is None


def key_rows(*attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"id": str(n), "type": "custom_field_keys", "attributes": each, "related": {}}
        for n, each in enumerate(attributes)
    ]


EMPTY_LIST = {"name": "Themes", "allowed_values": [], "restricted": True}


@pytest.mark.parametrize("allowed", [[], None])
def test_a_restricted_list_without_values_is_a_closed_list_and_no_free_text(allowed: list[str] | None) -> None:
    keys = Keys.of(keys_of(key_rows(EMPTY_LIST | {"allowed_values": allowed}, {"name": "mood"})), ())
    schema = schema_of(keys, extends=False)
    assert (schema.fields["Themes"].kind, schema.fields["Themes"].vocabulary) == (FieldKind.TERM, "Themes")
    assert schema.vocabularies["Themes"].closed
    assert schema.fields["mood"].kind is FieldKind.TEXT
    assert not schema_of(keys, extends=True).vocabularies["Themes"].closed


def test_a_value_for_a_restricted_list_without_values_is_set_aside_by_a_plan_as_by_a_run(tmp_path: Path) -> None:
    target = schema_of(Keys.of(keys_of(key_rows(EMPTY_LIST)), ()), extends=False)
    subject = Field("subject", FieldKind.TERM, vocabulary="subjects")
    source = Schema({"subject": subject}, {"subjects": Vocabulary("subjects")})
    text = """
version: 1
vocabularies: {themes: {source: subjects, target: Themes, match: [exact], unmatched: park}}
fields:
  dam_sync_source_id: {marker: true}
  Themes: {from: fields.subject, pipe: [{vocabulary: themes}]}
"""
    found = Asset(AssetId("7"), Revision("1"), filename="a.jpg", fields={"subject": Term("Astrolabe", "t1")})
    drafted = compiled(tmp_path, text, source, target).draft(found, "mark", {"themes": TermIndex()})
    (rejection,) = drafted.rejections
    assert rejection.path == "fields.Themes"
    assert "Astrolabe" in rejection.detail
    assert "Themes" not in drafted.draft.fields


def test_a_value_for_a_restricted_list_without_values_is_not_sent() -> None:
    keys = Keys.of(keys_of(key_rows(EMPTY_LIST)), ())
    with pytest.raises(InvalidValue, match="'Astrolabe' is not one of them"):
        values_of({"Themes": Term("Astrolabe", "Astrolabe")}, keys)


# -- assets ------------------------------------------------------------------------------------------------------------


def test_an_asset_is_read_without_its_marker_and_with_links_and_generated_tags_apart() -> None:
    attachments = [
        {"id": "f2", "type": "attachments", "attributes": {"filename": "b.pdf", "size": 2, "position": 1}},
        {"id": "f1", "type": "attachments", "attributes": {"filename": "a.jpg", "size": 1, "position": 0, "url": "u"}},
        {"id": "f3", "type": "attachments", "attributes": {}},
    ]
    tags = [
        {"id": "t1", "type": "tags", "attributes": {"name": "sea", "auto_generated": False}},
        {"id": "t2", "type": "tags", "attributes": {"name": "boat", "auto_generated": True}},
    ]
    data = row(attributes={"approved": False, "description": marks.marked("Words", MARK)}) | {
        "related": {"attachments": attachments, "tags": tags, "section": [{"id": "s", "attributes": {"name": "S"}}]}
    }
    asset = wire.asset_of(data, wire.AssetDecodeContext(Keys()), {"f1": 3})
    assert asset.status == "pending"
    assert asset.fields["description"] == "Words"
    assert [file.id for file in (*asset.versions, *asset.attachments)] == ["a1/f1~3", "a1/f2"]
    assert asset.tags == {"sea"}
    assert asset.machine_tags == {"boat"}
    assert [loss.detail for loss in asset.losses] == ["2 older"]
    assert "u" not in repr(asset.versions)


def test_a_revision_moves_with_what_the_date_of_change_may_not_show() -> None:
    def revision(name: str) -> str:
        tags = [{"id": "t", "type": "tags", "attributes": {"name": name}}]
        return wire.asset_of(row() | {"related": {"tags": tags}}, wire.AssetDecodeContext(Keys()), {}).revision

    assert revision("sea") == revision("sea") != revision("wood")


def test_a_row_is_whole_with_every_relation_and_whatever_it_names() -> None:
    told = {"id": "x", "type": "y", "attributes": {"name": "n"}}
    every: dict[str, Any] = {name: [told] for name in wire.RELATIONS}
    assert wire.is_whole(row() | {"related": every})
    assert wire.is_whole(row() | {"related": every | {"tags": []}})
    assert not wire.is_whole(row() | {"related": every | {"tags": [told, {**told, "attributes": {}}]}})
    lacking = row() | {"related": {name: found for name, found in every.items() if name != "tags"}}
    assert not wire.is_whole(lacking)
    assert wire.is_whole(lacking, {"tags"})
    assert not wire.is_whole(row() | {"related": {"tags": []}}, wire.RELATIONS)


def test_a_relation_without_data_is_not_returned() -> None:
    document = document_of({"data": row(relationships={"tags": {"meta": {}}, "collections": {"data": None}})}, "GET x")
    assert document.single["related"] == {"collections": []}


def test_file_ids_come_apart_again() -> None:
    for count in (1, 4):
        assert wire.parts_of(wire.file_id("a-1", "f_2", count)) == ("a-1", "f_2", count)
    assert FileRef(wire.file_id("a", "f", 1), "x").id == "a/f"


def test_links_end_by_their_own_word() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    soon, late = int(now.timestamp()) + 60, int(now.timestamp()) + 86_400
    assert not wire.is_fresh(f"https://f.example/x?Expires={soon}", now)
    assert wire.is_fresh(f"https://f.example/x?Expires={late}", now)
    assert wire.is_fresh("https://f.example/x", now)


def test_only_what_a_patch_names_is_written() -> None:
    assert wire.patch_attributes(Patch(fields={"note": "x"}, tags_add=frozenset({"a"}))) == {}
    assert wire.patch_attributes(Patch(cleared=frozenset({"expiry"}))) == {"availability_end": None}
    rights = Rights(datetime(2020, 1, 1, tzinfo=UTC))
    assert wire.patch_attributes(Patch(status="pending", rights=rights, fields={"description": None})) == {
        "description": "",
        "approved": False,
        "availability_start": "2020-01-01T00:00:00.000Z",
    }


def test_a_create_carries_name_and_token() -> None:
    upload = wire.Upload("https://o.example/1", "a.jpg")
    body = wire.create_body([wire.NewAsset(Draft(MARK, "a.jpg"), upload)], "s1")
    (attributes,) = body["data"]["attributes"]
    assert body["section_key"] == "s1"
    assert attributes["name"] == "a.jpg"
    assert marks.token_in(attributes["description"]) == marks.token_of(MARK)
    assert "approved" not in attributes


def test_an_asset_without_a_file_is_named_by_its_marker() -> None:
    (attributes,) = wire.create_body([wire.NewAsset(Draft(MARK, ""), None)], "s1")["data"]["attributes"]
    assert attributes["name"] == MARK.value


def test_of_several_assets_in_one_create_those_without_a_token_say_nothing_of_us() -> None:
    new = [wire.NewAsset(Draft(MARK, name), None, token=name == "a") for name in ("a", "b")]
    first, second = wire.create_body(new, "s1")["data"]["attributes"]
    assert (bool(marks.token_in(first["description"])), second["description"]) == (True, "")


@pytest.mark.parametrize("kind", [True, ["tags"], {"name": "tags"}])
def test_an_included_resource_whose_type_is_no_text_is_not_overlooked(kind: Any) -> None:
    """It would be matched by no relation, and its value would be missing silently."""
    included = [{"id": "t1", "type": kind, "attributes": {"name": "sea"}}]
    related_to = {"tags": {"data": [{"id": "t1", "type": "tags"}]}}
    with pytest.raises(ContractBroken):
        document_of({"data": [row(relationships=related_to)], "included": included}, "GET x")


def test_several_values_of_a_key_are_read_in_one_order_whatever_the_response_has() -> None:
    """No order of the records is promised (wire C 2, 3.1); a value that changed its order would count as changed."""
    names = {"v1": "sea", "v2": "Coast", "v3": "harbour"}
    read = []
    for order in (("v1", "v2", "v3"), ("v3", "v1", "v2")):
        identifiers = [{"id": each, "type": "custom_field_values"} for each in order]
        included = [
            {"id": each, "type": "custom_field_values", "attributes": {"key": "keywords", "value": names[each]}}
            for each in order
        ]
        document = document_of(
            {"data": [row(relationships={"custom_field_values": {"data": identifiers}})], "included": included}, "GET x"
        )
        read.append(wire.asset_of(document.rows[0], wire.AssetDecodeContext(Keys()), {}))
    assert read[0].fields["keywords"] == ("Coast", "harbour", "sea")
    assert read[0] == read[1]
