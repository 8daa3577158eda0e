"""Any kind of field into any other: the transforms for it, and the way there and back."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dam_sync.config.diagnostics import SourceMap
from dam_sync.mapping.coercion import Fit
from dam_sync.mapping.conversions import STEPS, Given, conversion, fits_surely
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.results import SHAPES, ValueType, number_text, shape_of
from dam_sync.mapping.transforms.base import EachTransform, TransformContext
from dam_sync.mapping.transforms.kinds import read_place
from dam_sync.mapping.transforms.registry import transform_from
from dam_sync.model.asset import Asset, AssetId, Revision
from dam_sync.model.schema import Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import GeoPoint, Json, Localized, Person, Row, Scalar, Term
from tests.support.libraries import value_strategies
from tests.support.mapping.tenant_schemas import compiled, schema

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def through(*steps: Json, value: Scalar) -> Scalar:
    for step in steps:
        faults: list[object] = []
        transform = transform_from(step, ("pipe", 0), SourceMap("m.yaml", {}), faults)  # type: ignore[arg-type]
        assert isinstance(transform, EachTransform), faults
        made = transform.each(value, TransformContext())
        assert made.note is None, made.note
        (value,) = made.values
    return value


def fitted(kind: FieldKind, value: Scalar) -> Scalar:
    (made,) = Fit(Field("x", kind)).each(value, TransformContext()).values
    return made


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (12.50, "12.5"),
        (10**20, "100000000000000000000"),
        (1e-7, "0.0000001"),
        (date(2024, 2, 29), "2024-02-29"),
        (NOON, "2024-01-01T12:00:00Z"),
        (Term("Sea", "1"), "Sea"),
        (Person("Ann", "1"), "Ann"),
        (GeoPoint(48.4, -4.5, "Brest, France"), "48.4, -4.5, Brest, France"),
        (GeoPoint(48.4, -4.5), "48.4, -4.5"),
        (GeoPoint(48.4, None, "x"), "48.4, , x"),
        (GeoPoint(address="Quai 1, Brest"), "Quai 1, Brest"),
        (GeoPoint(address="12, 5"), ", , 12, 5"),
        (Row({"h": 3, "at": NOON}), '{"at": {"instant": "2024-01-01T12:00:00Z"}, "h": 3}'),
        (Row({"row": 3}), '{"row": {"row": 3}}'),
        (Localized({"en": "Sea"}), "Sea"),
    ],
)
def test_the_canonical_text(value: Scalar, text: str) -> None:
    assert through("text", value=value) == text


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("48.4,-4.5", GeoPoint(48.4, -4.5)),
        (" 48.4 , -4.5 , Brest ", GeoPoint(48.4, -4.5, "Brest")),
        ("Brest", GeoPoint(address="Brest")),
        ("91, 5", GeoPoint(address="91, 5")),
        ("5, 181, x", GeoPoint(address="5, 181, x")),
        ("12, Main Street", GeoPoint(address="12, Main Street")),
        (",", GeoPoint(address=",")),
        (" ", None),
    ],
)
def test_locations_as_people_write_them(text: str, place: GeoPoint | None) -> None:
    assert read_place(text) == place


def test_rows_from_other_texts() -> None:
    assert through("rows", value='{"a": 1, "b": null}') == Row({"a": 1})
    assert through({"rows": "note"}, value="plain") == Row({"note": "plain"})
    assert through({"rows": "note"}, value='["a"]') == Row({"note": '["a"]'})
    assert through({"rows": "note"}, value='{"a": {"b": 1}}') == Row({"note": '{"a": {"b": 1}}'})


def test_languages_and_plain_text() -> None:
    assert through({"language": "FR"}, value="Mer") == Localized({"fr": "Mer"})
    assert through({"language": "fr"}, value=Localized({"en": "Sea", "fr": "Mer"})) == Localized({"fr": "Mer"})


BACK: dict[ValueType, tuple[FieldKind, tuple[Json, ...]]] = {
    ValueType.TEXT: (FieldKind.TEXT, ()),
    ValueType.NUMBER: (FieldKind.NUMBER, ("number",)),
    ValueType.FLAG: (FieldKind.FLAG, ("flag",)),
    ValueType.DATE: (FieldKind.DATE, ("date",)),
    ValueType.INSTANT: (FieldKind.INSTANT, ("datetime",)),
    ValueType.TERM: (FieldKind.TERM, ()),
    ValueType.PERSON: (FieldKind.PERSON, ()),
    ValueType.PLACE: (FieldKind.PLACE, ("place",)),
    ValueType.ROW: (FieldKind.ROWS, ("rows",)),
}
names = st.text(min_size=1, max_size=20).map(str.strip).filter(bool)
addresses = st.one_of(st.text(max_size=12), st.text(alphabet="0123456789,. -", max_size=8)).map(str.strip)
places = st.builds(
    GeoPoint, st.one_of(st.none(), st.floats(-90, 90)), st.one_of(st.none(), st.floats(-180, 180)), addresses
).filter(lambda place: place != GeoPoint())
instants = value_strategies.instants.map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))
numbers = st.one_of(st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False))
cells: st.SearchStrategy[Scalar] = st.one_of(
    *(names, st.booleans(), numbers, value_strategies.dates, instants, places, value_strategies.people),
    *(
        value_strategies.localized,
        st.builds(Term, names, st.sampled_from(("", "1")), st.lists(names, max_size=2).map(tuple)),
    ),
)
keys = st.sampled_from(("a", "row", "label", "Net weight", ""))
rows = st.dictionaries(keys, st.one_of(cells, st.lists(cells, max_size=2).map(tuple)), max_size=3).map(Row)
things: st.SearchStrategy[Scalar] = st.one_of(
    *(names, st.booleans(), numbers, value_strategies.dates, instants, places),
    *(rows, st.builds(Row, st.fixed_dictionaries({"row": rows}))),
    *(st.builds(Person, names), st.builds(Term, names)),
)


@settings(max_examples=300, deadline=None)
@given(things)
def test_a_value_made_into_text_and_back_is_the_same(value: Scalar) -> None:
    kind, steps = BACK[shape_of(value)]
    text = through("text", value=value)
    assert isinstance(text, str)
    back = fitted(kind, through(*steps, value=text))
    if isinstance(value, float) and isinstance(back, int | float):
        assert float(back) == value
        assert number_text(back) == number_text(value)
    else:
        assert back == value
    assert through("text", value=back) == text


@settings(max_examples=50, deadline=None)
@given(names, st.sampled_from(("en", "pt-BR")))
def test_a_plain_text_through_a_language_stays_that_text(text: str, locale: str) -> None:
    there = Fit(Field("x", FieldKind.TEXT, localized=True)).each(
        through({"language": locale}, value=text), TransformContext()
    )
    assert there.values == (Localized({locale.lower(): text}),)
    assert fitted(FieldKind.TEXT, there.values[0]) == text


FREE = Vocabulary("list")


def side(kind: FieldKind, multiple: bool, localized: bool) -> Schema:
    vocabulary = "list" if kind is FieldKind.TERM else ""
    field = Field("x", kind, multiple=multiple, localized=localized, vocabulary=vocabulary, max_length=200)
    return schema(field, vocabularies={"list": FREE})


SIDES = [(kind, multiple, kind is FieldKind.TEXT and multiple) for kind, multiple in product(FieldKind, (False, True))]


def crossed(folder: Path, source: Schema, target: Schema) -> Crosswalk | None:
    steps = conversion(Given.by(source.fields["x"]), target.fields["x"], rule="list", language="en")
    if steps is None:
        return None
    text = f'version: 1\nfields: {{x: {{from: "fields.x[]", pipe: {json.dumps(steps)}}}}}\n'
    text += "vocabularies: {list: {target: list, match: [exact], unmatched: create}}\n"
    return compiled(folder, text, source, target)


@pytest.mark.parametrize("wanted", SIDES, ids=lambda side: f"{side[0].value}{'[]' if side[1] else ''}")
def test_every_conversion_between_kinds_compiles_and_its_results_fit(
    tmp_path: Path, wanted: tuple[FieldKind, bool, bool]
) -> None:
    target = side(*wanted)
    for given_ in SIDES:
        source = side(*given_)
        crosswalk = crossed(tmp_path, source, target)
        assert (crosswalk is not None) == ((SHAPES[given_[0]], SHAPES[wanted[0]]) in STEPS)
        if crosswalk is None:
            continue
        value = SAMPLES[SHAPES[given_[0]]]
        asset = Asset(AssetId("7"), Revision("1"), fields={"x": (value, value) if given_[1] else value})
        drafted = crosswalk.draft(asset, "mark", {})
        if fits_surely(Given.by(source.fields["x"]), target.fields["x"]):
            assert drafted.rejections == ()
            written = drafted.draft.fields["x"]
            assert isinstance(written, tuple) == wanted[1]
            assert shape_of(written[0] if isinstance(written, tuple) else written) is SHAPES[wanted[0]]


SAMPLES: dict[ValueType, Scalar] = {
    ValueType.TEXT: "Sea",
    ValueType.NUMBER: 1,
    ValueType.FLAG: True,
    ValueType.DATE: date(2024, 1, 1),
    ValueType.INSTANT: NOON,
    ValueType.TERM: Term("Sea"),
    ValueType.PERSON: Person("Ann"),
    ValueType.PLACE: GeoPoint(48.4, -4.5, "Brest"),
    ValueType.ROW: Row({"h": 3}),
}


@pytest.mark.parametrize("shape", list(ValueType))
def test_everything_reaches_text(shape: ValueType) -> None:
    assert (shape, ValueType.TEXT) in STEPS


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(SIDES), st.sampled_from(SIDES), value_strategies.several)
def test_no_conversion_between_kinds_raises_on_any_value(
    tmp_path: Path, given_: tuple[FieldKind, bool, bool], wanted: tuple[FieldKind, bool, bool], found: tuple[Scalar]
) -> None:
    crosswalk = crossed(tmp_path, side(*given_), side(*wanted))
    if crosswalk is not None:
        drafted = crosswalk.draft(Asset(AssetId("7"), Revision("1"), fields={"x": found}), "mark", {})
        assert drafted.draft.fields.keys() <= {"x"}


@pytest.mark.parametrize(
    ("given_", "wanted", "steps"),
    [
        (Given(ValueType.TEXT, html=True), Field("x", FieldKind.TEXT), ("strip_html",)),
        (Given(ValueType.TEXT), Field("x", FieldKind.HTML), ("escape",)),
        (Given(ValueType.TEXT, html=True), Field("x", FieldKind.HTML), ()),
        (Given(ValueType.TEXT, characters=20), Field("x", FieldKind.TEXT, max_length=20), ()),
        (
            Given(ValueType.TEXT, characters=21),
            Field("x", FieldKind.TEXT, max_length=20),
            ({"truncate": {"max": 20, "on_cut": "note"}},),
        ),
        (Given(ValueType.DATE, characters=10), Field("x", FieldKind.TEXT, max_length=20), ()),
        (Given(ValueType.FLAG, True), Field("x", FieldKind.TEXT), ("text", {"join": "; "})),
        (Given(ValueType.TERM, True), Field("x", FieldKind.TERM), ({"vocabulary": "r"}, "unique", "first")),
        (Given(ValueType.INSTANT, True), Field("x", FieldKind.DATE, multiple=True), ("date",)),
        (Given(ValueType.TEXT), Field("x", FieldKind.TEXT, localized=True), ({"language": "en"},)),
        (Given(ValueType.TEXT, localized=True), Field("x", FieldKind.TEXT, localized=True), ()),
    ],
)
def test_the_transforms_of_a_conversion_between_kinds(given_: Given, wanted: Field, steps: tuple[Json, ...]) -> None:
    assert conversion(given_, wanted, rule="r", language="en") == steps


@pytest.mark.parametrize("text", [" " * 300_000, "1" + " " * 300_000 + "x", "," + " " * 300_000 + "x", "1," * 150_000])
def test_long_texts_are_read_in_one_pass(text: str) -> None:
    """A time that grows with the square of the length would be hours."""
    place = read_place(text)
    assert (place is None) is (not text.strip())
