"""A plan reads the target as its run will, and counts the same calls, also where assets there are archived."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dam_sync.model.asset import Patch
from dam_sync.model.values import Localized
from tests.support.jobs.library_edits import change_source
from tests.support.jobs.small_jobs import Record, hurry, photo, photos, small

OTHERS = {**photo(59, name="old.jpg"), "status": "archived", "type": "Images", "fields": {}, "placements": []}


@pytest.mark.parametrize("there", [(), (OTHERS,)], ids=["nothing archived", "archived"])
def test_a_plan_counts_the_searches_of_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: Sequence[Record]
) -> None:
    hurry(monkeypatch)
    with small(tmp_path, photos(3), target=there) as job:
        for number in ("1", "2"):
            planned = job.ran("plan", "--json", "--no-progress", code=0).data["target"]["calls"]
            assert job.run().data["target"]["calls"] == planned
            title = Patch(fields={"title": Localized({"en": f"Changed {number}"})})
            for row in job.pair.source.assets[:2]:
                change_source(job.pair.job, str(row["id"]), title)
