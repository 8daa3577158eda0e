"""Services B and E: responses of a wrong shape become no values, and nothing of them is dropped silently."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dam_sync.model.errors import ContractBroken, Rejected
from dam_sync.model.schema import FieldKind
from dam_sync.services.b_documents.codec.fields import DocumentsField, ServerSchema
from dam_sync.services.b_documents.codec.wire import Around, asset_of
from dam_sync.services.b_documents.options import DocumentsOptions
from dam_sync.services.e_profiles.codec import trees, wire

LINK = "https://demo.example/v2/assets/search?query=category:({A})"


# -- service E: attached documents, categories, links --------------------------------------------------------------


@pytest.mark.parametrize("told", ["text", 7, ["a"], {"docs": "text"}, {"docs": 7}, {"docs": ["a"]}, {"docs": [None]}])
def test_attached_documents_of_another_shape_are_the_trouble_of_one_asset(told: Any) -> None:
    with pytest.raises(Rejected, match="attached"):
        wire.documents_of({"attachedDocs": told})


@pytest.mark.parametrize("told", [None, {}, {"docs": None}, {"docs": []}])
def test_an_asset_may_have_no_attached_documents(told: Any) -> None:
    assert wire.documents_of({"attachedDocs": told}) == []
    assert wire.documents_of({"attachedDocs": {"docs": [{"uuid": "d", "title": "x"}]}})


@pytest.mark.parametrize("parts", ["Library", 7, {"a": 1}, ["Library", 7], ["Library", None]])
def test_a_category_whose_parts_are_no_list_of_texts_is_reported(parts: Any) -> None:
    with pytest.raises(ContractBroken, match="parts"):
        trees.category_of({"id": "1", "name": "Library", "parts": parts})


def test_a_category_without_parts_is_known_by_its_name() -> None:
    assert trees.category_of({"id": "1", "name": "Library"}).path == ("Library",)
    with pytest.raises(ContractBroken):
        trees.category_of({"id": "1", "name": 7})


@pytest.mark.parametrize("title", [None, 7, True, ["a"]])
def test_a_category_of_the_tree_has_a_title(title: Any) -> None:
    with pytest.raises(ContractBroken, match="title"):
        list(trees.categories_of({"categories": [{"uuid": "1", "title": title}]}))


@pytest.mark.parametrize("link", ["nonsense", 7, ["a"], True, "https://demo.example/", "https://demo.example/?limit=1"])
def test_a_link_without_a_query_breaks_the_contract(link: Any) -> None:
    for read in (trees.assets_link, trees.collection_link):
        with pytest.raises(ContractBroken, match="link"):
            read({"_links": {"assets": link}, "title": "Spring", "type": "global", "total_items": 1})


def test_a_link_may_be_missing() -> None:
    assert trees.assets_link({"_links": {"assets": LINK}}) == LINK
    assert trees.assets_link({"_links": {}}) == trees.assets_link({}) == ""


# -- service B: properties ---------------------------------------------------------------------------------------------

FIELDS = {
    "dc:title": DocumentsField("dc:title"),
    "dc:subjects": DocumentsField("dc:subjects", multiple=True),
    "lib:rating": DocumentsField("lib:rating", "long", FieldKind.NUMBER),
    "lib:cleared": DocumentsField("lib:cleared", "boolean", FieldKind.FLAG),
    "lib:seen": DocumentsField("lib:seen", "date", FieldKind.INSTANT),
    "lib:row": DocumentsField("lib:row", "complex", FieldKind.ROWS, parts={"name": DocumentsField("name")}),
}


def read(**properties: Any) -> Any:
    row = {"uid": "u", "properties": {key.replace("__", ":"): value for key, value in properties.items()}}
    found = asset_of({**row, "acl": []}, ServerSchema(fields=FIELDS), DocumentsOptions(), Around())
    return dict(found.fields), [(loss.path, loss.rule, loss.detail) for loss in found.losses]


@pytest.mark.parametrize(
    ("key", "data"),
    [
        ("dc:title", True), ("dc:title", 7), ("dc:title", ["a"]), ("dc:title", {"a": 1}),
        ("dc:subjects", "a"), ("dc:subjects", {"a": 1}), ("dc:subjects", [True]),
        ("lib:rating", True), ("lib:rating", "many"), ("lib:rating", ["1"]),
        ("lib:cleared", "perhaps"), ("lib:cleared", 1), ("lib:seen", 20260101), ("lib:seen", True),
        ("lib:row", "a"), ("lib:row", {"name": True}),
    ],
)  # fmt: skip
def test_a_property_of_another_type_becomes_no_text_and_is_named(key: str, data: Any) -> None:
    fields, losses = read(**{key.replace(":", "__"): data})
    assert fields == {}
    assert losses == [(f"fields.{key}", "has another type than the schema says", json.dumps(data))]


def test_properties_as_the_schema_says_are_read() -> None:
    fields, losses = read(
        dc__title="True", dc__subjects=["a"], lib__rating="7", lib__cleared="true", lib__row={"name": "x", "more": 1}
    )
    assert losses == []
    assert (fields["dc:title"], fields["dc:subjects"], fields["lib:rating"], fields["lib:cleared"]) == (
        "True", ("a",), 7, True,
    )  # fmt: skip
    assert read(dc__title=None, dc__subjects=[], lib__rating=None, lib__row=None) == ({}, [])


def test_of_several_values_the_others_are_read() -> None:
    fields, losses = read(dc__subjects=["a", True, "b"])
    assert fields == {"dc:subjects": ("a", "b")}
    assert losses == [("fields.dc:subjects", "has another type than the schema says", '["a", true, "b"]')]
