"""What more people would see is listed by the plan, set aside by the run, and written once the job accepts it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.asset import Patch
from dam_sync.model.audience import Audience
from dam_sync.services.e_profiles.service import ProfilesService
from tests.support.edits import change_source
from tests.support.small import Small, photo, photos, small

ARCHIVED = "archived_as_published"
CAUSE = f"exposure: {ARCHIVED}"
ACCEPT = f"{ARCHIVED}: accept"
JOB_LINE = f"policy: {{exposure: {{{ACCEPT}}}}}"
ELSEWHERE = [{"kind": "folder", "path": ["Library", "Archive"]}]


@pytest.fixture(autouse=True)
def visible(monkeypatch: pytest.MonkeyPatch) -> None:
    """The target shows everybody what it is given."""
    monkeypatch.setattr(ProfilesService, "audience", lambda self, draft: Audience())


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Small]:
    with small(tmp_path, [*photos(2), archived(3)]) as made:
        yield made


def archived(number: int) -> dict[str, Any]:
    """In a folder of its own, with a term of its own."""
    sea = [{"id": "3", "label": "Sea"}]
    return {**photo(number, keywords=sea), "status": "archived", "placements": ELSEWHERE}


def exposed(report: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    return [(row["rule"], row["fate"], row["assets"]) for row in report["exposure"]]


def source_id(job: Small, number: int) -> str:
    (found,) = [row["id"] for row in job.pair.source.assets if row["filename"] == f"photo-{number}.jpg"]
    return str(found)


def test_what_would_widen_is_set_aside_before_any_write_for_it_and_the_rest_arrives(job: Small) -> None:
    plan = job.ran("plan", "--json", "--no-progress", code=0).data
    assert exposed(plan) == [(ARCHIVED, "set aside", 1)]
    ran = job.run(code=6)
    assert ran.data["exposure"] == plan["exposure"]
    assert [row["examples"] for row in plan["exposure"]] == [[source_id(job, 3)]]
    assert ran.data["operations"] == plan["operations"] == {"container": 1, "create": 2, "place": 1}
    assert ran.data["counts"]["parked"] == 1
    assert "error: more people would see" in ran.err
    assert ARCHIVED in ran.err
    assert JOB_LINE in ran.err
    assert sorted(row["filename"] for row in job.pair.target.assets) == ["photo-1.jpg", "photo-2.jpg"]
    (parked,) = job.parked()
    assert parked["cause"] == CAUSE
    assert "archived at the source" in parked["message"]
    assert JOB_LINE in parked["hint"]


def test_as_long_as_it_is_not_accepted_every_run_ends_so_and_asks_nothing_of_the_asset(job: Small) -> None:
    job.run(code=6)
    job.pair.source.forget_calls()
    again = job.run(code=6)
    assert again.data["operations"] == {}
    assert exposed(again.data) == [(ARCHIVED, "set aside", 1)]


def test_an_accepted_rule_lets_the_next_run_write_it_by_itself_and_is_counted(job: Small) -> None:
    job.run(code=6)
    job.accept(ACCEPT)
    plan = job.ran("plan", "--json", "--no-progress", code=0).data
    report = job.run().data
    assert exposed(plan) == exposed(report) == [(ARCHIVED, "accepted", 1)]
    assert {"path": "exposure", "rule": f"{ARCHIVED} accepted", "assets": 1} in report["losses"]
    assert report["counts"]["created"] == 1
    assert len(job.pair.target.assets) == 3
    assert job.parked() == []
    assert job.run().data["exposure"] == []


def test_the_terminal_and_the_page_list_the_rules(job: Small) -> None:
    page = job.pair.folder / "plan.html"
    told = job.ran("plan", "--no-progress", "--html", str(page), code=0)
    told.says("Seen by more people than in the source", ARCHIVED, "archived at the source, visible at the target")
    assert ARCHIVED in page.read_text(encoding="utf-8")


def test_an_asset_that_is_archived_later_is_told_and_not_written_over(job: Small) -> None:
    job.accept(ACCEPT)
    job.run()
    job.edit(JOB_LINE, "policy: {}")
    change_source(job.pair.job, source_id(job, 1), Patch(status="archived"))
    ran = job.run(code=6)
    assert [row["examples"] for row in ran.data["exposure"]] == [[source_id(job, 1)]]
    (parked,) = job.parked()
    assert "it was moved before" in parked["message"]
    assert "hide it in the target by hand" in parked["hint"]
