"""Values as the target's fields take them."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.mapping.coercion import TAKES, Fit
from dam_sync.mapping.results import SHAPES, ValueOutcome, ValueType, shape_of
from dam_sync.mapping.transforms.base import TransformContext
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.schema import Field, FieldKind
from dam_sync.model.values import GeoPoint, Localized, Person, Row, Scalar, Term, Value
from tests.support.libraries.value_strategies import scalars

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def fit(kind: FieldKind, **more: object) -> Fit:
    return Fit(Field("x", kind, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        (FieldKind.TEXT, Term("Sea", "1"), "Sea"),
        (FieldKind.TEXT, Person("Ann", "1"), "Ann"),
        (FieldKind.TEXT, date(2024, 1, 1), "2024-01-01"),
        (FieldKind.TEXT, NOON, "2024-01-01T12:00:00Z"),
        (FieldKind.TEXT, 1.50, "1.5"),
        (FieldKind.TEXT, 3.0, "3"),
        (FieldKind.TEXT, 1e-7, "0.0000001"),
        (FieldKind.TEXT, 1e22, "10000000000000000000000"),
        (FieldKind.TEXT, Localized({"fr": "Mer"}), "Mer"),
        (FieldKind.NUMBER, "12", 12),
        (FieldKind.NUMBER, " -1.5 ", -1.5),
        (FieldKind.DATE, "2024-01-01", date(2024, 1, 1)),
        (FieldKind.INSTANT, "2024-01-01T14:00:00+02:00", NOON),
        (FieldKind.PERSON, "Ann", Person("Ann")),
        (FieldKind.PERSON, Person("Ann", "12"), Person("Ann")),  # 12 may be somebody else there
        (FieldKind.PLACE, "Brest", GeoPoint(address="Brest")),
        (FieldKind.TERM, "Sea", Term("Sea")),
        (FieldKind.FLAG, False, False),
        (FieldKind.ROWS, Row({"a": 1}), Row({"a": 1})),
    ],
)
def test_values_that_turn_into_the_kind_of_the_field_without_a_transform(
    kind: FieldKind, value: Scalar, written: Scalar
) -> None:
    made = fit(kind).each(value, TransformContext())
    assert made.values == (written,)
    assert type(made.values[0]) is type(written)


@pytest.mark.parametrize("text", ["12345678901234567890.123", "0.1000000000000000000001"])
def test_digits_that_a_number_cannot_hold_are_a_named_loss(text: str) -> None:
    made = fit(FieldKind.NUMBER).each(text, TransformContext())
    assert made.values == (float(text),)
    assert made.note is not None
    assert (made.note.rule, made.note.outcome) == (LossRule.ROUNDED, ValueOutcome.KEPT)
    assert text in made.note.detail


def test_a_number_that_keeps_its_value_is_no_loss() -> None:
    for text in ("1.50", "-0.0001", "12345678901234567890"):
        assert fit(FieldKind.NUMBER).each(text, TransformContext()).note is None


def test_a_target_that_stores_no_whitespace_at_the_ends_gets_none_and_says_so() -> None:
    trims = Fit(Field("x", FieldKind.TEXT, max_length=5), trims=True)
    made = trims.each("  Sea \n", TransformContext())
    assert made.values == ("Sea",)
    assert made.note is not None
    assert (made.note.rule, made.note.outcome) == ("whitespace trimmed", ValueOutcome.KEPT)
    assert trims.each("Sea", TransformContext()).note is None
    nothing = trims.each("  ", TransformContext())
    assert nothing.note is not None
    assert (nothing.values, nothing.note.outcome) == ((), ValueOutcome.DROPPED)
    long = trims.each(" too long ", TransformContext()).note
    assert long is not None
    assert long.rule == "too long"
    assert fit(FieldKind.TEXT).each(" Sea ", TransformContext()).values == (" Sea ",)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (FieldKind.TEXT, True),
        (FieldKind.TEXT, GeoPoint(1.0, 2.0, "Brest")),
        (FieldKind.TEXT, Row({})),
        (FieldKind.NUMBER, "1,5"),
        (FieldKind.NUMBER, True),
        (FieldKind.NUMBER, float("nan")),
        (FieldKind.DATE, NOON),
        (FieldKind.DATE, "1.1.2024"),
        (FieldKind.INSTANT, date(2024, 1, 1)),
        (FieldKind.INSTANT, "2024-01-01"),
        (FieldKind.FLAG, "yes"),
        (FieldKind.PLACE, 3),
        (FieldKind.ROWS, "x"),
        (FieldKind.TERM, True),
    ],
)
def test_a_value_that_needs_a_transform_is_refused(kind: FieldKind, value: Scalar) -> None:
    made = fit(kind).each(value, TransformContext())
    assert made.values == ()
    assert made.note is not None
    assert made.note.rule == "wrong kind"


def test_length_is_counted_in_characters_for_every_language() -> None:
    assert fit(FieldKind.TEXT, max_length=3).each("été", TransformContext()).values == ("été",)
    assert fit(FieldKind.TEXT, max_length=3).each("étés", TransformContext()).values == ()
    both = Localized({"en": "abc", "fr": "abcd"})
    assert fit(FieldKind.TEXT, max_length=3, localized=True).each(both, TransformContext()).values == ()


def test_a_closed_list() -> None:
    closed = Fit(Field("x", FieldKind.TEXT), frozenset({"a"}))
    assert closed.each("a", TransformContext()).values == ("a",)
    assert closed.each("b", TransformContext()).note is not None


def test_languages_the_target_has_not_got() -> None:
    two = Fit(Field("x", FieldKind.TEXT, localized=True), locales=("en",))
    assert two.each(Localized({"en": "Sea", "fr": "Mer"}), TransformContext()).values == (Localized({"en": "Sea"}),)
    assert two.each(Localized({"fr": "Mer"}), TransformContext()).values == ()


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(FieldKind)), scalars)
def test_fitting_is_total_and_agrees_with_what_compiling_says(kind: FieldKind, value: Scalar) -> None:
    made = fit(kind).each(value, TransformContext())
    assert bool(made.values) != (made.note is not None)
    for written in made.values:
        assert shape_of(written) is SHAPES[kind]
        assert shape_of(value) in TAKES[SHAPES[kind]]
    assert bool(fit(kind).reject_reason(shape_of(value))[0]) == (shape_of(value) not in TAKES[SHAPES[kind]])
    assert ValueType.ROW not in TAKES[ValueType.TEXT]


@pytest.mark.parametrize("place", [GeoPoint(address="Brest"), GeoPoint(48.4, None, "Brest"), GeoPoint(None, -4.5)])
def test_a_location_without_coordinates_does_not_fit_where_they_are_needed(place: GeoPoint) -> None:
    made = fit(FieldKind.PLACE, coordinates=True).each(place, TransformContext())
    assert made.values == ()
    assert made.note is not None
    assert "no latitude and longitude" in made.note.detail
    assert fit(FieldKind.PLACE).each(place, TransformContext()).values == (place,)


def test_a_text_is_no_point() -> None:
    assert fit(FieldKind.PLACE, coordinates=True).each("somewhere", TransformContext()).values == ()
    point = GeoPoint(0.0, 0.0)
    assert fit(FieldKind.PLACE, coordinates=True).each(point, TransformContext()).values == (point,)


def test_a_row_with_a_cell_that_the_target_has_not_does_not_fit() -> None:
    known = fit(FieldKind.ROWS, cells=frozenset({"latitude", "longitude"}))
    made = known.each(Row({"lat": 1.0, "longitude": 2.0}), TransformContext())
    assert made.values == ()
    assert made.note is not None
    assert "no cell lat" in made.note.detail
    many = fit(FieldKind.ROWS, cells=frozenset(f"cell_{number}" for number in range(20)))
    strange = many.each(Row({"quux": 1.0}), TransformContext()).note
    assert strange is not None
    assert strange.detail.endswith("no cell quux")
    row = Row({"latitude": 1.0})
    assert known.each(row, TransformContext()).values == (row,)


@pytest.mark.parametrize(
    ("kind", "cell", "written"),
    [
        (FieldKind.DATE, NOON.replace(hour=0), date(2024, 1, 1)),
        (FieldKind.DATE, (NOON.replace(hour=0), date(2024, 1, 2)), (date(2024, 1, 1), date(2024, 1, 2))),
        (FieldKind.INSTANT, date(2024, 1, 1), NOON.replace(hour=0)),
        (FieldKind.INSTANT, NOON, NOON),
        (FieldKind.TEXT, NOON, NOON),
        (FieldKind.DATE, "2024-01-01", "2024-01-01"),
    ],
)
def test_a_date_of_a_row_is_of_the_kind_of_its_cell(kind: FieldKind, cell: Value, written: Value) -> None:
    rows = fit(FieldKind.ROWS, cells=frozenset({"since", "by"}), cell_kinds={"since": kind})
    made = rows.each(Row({"since": cell, "by": "Ann"}), TransformContext())
    assert made.values == (Row({"since": written, "by": "Ann"}),)
    assert made.note is None


def test_the_time_of_day_that_a_cell_cannot_hold_is_a_loss() -> None:
    rows = fit(FieldKind.ROWS, cells=frozenset({"since"}), cell_kinds={"since": FieldKind.DATE})
    made = rows.each(Row({"since": NOON}), TransformContext())
    assert made.values == (Row({"since": date(2024, 1, 1)}),)
    assert made.note is not None
    assert (made.note.rule, made.note.outcome) == (LossRule.ROUNDED, ValueOutcome.KEPT)
    assert "since" in made.note.detail
