"""Text with a replaced character is a named loss, wherever it stands."""

from __future__ import annotations

import pytest

from dam_sync.model.asset import Asset, AssetId, Placement, Revision, Rights
from dam_sync.model.mistyped import DAMAGED, damage_named
from dam_sync.model.values import Localized, Person, Term, Value

WHOLE = Asset(AssetId("1"), Revision("r"), "a.jpg", fields={"tags": "sea"}, tags=frozenset({"sea"}))


def paths(asset: Asset) -> list[str]:
    found = damage_named(asset).losses
    assert all(loss.rule == DAMAGED and "\ufffd" in loss.detail for loss in found)
    return [loss.path for loss in found]


def with_field(value: Value) -> Asset:
    return Asset(WHOLE.id, WHOLE.revision, WHOLE.filename, fields={"tags": value}, tags=WHOLE.tags)


def test_whole_text_is_left_alone() -> None:
    assert damage_named(WHOLE) is WHOLE


@pytest.mark.parametrize(
    "value",
    [
        "s\ufffda",
        Localized({"en": "sea", "fr": "m\ufffdr"}),
        Term("s\ufffda"),
        Term("sea", "7", ("w\ufffdter", "sea")),
        (Term("sea"), Term("s\ufffda")),
        Person("A\ufffdna"),
    ],
)
def test_a_field_is_named_by_its_own_path(value: Value) -> None:
    assert paths(with_field(value)) == ["fields.tags"]


def test_every_other_part_is_named() -> None:
    bad = "s\ufffda"
    place, rights = Placement("folder", ("a", bad)), Rights(groups=frozenset({bad}))
    asset = Asset(WHOLE.id, WHOLE.revision, bad, tags=frozenset({bad}), placements=frozenset({place}), rights=rights)
    assert sorted(paths(asset)) == ["filename", "placements", "rights", "tags"]
