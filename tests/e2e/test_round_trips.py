"""There and back: from A to any service and from there to another A, every value comes back that the other can hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.app.trial import Emulated
from dam_sync.services import discover
from tests.conformance.drafts import KEYS
from tests.support.anypair import by_bytes, joined, losses_by_asset, lost_silently, ran, tenant_of
from tests.support.everything import OWN_MARKS, everything, receiving

HOME = next(iter(discover()))


@pytest.mark.parametrize("abroad", list(discover()), ids=[kind[0] for kind in discover()])
def test_what_goes_there_comes_back(tmp_path: Path, abroad: str) -> None:
    with (
        tenant_of(HOME, everything()) as left,
        tenant_of(abroad, receiving()) as away,
        tenant_of(HOME, receiving()) as home,
    ):
        here, there, back = Emulated(HOME, left.url), Emulated(abroad, away.url), Emulated(HOME, home.url)
        losses = []
        for name, one, other, tenants in (("there", here, there, (left, away)), ("back", there, back, (away, home))):
            tenants[0].ask("/_emulator/clock", {"advance": 600})  # until its index shows all that was written there
            pair = joined(tmp_path / name, one, other, tenants, OWN_MARKS)
            report = ran(pair)
            assert report["parked"] == []
            losses.append(losses_by_asset(pair))
        before, between, after = by_bytes(left), by_bytes(away), by_bytes(home)
    assert after.keys() == before.keys()
    faults = []
    for key, row in before.items():
        told = [*losses[0][row["id"]], *losses[1][between[key]["id"]]]
        faults += [f"{row['catalogue_id']} {fault}" for fault in lost_silently(row, after[key], told, KEYS, ("", ""))]
    assert faults == []
