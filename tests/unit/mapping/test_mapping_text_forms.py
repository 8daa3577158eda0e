"""How texts of a sample write numbers, yes and no, and dates, and the steps that are suggested for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.mapping.sample import Sample
from dam_sync.mapping.suggest import SuggestedLine, suggest
from dam_sync.mapping.text_forms import flag_words_of, number_form_of
from dam_sync.model.asset import Asset, AssetId, Revision
from dam_sync.model.schema import Field, FieldKind
from dam_sync.model.values import Json, Value
from tests.support.mapping.service_schemas import by_target, walked
from tests.support.mapping.tenant_schemas import schema

TEXT, NUMBER, FLAG, DATE = FieldKind.TEXT, FieldKind.NUMBER, FieldKind.FLAG, FieldKind.DATE


@pytest.mark.parametrize(
    ("texts", "step", "read"),
    [
        (("1.234,5", "12,25"), {"number": ","}, 2),
        (("1.234", "12,5"), {"number": ","}, 2),
        (("1,234.5", "12"), "number", 2),
        (("12.5", "7"), "number", 2),
        (("12", "7"), "number", 2),
        (("1.234", "2.345"), "number", 2),
        (("about 7", "12,5"), {"number": ","}, 1),
    ],
)
def test_the_decimal_separator_is_that_of_the_values(texts: tuple[str, ...], step: Json, read: int) -> None:
    found = number_form_of(dict.fromkeys(texts, 1))
    assert (found.step, found.read) == (step, read)


def test_what_may_be_two_different_numbers_is_left_to_people() -> None:
    (point,) = number_form_of({"1.234": 1, "2.345": 1}).open_points()
    assert point == 'the sample does not decide whether “1.234” has a decimal point; with a comma, write {number: ","}'
    assert not [*number_form_of({"1.234": 1, "2,5": 1}).open_points()]
    assert [*number_form_of({"7": 1, "seven": 1}).open_points()] == ["“seven” is no number"]


@pytest.mark.parametrize(
    ("texts", "step"),
    [
        (("WAHR", "FALSCH"), {"flag": {"true": ["WAHR"], "false": ["FALSCH"]}}),
        (("WAHR",), {"flag": {"true": ["WAHR"], "false": ["FALSCH"]}}),
        (("vrai", "faux"), {"flag": {"true": ["vrai"], "false": ["faux"]}}),
        (("Ja", "Nee"), {"flag": {"true": ["Ja"], "false": ["Nein", "Nee"]}}),
        (("TRUE", "false", "1"), "flag"),
    ],
)
def test_words_for_yes_and_no_are_those_of_the_values(texts: tuple[str, ...], step: Json) -> None:
    assert flag_words_of(dict.fromkeys(texts, 1)).step == step


def suggested(folder: Path, kind: FieldKind, *values: Value, fields: str = "held") -> SuggestedLine:
    source, target = schema(Field(fields, TEXT)), schema(Field(fields, kind), Field("srckey", TEXT))
    sample = Sample.of(
        Asset(AssetId(str(number)), Revision("1"), fields={fields: value}) for number, value in enumerate(values)
    )
    found = suggest(source, target, sample=sample)
    crosswalk = walked(folder, found, source, target)
    asset = Asset(AssetId("1"), Revision("1"), fields={fields: values[0]})
    assert not crosswalk.draft(asset, "mark", {}).rejections
    return by_target(found)[fields]


@pytest.mark.parametrize(
    ("kind", "values", "pipe"),
    [
        (NUMBER, ("1.234,5", "7"), ({"number": ","},)),
        (FLAG, ("WAHR", "FALSCH"), ({"flag": {"true": ["WAHR"], "false": ["FALSCH"]}},)),
        (DATE, ("01.03.2019", "29.02.2024"), ({"date": {"in": ["iso", "%d.%m.%Y"]}},)),
        (TEXT, ("01.03.2019", "29.02.2024"), ({"date": {"in": ["iso", "%d.%m.%Y"], "out": "%Y-%m-%d"}},)),
        (TEXT, ("13/03/2019", "01/02/2024"), ({"date": {"in": ["iso", "%d/%m/%Y"], "out": "%Y-%m-%d"}},)),
        (TEXT, ("1.234,5", "12,5"), ({"number": ","},)),
        (TEXT, ("WAHR", "FALSCH", "WAHR"), ({"flag": {"true": ["WAHR"], "false": ["FALSCH"]}}, "text")),
    ],
)
def test_values_in_the_form_of_a_country_are_converted(
    tmp_path: Path, kind: FieldKind, values: tuple[str, ...], pipe: tuple[Json, ...]
) -> None:
    line = suggested(tmp_path, kind, *values)
    assert line.pipe == pipe
    assert f"reads {len(values)} of {len(values)} sampled values" in line.reason


@pytest.mark.parametrize(
    "values",
    [
        ("2019-03-01", "2024-02-29"),
        ("01.03.2019", "spring 2019"),
        ("1.234", "2.345"),
        ("1923.45", "1923.46"),
        ("007,5", "1,5"),
        ("ja", "nein"),
        ("true", "false"),
        ("12", "7"),
    ],
)
def test_other_texts_stay_as_they_are(tmp_path: Path, values: tuple[str, ...]) -> None:
    assert suggested(tmp_path, TEXT, *values).pipe == ()


def test_an_order_that_no_value_decides_is_asked_in_the_comment(tmp_path: Path) -> None:
    line = suggested(tmp_path, TEXT, "01/03/2019", "02/04/2019")
    assert line.pipe == ()
    assert 'begins with the day, add {date: {in: [iso, "%d/%m/%Y"], out: "%Y-%m-%d"}}' in line.reason
    assert line.score < 0.9
    assert "01/03/2019" in suggested(tmp_path, DATE, "01/03/2019", "02/04/2019").reason
