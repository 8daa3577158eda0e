"""Containers whose listings include what is in the containers below them: whether an asset is in the upper one, too,
cannot be seen. Wire E 3.5."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.jobs.small_jobs import hurry, photo, small

PLACES = [{"kind": "folder", "path": path, "id": ""} for path in (["Press"], ["Press", "2024"])]


def test_an_asset_in_a_category_and_in_one_below_it_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    assets = [{**photo(1), "placements": PLACES}, {**photo(2), "placements": PLACES[1:]}, photo(3)]
    with small(tmp_path, assets, target_options={"lag": 0.0, "variant": "subtree"}) as job:
        job.run()
        verdict = job.ran("verify", "--json", "--no-progress", "--level", "fields", code=0).data["verdict"]
        assert verdict["groups"] == []
        repaired = job.run("--repair").data
        assert not repaired["operations"], "a repair writes nothing"
