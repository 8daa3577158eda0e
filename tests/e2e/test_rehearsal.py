"""A rehearsal does what the run does later, and neither service is written to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dam_sync.api.emulation.rehearsal import Rehearsal, RehearsalReport, rehearse_job
from dam_sync.model.run_options import RunOptions
from tests.support.jobs.any_pair import any_pair, hurried, joined, ran, tenant_of, verified
from tests.support.jobs.folder_jobs import side_of
from tests.support.jobs.small_jobs import photo, photos, small
from tests.support.jobs.tenants import Command, Pair
from tests.support.libraries.every_feature import OWN_MARKS, everything, receiving
from tests.support.pairs import ids, pairs
from tests.support.services.profiles import FOLDER, profile_of

SOURCE, TARGET = "c_brandlibrary", "d_templates"
PAIRS = [pair for pair in pairs(3, 4) if pair[1] != FOLDER]


def rehearsed(pair: Pair, rehearsal: Rehearsal | None = None) -> RehearsalReport:
    return asyncio.run(rehearse_job(pair.job, RunOptions(), rehearsal))


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ids(PAIRS))
def test_the_run_does_what_was_rehearsed(tmp_path: Path, source: str, target: str) -> None:
    library = everything(without=profile_of(source).refuses)
    with any_pair(tmp_path, source, target, library, receiving(), OWN_MARKS) as pair:
        found = rehearsed(pair)
        assert found.unlike == ()
        assert pair.target.assets == []
        assert not (tmp_path / "state" / "job.db").exists()
        report = ran(pair)
        done = found.run.as_json()
        assert [done[key] for key in ("counts", "operations", "losses")] == [
            report[key] for key in ("counts", "operations", "losses")
        ]
        assert done["parked"] == report["parked"]
        assert found.verification.clean == verified(pair)["clean"]


def test_what_the_job_calls_parts_of_the_tenant_is_rehearsed(tmp_path: Path) -> None:
    names = {"release_field": "embargo", "expiry_field": "last_day", "status_field": "state", "tags_field": "words"}
    statuses = [{"record": "status", "name": name} for name in ("Published", "Draft", "Archived")]
    library = everything(without=profile_of(SOURCE).refuses)
    with (
        hurried(),
        tenant_of(SOURCE, library) as first,
        tenant_of(TARGET, [*receiving(), *statuses], **names) as second,
    ):
        sides = side_of(SOURCE, first, {}), side_of(TARGET, second, names)
        pair = joined(tmp_path, *sides, (first, second), OWN_MARKS)
        found, report = rehearsed(pair), ran(pair)
        done = found.run.as_json()
        assert [done[key] for key in ("counts", "operations", "losses")] == [
            report[key] for key in ("counts", "operations", "losses")
        ]
        assert report["counts"]["created"]


def test_a_sample_with_generated_files(tmp_path: Path, command: Command) -> None:
    with small(tmp_path, photos(20), command=command) as job:
        result = job.pair.json("rehearse", str(job.pair.job), "--sample", "40%", "--placeholders")
        assert 0 < result["run"]["counts"]["created"] < 20
        assert result["run"]["counts"]["created"] == result["verify"]["verdict"]["equal"]
        assert not any("download" in call for call in job.pair.source.calls)
        assert job.pair.target.assets == []
        again = job.pair.json("rehearse", str(job.pair.job), "--sample", "40%", "--placeholders")
        assert again["run"]["counts"] == result["run"]["counts"]


def test_the_options_are_those_of_the_job(tmp_path: Path) -> None:
    grown = photo(1)
    grown["versions"] = [{"name": "old.jpg", "generate": {"size": 500, "seed": 7}}, *grown["versions"]]
    with small(tmp_path, [grown, photo(2)], options="version_policy: none, index_lag: 1") as job:
        page = tmp_path / "rehearsal.html"
        found = job.pair.json("rehearse", str(job.pair.job), "--html", str(page))
        plan = job.ran("plan", "--json", "--no-progress", code=0).data
    assert found["run"]["losses"] == plan["losses"]
    assert "versions" in {row["path"] for row in found["run"]["losses"]}
    text = page.read_text(encoding="utf-8")
    assert "Rehearsal of job" in text
    assert "othing was written to the target" in text.split("<nav", 1)[0], "before everything else"
    assert "2 of 2 compared assets are equal" in text
