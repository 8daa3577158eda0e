"""The comparison of the pairs finds what is missing, and believes a named loss only about what it names."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest

from tests.support.jobs.unreported_losses import Comparison

FILE = {"name": "a.jpg", "size": 1, "digests": {"sha256": "1"}}
TERM = {
    "label": "Sea",
    "path": ["Nature", "Sea"],
    "labels": {"en": "Sea", "fr": "Mer"},
    "synonyms": {"en": ["Ocean"]},
}
ROW: Mapping[str, Any] = {
    "status": "archived",
    "substatus": "Internal",
    "created_at": "2024-01-02T03:04:05Z",
    "filename": "a.jpg",
    "fields": {
        "title": {"texts": {"en": "Sea", "fr": "Mer"}},
        "note": "12",
        "shot": {"date": "2024-05-01"},
        "subject": [TERM],
        "sizes": [{"row": {"part": "frame", "length": 12.5}}, {"row": {"part": "glass"}}],
        "artist": [{"person": "Ann", "id": "3"}],
    },
    "versions": [{"name": "a.jpg", "digests": {"sha256": "0"}}, FILE],
    "attachments": [{"name": "b.pdf", "digests": {"sha256": "2"}}],
    "placements": [{"kind": "folder", "path": ["Press"]}],
    "tags": ["sea"],
    "machine_tags": ["boat"],
    "relations": [{"kind": "view", "target": "9"}],
    "rights": {"groups": ["staff"], "release_at": "2024-01-01T00:00:00Z", "expires_at": "2001-01-01T00:00:00Z"},
}
NAMES = ("title", "note", "shot", "subject", "sizes", "artist")


def compared(changes: Mapping[str, Any], *losses: str) -> list[str]:
    comparison = Comparison(NAMES, {"first_seen": "created_at"})
    return comparison.lost_silently(ROW, {**deepcopy(dict(ROW)), **changes}, losses)


def fields(**changed: Any) -> Mapping[str, Any]:
    return {"fields": {**ROW["fields"], **changed}}


RIGHTS = ROW["rights"]


def test_an_equal_row_has_lost_nothing() -> None:
    assert compared({}) == []
    assert compared(fields(shot="2024-05-01", note=12, artist="Ann")) == []
    assert compared(fields(sizes='{"length": "12.5", "part": "frame"}; {"part": "glass"}')) == []


@pytest.mark.parametrize(
    ("changes", "loss"),
    [
        (fields(note=None), "fields.note"),
        (fields(note="13"), "fields.note"),
        (fields(title="Sea"), "fields.title.fr"),
        (fields(sizes=[{"row": {"part": "frame", "length": 12.5}}]), "fields.sizes[]"),
        (fields(artist=[]), "fields.artist"),
        (fields(subject=[{**TERM, "labels": {"en": "Sea"}}]), "terms.languages"),
        (fields(subject=[{**TERM, "path": ["Sea"]}]), "terms.paths"),
        (fields(subject=[{**TERM, "synonyms": {}}]), "terms.synonyms"),
        ({"versions": [FILE]}, "versions"),
        ({"versions": [{**ROW["versions"][0], "name": "c.jpg"}, FILE]}, "filename"),
        ({"attachments": []}, "attachments"),
        ({"attachments": [{**ROW["attachments"][0], "name": "c.pdf"}]}, "filename"),
        ({"placements": []}, "placements.folder[]"),
        ({"tags": []}, "tags"),
        ({"tags": ["sea", "more"]}, "tags"),
        ({"machine_tags": []}, "machine_tags"),
        ({"status": "published"}, "status"),
        ({"substatus": ""}, "substatus"),
        ({"relations": []}, "relations.view"),
        ({"relations": [{"kind": "view", "target": "8"}]}, "relations"),
        ({"rights": {**RIGHTS, "release_at": None}}, "release"),
        ({"rights": {**RIGHTS, "expires_at": None}}, "expiry"),
        ({"rights": {**RIGHTS, "groups": []}}, "groups"),
        ({"filename": "b.jpg"}, "filename"),
    ],
)
def test_each_loss_is_seen_unless_it_was_reported(changes: Mapping[str, Any], loss: str) -> None:
    assert len(compared(changes)) == 1
    assert compared(changes, loss) == []
    assert len(compared(changes, "fields.other", "placements.label", "relations.other")) == 1


def test_a_loss_of_one_language_excuses_no_other() -> None:
    assert len(compared(fields(title="Mer"), "fields.title.fr")) == 1


def test_the_current_bytes_are_excused_by_nothing() -> None:
    assert len(compared({"versions": []}, "versions")) == 1


def test_relations_lead_to_what_the_other_asset_became() -> None:
    comparison = Comparison(NAMES, {}, twins={"9": "t9"})
    moved = {**deepcopy(dict(ROW)), "relations": [{"kind": "view", "target": "t9"}]}
    assert comparison.lost_silently(ROW, moved, ()) == []
    assert len(comparison.lost_silently(ROW, ROW, ())) == 1


def test_a_timestamp_may_arrive_in_a_field_of_its_own() -> None:
    other = {"created_at": "2026-01-01T00:00:00Z"}
    assert len(compared(other)) == 1
    assert compared({**other, **fields(first_seen={"instant": "2024-01-02T03:04:05Z"})}) == []
