"""What a repair restores of an asset that an interrupted attempt left on its way from one state to another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dam_sync.model.asset import Rights
from tests.support.purposes import Purposes
from tests.support.random_states import UNRELEASED, Target
from tests.unit.engine.test_engine_agreement import LATER, PLAIN, SOON, state_of


@pytest.mark.parametrize("status", ["draft", "published"], ids=["people closed it", "as it should be"])
def test_a_release_date_that_a_killed_attempt_took_away_returns_though_nothing_else_of_the_rights_is_written(
    status: str,
) -> None:
    """Without the date, the asset would be hidden permanently."""
    before = replace(PLAIN, rights=Rights(SOON, None, frozenset("h")))
    meant = replace(PLAIN, rights=Rights(SOON, LATER, frozenset("g")))
    hidden = Rights(None, LATER, frozenset("g"), UNRELEASED)
    state = state_of(before, meant, target=Target(released=True), status=status, rights=hidden)
    made = Purposes(state).repair().settlement.patch
    assert made.rights == meant.rights


def test_rights_of_an_asset_that_stays_hidden_are_not_written() -> None:
    before = replace(PLAIN, closed=True, rights=Rights(SOON, None, frozenset("h")))
    meant = replace(PLAIN, closed=True, rights=Rights(SOON, LATER, frozenset("g")))
    hidden = Rights(None, None, frozenset(), UNRELEASED)
    state = state_of(before, meant, target=Target(released=True), status="closed", rights=hidden)
    assert Purposes(state).repair().settlement.patch.rights is None
