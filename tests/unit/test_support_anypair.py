"""The comparison of the pairs finds what is missing, and believes a named loss only about what it names."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest

from tests.support.anypair import lost_silently

FILE = {"name": "a.jpg", "digests": {"sha256": "1"}}
ROW: Mapping[str, Any] = {
    "filename": "a.jpg",
    "fields": {"title": {"texts": {"en": "Sea", "fr": "Mer"}}, "note": "12", "shot": {"date": "2024-05-01"}},
    "versions": [{"name": "a.jpg", "digests": {"sha256": "0"}}, FILE],
    "attachments": [{"name": "b.pdf", "digests": {"sha256": "2"}}],
    "placements": [{"kind": "folder", "path": ["Press"]}],
    "tags": ["sea"],
    "relations": [{"kind": "view", "target": "9"}],
    "rights": {"groups": [], "release_at": "2024-01-01T00:00:00Z", "expires_at": None},
}
NAMES = ("title", "note", "shot")


def compared(changes: Mapping[str, Any], *losses: str) -> list[str]:
    return lost_silently(ROW, {**deepcopy(dict(ROW)), **changes}, losses, NAMES, ("", ""))


def fields(**changed: Any) -> Mapping[str, Any]:
    return {"fields": {**ROW["fields"], **changed}}


def test_an_equal_row_has_lost_nothing() -> None:
    assert compared({}) == []
    assert compared(fields(shot="2024-05-01", note=12)) == []


@pytest.mark.parametrize(
    ("changes", "loss"),
    [
        (fields(note=None), "fields.note"),
        (fields(note="13"), "fields.note"),
        (fields(title="Sea"), "fields.title.fr"),
        ({"versions": [FILE]}, "versions"),
        ({"attachments": []}, "attachments"),
        ({"placements": []}, "placements.folder[]"),
        ({"tags": []}, "tags"),
        ({"relations": []}, "relations.view"),
        ({"rights": {"groups": []}}, "release"),
        ({"filename": "b.jpg"}, "filename"),
    ],
)
def test_each_loss_is_seen_unless_it_was_told(changes: Mapping[str, Any], loss: str) -> None:
    assert len(compared(changes)) == 1
    assert compared(changes, loss) == []
    assert len(compared(changes, "fields.other", "status")) == 1


def test_a_loss_of_one_language_excuses_no_other() -> None:
    assert len(compared(fields(title="Mer"), "fields.title.fr")) == 1


def test_the_current_bytes_are_excused_by_nothing() -> None:
    assert len(compared({"versions": []}, "versions")) == 1
