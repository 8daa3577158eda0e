"""Memberships that the target refuses: named, an exit code of their own, and tried again by the next run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs.small_jobs import Small, photo, small

PLACED = [{"kind": "folder", "path": ["Library", "Press"]}]
FILL = "POST /api/rest/category/assets"


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Small]:
    with small(tmp_path, [{**photo(number), "placements": PLACED} for number in (1, 2, 3)]) as made:
        yield made


def sources(job: Small) -> set[str]:
    return {str(row["id"]) for row in job.pair.source.assets}


def parked(report: Any) -> list[tuple[str, int]]:
    return [(row["cause"], row["count"]) for row in report["parked"]]


def test_refused_memberships_are_parked_by_name_and_tried_again(job: Small) -> None:
    job.faulty({"match": FILL, "every": 1, "do": "status:400"}, side="target")
    ran = job.run(code=4)
    assert parked(ran.data) == [("membership refused", 3)]
    assert "Press" in ran.data["parked"][0]["example"]
    errors = job.ran("errors", "--json", code=0).data
    assert {row["asset"] for row in errors["assets"]} == sources(job)
    assert {row["filename"] for row in errors["assets"]} == {"photo-1.jpg", "photo-2.jpg", "photo-3.jpg"}
    assert errors["count"] == 3
    again = job.run(code=4)
    assert parked(again.data) == [("membership refused", 3)]
    job.mend()
    last = job.run(code=0)
    assert parked(last.data) == []
    assert all(row["placements"] for row in job.pair.target.assets), json.dumps(job.pair.target.assets)
