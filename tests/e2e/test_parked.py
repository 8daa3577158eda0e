"""What is parked: nothing is made for it, many of one cause stop the run, what may pass is tried again by itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.state_commands import job_errors
from dam_sync.engine.run.retrying import MOST_RUNS
from tests.support.jobs.small_jobs import hurry, photo, photos, small
from tests.support.services.small_limits import changed

FILES = "GET /medias/domain1/media8/*"
CUT = ("[strip_html, trim]", "[strip_html, trim, {truncate: {max: 1280, on_cut: note}}]")
LONG = "y" * 2_000
FEW = 24
MANY = 30


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


def apart(number: int, **more: Any) -> dict[str, Any]:
    """A picture with a term and a folder of its own."""
    keyword = {"id": f"t{number}", "label": f"Alone {number}"}
    folder = {"kind": "folder", "path": ["Library", f"Only {number}"]}
    return {**photo(number, keywords=[keyword]), "placements": [folder], **more}


def term(number: int) -> dict[str, Any]:
    return {"record": "term", "vocabulary": "subjects", "id": f"t{number}", "labels": {"en": f"Alone {number}"}}


UNFIT = {
    "without a file": {"versions": []},
    "too large": {"versions": [{"name": "vast.jpg", "generate": {"size": 6_000, "seed": 1}}]},
    "mapping": {"fields": {**photo(1, credit=LONG)["fields"], "keywords": [{"id": "t1", "label": "Alone 1"}]}},
}


@pytest.mark.parametrize("more", UNFIT.values(), ids=UNFIT)
def test_no_term_and_no_container_is_made_for_what_is_parked(tmp_path: Path, more: dict[str, Any]) -> None:
    limits = {"e_profiles": changed("e_profiles", largest_bytes=5_000)}
    options = "version_policy: file_only, index_lag: 1, chunked: 'off'"
    with small(tmp_path, [apart(1, **more), photo(2)], source=[term(1)], limits=limits, options=options) as job:
        plan = job.ran("plan", "--json", "--no-progress", code=0).data
        report = job.run(code=4).data
        assert (report["counts"]["created"], report["counts"]["parked"]) == (1, 1)
        assert report["operations"] == plan["operations"]
        made = [call for call in job.pair.target.calls if "Alone" in call or call.startswith("POST /api/rest/")]
        assert report["operations"].get("term", 0) == 0
        assert report["operations"]["container"] == 1  # of the other asset
        assert job.pair.target.calls.get("POST /api/rest/category", 0) <= 1, made
        (row,) = job.parked()
        assert row["asset"] == "8801"


def faulty(number: int) -> list[dict[str, Any]]:
    return [photo(each, credit=LONG) for each in range(1, number + 1)]


def test_many_parked_for_one_cause_stop_the_run(tmp_path: Path) -> None:
    with small(tmp_path, faulty(MANY)) as job:
        words = ("assets to write were all parked for the same cause", "fields.credit: too long", "--continue-parked")
        job.ran("plan", "--no-progress", code=6).says(*words)
        job.ran("run", "--no-progress", code=6).says(*words)
        assert job.pair.target.writes == 0
        assert job.ran("errors", "--json", code=0).data["count"] == 0  # they are tried again
        job.ran("errors", code=0).says("nothing is parked; run 1 was stopped", f"next: dam-sync run {job.pair.job}")
        job.ran("run", "--no-progress", code=6).says(*words)
        assert job.run("--continue-parked", code=4).data["counts"]["parked"] == MANY
        mapping = tmp_path / "mapping.yaml"
        mapping.write_text(mapping.read_text(encoding="utf-8").replace(*CUT), encoding="utf-8")
        assert len(job.ends_complete()) == MANY


@pytest.mark.parametrize("good", [0, 1])
def test_few_of_one_cause_are_parked_and_so_are_many_behind_one_that_arrives(tmp_path: Path, good: int) -> None:
    with small(tmp_path, [*photos(good), *faulty(MANY if good else FEW)[good:]]) as job:
        report = job.run(code=4).data
        assert report["counts"]["parked"] == (MANY - 1 if good else FEW)


def test_many_that_an_earlier_run_parked_do_not_stop_a_later_one(tmp_path: Path) -> None:
    with small(tmp_path, [*photos(1), *faulty(MANY)[1:]]) as job:
        job.run(code=4)
        assert job.run("--full", code=4).data["counts"]["parked"] == MANY - 1  # all are listed again
        assert job.ran("errors", "--json", code=0).data["count"] == MANY - 1


def test_what_was_parked_because_of_the_mapping_is_tried_again_by_another_one(tmp_path: Path) -> None:
    with small(tmp_path, [photo(1), photo(2, credit=LONG)]) as job:
        job.run(code=4)
        job.run(code=4)
        mapping = tmp_path / "mapping.yaml"
        mapping.write_text(mapping.read_text(encoding="utf-8").replace(*CUT), encoding="utf-8")
        job.ran("run", "--no-progress", code=6)
        report = job.run("--accept-changes").data
        assert report["counts"]["created"] == 1
        assert any("1 asset that was parked is tried again: the mapping changed" in note for note in report["notes"])
        assert len(job.ends_complete()) == 2


def test_what_a_passing_fault_parked_is_tried_again_by_the_next_run(tmp_path: Path) -> None:
    with small(tmp_path, photos(3)) as job:
        job.faulty({"match": f"{FILES[:-1]}8803-*", "do": "status:502"})
        report = job.run(code=4).data
        assert (report["counts"]["created"], report["counts"]["parked"]) == (2, 1)
        (row,) = job.parked()
        assert row["cause"].startswith("keeps failing")
        assert "the next run tries it again" in row["hint"]
        job.mend()
        assert job.ran("plan", "--json", "--no-progress", code=0).data["counts"]["created"] == 1
        report = job.run().data
        assert report["counts"]["created"] == 1
        assert any(
            "1 asset that was parked is tried again: the failure may have been temporary" in n for n in report["notes"]
        )
        assert len(job.ends_complete()) == 3


def test_a_fault_that_does_not_pass_is_left_to_a_person(tmp_path: Path) -> None:
    with small(tmp_path, photos(2)) as job:
        job.faulty({"match": f"{FILES[:-1]}8802-*", "do": "garble"})
        for _ in range(MOST_RUNS):
            (row,) = job.parked() if job.run(code=4) else ()
        assert row["cause"] == "digest"
        assert f"failed in {MOST_RUNS} runs" in row["hint"]
        assert "errors JOB --retry" in row["hint"]
        before = dict(job.pair.source.calls)
        assert job.run(code=4).data["counts"]["parked"] == 0
        assert not any(call.startswith("GET /medias") for call in before.keys() ^ job.pair.source.calls.keys())
        job.mend()
        assert len(job.retried()) == 2


def test_only_what_is_printed_is_read(tmp_path: Path) -> None:
    with small(tmp_path, [photo(number, credit="y" * 2_000) for number in range(1, 4)]) as job:
        job.run(code=4)
        whole, first = (asyncio.run(job_errors(job.pair.job, (), False, at_most=most)) for most in (None, 1))
        assert (len(whole["assets"]), len(first["assets"])) == (3, 1)
        assert first["assets"] == whole["assets"][:1]
        assert {**first, "assets": ()} == {**whole, "assets": ()}
        assert (first["count"], first["values"]) == (3, True)
