"""A collection whose assets cannot be read: the others are moved, and nothing is concluded from this one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.inspection import inspect_job
from dam_sync.emulators.e_profiles.routes_schema import SchemaCalls
from dam_sync.emulators.e_profiles.taxonomy import Collection
from dam_sync.model.values import Json
from tests.conformance.catalogue import SCHEMA, asset
from tests.support import small
from tests.support.anypair import any_pair, planned, ran, verified
from tests.support.tenants import Pair

BEST, WORST = ({"kind": "collection", "path": [title], "id": ""} for title in ("Best of", "Worst of"))


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Titles of collections that give no link to their assets (wire E 5.5)."""
    titles: set[str] = set()
    shown = SchemaCalls._collection

    def without_link(self: SchemaCalls, collection: Collection) -> Json:
        row = shown(self, collection)
        return {**row, "_links": {}} if collection.title in titles else row

    monkeypatch.setattr(SchemaCalls, "_collection", without_link)
    return titles


def places(pair: Pair) -> dict[str, set[str]]:
    return {
        row["filename"]: {place["path"][-1] for place in row["placements"] if place["kind"] == "collection"}
        for row in pair.target.assets
        if row["status"] != "trash"
    }


def about(report: dict[str, Any]) -> list[str]:
    return [note for note in report["notes"] if "Best of" in note]


def test_the_rest_is_moved_and_nothing_is_taken_out(tmp_path: Path, closed: set[str]) -> None:
    rows = [asset(1, placements=[BEST]), asset(2, placements=[BEST, WORST]), asset(3, placements=[WORST])]
    with any_pair(tmp_path, "e_profiles", "e_profiles", [*SCHEMA, *rows], SCHEMA, "srckey") as pair:
        assert ran(pair)["counts"]["created"] == 3
        before = places(pair)
        assert sorted(map(len, before.values())) == [1, 1, 2]
        closed.add("Best of")
        plan, done = planned(pair), ran(pair)
        assert about(plan) == about(done)
        assert len(about(done)) == 1
        assert places(pair) == before
        assert verified(pair)["clean"]
        closed.clear()
        assert not about(ran(pair))
        assert places(pair) == before


def test_a_first_run_moves_the_assets_without_it(tmp_path: Path, closed: set[str]) -> None:
    closed.add("Best of")
    library = [*SCHEMA, asset(1, placements=[BEST, WORST])]
    with any_pair(tmp_path, "e_profiles", "e_profiles", library, SCHEMA, "srckey") as pair:
        done = ran(pair)
        assert (done["counts"]["created"], places(pair)) == (1, {"photo 1.jpg": {"Worst of"}})
        assert len(about(done)) == 1
        found = asyncio.run(inspect_job(pair.job, small.options()))
        assert any("Best of" in note for side in found.sides for note in side.notes)
        closed.clear()
        ran(pair)
        assert places(pair) == {"photo 1.jpg": {"Best of", "Worst of"}}
