"""The contract's own examples of service A, read and written (wire A 0, 2.3, 3.1, 5, 6.4, 11)."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.model.asset import Placement
from dam_sync.model.errors import ContractBroken, InvalidValue
from dam_sync.model.schema import FieldKind
from dam_sync.model.values import GeoPoint, Json, Localized, Person, Row, Term
from dam_sync.services.a_hypermedia.api.hal import (
    Rels,
    api_path,
    collection_path,
    embedded,
    file_url,
    link,
    tail,
    timestamp_of,
    whole,
)
from dam_sync.services.a_hypermedia.codec import fields, wire
from dam_sync.services.a_hypermedia.codec.encoding import by_language, encode, point_of
from dam_sync.services.a_hypermedia.codec.forms import (
    FormField,
    MediaForms,
    bare_lists,
    field_of,
    forms_of,
    with_choices,
)
from dam_sync.services.a_hypermedia.codec.values import decode, decode_untyped

BASE = "https://demo.dam.example"
FORM = json.loads("""
{"id": 1, "title": "Photo", "type": "PICTURE",
 "_links": {"self": {"href": "https://demo.dam.example/api/dam/forms/1"}},
 "_embedded": {"field": [
  {"id": 2, "internalName": "title", "title": "Title", "type": "TEXT", "mandatory": true, "indexed": true,
   "forceSelection": false, "editable": true, "visible": true, "localized": true, "maxLength": 255,
   "_links": {"svc:sheet-field": {"href": "https://demo.dam.example/api/dam/sheet-fields/title"}}},
  {"id": 5, "internalName": "shot_date", "title": "Shoot date", "type": "DATE", "mandatory": false, "indexed": true,
   "forceSelection": false, "editable": true, "visible": true, "localized": false, "_links": {}},
  {"id": 7, "internalName": "country", "title": "Country", "type": "SIMPLE_LIST", "mandatory": false, "indexed": true,
   "forceSelection": true, "editable": true, "visible": true, "localized": false,
   "_links": {"svc:lookup": {"href": "https://demo.dam.example/api/dam/forms/lookups/3"}}},
  {"id": 9, "internalName": "places", "title": "Places", "type": "THESAURUS", "mandatory": false, "indexed": true,
   "forceSelection": true, "editable": true, "visible": true, "localized": false,
   "_links": {"svc:thesaurus": {"href": "https://demo.dam.example/api/dam/thesauruses/634"}}}]}}
""")
MEDIA = json.loads("""
{"id": 8857, "title": "Harbour at dawn", "status": "PUBLISHED", "downloadLevel": "HD", "annotation": "NONE",
 "width": 4080, "height": 3060, "resolution": 72, "orientation": "LANDSCAPE", "mediaType": "image/jpeg",
 "fileSize": 2973754, "totalSize": 5947508, "fileSizeString": "3 Mo", "originalFileName": "882-1-147z.jpg",
 "creationDate": "2025-01-16T13:58:24.000Z", "updateDate": "2025-01-16T13:59:03.000Z",
 "importDate": "2025-01-16T13:58:40.000Z", "durationInSeconds": 0, "colorSpace": "sRGB", "latitude": 48.382,
 "longitude": -4.495, "address": "Brest, France", "statViews": 12, "statDownloads": 3,
 "checkSums": {"md5": "5d41402abc4b2a76b9719d911017c592", "crc32": "3610a686"},
 "attachmentCounts": {"online": 0, "offline": 0, "pendingToOnline": 0}, "mediaLinkCount": 1,
 "formType": "PICTURE", "pointOfInterest": {"x": 65.85, "y": 34.93}, "fileVersionCount": 2,
 "_links": {"self": {"href": "https://demo.dam.example/api/dam/medias/8857"},
  "svc:form": {"href": "https://demo.dam.example/api/dam/forms/1"},
  "svc:custom-status": {"href": "https://demo.dam.example/api/dam/medias/custom-statuses/5"},
  "current": {"href": "https://demo.dam.example/api/dam/medias/8857/file-versions/3022"},
  "svc:hires": {"href": "https://static.dam.example/medias/domain1/media8/8857-k3v9q2m7xa.jpg"}},
 "_embedded": {
  "metadata": [
   {"id": "title", "name": "Title", "permission": "WRITE", "value": "Harbour at dawn"},
   {"id": "shot_date", "name": "Shoot date", "permission": "WRITE", "value": "2025-02-05T23:00:00.000Z"},
   {"id": "places", "name": "Places", "permission": "WRITE",
    "_embedded": {"value": [{"id": 1346, "title": "Londres",
      "_links": {"self": {"href": "https://demo.dam.example/api/dam/thesauruses/1346"}}}]}}],
  "importUser": {"id": 2, "lastName": "Sync"},
  "label": [{"id": 40, "title": "Highlight", "backgroundColor": "#ffcc00", "textColor": "#000000"}],
  "folder": [{"id": 434, "title": "Technical documentation"}]}}
