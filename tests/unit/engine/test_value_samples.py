"""How samples of values read in a report, and which values are kept of what the mapping leaves out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.engine.context.value_samples import LONGEST, ValueSamples
from dam_sync.mapping.value_text import text_of
from dam_sync.model.values import Localized, Term, Value
from tests.support.mapping.drafts import NOON, asset
from tests.support.mapping.tenant_schemas import LEAST, compiled


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Term("Sea", "7", path=("Sea",)), "Sea"),
        (Term("Sea", "7", path=("Nature", "Sea")), "/Nature/Sea"),
        (Term("Sea", "7"), "Sea"),
        ((Term("Sea", path=("Sea",)), Term("Sky")), "Sea; Sky"),
        (True, "yes"),
    ],
)
def test_a_term_reads_the_same_before_and_after_it_was_created(value: Value, text: str) -> None:
    assert text_of(value) == text


def test_three_different_values_of_each_field_that_is_left_out_are_samples(tmp_path: Path) -> None:
    text = LEAST.replace("unmapped: ignore", "unmapped: report") + "ignore: [stat_views, keywords, created_at, width]\n"
    coverage, samples = compiled(tmp_path, text).coverage, ValueSamples()
    for views in (7, 7, 8, 9, 10):
        given = asset(stat_views=views, keywords=(Term("Sea"), Term("Sky")), inventory="A1", width=100, note="")
        samples.add_left_out(replace(given, created_at=NOON), coverage)
    assert samples.left_out == {
        "fields.stat_views": ["7", "8", "9"],
        "fields.keywords": ["Sea; Sky"],
        "created_at": [str(NOON)],
    }


def test_of_a_mapping_that_ignores_what_it_does_not_read_all_other_fields_are_sampled(tmp_path: Path) -> None:
    samples = ValueSamples()
    samples.add_left_out(asset(title=Localized({"en": "x" * 999}), credit=" "), compiled(tmp_path, LEAST).coverage)
    ((path, (text,)),) = samples.left_out.items()
    assert (path, len(text)) == ("fields.title", LONGEST)
