"""Shapes of service A that nobody has shown, read whichever way they come; nothing is lost silently."""

from __future__ import annotations

import unicodedata
from datetime import UTC, date
from zoneinfo import ZoneInfo

import pytest

from dam_sync.model.asset import Loss, Placement
from dam_sync.model.errors import InvalidValue
from dam_sync.model.values import GeoPoint, Json, Localized, Person, Row, Term, Value
from dam_sync.services.a_hypermedia.api.hal import Rels
from dam_sync.services.a_hypermedia.codec import wire
from dam_sync.services.a_hypermedia.codec.encoding import by_language, encode
from dam_sync.services.a_hypermedia.codec.forms import FormField, MediaForms, field_of, forms_of
from dam_sync.services.a_hypermedia.codec.values import decode
from dam_sync.services.a_hypermedia.codec.writes import Put, writes_of
from dam_sync.services.a_hypermedia.target.update import holds
from tests.support.services.connections import Bytes

LOCALES = ("en", "fr")


def form_of(*fields: Json) -> MediaForms:
    read = [field_of(one, {}, "svc", True) for one in fields]
    return forms_of([({"id": 1, "title": "Photo"}, read)])


def reading(language: str, **values: Json) -> tuple[str, Json]:
    items = [{"id": name, "value": value} for name, value in values.items()]
    return language, {"id": 7, "_embedded": {"metadata": items}}


# -- folders -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["folder", "folders"])
@pytest.mark.parametrize("several", [True, False])
def test_folders_are_read_under_either_key(key: str, several: bool) -> None:
    item = {"id": 434, "title": "Press"}
    media = {"id": 7, "_embedded": {key: [item] if several else item}}
    assert wire.folder_ids(media) == ["434"]
    assert (
        Placement("folder", ("Press",), "434") in wire.asset_of([("en", media)], wire.MediaDecodeContext()).placements
    )


# -- languages ---------------------------------------------------------------------------------------------------------


def test_other_languages_of_a_field_without_a_localized_flag_are_not_cleared() -> None:
    forms = form_of({"internalName": "note", "type": "TEXT"}, {"internalName": "title", "localized": True})
    values = {"note": Localized({"en": "X"}), "title": Localized({"en": "X"})}
    assert writes_of(values, forms, LOCALES, whole=True).puts == (
        Put("note", "X", "en"),
        Put("title", "X", "en"),
        Put("title", None, "fr"),
    )


def test_a_field_without_a_localized_flag_is_cleared_in_every_language_where_nothing_is_left() -> None:
    forms = form_of({"internalName": "note", "type": "TEXT"})
    puts = writes_of({"note": None}, forms, LOCALES, whole=True).puts
    assert puts == (Put("note", None, "en"), Put("note", None, "fr"))


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        ("THESAURUS", [{"id": 3, "title": "Sea"}], (Term("Sea", "3"),)),
        ("FIELD_SET", [{"a": "x"}], (Row({"a": "x"}),)),
        ("PERSON_LIST", [{"id": 12, "title": "Doe Jane"}], (Person("Doe Jane", "12"),)),
        ("GEO", {"latitude": 1.5, "longitude": 2.5}, GeoPoint(1.5, 2.5)),
        ("NUMBER", 12, 12),
        ("DATE", "2025-02-06", date(2025, 2, 6)),
        ("CHECK_BOX", True, True),
    ],
)
def test_what_is_no_text_has_no_languages_whatever_its_flag_says(kind: str, raw: Json, value: Value) -> None:
    forms = form_of({"internalName": "f", "type": kind, "localized": True})
    readings = [reading("en", f=raw), reading("fr", f=raw)]
    assert wire.metadata_of(readings, forms.by_id["1"], UTC, lost := []) == {"f": value}
    assert not lost
    (put,) = writes_of({"f": value}, forms, LOCALES, whole=True).puts
    assert put.value == raw


@pytest.mark.parametrize("raw", ["2025-02-05T11:00:00.000Z", "2025-02-05T10:00:00.000Z"])
def test_a_midnight_of_two_days_is_a_loss_that_names_the_option(raw: str) -> None:
    forms = form_of({"internalName": "f", "type": "DATE"})
    readings, lost = [reading("en", f=raw)], list[Loss]()
    assert wire.metadata_of(readings, forms.by_id["1"], UTC, lost) == {}
    loss = lost.pop()
    assert (loss.path, loss.rule) == ("fields.f", wire.UNDECIDED)
    assert raw in loss.detail
    assert "timezone" in loss.detail
    assert wire.metadata_of(readings, forms.by_id["1"], ZoneInfo("Pacific/Auckland"), lost)
    assert not lost


@pytest.mark.parametrize("raw", ["nan", "-inf", "1e999"])
def test_a_number_that_no_number_can_hold_is_read_as_text(raw: str) -> None:
    forms = form_of({"internalName": "f", "type": "NUMBER"})
    assert wire.metadata_of([reading("en", f=raw)], forms.by_id["1"], UTC, []) == {"f": raw}


@pytest.mark.parametrize("kind", ["TEXT", "HTML_AREA", "MULTIPLE_LIST", "URL"])
def test_texts_that_are_flagged_have_languages(kind: str) -> None:
    assert form_of({"internalName": "f", "type": kind, "localized": True}).by_key["f"].localized


