"""Every transform by example, and none of them ever raises."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.config.diagnostics import SourceMap
from dam_sync.mapping.results import LanguagePreference, ListResult, Result, ValueOutcome, ValueType, shape_of
from dam_sync.mapping.tables import Lookup
from dam_sync.mapping.transforms.base import EachTransform, ListTransform, Transform, TransformContext
from dam_sync.mapping.transforms.registry import TRANSFORMS, transform_from
from dam_sync.mapping.vocabulary import Matching, TermIndex, VocabularyRule
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.values import GeoPoint, Json, Localized, Person, Row, Scalar, Term
from tests.support.libraries.value_strategies import scalars

INDEX = TermIndex()
INDEX.add(Term("Sea", "s1"))
SETTING = TransformContext(
    LanguagePreference(("fr", "en")),
    {"country": Lookup("country", {"FR": "France", "": ""}), "strict": Lookup("strict", {}, "park")},
    {"subject": VocabularyRule("subject", "subject", ways=Matching(("exact", "casefold")), unmatched="create")},
    {"subject": INDEX},
)


def transform(step: Json) -> Transform:
    faults: list[Diagnostic] = []
    found = transform_from(step, ("pipe", 0), SourceMap("m.yaml", {}), faults)
    assert found is not None, faults
    return found


def faults_of(step: Json) -> list[str]:
    faults: list[Diagnostic] = []
    assert transform_from(step, ("fields", "x", "pipe", 0), SourceMap("m.yaml", {}), faults) is None
    return [f"{fault.key}: {fault.message}; {fault.hint}" for fault in faults]


def each(step: Json, value: Scalar) -> Result:
    found = transform(step)
    assert isinstance(found, EachTransform)
    return found.each(value, SETTING)


def whole(step: Json, *values: Scalar) -> ListResult:
    found = transform(step)
    assert isinstance(found, ListTransform)
    return found.whole(values, SETTING)


@pytest.mark.parametrize(
    ("step", "value", "expected"),
    [
        ("nfc", "e\u0301", "é"),
        ("trim", " a ", "a"),
        ("casefold", "Straße", "strasse"),
        ("upper", "é", "É"),
        ("lower", "É", "é"),
        ("title", "o'neil's sea-side", "O'neil's Sea-Side"),
        ("escape", "a < b & c", "a &lt; b &amp; c"),
        ("strip_html", "<p>A <b>b</b>&nbsp;&amp; c</p><p>d</p><script>x</script>", "A b & c\nd"),
        ("strip_html", "a <![if x]> b", "a b"),
        ({"strip_prefix": "/Library"}, "/Library/Press", "/Press"),
        ({"strip_prefix": "/Library/"}, "/Library/Press", "/Press"),
        ({"strip_prefix": "/Library"}, "/Libraryland", "/Libraryland"),
        ({"strip_prefix": "/Library"}, "/Library", ""),
        ({"strip_prefix": "old_"}, "old_name", "name"),
        ({"truncate": 3}, "abc", "abc"),
        ({"truncate": {"max": 3, "on_cut": "note"}}, "abcd", "abc"),
        ({"safe_name": 10}, "a/b.jpg", "a_b.jpg"),
        ("date", "2024-02-29", date(2024, 2, 29)),
        ({"date": {"in": ["%d/%m/%Y", "iso"], "out": "%Y-%m-%d"}}, "29/02/2024", "2024-02-29"),
        ({"date": {"zone": "Europe/Paris"}}, datetime(2024, 2, 28, 23, 30, tzinfo=UTC), date(2024, 2, 29)),
        ({"date": {"zone": "Europe/Paris"}}, "2024-02-28T23:30:00Z", date(2024, 2, 29)),
        ({"date": {"out": "%Y"}}, date(2024, 2, 29), "2024"),
        ({"datetime": {"zone": "Europe/Paris"}}, date(2024, 7, 1), datetime(2024, 6, 30, 22, tzinfo=UTC)),
        (
            {"datetime": {"in": "%d/%m/%Y %H:%M", "zone": "Europe/Paris"}},
            "01/07/2024 10:00",
            datetime(2024, 7, 1, 8, tzinfo=UTC),
        ),
        ({"datetime": {"out": "iso"}}, "2024-07-01T10:00:00+02:00", "2024-07-01T08:00:00Z"),
        ("number", "1,234.5", 1234.5),
        ({"number": ","}, "1.234,50", 1234.5),
        ({"number": ","}, "-1 234", -1234),
        ("number", 7, 7),
        ("flag", True, "Yes"),
        ("flag", "no", False),
        ({"flag": {"true": "Oui", "false": ["Non", "0"]}}, False, "Non"),
        ({"flag": {"true": "Oui", "false": ["Non", "0"]}}, "oui", True),
        ({"pluck": "label"}, Term("Mer", labels={"en": "Sea", "fr": "Mer"}), "Mer"),
        ({"pluck": {"key": "label", "locale": "en"}}, Term("Mer", labels={"en": "Sea"}), "Sea"),
        ({"pluck": "path"}, Term("Sea", path=("Nature", "Sea")), "/Nature/Sea"),
        ({"pluck": "id"}, Term("Sea", "12"), "12"),
        ({"pluck": "name"}, Person("Ann", "1"), "Ann"),
        ({"pluck": "address"}, GeoPoint(1.0, 2.0, "Brest"), "Brest"),
        ({"pluck": "latitude"}, GeoPoint(48.5, 2.0), 48.5),
        ({"pluck": "h"}, Row({"h": 3}), "3"),
        ("json", GeoPoint(1.0, 2.0, "é"), '{"address": "é", "latitude": 1.0, "longitude": 2.0}'),
        ({"lookup": "country"}, " FR ", "France"),
        ({"lookup": {"name": "country", "unmatched": "keep"}}, "XX", "XX"),
        ({"vocabulary": "subject"}, Term("sea", "99"), Term("Sea", "s1")),
    ],
)
def test_a_transform_by_example(step: Json, value: Scalar, expected: Scalar) -> None:
    assert each(step, value).values == (expected,)


@pytest.mark.parametrize(
    ("step", "value", "fate"),
    [
        ({"truncate": 3}, "abcd", ValueOutcome.FAILED),
        ({"truncate": {"max": 3, "on_cut": "park"}}, "abcd", ValueOutcome.PARKED),
        ({"truncate": {"max": 3, "on_cut": "drop"}}, "abcd", ValueOutcome.DROPPED),
        ("date", "30/02/2024", ValueOutcome.FAILED),
        ("date", "2024-02-30", ValueOutcome.FAILED),
        ("number", "1.234,5", ValueOutcome.FAILED),
        ("number", "1,23", ValueOutcome.FAILED),
        ("number", "٣", ValueOutcome.FAILED),
        ("flag", "maybe", ValueOutcome.FAILED),
        ({"pluck": "id"}, Term("Sea"), ValueOutcome.FAILED),
        ({"pluck": "latitude"}, GeoPoint(address="Brest"), ValueOutcome.FAILED),
        ({"lookup": "country"}, "XX", ValueOutcome.FAILED),
        ({"lookup": "strict"}, "XX", ValueOutcome.PARKED),
        ({"lookup": {"name": "strict", "unmatched": "null"}}, "XX", ValueOutcome.EMPTY),
        ("trim", GeoPoint(1.0, 2.0), ValueOutcome.FAILED),
        ("upper", Row({}), ValueOutcome.FAILED),
    ],
)
def test_what_does_not_fit_gives_a_note_and_no_value(step: Json, value: Scalar, fate: ValueOutcome) -> None:
    made = each(step, value)
    assert made.values == ()
    assert made.note is not None
    assert made.note.outcome is fate
    assert made.note.detail


@pytest.mark.parametrize("name", ["date", "datetime"])
def test_a_date_with_a_month_in_another_language_says_that_names_are_english(name: str) -> None:
    step = {name: {"in": ["%d/%m/%Y", "%d %B %Y"]}}
    (read,) = each(step, "3 March 2020").values
    assert str(read).startswith("2020-03-03")
    told = each(step, "3 mars 2020").note
    assert told is not None
    assert told.detail.endswith("of the form %d/%m/%Y or %d %B %Y; names of months and days are read in English")
    plain = each({name: {"in": ["%d/%m/%Y"]}}, "3 mars 2020").note
    assert plain is not None
    assert "English" not in plain.detail


@pytest.mark.parametrize(
    ("step", "value"),
    [
        pytest.param({"truncate": {"max": 3, "on_cut": "note"}}, "abcd", id="text that is cut"),
        pytest.param("number", "0.12345678901234567890123", id="digits that a number cannot have"),
    ],
)
def test_a_value_that_loses_something_is_written_with_a_note(step: Json, value: str) -> None:
    made = each(step, value)
    assert made.note is not None
    assert made.note.outcome is ValueOutcome.KEPT


def test_a_new_term_is_to_be_made_first() -> None:
    made = each({"vocabulary": "subject"}, "Land")
    assert made.values == (Term("Land", path=("Land",)),)
    assert made.new_terms == (("subject", Term("Land", path=("Land",))),)


def test_one_text_becomes_several() -> None:
    assert each({"split": ";"}, "a; b;;c").values == ("a", "b", "c")


def test_lists_are_joined_and_know_what_they_were_made_of() -> None:
    assert whole({"join": "; "}, Term("a"), Person("b"), 3).items == (("a; b; 3", (0, 1, 2)),)
    kept = whole({"join": "; "}, "a", True)
    assert kept.items == (("a", (0,)),)
    assert kept.note is not None


def test_repeated_values_are_left_out() -> None:
    kept = whole("unique", Term("a", "1"), Term("b", "1"), "x", "x", 1, True, 1.0)
    assert [positions for _, positions in kept.items] == [(0,), (2,), (4,), (5,), (6,)]


def test_the_first_value_is_taken_and_the_dropped_ones_are_reported() -> None:
    kept = whole("first", "a", "b", "c")
    assert kept.items == (("a", (0,)),)
    assert kept.note is not None
    assert kept.note.outcome is ValueOutcome.DROPPED
    assert whole("first", "a").note is None


def test_constants_and_defaults() -> None:
    assert whole({"default": "x"}).items == (("x", ()),)
    assert whole({"default": "x"}, "a").items == (("a", (0,)),)
    assert whole({"const": "x"}, "a", "b").items == (("x", (0, 1)),)
    assert whole({"const": "x"}).items == ()


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("trimm", "fields.x.pipe[0]: unknown transform trimm; did you mean trim?"),
        ({"a": 1, "b": 2}, "fields.x.pipe[0]: a step is a transform, or one transform with its arguments; "),
        (7, "fields.x.pipe[0]: a step is a transform, or one transform with its arguments; "),
        ({"truncate": {"maxx": 3}}, "fields.x.pipe[0].truncate.maxx: unknown key; did you mean max?"),
        ({"truncate": None}, "fields.x.pipe[0].truncate: max is missing; "),
        ({"truncate": "x"}, "fields.x.pipe[0].truncate: should be a whole number"),
        (
            {"truncate": 0},
            "fields.x.pipe[0].truncate: should be at least 1; for example {truncate: {max: 255, on_cut: park}}",
        ),
        ({"trim": 3}, "fields.x.pipe[0].trim: takes no arguments; write trim"),
        ({"truncate": {"max": 3, "on_cut": "cut"}}, "fields.x.pipe[0].truncate.on_cut: should be 'park', 'drop' or"),
        ({"fuzzy": 0.9}, "fields.x.pipe[0]: unknown transform fuzzy; "),
        ({"cel": "x"}, "fields.x.pipe[0]: unknown transform cel; "),
        ("html_to_text", "fields.x.pipe[0]: unknown transform html_to_text; `dam-sync help mapping` lists the"),
    ],
)
def test_wrong_options_of_a_transform_are_diagnostics(step: Json, told: str) -> None:
    assert any(fault.startswith(told) for fault in faults_of(step)), faults_of(step)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ({"date": "%Q"}, "is not a date format"),
        ({"date": "dd.mm.yyyy"}, "is not a date format"),
        ({"date": "%d/%m"}, "'%d/%m' names no year"),
        ({"datetime": {"in": ["iso", "%H:%M"], "out": "%Y %H:%M"}}, "'%H:%M' names no year"),
        (
            {"date": "%d/%m/%y"},
            "'%d/%m/%y' names two digits of the year; add `first_year: 1900`, then 00 to 99 are 1900",
        ),
        ({"datetime": ["iso", "%x %X"]}, "'%x %X' names two digits of the year"),
        ({"date": {"in": "%W %w %y", "first_year": 1900}}, "weeks of a year with two digits; write %Y"),
        ({"datetime": "%d/%m/%Y %H:%M %p"}, "ignores AM and PM; write %I instead of %H"),
        ({"datetime": "%d/%m/%Y %I:%M"}, "AM or PM; write %H, or add %p"),
        ({"date": {"zone": "Europe/Pariss"}}, "unknown time zone Europe/Pariss; did you mean Europe/Paris?"),
        ({"lookup": "contry"}, "unknown lookup contry; did you mean country?"),
        ({"lookup": "subject"}, "unknown lookup subject; subject is a vocabulary: use {vocabulary: subject}"),
        ({"vocabulary": "country"}, "unknown vocabulary country; country is a lookup: use {lookup: country}"),
        ({"vocabulary": "subjekt"}, "unknown vocabulary subjekt; did you mean subject?"),
    ],
)
def test_diagnostics_that_need_no_value(step: Json, told: str) -> None:
    assert any(told in f"{message}; {hint}" for message, hint in transform(step).problems(SETTING))


def test_a_year_that_is_not_written_need_not_be_read() -> None:
    assert list(transform({"date": {"in": ["%d/%m", "iso"], "out": "%m-%d"}}).problems(SETTING)) == []


def test_every_example_of_the_registry_reads_well() -> None:
    from ruamel.yaml import YAML

    for name, kind in TRANSFORMS.items():
        step = YAML(typ="safe").load(kind.example)
        if isinstance(step, dict):
            step = {key: _texts(value) for key, value in step.items()}
        assert transform(step).name == name
        assert kind.summary


def _texts(value: Json) -> Json:
    if isinstance(value, dict):
        return {"true" if key is True else "false" if key is False else key: item for key, item in value.items()}
    return value


STEPS: Mapping[str, Json] = {
    "strip_prefix": "/Library",
    "truncate": {"max": 5, "on_cut": "note"},
    "split": ";",
    "join": "; ",
    "default": "x",
    "const": 1,
    "pluck": "label",
    "rows": "note",
    "language": "fr",
    "lookup": "country",
    "vocabulary": "subject",
    "date": {"in": ["%d/%m/%Y", "%d %b %Y %H:%M", "iso"], "out": "%d.%m.%Y", "zone": "Europe/Paris"},
    "datetime": {"in": ["iso"], "zone": "America/New_York"},
}


@pytest.mark.parametrize("name", list(TRANSFORMS))
@settings(max_examples=60, deadline=None)
@given(values=st.lists(scalars, max_size=4))
def test_transforms_never_raise_and_results_have_the_promised_shape(name: str, values: list[Scalar]) -> None:
    """No value raises; without a note, results have the shape that was promised."""
    found = transform({name: STEPS[name]} if name in STEPS else name)
    if isinstance(found, ListTransform):
        kept = found.whole(values, SETTING)
        assert all(0 <= index < len(values) for _, indices in kept.items for index in indices)
        return
    assert isinstance(found, EachTransform)
    for value in values:
        made = found.each(value, SETTING)
        assert made.values or made.note is not None or name == "split"
        for result in made.values:
            assert shape_of(result) is found.output_type(shape_of(value))


@given(st.sampled_from(list(TRANSFORMS)), st.sampled_from(list(ValueType)))
def test_shapes_that_a_transform_takes_are_not_rejected(name: str, shape: ValueType) -> None:
    found = transform({name: STEPS[name]} if name in STEPS else name)
    if shape in found.takes and name != "pluck":
        assert not found.reject_reason(shape)
    elif found.reject_reason(shape):
        assert shape.value in found.reject_reason(shape)


def test_every_language_keeps_its_own_text() -> None:
    assert LanguagePreference(("fr",)).text(Localized({"en": "Sea", "fr": "Mer"})) == "Mer"
    assert LanguagePreference().text(Localized({"de": "See", "en": "Sea"})) == "Sea"
    assert LanguagePreference(("it",)).text(Localized({"de": "See"})) == "See"
    assert LanguagePreference().text(Localized({})) == ""


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("CON.jpg", "_CON.jpg"),
        ("what?.jpg", "what_.jpg"),
        ('a "quoted" name.jpg', "a _quoted_ name.jpg"),
        ("two  spaces.jpg", "two spaces.jpg"),
    ],
)
def test_a_file_name_that_is_changed_is_a_named_loss(name: str, safe: str) -> None:
    made = each("safe_name", name)
    assert made.values == (safe,)
    assert made.note is not None
    assert (made.note.rule, made.note.outcome) == ("safe_name", ValueOutcome.KEPT)
    assert made.note.detail == f"“{name}” is “{safe}”"


@pytest.mark.parametrize("name", ["sea.jpg", "e\u0301te\u0301.jpg", "été.jpg"])
def test_a_file_name_that_stays_or_only_changes_its_normal_form_is_no_loss(name: str) -> None:
    assert each("safe_name", name) == Result(("été.jpg" if "t" in name else name,))


@pytest.mark.parametrize(
    ("step", "value", "written"),
    [
        ({"date": ["iso", "%Y"]}, "1922", date(1922, 1, 1)),
        ({"date": {"in": "%B %Y", "out": "%d.%m.%Y"}}, "March 1922", "01.03.1922"),
        ({"datetime": "%Y"}, "1922", datetime(1922, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_date_that_names_no_day_is_a_named_loss(step: Json, value: str, written: Scalar) -> None:
    made = each(step, value)
    assert made.values == (written,)
    assert made.note is not None
    assert (made.note.rule, made.note.outcome) == ("no day in the date", ValueOutcome.KEPT)


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%j.%Y", "%d %b %y"])
def test_a_date_with_a_day_is_no_loss(form: str) -> None:
    made = each({"date": {"in": form, "first_year": 1930}}, date(2024, 2, 29).strftime(form))
    assert made == Result((date(2024, 2, 29),))


@pytest.mark.parametrize(
    ("first_year", "text", "year"),
    [
        (1900, "45", 1945),
        (1900, "00", 1900),
        (1880, "79", 1979),
        (1880, "80", 1880),
        (1969, "68", 2068),
        (1850, "12", 1912),
    ],
)
def test_two_digits_of_a_year_are_those_of_the_hundred_years_that_are_named(
    first_year: int, text: str, year: int
) -> None:
    step: Json = {"date": {"in": ["%d/%m/%Y", "%d/%m/%y"], "first_year": first_year}}
    assert each(step, f"12/05/{text}") == Result((date(year, 5, 12),))
    assert each(step, "12/05/1845") == Result((date(1845, 5, 12),))


def test_two_digits_of_a_year_are_never_guessed() -> None:
    assert each({"date": ["%d/%m/%Y", "%d/%m/%y"]}, "12/05/45").values == ()
    assert each({"date": {"in": "%d/%m/%y", "first_year": 1900}}, "29/02/00").values == ()  # 1900 was no leap year


def test_what_a_date_says_twice_has_to_agree() -> None:
    step: Json = {"date": {"in": "%A %d %B %Y"}}
    assert each(step, "Thursday 29 February 2024") == Result((date(2024, 2, 29),))
    assert each(step, "Friday 29 February 2024").values == ()


def test_a_time_zone_that_is_named_in_the_text_is_read_or_the_text_is_not() -> None:
    step: Json = {"datetime": {"in": "%Y-%m-%d %H:%M %Z", "zone": "Europe/Paris"}}
    assert each(step, "2024-07-01 10:00 UTC") == Result((datetime(2024, 7, 1, 10, tzinfo=UTC),))
    assert each(step, "2024-07-01 10:00 gmt") == Result((datetime(2024, 7, 1, 10, tzinfo=UTC),))
    assert each(step, "2024-07-01 10:00 CEST").values == ()
