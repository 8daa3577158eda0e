"""What a create that was begun leaves to write, and what no call changes of the asset that it made."""

from __future__ import annotations

from dataclasses import replace

from tests.support.purposes import Purposes
from tests.unit.engine.test_engine_agreement import PLAIN, state_of


def test_a_profile_that_changed_since_an_asset_was_created_is_a_loss() -> None:
    """As it is for an asset that is complete."""
    before, wanted = replace(PLAIN, profile="Images"), replace(PLAIN, profile="Texts", fields={"title": "T2"})
    made = Purposes(state_of(before, wanted=wanted)).resumed_create()
    assert [(loss.path, loss.rule) for loss in made.losses] == [("profile", "fixed")]
    assert Purposes(state_of(before, wanted=before)).resumed_create().losses == ()