""")


def forms(*items: Json) -> MediaForms:
    return forms_of([(item, [field_of(one, {}, "svc", True) for one in embedded(item, "field")]) for item in items])


SENSE = wire.MediaDecodeContext(
    forms=forms(FORM),
    statuses={"5": wire.status_of({"id": 5, "title": "Internal", "status": "PUBLISHED"})},
    folders={"434": ("Library", "Technical documentation")},
    zone=ZoneInfo("Europe/Paris"),
)


def test_the_example_media_becomes_an_asset() -> None:
    asset = wire.asset_of([("en", MEDIA)], SENSE)
    assert (asset.id, asset.type, asset.form_type) == ("8857", "Photo", "PICTURE")
    assert (asset.status, asset.substatus) == ("published", "Internal")
    assert asset.fields["title"] == Localized({"en": "Harbour at dawn"})
    assert asset.fields["shot_date"] == date(2025, 2, 6)
    assert asset.fields["places"] == (Term("Londres", "1346"),)
    assert asset.fields["point_of_interest"] == "65.85,34.93"
    assert {"annotation", "duration", "page_count", "country"}.isdisjoint(asset.fields)
    assert (asset.fields["stat_views"], asset.fields["latitude"]) == (12, 48.382)
    assert {place.text for place in asset.placements} == {"/Library/Technical documentation", "/Highlight"}
    assert {place.id for place in asset.placements} == {"434", "40"}
    assert asset.imported_at == datetime(2025, 1, 16, 13, 58, 40, tzinfo=UTC)
    assert asset.filename == "882-1-147z.jpg"


def test_the_current_file_has_identity_digest_and_link() -> None:
    (file,) = wire.current_file(MEDIA, Rels())
    assert (file.id, file.name, file.size) == ("8857/3022", "882-1-147z.jpg", 2973754)
    assert file.digests == {"md5": "5d41402abc4b2a76b9719d911017c592"}
    assert file.link == "https://static.dam.example/medias/domain1/media8/8857-k3v9q2m7xa.jpg"
    assert "k3v9q2m7xa" not in repr(file)


def test_a_media_without_a_file_has_no_version() -> None:
    assert wire.current_file({"id": 3, "fileSize": 0}, Rels()) == ()


def test_each_language_is_the_one_really_served() -> None:
    french = {"_embedded": {"metadata": {"id": "title", "value": "Port à l’aube"}}}
    asset = wire.asset_of([("en", MEDIA), ("fr", french), ("fr", {"_embedded": {}})], SENSE)
    assert asset.fields["title"] == Localized({"en": "Harbour at dawn", "fr": "Port à l’aube"})


def test_a_light_row_and_the_whole_media_have_the_same_revision() -> None:
    light = {"id": 8857, "updateDate": "2025-01-16T13:59:03.000Z", "fileSize": "2973754"}
    assert wire.entry_of(light).revision == wire.asset_of([("en", MEDIA)], SENSE).revision


@pytest.mark.parametrize("change", [{"updateDate": "2025-01-16T14:00:00.000Z"}, {"fileSize": 5}])
def test_the_revision_moves_with_the_date_and_with_the_file(change: Json) -> None:
    assert wire.revision_of({**MEDIA, **change}) != wire.revision_of(MEDIA)


def test_a_trashed_row_is_deleted_at_its_trash_date() -> None:
    row = {"id": 1, "updateDate": "2025-01-16T13:59:03.000Z", "trashDate": "2025-03-01T00:00:00.000Z"}
    entry = wire.entry_of(row, deleted=True)
    assert entry.deleted
    assert entry.changed_at == datetime(2025, 3, 1, tzinfo=UTC)


def test_a_row_without_an_id_breaks_the_contract() -> None:
    with pytest.raises(ContractBroken):
        wire.entry_of({"updateDate": "2025-01-16T13:59:03.000Z"})


def test_only_what_the_counts_say_costs_calls() -> None:
    assert wire.needs_more_calls(MEDIA)
    alone = {**MEDIA, "fileVersionCount": 1, "mediaLinkCount": 0}
    assert not wire.needs_more_calls(alone)
    assert wire.needs_more_calls({**alone, "attachmentCounts": {"offline": 1}})


def test_file_versions_and_attachments_are_read() -> None:
    version = {
        "id": 3011,
        "originalFileName": "882-1.jpg",
        "fileSize": "7",
        "_links": {"svc:hires": "http://127.0.0.1:1/f"},
    }
    assert wire.version_of("8857", version, Rels()).id == "8857/3011"
    assert wire.version_of("8857", version, Rels()).link == "http://127.0.0.1:1/f"
    attachment = {"id": 12, "title": "Plan", "fileName": "plan.pdf", "fileSize": 1234}
    assert (
        wire.attachment_of("8857", attachment, Rels()).id,
        wire.attachment_of("8857", attachment, Rels()).name,
    ) == (
        "8857/attachments/12",
        "plan.pdf",
    )


# -- envelopes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "count"),
    [
        ({}, 0),
        ({"_embedded": {}}, 0),
        ({"_embedded": {"media": {"id": 1}}}, 1),
        ({"_embedded": {"media": [{}, {}]}}, 2),
    ],
)
def test_one_object_an_array_or_nothing(resource: Json, count: int) -> None:
    assert len(embedded(resource, "media")) == count


def test_links_are_objects_strings_or_arrays() -> None:
    links = {"_links": {"a": {"href": "x"}, "self": "y", "curies": [{"href": "z"}]}}
    assert [link(links, name) for name in ("a", "self", "curies", "none")] == ["x", "y", "z", ""]


@pytest.mark.parametrize(
    "href",
    [
        "https://demo.dam.example/api/dam/medias/8857",
        "http://demo.dam.example:8080//api/dam/medias/8857",
        "//api/dam/medias/8857",
        "/api//dam/medias/8857",
    ],
)
def test_api_urls_lose_scheme_host_and_doubled_slashes(href: str) -> None:
    assert api_path(href) == "/api/dam/medias/8857"
    assert tail(href + "/?fields=id") == "8857"


def test_queries_survive_and_names_are_unquoted() -> None:
    assert api_path("https://x.example//api/a?f=t%3Ab//c") == "/api/a?f=t%3Ab//c"
    assert tail("https://x.example/api/dam/sheet-fields/%C3%A9tat") == "état"


def test_file_urls_keep_their_host_and_never_use_plain_http() -> None:
    assert file_url("http://static.dam.example//medias/x.jpg") == "https://static.dam.example/medias/x.jpg"
    assert file_url("http://127.0.0.1:9/medias/x.jpg?s=1") == "http://127.0.0.1:9/medias/x.jpg?s=1"
    assert file_url("") == ""


@pytest.mark.parametrize("host", ["localhost", "127.0.0.2:9", "[::1]:9"])
def test_a_local_file_host_keeps_plain_http(host: str) -> None:
    assert file_url(f"http://{host}/medias/x.jpg") == f"http://{host}/medias/x.jpg"


@pytest.mark.parametrize("rest", ["", "/", "{?page,size}", "{/id}", "/{id}", "{/id}{?fields}", "?page=1"])
def test_a_templated_relation_is_read_up_to_its_template(rest: str) -> None:
    assert collection_path(f"https://demo.dam.example/api/dam/medias{rest}") == "/api/dam/medias"


def test_sizes_and_timestamps_in_every_shape_seen() -> None:
    assert [whole("2973754"), whole(7), whole(None), whole(True), whole("x")] == [2973754, 7, None, None, None]
    assert timestamp_of(1737035921000) == timestamp_of("2025-01-16T13:58:41.000Z") == timestamp_of(1737035921)
    assert timestamp_of("") is None
    assert timestamp_of("yesterday") is None


def test_another_deployment_spells_its_relations_its_own_way() -> None:
    words = Rels("acme", "X-ACME-")
    assert words.rel("form") == "acme:form"
    assert words.header("FileName") == "X-ACME-FileName"


# -- values ------------------------------------------------------------------------------------------------------------

VALUES = [
    ("TEXT", {"value": "text"}, "text", "text"),
    ("HTML_AREA", {"value": "<p>text</p>"}, "<p>text</p>", "<p>text</p>"),
    ("NUMBER", {"value": 12.5}, 12.5, 12.5),
    ("NUMBER", {"value": "12.5"}, 12.5, 12.5),
    ("NUMBER", {"value": "12"}, 12, 12),
    ("CHECK_BOX", {"value": True}, True, True),
    ("CHECK_BOX", {"value": "true"}, True, True),
    ("CHECK_BOX", {"value": False}, False, False),
    ("DATE", {"value": "2025-02-06"}, date(2025, 2, 6), "2025-02-06"),
    ("DATE", {"value": "2025-02-05T23:00:00.000Z"}, date(2025, 2, 6), "2025-02-06"),
    (
        "DATETIME",
        {"value": "2025-02-06T10:30:00.000Z"},
        datetime(2025, 2, 6, 10, 30, tzinfo=UTC),
        "2025-02-06T10:30:00.000Z",
    ),
    ("MULTIPLE_LIST", {"value": ["harbour", "dawn"]}, ("harbour", "dawn"), ["harbour", "dawn"]),
    ("MULTIPLE_LIST", {"value": "harbour"}, ("harbour",), ["harbour"]),
    (
        "PERSON_LIST",
        {"_embedded": {"value": {"id": 12, "title": "Doe Jane"}}},
        (Person("Doe Jane", "12"),),
        [{"id": 12, "title": "Doe Jane"}],
    ),
    (
        "THESAURUS",
        {"_embedded": {"value": [{"id": 1346, "title": "Londres"}]}},
        (Term("Londres", "1346"),),
        [{"id": 1346, "title": "Londres"}],
    ),
    (
        "GEO",
        {"value": {"latitude": 48.382, "longitude": -4.495, "address": "Brest, France"}},
        GeoPoint(48.382, -4.495, "Brest, France"),
        {"latitude": 48.382, "longitude": -4.495, "address": "Brest, France"},
    ),
    (
        "FIELD_SET",
        {"value": [{"sub_a": "x", "sub_b": 3}]},
        (Row({"sub_a": "x", "sub_b": 3}),),
        [{"sub_a": "x", "sub_b": 3}],
    ),
]


@pytest.mark.parametrize(("kind", "item", "value", "written"), VALUES)
def test_the_table_of_types_both_ways(kind: str, item: Json, value: Json, written: Json) -> None:
    field = FormField("f", kind, "f", vocabulary="f" if kind == "THESAURUS" else "")
    assert decode(field, item) == value
    assert encode(field, value) == written


def test_a_simple_list_is_one_term() -> None:
    field = FormField("country", "SIMPLE_LIST", "country", vocabulary="country", source=("lookup", "3"))
    assert decode(field, {"_embedded": {"value": [{"id": 11, "title": "France"}]}}) == Term("France", "11")
    assert encode(field, Term("France", "11")) == {"id": 11, "title": "France"}
    assert encode(field, Term("Elsewhere")) == "Elsewhere"
    assert encode(FormField("by", "PERSON_LIST"), (Term("Doe Jane", "12"),)) == [{"id": 12, "title": "Doe Jane"}]
    with pytest.raises(InvalidValue, match="Elsewhere"):
        encode(FormField("country", "SIMPLE_LIST", "country", force_selection=True, vocabulary="c"), Term("Elsewhere"))


@pytest.mark.parametrize("item", [{}, {"value": None}, {"value": ""}, {"value": []}, {"_embedded": {}}])
@pytest.mark.parametrize("kind", ["TEXT", "DATE", "NUMBER", "THESAURUS", "GEO", "FIELD_SET"])
def test_empty_is_no_value(kind: str, item: Json) -> None:
    assert decode(FormField("f", kind, "f"), item) is None


def test_clearing_is_null_or_an_empty_array() -> None:
    assert encode(FormField("f", "TEXT"), None) is None
    assert encode(FormField("f", "TEXT"), "") is None
    assert encode(FormField("f", "THESAURUS"), None) == []


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("NUMBER", "x"),
        ("NUMBER", True),
        ("CHECK_BOX", "yes"),
        ("DATE", "soon"),
        ("GEO", 4),
        ("FIELD_SET", "x"),
        ("TEXT", ("a", "b")),
    ],
)
def test_what_does_not_fit_is_refused_by_name(kind: str, value: Json) -> None:
    with pytest.raises(InvalidValue, match="field f"):
        encode(FormField("f", kind), value)


def test_a_timestamp_is_not_silently_cut_to_a_day() -> None:
    with pytest.raises(InvalidValue, match="a timestamp"):
        encode(FormField("f", "DATE"), datetime(2025, 2, 6, 23, 30, tzinfo=UTC))


@given(
    st.dates(date(1971, 1, 1), date(2037, 12, 30)), st.sampled_from(["Europe/Paris", "America/New_York", "Asia/Tokyo"])
)
def test_local_midnights_keep_their_day(day: date, name: str) -> None:
    zone = ZoneInfo(name)
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
    item = {"value": midnight.isoformat().replace("+00:00", "Z")}
    assert decode(FormField("f", "DATE"), item, zone) == day
    assert decode(FormField("f", "DATE"), item) == day  # the nearest midnight, where no zone is given


@given(
    st.dates(date(1971, 1, 1), date(2037, 12, 30)),
    st.sampled_from(["Tongatapu", "Auckland", "Kiritimati", "Honolulu", "Niue"]),
)
def test_no_day_is_moved_near_the_date_line(day: date, name: str) -> None:
    zone = ZoneInfo(f"Pacific/{name}")
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
    item = {"value": midnight.isoformat().replace("+00:00", "Z")}
    assert decode(FormField("f", "DATE"), item, zone) == day
    strange: list[Json] = []
    found = decode(FormField("f", "DATE"), item, strange=strange)
    assert found == day or (found is None and strange == [item["value"]])


def test_values_of_an_unknown_form_are_read_as_they_look() -> None:
    assert decode_untyped({"value": ["a", 1]}) == ("a", 1)
    assert decode_untyped({"_embedded": {"value": {"id": 3, "title": "Sea"}}}) == Term("Sea", "3")
    assert decode_untyped({"value": None}) is None


def test_a_localized_list_keeps_the_language_of_each_element() -> None:
    field = FormField("words", "MULTIPLE_LIST", "words", localized=True)
    value = (Localized({"en": "sea"}), Localized({"fr": "mer"}), "plain")
    assert by_language(field, value, "en") == {"en": ("sea", "plain"), "fr": ("mer",)}
    assert by_language(FormField("t"), Localized({"fr": "mer"}), "en") == {"fr": "mer"}
    assert by_language(FormField("t"), None, "en") == {}


def test_a_point_of_interest() -> None:
    assert point_of("65.85,34.93") == {"x": 65.85, "y": 34.93}
    with pytest.raises(InvalidValue):
        point_of("middle")


# -- schema ------------------------------------------------------------------------------------------------------------


def test_the_example_form_becomes_a_schema() -> None:
    offer = fields.Offer(
        {"634": "Places of the world", "700": "Unused"}, frozenset({"Highlight"}), frozenset({"published"}), ("en",)
    )
    schema = fields.schema_of(forms(FORM), offer)
    title = schema.fields["title"]
    assert (title.kind, title.localized, title.required, title.max_length) == (FieldKind.TEXT, True, True, 255)
    assert title.types == frozenset({"Photo"})
    assert schema.fields["country"].vocabulary == "country"
    assert schema.vocabularies["country"].closed
    places = schema.vocabularies["places"]
    assert (places.label, places.closed, places.hierarchical, places.max_length) == (
        "Places of the world",
        False,
        True,
        100,
    )
    assert schema.vocabularies["700"].label == "Unused"
    assert [(one.name, one.media) for one in schema.types] == [("Photo", frozenset({"PICTURE"}))]
    assert schema.fields["width"].derived
    assert schema.fields["stat_views"].system
    assert schema.container_kinds == {"folder", "label"}


def test_two_forms_may_share_a_name_for_different_fields() -> None:
    other = {
        "id": 2,
        "title": "Photo",
        "_embedded": {"field": [
            {"id": 30, "internalName": "title", "type": "TEXT", "localized": True, "mandatory": False, "maxLength": 80},
            {"id": 31, "internalName": "places", "type": "TEXT"},
            {"id": 32, "internalName": "width", "type": "NUMBER"},
        ]},
    }  # fmt: skip
    known = forms(other, FORM)
    schema = fields.schema_of(known, fields.Offer())
    assert [form.name for form in known.by_id.values()] == ["Photo", "Photo#2"]
    assert schema.fields["title"].types == {"Photo", "Photo#2"}
    assert (schema.fields["title"].required, schema.fields["title"].max_length) == (True, 80)
    assert schema.fields["places"].kind is FieldKind.TERM
    assert schema.fields["places@Photo#2"].kind is FieldKind.TEXT
    assert not schema.fields["width"].derived  # the tenant's own
    assert schema.fields["media_width"].derived


def test_a_forced_list_is_a_closed_vocabulary_and_a_free_one_is_text() -> None:
    links = {"svc:lookup": {"href": f"{BASE}/api/dam/forms/lookups/8"}}
    item = {"id": 1, "title": "F", "_embedded": {"field": [
        {"internalName": "forced", "type": "MULTIPLE_LIST", "forceSelection": True, "_links": links},
        {"internalName": "free", "type": "MULTIPLE_LIST", "forceSelection": False, "_links": links},
    ]}}  # fmt: skip
    known = forms(item)
    assert bare_lists(known) == ["8"]
    full = with_choices(known, {"8": {"Sea": "21"}})
    assert decode(full.by_key["forced"], {"value": ["Sea"]}) == (Term("Sea", "21"),)
    assert encode(full.by_key["forced"], (Term("Sea", "21"),)) == ["Sea"]
    assert decode(full.by_key["free"], {"value": ["Sea"]}) == ("Sea",)


def test_a_form_takes_what_it_leaves_out_from_the_sheet_field() -> None:
    sheet = {"title": {"internalName": "title", "localized": True, "maxLength": "90"}}
    assert field_of({"internalName": "title", "type": "TEXT"}, sheet, "svc", False).localized
    assert field_of({"internalName": "title", "type": "TEXT"}, sheet, "svc", False).max_length == 90


def test_without_the_flag_texts_may_differ_by_language() -> None:
    assert field_of({"internalName": "a", "type": "TEXT"}, {}, "svc", True).localized
    assert not field_of({"internalName": "a", "type": "TEXT"}, {}, "svc", False).localized
    assert not field_of({"internalName": "a", "type": "NUMBER"}, {}, "svc", True).localized


def test_statuses_a_draft_may_name() -> None:
    names = fields.status_names([("published", "Internal"), ("draft", "DRAFT"), ("trash", "Trash")])
    assert names == {"published", "Internal", "draft", "archived"}


def test_placements_without_a_known_path_keep_their_title() -> None:
    asset = wire.asset_of([("en", MEDIA)], wire.MediaDecodeContext())
    assert Placement("folder", ("Technical documentation",)) in asset.placements
    assert asset.fields["places"] == (Term("Londres", "1346"),)


@pytest.mark.parametrize("row", ["text", ["a list"], 7, None])
def test_an_embedded_value_that_is_no_object_breaks_the_contract(row: object) -> None:
    with pytest.raises(ContractBroken, match=r"_embedded\.label holds"):
        embedded({"_embedded": {"label": [{"id": 1}, row]}}, "label")


@pytest.mark.parametrize(
    ("raw", "flag"),
    [(None, False), (False, False), ("false", False), (0, False), (True, True), ("true", True), (1, True)],
)
def test_a_version_is_current_where_it_says_so(raw: object, flag: bool) -> None:
    assert wire.version_order({"id": 7, "current": raw}, "8")[0] is flag


@pytest.mark.parametrize("raw", ["https://example.org", [True], {}, 2])
def test_a_version_that_says_neither_breaks_the_contract(raw: object) -> None:
    with pytest.raises(ContractBroken, match="neither true nor false"):
        wire.version_order({"id": 7, "current": raw}, "8")
