"""There and back: from A to any service and from there to another A, every value comes back that the other can hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.api.emulation.sandbox import Emulated
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import hurried, joined, living, losses_in, moved, ran, receiver_of, tenant_of
from tests.support.jobs.folder_jobs import side_of
from tests.support.jobs.unreported_losses import Comparison
from tests.support.libraries.every_feature import NAMES, OWN_MARKS, everything, receiving
from tests.support.pairs import EVERY

HOME = EVERY[0]


@pytest.mark.parametrize("abroad", EVERY, ids=[kind[0] for kind in EVERY])
def test_a_library_moved_there_and_back_is_the_same(tmp_path: Path, abroad: str) -> None:
    with (
        hurried(),
        tenant_of(HOME, everything()) as left,
        receiver_of(abroad, receiving()) as away,
        tenant_of(HOME, receiving()) as home,
    ):
        here, there, back = Emulated(HOME, left.url), side_of(abroad, away, {}), Emulated(HOME, home.url)
        states, always = [], list[str]()
        for name, one, other, tenants in (("there", here, there, (left, away)), ("back", there, back, (away, home))):
            small_jobs.skip(600)  # until every index shows all that was written there
            pair = joined(tmp_path / name, one, other, tenants, OWN_MARKS)
            always += losses_in(ran(pair)["notes"])
            states.append(moved(pair))
        before, after = living(left), living(home)
    gone, come = states
    assert come.parked == {}
    twins = {asset: come.twins[twin] for asset, twin in gone.twins.items()}
    assert sorted(twins.values()) == sorted(after)
    comparison = Comparison(NAMES, {}, twins=twins)
    faults = []
    for asset, twin in twins.items():
        told = [*gone.losses[asset], *come.losses[gone.twins[asset]], *always]
        row = before[asset]
        faults += [f"{row['catalogue_id']} {fault}" for fault in comparison.lost_silently(row, after[twin], told)]
    assert faults == []
