"""After a rollback the target equals its state before the run, except for what was listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pairs import EVERYTHING, KINDS, ids, pairs
from tests.support.virtual.edits import EDITS
from tests.support.virtual.removing import ASSETS, removing
from tests.support.virtual.rolling import differing, held, preview, roll_back, stays
from tests.support.virtual.scene import ACCEPTED, scene

PAIRS = pairs(1) if EVERYTHING else pairs(1)[:2]


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_a_first_migration_is_undone_and_can_be_made_again(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with removing(tmp_path, kinds) as job:
        told = preview(job, 1)
        assert told.counts["moved to the trash"] == ASSETS
        assert held(job.target).keys() == set(job.links().values())
        report = roll_back(job, 1)
        assert report.counts == told.counts, report.cannot
        assert (held(job.target), job.links()) == ({}, {})
        assert roll_back(job, 1).done
        again = job.run()
        assert (again.counts["created"], len(job.living())) == (ASSETS, ASSETS), again.parked
        assert job.verify()["clean"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_brought_every_kind_of_change_is_undone_except_for_what_is_listed(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, EDITS[kind], exposure=ACCEPTED) as job:
        before = held(job.target)
        job.edit("source")
        report = job.run(full=True)
        assert report.counts["updated"] > len(EDITS[kind]) // 2
        back = roll_back(job, 2)
        listed = stays(job)
        assert len(listed) < report.counts["updated"] // 2
        assert [*differing(before, held(job.target), listed)] == [], back.cannot
