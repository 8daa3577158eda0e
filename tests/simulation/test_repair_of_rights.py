"""`run --repair` and rights: what the source changed is written, and only what was done by hand is not reopened."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dam_sync.emulators import emulated_kinds
from dam_sync.model.asset import Patch
from tests.support.virtual.target_edits import DATES, GROUPS, Edit, rights
from tests.support.virtual.two_tenants import ACCEPTED, REOPENS, TwoTenants, scene

KINDS = {kind[0]: kind for kind in emulated_kinds()}
GROUP_SWAPPED, EXPIRY_REMOVED = GROUPS[1], DATES[2]
PUBLIC = frozenset({"public"})
BOTH = Edit("group swapped, expiry removed", "groups", rights(groups=PUBLIC, expires_at=None), hides=True)
HIDDEN = Edit("release removed", "release", lambda hand, at: hand.service.update(at.id, Patch(closed=True)), hides=True)
SOONER = datetime(2031, 2, 3, tzinfo=UTC)


def left_closed(exposure: list[dict[str, object]]) -> list[object]:
    """How many assets were not reopened."""
    return [row["assets"] for row in exposure if row["rule"] == "reopened_by_repair"]


def differing(made: TwoTenants) -> set[str]:
    """What a verification finds to differ."""
    return {path for paths in made.found(made.verify()).values() for path in paths}


@pytest.mark.parametrize("kind", ["b", "d", "e"])
@pytest.mark.parametrize("policy", [{}, {"rotation": 1, "drift": "repair"}])
def test_rights_that_only_the_source_changed_are_written(tmp_path: Path, kind: str, policy: dict[str, object]) -> None:
    with scene(tmp_path, KINDS[kind], (GROUP_SWAPPED, EXPIRY_REMOVED), exposure=ACCEPTED, **policy) as made:
        made.edit_originals()
        report = made.run(repair=not policy)
        assert left_closed(report.exposure) == [], "nobody hid or restricted anything by hand"
        assert differing(made) == set()


@pytest.mark.parametrize("kind", ["b", "d", "e"])
def test_beside_what_was_restricted_by_hand_the_source_still_changes_rights(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, KINDS[kind], (GROUP_SWAPPED,), exposure=ACCEPTED) as made:
        made.edit()
        made.change_source(rights(expires_at=SOONER), every=False)
        assert left_closed(made.run(repair=True).exposure) == [1]
        assert {path.rpartition(" ")[2] for path in differing(made)} == {"groups"}


def test_an_asset_hidden_by_taking_its_release_date_away_stays_hidden(tmp_path: Path) -> None:
    with scene(tmp_path, KINDS["e"], (HIDDEN,), exposure=ACCEPTED) as made:
        made.edit()
        assert left_closed(made.run(repair=True).exposure) == [1]
        assert {path.rpartition(" ")[2] for path in differing(made)} == {"release"}
        made.policy(exposure=REOPENS)
        made.run(repair=True)
        assert differing(made) == set()


@pytest.mark.parametrize("kind", ["b", "d", "e"])
def test_a_date_that_shows_less_comes_back_beside_what_was_restricted_by_hand(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, KINDS[kind], (BOTH,), exposure=ACCEPTED) as made:
        made.edit()
        assert {path.rpartition(" ")[2] for path in differing(made)} == {"groups", "expiry"}
        report = made.run(repair=True)
        assert left_closed(report.exposure) == [1]
        assert report.repaired == {"rights": 1}
        assert {path.rpartition(" ")[2] for path in differing(made)} == {"groups"}
