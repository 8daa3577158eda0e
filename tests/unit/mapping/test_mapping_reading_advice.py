"""Values that a step or a field refuses, and the step that would read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.mapping.drafts import asset, draft
from tests.support.mapping.tenant_schemas import with_lines

COMMA = '“34,5” is not a number; {number: ","} reads it'
DAY_FIRST = '{date: {in: [iso, "%d-%m-%Y"]}} reads it'


@pytest.mark.parametrize(
    ("line", "value", "detail"),
    [
        ("heightCm: {from: fields.inventory}", "34,5", COMMA),
        ("heightCm: {from: fields.inventory, pipe: [number]}", "34,5", COMMA),
        ("heightCm: {from: fields.inventory, pipe: [number]}", "tall", "“tall” is not a number"),
        ("shotDate: {from: fields.inventory}", "27-02-2021", f"“27-02-2021” is not a date; {DAY_FIRST}"),
        (
            "shotDate: {from: fields.inventory, pipe: [date]}",
            "03-11-2019",
            '“03-11-2019” is not a date of the form iso; {date: {in: [iso, "%d-%m-%Y"]}} reads it with the day first, '
            "%m-%d-%Y with the month first",
        ),
        ("shotDate: {from: fields.inventory, pipe: [date]}", "ca. 1880", "“ca. 1880” is not a date of the form iso"),
        (
            "approved: {from: fields.inventory, pipe: [flag]}",
            "nee",
            '“nee” is neither yes nor no; {flag: {"true": [ja], "false": [nee]}} reads it',
        ),
    ],
)
def test_a_refused_text_comes_with_the_step_that_reads_it(tmp_path: Path, line: str, value: str, detail: str) -> None:
    (refused,) = draft(tmp_path, with_lines(line), asset(inventory=value)).rejections
    assert refused.detail == f"{detail} (from fields.inventory)"
