"""What a draft has without a rule of the mapping."""

from __future__ import annotations

from dam_sync.model.asset import Asset, AssetId, Draft, Revision, Rights
from dam_sync.model.audience import Restriction, RestrictionKind
from dam_sync.model.carried import with_carried


def test_what_narrows_an_asset_is_carried_only_to_a_target_that_stores_it() -> None:
    narrowed = frozenset({Restriction(RestrictionKind.CONTAINER, "Board")})
    asset = Asset(AssetId("1"), Revision("1"), rights=Rights(groups=frozenset("h"), restrictions=narrowed))
    draft = Draft(None, "a.jpg", rights=Rights(groups=frozenset("g")))
    assert with_carried(draft, asset, {"tags"}) == draft
    assert with_carried(draft, asset, {"restrictions"}).rights == Rights(groups=frozenset("g"), restrictions=narrowed)
