"""What the mapping file says about a reason for which it parks an asset."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.mapping.compile import compile_mapping
from dam_sync.mapping.refusals import refusal_of
from tests.support.mapping.tenant_schemas import SOURCE, TARGET, read, with_lines

TABLES = """\
lookups:
  strict: {values: {a: b}, unmatched: park}
  loose: {values: {a: b}}
vocabularies:
  subject: {source: keywords, target: subject, match: [exact], unmatched: park}
  offered: {source: keywords, target: subject, match: [exact], unmatched: suggest}
  made: {source: keywords, target: subject, match: [exact], unmatched: create}
"""


@pytest.mark.parametrize(
    ("line", "reason", "said", "most"),
    [
        ("note: {from: fields.inventory}", "too long", "", 20),
        ("note: {from: fields.inventory, on_error: park}", "too long", "on_error: park", 20),
        ("note: {from: fields.inventory, pipe: [{truncate: {max: 9, on_cut: park}}]}", "truncate", "on_cut: park", 9),
        ("note: {from: fields.inventory, pipe: [{truncate: 9}]}", "truncate", "", 9),
        ("note: {from: fields.inventory, pipe: [{lookup: strict}]}", "lookup", "unmatched: park", None),
        ("note: {from: fields.inventory, pipe: [{lookup: loose}]}", "lookup", "", None),
        ("note: {from: fields.inventory, pipe: [{lookup: {name: loose, unmatched: park}}]}", "lookup",
         "unmatched: park", None),
        ('subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}]}', "vocabulary", "unmatched: park", None),
        ('subject: {from: "fields.keywords[]", pipe: [{vocabulary: offered}]}', "vocabulary", "unmatched: suggest",
         None),
        ('subject: {from: "fields.keywords[]", pipe: [{vocabulary: made}]}', "vocabulary", "", None),
        ("note: {from: fields.inventory, required: true}", "required", "required: true", None),
        ("note: {from: fields.inventory}", "required", "", None),
    ],
)  # fmt: skip
def test_only_what_the_file_says_is_repeated(
    tmp_path: Path, line: str, reason: str, said: str, most: int | None
) -> None:
    document = read(tmp_path, with_lines(line) + TABLES)
    found = refusal_of(f"fields.{line.split(':')[0]}", reason, compile_mapping(document, SOURCE, TARGET), document)
    assert (found.said, found.most) == (said, most)


def test_a_line_that_the_mapping_no_longer_has_says_nothing(tmp_path: Path) -> None:
    document = read(tmp_path, with_lines())
    found = refusal_of("fields.gone", "too long", compile_mapping(document, SOURCE, TARGET), document)
    assert (found.said, found.most) == ("", None)
