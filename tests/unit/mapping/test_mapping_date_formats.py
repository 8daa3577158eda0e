"""The formats in which a sample gives dates, and the step that is suggested for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.mapping.date_formats import formats_of
from dam_sync.mapping.sample import MOST_TEXTS, Sample
from dam_sync.mapping.suggest import SuggestedLine, suggest
from dam_sync.model.asset import Asset, AssetId, Revision
from dam_sync.model.schema import Field, FieldKind
from dam_sync.model.values import Localized, Term, Value
from tests.support.mapping.service_schemas import by_target, walked
from tests.support.mapping.tenant_schemas import schema


@pytest.mark.parametrize(
    ("texts", "formats"),
    [
        (("2024-02-29", "2024-02-29T10:00:00Z"), ()),
        (("29/02/2024",), ("iso", "%d/%m/%Y")),
        (("03/04/2024", "29/02/2024"), ("iso", "%d/%m/%Y")),
        (("03/04/2024", "02/29/2024"), ("iso", "%m/%d/%Y")),
        (("29.02.2024 12:30", "2024-01-02"), ("iso", "%d.%m.%Y %H:%M")),
        (("01.03.2019", "02.04.2019"), ("iso", "%d.%m.%Y")),
        (("01.03.2019", "02.29.2024"), ("iso", "%m.%d.%Y")),
        (("5 March 1999", "5 Mar 1999", "March 5, 1999"), ("iso", "%d %B %Y", "%d %b %Y", "%B %d, %Y")),
        (("2024:02:29 10:11:12",), ("iso", "%Y:%m:%d %H:%M:%S")),
        (("1922", "March 1922", "03/1922"), ("iso", "%Y", "%B %Y", "%m/%Y")),
        (("c. 1922", ""), ()),
    ],
)
def test_formats_are_recognized(texts: tuple[str, ...], formats: tuple[str, ...]) -> None:
    assert formats_of(dict.fromkeys(texts, 1)).arguments == formats


@pytest.mark.parametrize("texts", [("03/04/2024",), ("29/02/2024", "02/29/2024")])
def test_dates_that_may_be_two_different_days_are_not_guessed(texts: tuple[str, ...]) -> None:
    found = formats_of(dict.fromkeys(texts, 2))
    assert (found.arguments, found.read) == ((), 0)
    (point,) = found.open_points()
    assert point == (
        f"the sample does not decide whether “{texts[0]}” begins with the day or the month: add %d/%m/%Y or %m/%d/%Y"
    )


def test_values_are_counted_and_the_most_frequent_unread_one_is_named() -> None:
    found = formats_of({"1922": 5, "2024-02-29": 2, "c. 1922": 1, "unknown": 3, " ": 9})
    assert found.summary == "reads 7 of 11 sampled values, 5 of them without a day: the first one is written"
    assert list(found.open_points()) == ["no known format reads “unknown”"]


def asset(number: int, **fields: Value) -> Asset:
    return Asset(AssetId(str(number)), Revision("1"), fields=fields)


def suggested(
    folder: Path, kind: FieldKind, *values: Value, required: bool = False
) -> tuple[SuggestedLine, tuple[str, ...]]:
    source = schema(Field("acquired_on", FieldKind.TEXT))
    target = schema(Field("acquired_on", kind, required=required), Field("srckey", FieldKind.TEXT))
    sample = Sample.of(asset(number, acquired_on=value) for number, value in enumerate(values))
    found = suggest(source, target, sample=sample)
    walked(folder, found, source, target)
    return by_target(found)["acquired_on"], found.notes


@pytest.mark.parametrize(("kind", "step"), [(FieldKind.DATE, "date"), (FieldKind.INSTANT, "datetime")])
def test_the_transform_reads_the_formats_of_the_sample(tmp_path: Path, kind: FieldKind, step: str) -> None:
    line, notes = suggested(tmp_path, kind, "29/02/2024", "1922", Localized({"en": "2 March 1922"}))
    assert line.pipe == ({step: {"in": ["iso", "%d %B %Y", "%d/%m/%Y", "%Y"]}},)
    assert line.reason.endswith("; reads 3 of 3 sampled values, 1 of them without a day: the first one is written")
    assert not any("acquired_on" in note for note in notes)


def test_a_required_date_is_never_made_up(tmp_path: Path) -> None:
    line, _ = suggested(tmp_path, FieldKind.DATE, "29/02/2024", required=True)
    assert line.pipe == ({"date": {"in": ["iso", "%d/%m/%Y"]}},)
    assert line.sources == ("fields.acquired_on",)
    assert line.reason.endswith("required: an asset without it is parked")


def test_values_that_the_transform_does_not_read_are_named(tmp_path: Path) -> None:
    line, notes = suggested(tmp_path, FieldKind.DATE, "2024-02-29", "c. 1922")
    assert line.pipe == ("date",)
    note = "the line acquired_on reads 1 of 2 sampled values; no known format reads “c. 1922”"
    assert note in notes


def test_the_texts_of_a_sample_are_bounded_and_short() -> None:
    values = [f"text {number}" for number in range(MOST_TEXTS + 10)]
    found = Sample.of(
        asset(number, a=value, b="x" * 61, c=(Term("Sea"), Term(" Sea ")), d=7) for number, value in enumerate(values)
    )
    assert len(found.texts["a"]) == MOST_TEXTS
    assert not found.texts["b"]
    assert found.texts["c"] == {"Sea": 2 * len(values)}
    assert not found.texts["d"]
