"""Values of service E, which are arrays of text on the wire."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.model.errors import InvalidValue
from dam_sync.model.values import GeoPoint, Localized, Person, Term
from dam_sync.services.e_profiles.codec.fields import ProfilesField
from dam_sync.services.e_profiles.codec.values import decode, encode, term_of

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
