"""A verification of a job that has nothing at the target accounts for the source and does not read the target."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs.small_jobs import Small, hurry, photos, small

MOVED = 4
NOTHING = "no asset of this job is at the target"
READ_TO_COMPARE = {"GET /v2/metadata/{key}/vocabulary", "GET /v2/collections"}


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


def verify(job: Small, code: int) -> tuple[Mapping[str, Any], bool, Mapping[str, int]]:
    """The verdict, whether the report says that nothing was moved, and the calls to the target."""
    job.pair.target.forget_calls()
    found = job.ran("verify", "--json", "--no-progress", "--level", "fields", code=code).data
    return found["verdict"], any(NOTHING in note for note in found["notes"]), dict(job.pair.target.calls)


def test_the_target_is_read_only_if_something_of_the_job_is_there(tmp_path: Path) -> None:
    with small(tmp_path, photos(MOVED)) as job:
        job.run()
        verdict, said, before = verify(job, 0)
        assert (verdict["linked"], verdict["equal"], said) == (MOVED, MOVED, False)
        assert before.keys() >= READ_TO_COMPARE
        job.ran("rollback", "--run", "1", "--yes", "--max-deletes", "100%", "--no-progress", code=0)
        verdict, said, after = verify(job, 3)
        assert [verdict[key] for key in ("source_assets", "unaccounted", "linked", "checked")] == [MOVED, MOVED, 0, 0]
        assert verdict["groups"][0]["pattern"] == "moved, and rolled back since"
        assert said
        assert not after.keys() & READ_TO_COMPARE
        assert sum(after.values()) < sum(before.values())


def test_what_was_parked_is_accounted_for_without_the_target(tmp_path: Path) -> None:
    required = (
        "credit: {from: fields.credit, pipe: [strip_html, trim]}",
        "credit: {from: fields.credit, required: true}",
    )
    with small(tmp_path, photos(MOVED), mapping=[required]) as job:
        job.run(code=4)
        verdict, said, calls = verify(job, 0)
        assert [verdict[key] for key in ("source_assets", "parked", "unaccounted")] == [MOVED, MOVED, 0]
        assert said
        assert not calls.keys() & READ_TO_COMPARE
