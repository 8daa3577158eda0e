"""The library of the pairs leaves out no feature of the neutral model."""

from __future__ import annotations

import pytest

from dam_sync.model.capabilities import Feature
from tests.support.libraries.every_feature import NOT_ASKED_FOR, USED, everything


@pytest.mark.parametrize("feature", Feature, ids=lambda feature: feature.name.lower())
def test_every_feature_is_used_or_has_a_reason_not_to_be(feature: Feature) -> None:
    assert (feature in USED) is not (feature in NOT_ASKED_FOR)
    if feature in USED:
        assert USED[feature](everything())
        assert not USED[feature]([])
    else:
        assert NOT_ASKED_FOR[feature].strip()


def test_relations_go_both_ways_and_some_assets_are_in_many_containers_or_in_none() -> None:
    rows = [row for row in everything() if row["record"] == "asset"]
    related = {(row["id"], each["target"]) for row in rows for each in row.get("relations", ())}
    assert any((other, one) in related for one, other in related)
    placed = {len(row["placements"]) for row in rows}
    assert min(placed) == 0
    assert max(placed) > 5
