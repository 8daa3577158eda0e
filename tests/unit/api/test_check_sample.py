"""What `check` says of the first assets: values that the type of the target has no field for."""

from __future__ import annotations

from pathlib import Path

from dam_sync.api.check_sample import _lacking_result
from dam_sync.api.preview import Preview
from tests.support.mapping.drafts import asset, draft
from tests.support.mapping.tenant_schemas import with_lines

PAGES = "pages: {from: fields.height_cm}"


def previewed(folder: Path, profile: str, number: int) -> Preview:
    text = with_lines(PAGES).replace("{default: images}", profile)
    found = Preview(taken=number)
    for _ in range(number):
        found.note_lacking(draft(folder, text, asset(height_cm=3)))
    return found


def test_values_whose_type_has_no_such_field_are_named(tmp_path: Path) -> None:
    profile = "{from: form_type, cases: {DOCUMENT: documents}, default: images}"
    result = _lacking_result(previewed(tmp_path, profile, 2))
    assert result is not None
    assert result.warns
    assert result.message == (
        "of the first 2 assets, values would be lost, because the type that the asset gets has no such field: "
        "fields.height_cm of 2 assets: 3 (pages is not in Images)"
    )
    assert "`profile`" in result.hint


def test_values_that_have_their_field_are_not(tmp_path: Path) -> None:
    assert _lacking_result(previewed(tmp_path, "{default: documents}", 2)) is None
