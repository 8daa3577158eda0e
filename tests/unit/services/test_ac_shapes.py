"""Responses of services A and C in which one value has another JSON type: it becomes no text, and a loss names it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from dam_sync.model.asset import Asset
from dam_sync.model.values import GeoPoint, Json, Localized, Person, Row, Scalar, Term
from dam_sync.services.a_hypermedia.codec import wire as a
from dam_sync.services.a_hypermedia.codec.forms import FormField, MediaForm, MediaForms
from dam_sync.services.c_brandlibrary.codec import wire as c
from dam_sync.services.c_brandlibrary.codec.envelope import document_of
from dam_sync.services.c_brandlibrary.codec.fields import Key, Keys

ODD: list[Json] = [["x.jpg"], {"a": {"b": "x.jpg"}}, True, [[["x.jpg"]]], [{}, ["x.jpg"]]]
TYPES = ("TEXT", "HTML", "NUMBER", "CHECK_BOX", "DATE", "DATETIME", "SIMPLE_LIST", "MULTIPLE_LIST", "PERSON_LIST")
TYPES = (*TYPES, "THESAURUS", "GEO", "FIELD_SET")
MEDIA: Json = {
    "id": 1,
    "status": "PUBLISHED",
    "originalFileName": "x.jpg",
    "mediaType": "image/jpeg",
    "fileSize": 3,
    "checkSums": {"md5": "5d41402abc4b2a76b9719d911017c592"},
    "formType": "PICTURE",
    "orientation": "LANDSCAPE",
    "colorSpace": "sRGB",
    "address": "Brest",
    "annotation": "OK",
    "creationDate": "2025-01-16T13:58:24.000Z",
    "_links": {"svc:form": {"href": "http://x/api/dam/forms/1"}},
}
SENSE = a.MediaDecodeContext(forms=MediaForms({"1": MediaForm("1", "Photo", "PICTURE", {})}))
ROW: Json = {
    "id": "a",
    "type": "generic_files",
    "attributes": {"name": "n", "description": "d", "approved": True},
    "relationships": {
        name: {"data": [{"id": name, "type": name}]}
        for name in ("attachments", "section", "collections", "custom_field_values", "tags")
    },
}
INCLUDED: dict[str, Json] = {
    "attachments": {"filename": "x.jpg", "mimetype": "image/jpeg", "size": 3, "url": "https://files/x"},
    "section": {"name": "Logos"},
    "collections": {"name": "Kit"},
    "custom_field_values": {"key": "colour", "value": "red"},
    "tags": {"name": "sea"},
}


def text_of(value: Scalar) -> str:
    match value:
        case Term(label=text) | Person(name=text) | GeoPoint(address=text):
            return text
        case Localized(texts=texts):
            return " ".join(texts.values())
        case bool() | Row():
            return ""
        case _:
            return str(value)


def shown(asset: Asset) -> str:
    """All text of an asset that could reach a target."""
    values = [one for value in asset.fields.values() for one in (value if isinstance(value, tuple) else (value,))]
    places = [part for place in asset.placements for part in place.path]
    names = [file.name + file.media_type for file in (*asset.versions, *asset.attachments)]
    return " ".join(
        [asset.filename, asset.status, asset.form_type, *map(text_of, values), *places, *asset.tags, *names]
    )


def check(asset: Asset, key: str, odd: Json) -> None:
    text = shown(asset)
    for mark in ("[", "{", "True", "x.jpg']"):
        assert mark not in text, f"{key} {odd!r} became {text!r}"
    assert asset.losses, f"{key} {odd!r} is dropped without a loss"


PROPERTIES = [
    (key, odd)
    for key in MEDIA
    for odd in ODD
    if key not in ("id", "_links", "fileSize") and not (key == "checkSums" and isinstance(odd, dict))
]
VALUES = [
    (kind, odd, localized)
    for kind in TYPES
    for odd in [*ODD[1:], [True, "x"], [{"title": ["x.jpg"]}], {"latitude": ["1"], "longitude": 2}]
    for localized in ([True, False] if kind in ("TEXT", "HTML", "MULTIPLE_LIST") else [False])
    if not (kind == "CHECK_BOX" and (odd is True or odd == [True, "x"]))  # what this type takes
    and not (kind == "FIELD_SET" and isinstance(odd[0] if isinstance(odd, list) else odd, dict))  # any object is a row
]


@pytest.mark.parametrize(("key", "odd"), PROPERTIES)
def test_a_property_of_a_media(key: str, odd: Json) -> None:
    check(a.asset_of([("en", {**MEDIA, key: odd})], SENSE), key, odd)


@pytest.mark.parametrize(("kind", "odd", "localized"), VALUES)
def test_a_value_of_a_media(kind: str, odd: Json, localized: bool) -> None:
    vocabulary = "f" if kind in ("THESAURUS", "SIMPLE_LIST") else ""
    field = FormField("f", kind, "f", vocabulary=vocabulary, localized=localized)
    sense = a.MediaDecodeContext(forms=MediaForms({"1": MediaForm("1", "Photo", "PICTURE", {"f": field})}))
    media = {**MEDIA, "_embedded": {"metadata": [{"id": "f", "value": odd}]}}
    found = a.asset_of([("en", media)], sense)
    check(found, kind, odd)
    assert found.losses[0].path == "fields.f"


@pytest.mark.parametrize("odd", ["x", 3, ["y"]])
def test_a_metadata_item_that_is_no_object(odd: Json) -> None:
    check(a.asset_of([("en", {**MEDIA, "_embedded": {"metadata": [odd]}})], SENSE), "metadata", odd)


@pytest.mark.parametrize("number", [1e300, float("inf"), -1e300, 10**400])
def test_numbers_beyond_all_years_are_no_timestamp(number: Any) -> None:
    found = a.asset_of([("en", {**MEDIA, "creationDate": number, "fileSize": number})], SENSE)
    assert found.created_at is None
    assert [loss.path for loss in found.losses] == ["created_at"]


def c_asset(part: str, key: str, odd: Json) -> Asset:
    included = deepcopy(INCLUDED)
    row = deepcopy(ROW)
    (row["attributes"] if part == "asset" else included[part])[key] = odd
    rows = [{"id": name, "type": name, "attributes": attributes} for name, attributes in included.items()]
    document = document_of({"data": [row], "included": rows}, "GET")
    return c.asset_of(document.rows[0], c.AssetDecodeContext(Keys.of([Key("k", "colour")], ())), {})


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("asset", "name"),
        ("asset", "description"),
        ("attachments", "filename"),
        ("attachments", "mimetype"),
        ("attachments", "url"),
        ("section", "name"),
        ("collections", "name"),
        ("custom_field_values", "value"),
        ("custom_field_values", "key"),
        ("tags", "name"),
    ],
)
def test_c_a_part_of_an_asset(part: str, key: str, odd: Json) -> None:
    check(c_asset(part, key, odd), key, odd)
