"""Values of service E, which are arrays of text on the wire."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.model.errors import InvalidValue
from dam_sync.model.values import GeoPoint, Localized, Person, Term
from dam_sync.services.e_profiles.codec.fields import ProfilesField
from dam_sync.services.e_profiles.codec.values import decode, encode, term_of

ASSET: dict[str, Any] = json.loads("""
{"id": "2405adb8-fe72-4bec-a47e-0ef3e27fd0b7", "external_id": "zofltmp3ft",
 "version_id": "9e4e810c-147b-4ac2-85a9-cf64f8fa61e0", "current_version": true, "filename": "Wheel Illustration.ai",
 "created_date": "2023-03-03T12:29:11Z", "last_update_date": "2023-03-03T13:10:39Z",
 "file_upload_date": "2023-03-03T12:29:11Z", "deleted_date": null, "released_and_not_expired": true,
 "asset_properties": {"cutline_caption": "", "favorite": false, "popularity": 0},
 "file_properties": {"format": "JPEG", "format_type": "image", "size_in_bytes": 87040, "size_in_kbytes": 85,
  "image_properties": {"width": 650.0, "height": 650.0, "aspect_ratio": 1.0}, "video_properties": null},
 "metadata": {"fields": {"author": [], "description": ["A wheel"], "shotDate": ["2022-06-19"], "height": ["620"],
  "colors": ["Red", "Blue"]}},
 "metadata_info": {"field_set": "Photo", "field_set_fields": [
  {"key": "author", "label": "Author", "type": "text", "field_type": "text", "required": false, "editable": true,
   "controlled_vocabulary": false, "vocabulary": null},
  {"key": "colors", "label": "Colours", "type": "selection_list_multi", "field_type": "selection_list_multi",
   "required": true, "editable": true, "controlled_vocabulary": true, "vocabulary": ["Red", "Blue", "Green"]}]},
 "security": {"asset_groups": ["public"], "release_date": "2021-09-24T18:31:02Z", "expiration_date": null},
 "status": {"upload_progress": "complete"}, "tags": ["wheel"], "ai_tags": ["rim", "alloy"],
 "thumbnails": null, "embeds": null, "expanded": {"metadata": true},
 "_links": {"download": "https://cdn.example/download-deferred/originals?x=1&Expires=1632866400&Signature=s",
  "self": "https://api.dam.example/v2/assets/2405adb8-fe72-4bec-a47e-0ef3e27fd0b7"}}
""")
SEARCH: dict[str, Any] = json.loads("""
{"query": "lastEditDate:[after 2026-09-01T00:00:00Z]", "sort": "created_date",
 "query_explained": "Last edit date: after 2026-09-01T00:00:00Z", "sort_explained": "Created date (ascending)",
 "query_syntax_ok": true, "scroll_id": "DXF1ZXJ5QW5kRmV0Y2g=", "scroll_timeout": "60000", "include_archived": true,
 "include_deleted": true, "facets": null, "item_type": "asset", "total_count": 24731, "offset": 0, "limit": 100,
 "items": []}
""")
TEXT = ProfilesField("t")
DATE = ProfilesField("d", "date")
NUMBER = ProfilesField("n", "numeric")
ONE = ProfilesField("s", "selection_list")
SEVERAL = ProfilesField("m", "selection_list_multi")
BOX = ProfilesField("b", "checkboxes", values=("Yes",))
PAIR = ProfilesField("p", "checkboxes", values=("Yes", "No"))


@pytest.mark.parametrize(
    ("info", "texts", "value"),
    [
        (TEXT, ["a"], "a"),
        (TEXT, ["a", "b"], ("a", "b")),
        (TEXT, [], None),
        (TEXT, [""], None),
        (DATE, ["2022-06-19"], date(2022, 6, 19)),
        (DATE, ["2022-06-19T00:00:00Z"], date(2022, 6, 19)),
        (DATE, ["2022-06-19T10:00:00Z"], datetime(2022, 6, 19, 10, tzinfo=UTC)),
        (DATE, ["about 1900"], "about 1900"),
        (NUMBER, ["620"], 620),
        (NUMBER, ["1.5"], 1.5),
        (NUMBER, ["007"], "007"),
        (NUMBER, ["12.50"], "12.50"),
        (NUMBER, ["0.00001"], 0.00001),
        (ONE, ["Red"], term_of("Red")),
        (SEVERAL, ["Red"], (term_of("Red"),)),
        (BOX, ["Yes"], True),
        (BOX, [], False),
        (PAIR, ["No"], False),
        (PAIR, [], None),
        (PAIR, ["Yes", "No"], ("Yes", "No")),
        (BOX, ["Yes", "Old"], ("Yes", "Old")),
        (PAIR, ["Maybe"], ("Maybe",)),
    ],
)
def test_values_are_read_by_their_field(info: ProfilesField, texts: list[str], value: object) -> None:
    assert decode(info, texts) == value


@pytest.mark.parametrize(
    ("info", "value", "texts"),
    [
        (TEXT, " a ", ["a"]),
        (TEXT, None, []),
        (TEXT, "  ", []),
        (TEXT, 7, ["7"]),
        (TEXT, date(2022, 6, 19), ["2022-06-19"]),
        (TEXT, datetime(2022, 6, 19, 10, tzinfo=UTC), ["2022-06-19T10:00:00Z"]),
        (TEXT, True, ["true"]),
        (TEXT, Person("Ann"), ["Ann"]),
        (TEXT, GeoPoint(1.5, 2.0), ["1.5, 2.0"]),
        (TEXT, GeoPoint(1.5, 2.0, "Quay 1"), ["Quay 1"]),
        (DATE, date(2022, 6, 19), ["2022-06-19"]),
        (DATE, datetime(2022, 6, 19, tzinfo=UTC), ["2022-06-19"]),
        (NUMBER, 620, ["620"]),
        (NUMBER, 1.50, ["1.5"]),
        (NUMBER, 620.0, ["620"]),
        (NUMBER, 1e22, ["10000000000000000000000"]),
        (ONE, Term("Red", "planned-1"), ["Red"]),
        (SEVERAL, (Term("Red"), "Blue", "Red"), ["Red", "Blue"]),
        (BOX, True, ["Yes"]),
        (BOX, False, []),
        (PAIR, False, ["No"]),
    ],
)
def test_values_are_written_as_arrays_of_text(info: ProfilesField, value: Any, texts: list[str]) -> None:
    assert encode(info, value) == texts


@pytest.mark.parametrize(
    ("info", "value"),
    [
        (TEXT, Localized({"en": "a"})),
        (TEXT, GeoPoint()),
        (DATE, datetime(2022, 6, 19, 10, tzinfo=UTC)),
        (NUMBER, float("nan")),
        (SEVERAL, True),
    ],
)
def test_what_a_field_cannot_take_is_refused(info: ProfilesField, value: Any) -> None:
    with pytest.raises(InvalidValue):
        encode(info, value)


@given(st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False, width=64)))
def test_numbers_come_back_as_they_were(number: float) -> None:
    assert float(decode(NUMBER, encode(NUMBER, number))) == number  # type: ignore[arg-type]


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), min_size=1).map(str.strip).filter(bool), max_size=4))
def test_terms_come_back_as_they_were(labels: list[str]) -> None:
    unique = tuple(dict.fromkeys(labels))
    assert decode(SEVERAL, encode(SEVERAL, unique)) == (tuple(term_of(label) for label in unique) or None)