def test_a_list_of_terms_has_no_languages() -> None:
    links = {"svc:lookup": {"href": "https://demo.dam.example/api/dam/forms/lookups/8"}}
    bound = {"internalName": "f", "type": "MULTIPLE_LIST", "localized": True, "forceSelection": True, "_links": links}
    assert not form_of(bound).by_key["f"].localized


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_name_in_another_unicode_form_is_the_same_file(form: str) -> None:
    content = Bytes(unicodedata.normalize("NFD", "Été.jpg"), b"abc")
    media = {"originalFileName": unicodedata.normalize(form, "Été.jpg"), "fileSize": 3}  # type: ignore[arg-type]
    assert holds(media, content, "")


def test_versions_without_a_number_are_in_the_order_of_their_dates_then_of_their_ids() -> None:
    items: list[Json] = [
        {"id": 7, "creationDate": "2024-01-01T00:00:00.000Z"},
        {"id": 30, "creationDate": "2025-03-01T00:00:00.000Z"},
        {"id": 100, "creationDate": "2025-01-01T00:00:00.000Z"},
        {"id": 99, "creationDate": "2025-01-01T00:00:00.000Z"},
    ]
    order = [item["id"] for item in sorted(items, key=lambda item: wire.version_order(item, "7"))]
    assert order == [99, 100, 30, 7]
    numbered = [{"id": 1, "versionNumber": 2}, {"id": 2, "versionNumber": "1"}]
    assert [item["id"] for item in sorted(numbered, key=lambda item: wire.version_order(item, ""))] == [2, 1]


@pytest.mark.parametrize("lacking", ["fileVersionCount", "attachmentCounts", "mediaLinkCount"])
def test_a_row_that_is_silent_on_what_needs_calls_says_not_all(lacking: str) -> None:
    media: Json = {"id": 7, "fileVersionCount": 1, "attachmentCounts": {"online": 0}, "mediaLinkCount": 0}
    assert wire.has_counts_of({**media}, media)
    assert not wire.has_counts_of({key: value for key, value in media.items() if key != lacking}, media)


@pytest.mark.parametrize("relation", ["svc:download-link", "download-link"])
def test_the_links_of_an_attachment_are_read_in_either_spelling(relation: str) -> None:
    item = {"id": 1, "title": "plan.pdf", "_links": {relation: {"href": "https://static.dam.example/plan.pdf"}}}
    assert wire.attachment_of("7", item, Rels()).link == "https://static.dam.example/plan.pdf"


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        ("FIELD_SET", ["a row as text", {"a": 1}], ("a row as text", Row({"a": 1}))),
        ("FIELD_SET", "text", ("text",)),
        ("GEO", {"lat": 48.5, "lng": -4.5}, GeoPoint(48.5, -4.5)),
        ("GEO", {"lat": "48.5", "lon": "-4.5"}, GeoPoint(48.5, -4.5)),
        ("GEO", {"latitude": "48.5", "longitude": "-4.5", "address": "Brest"}, GeoPoint(48.5, -4.5, "Brest")),
        ("GEO", {"latitude": 0, "longitude": 0.0}, GeoPoint(0, 0.0)),
        ("CHECK_BOX", "Oui", True),
        ("CHECK_BOX", "Y", True),
        ("CHECK_BOX", "1.0", True),
        ("CHECK_BOX", 1.0, True),
        ("CHECK_BOX", 1, True),
        ("CHECK_BOX", 0, False),
        ("CHECK_BOX", "Non", False),
        ("CHECK_BOX", "0.0", False),
        ("CHECK_BOX", "false", False),
        ("CHECK_BOX", "perhaps", "perhaps"),
        ("TEXT", ["a", "b"], ("a", "b")),
        ("TEXT", ["a"], "a"),
        ("SOMETHING_NEW", ["a", "b"], ("a", "b")),
        ("NUMBER", [1, 2], (1, 2)),
    ],
)
def test_a_value_in_another_shape_is_preserved(kind: str, raw: Json, value: Value) -> None:
    assert decode(FormField("f", kind, "f"), {"value": raw}) == value


def test_several_texts_of_a_single_localized_field_are_refused_and_not_cut() -> None:
    field = FormField("f", "TEXT", "f", localized=True)
    parts = by_language(field, (Localized({"en": "a"}), Localized({"en": "b"}), Localized({"fr": "c"})), "en")
    assert parts == {"en": ("a", "b"), "fr": "c"}
    with pytest.raises(InvalidValue, match="takes one value"):
        encode(field, parts["en"])


@pytest.mark.parametrize(("raw", "value"), [("48.382", 48.382), (48.382, 48.382), ("here", None), (True, None)])
def test_degrees_of_the_media_are_read_as_text_too(raw: Json, value: float | None) -> None:
    asset = wire.asset_of([("en", {"id": 7, "latitude": raw})], wire.MediaDecodeContext())
    assert asset.fields.get("latitude") == value


@pytest.mark.parametrize(
    ("raw", "zone", "day"),
    [
        ("2025-02-06T13:00:00.000Z", ZoneInfo("Europe/Paris"), date(2025, 2, 6)),
        ("2025-02-05T23:00:00.000Z", ZoneInfo("Europe/Paris"), date(2025, 2, 6)),
        ("2025-02-05T22:59:00.000Z", ZoneInfo("Europe/Paris"), date(2025, 2, 5)),
        ("2025-02-05T23:00:00.000Z", UTC, date(2025, 2, 6)),
    ],
)
def test_a_day_is_the_day_in_the_zone_where_one_is_given(raw: str, zone: ZoneInfo, day: date) -> None:
    assert decode(FormField("f", "DATE"), {"value": raw}, zone) == day
