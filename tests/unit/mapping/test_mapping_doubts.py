"""Lines of a suggestion with a low score are reported until somebody has decided about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.mapping.doubts import DOUBTED
from dam_sync.mapping.suggest import suggest
from tests.support.mapping.service_schemas import B, D
from tests.support.mapping.tenant_schemas import compiled, with_lines


def doubts(folder: Path, *lines: str) -> list[str]:
    return [note for note in compiled(folder, with_lines(*lines)).warnings if "with a score" in note]


@pytest.mark.parametrize(
    "line",
    [
        "note: {from: filename}  # 0.45 names are similar",
        'note: {from: filename, default: "x #1"}  # 0.10 required, please choose',
        "note:\n    {from: filename}  # 0.45 names are similar",
        "? note\n  : {from: filename}  # 0.45 names are similar",
    ],
)
def test_a_line_with_its_low_score_is_named_with_its_place(tmp_path: Path, line: str) -> None:
    (note,) = doubts(tmp_path, line)
    assert note.startswith(f"a suggested line with a score below {DOUBTED}: fields.note (")
    assert "mapping.yaml:" in note
    assert "remove the score from its comment" in note


@pytest.mark.parametrize(
    "line",
    [
        "note: {from: filename}  # names are similar",
        "note: {from: filename}",
        "note: {from: filename}  # 0.50 names are similar",
        "note: {from: filename}  # 1.00 same key",
        "note: {from: filename}  # sizes below 0.45 inches",
    ],
)
def test_a_line_that_somebody_edited_or_that_is_sure_is_not(tmp_path: Path, line: str) -> None:
    assert doubts(tmp_path, line) == []


def test_all_of_a_suggestion_are_in_one_warning(tmp_path: Path) -> None:
    found = suggest(B, D)
    low = {line.target for line in found.lines if line.score < DOUBTED}
    (note,) = [one for one in compiled(tmp_path, found.text(), B, D).warnings if "with a score" in one]
    assert low
    assert all(f"{target} (" in note for target in low)
    kept = "\n".join(line.partition("  #")[0] for line in found.text().splitlines())
    assert not [one for one in compiled(tmp_path, kept, B, D).warnings if "with a score" in one]
