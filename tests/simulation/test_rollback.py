"""After a rollback the target equals its state before the run, except for what was listed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.job import Job
from dam_sync.api.reports.kept_reports import job_report, job_reports
from dam_sync.emulators import profile_of
from dam_sync.engine.decide.undo import WIDENS
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import ConfigError, SafetyStop
from dam_sync.report.html import render_html
from dam_sync.services import discover
from tests.support.pairs import EVERYTHING, KINDS, ids, pairs
from tests.support.sample.cases import only_in_full
from tests.support.virtual.fuse import Fuse, Point
from tests.support.virtual.removals import ASSETS, removing
from tests.support.virtual.rollback_process import RollbackProcess, assets_of, differing, preview, roll_back, stays
from tests.support.virtual.target_edits import DATES, EDITS, REPLACED, Edit, status
from tests.support.virtual.two_tenants import ACCEPTED, scene

REMOVING = pairs(2) if EVERYTHING else pairs(2)[1:2]
PAIRS = pairs(1) if EVERYTHING else pairs(1)[:2]
KILLED = 40  # the call of a run at which it is killed


@only_in_full
@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_a_first_migration_is_undone_and_can_be_made_again(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with removing(tmp_path, kinds) as job:
        told = preview(job, 1)
        assert told.counts["moved to the trash"] == ASSETS
        assert assets_of(job.target).keys() == set(job.links().values())
        report = roll_back(job, 1)
        assert report.counts == told.counts, report.cannot
        assert (assets_of(job.target), job.links()) == ({}, {})
        assert roll_back(job, 1).nothing
        again = job.run()
        assert (again.counts["created"], len(job.living())) == (ASSETS, ASSETS), again.parked
        assert job.verify()["clean"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_brought_every_kind_of_change_is_undone_except_for_what_is_listed(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, EDITS[kind], exposure=ACCEPTED) as job:
        before = assets_of(job.target)
        job.edit("source")
        report = job.run(full=True)
        assert report.counts["updated"] > len(EDITS[kind]) // 2
        back = roll_back(job, 2)
        listed = stays(job)
        assert len(listed) < report.counts["updated"] // 2
        assert [*differing(before, assets_of(job.target), listed)] == [], back.cannot


def test_what_somebody_changed_stays_and_more_than_is_allowed_stops_before_anything_is_written(tmp_path: Path) -> None:
    with removing(tmp_path, ("a_hypermedia", "d_templates")) as job:
        edited = sorted(job.links().values())[0]
        job.edit([edited], f"{profile_of(job.target.kind).prefix}note", "changed by hand")
        there = assets_of(job.target)
        for most in ("", "5", "50%"):
            with pytest.raises(SafetyStop, match="8 of 8 assets would be moved to the trash"):
                roll_back(job, 1, most)
        assert assets_of(job.target) == there
        assert [row["run"] for row in job.status()["runs"]] == [1]
        dry = roll_back(job, 1, dry_run=True)
        assert assets_of(job.target) == there
        report = roll_back(job, 1)
        assert (report.counts, stays(job)) == ({"moved to the trash": ASSETS - 1, "kept": 1}, {edited})
        allowed = f"--max-deletes 100% let {ASSETS - 1} assets go to the trash; `max_deletes` of the job is 50%"
        assert [note for note in report.notes if "--max-deletes" in note] == [allowed]
        assert (dry.counts, dry.cannot) == (report.counts, report.cannot)
        assert assets_of(job.target).keys() == {edited}
        assert job.status()["now"]["rolled back"] == "run 1"
        report = job.run()
        assert (report.counts["created"], len(job.living())) == (ASSETS - 1, ASSETS)


@pytest.mark.parametrize("letter", "de" if EVERYTHING else "e")
def test_an_asset_that_people_added_to_another_container_stays(tmp_path: Path, letter: str) -> None:
    """Also where only the container lists its members."""
    (kind,) = (each for each in KINDS if each[0] == letter)
    with removing(tmp_path, ("b_documents", kind)) as job:
        placed = sorted(job.links().values())[0]
        job.place_elsewhere([placed])
        dry, report = roll_back(job, 1, dry_run=True), roll_back(job, 1)
        assert (report.counts, stays(job)) == ({"moved to the trash": ASSETS - 1, "kept": 1}, {placed})
        assert (dry.counts, dry.cannot) == (report.counts, report.cannot)


def test_what_people_related_stays_and_what_the_run_related_does_not(tmp_path: Path) -> None:
    with removing(tmp_path, ("d_templates", "d_templates")) as job:
        job.relate(*[*job.links()][:2], role="source")
        assert roll_back(job, 1).counts == {"moved to the trash": ASSETS}
        assert job.run(full=True).operations["relate"] == 1
        owner, other = [*job.links().values()][4:6]
        job.relate(owner, other)
        dry, report = roll_back(job, 3, dry_run=True), roll_back(job, 3)
        assert (report.counts["kept"], stays(job)) == (1, {owner})
        assert (dry.counts, dry.cannot) == (report.counts, report.cannot)


def test_copies_that_outlive_what_is_removed_are_reported_by_plan_and_rollback(tmp_path: Path) -> None:
    with removing(tmp_path, ("a_hypermedia", "c_brandlibrary")) as job:
        notes = [job.plan().notes, roll_back(job, 1, dry_run=True).notes, roll_back(job, 1).notes]
    assert [sum("CDN links for up to 24 hours" in note for note in each) for each in notes] == [1, 1, 1]


def test_a_target_that_suddenly_looks_empty_stops_the_rollback(tmp_path: Path) -> None:
    with removing(tmp_path, ("c_brandlibrary", "a_hypermedia")) as job:
        links = job.links()
        one, *others = links.values()
        job.remove([one], "target")
        job.remove(others, "target")
        with pytest.raises(SafetyStop, match="are gone"):
            roll_back(job, 1)
        assert job.links() == links
        report = roll_back(job, 1, accept_changes=True)
        assert report.counts == {"gone already": ASSETS}
        assert [note for note in report.notes if "continued because changes are accepted" in note]
        assert job.links() == {}


@only_in_full
def test_the_python_interface_undoes_a_run(tmp_path: Path) -> None:
    with removing(tmp_path, ("e_profiles", "a_hypermedia")) as job:
        made = Job.load(job.job)
        links = job.universe.do(made.redirects(tmp_path / "links.csv", job.options()))
        assert (links.redirects >= ASSETS, (tmp_path / "links.csv").exists()) == (True, True)
        told: list[Any] = []
        report = job.universe.do(made.rollback(1, job.options(), max_deletes="100%", progress=told.append))
        assert (report.counts, job.living()) == ({"moved to the trash": ASSETS}, set())
        assert told


def test_a_later_run_is_rolled_back_first(tmp_path: Path) -> None:
    with removing(tmp_path, ("d_templates", "b_documents")) as job:
        first = assets_of(job.target)
        ((source, target), *_) = job.links().items()
        job.retitle([source])
        assert job.run().counts["updated"] == 1
        report = roll_back(job, 1)
        assert (report.counts["kept"], stays(job)) == (1, {target})
        assert "roll back run 2 first" in report.cannot[0]["reason"]
        assert roll_back(job, 2).counts == {"returned to earlier values": 1}
        assert assets_of(job.target) == {target: first[target]}
        assert roll_back(job, 1).counts == {"moved to the trash": 1}
        assert assets_of(job.target) == {}
        assert [row["command"] for row in job.status()["runs"]] == [
            *("rollback 1", "rollback 2", "rollback 1", "run", "run")
        ]
        with pytest.raises(ConfigError, match="run 4 is itself a rollback, of run 2"):
            roll_back(job, 4)
        with pytest.raises(ConfigError, match="there is no run 9"):
            roll_back(job, 9)


@pytest.mark.parametrize("kinds", REMOVING, ids=ids(REMOVING))
def test_what_a_run_removed_comes_out_of_the_trash(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with removing(tmp_path, kinds, grace="0d") as job:
        before, links = assets_of(job.target), job.links()
        gone = dict(list(links.items())[:2])
        job.remove(gone)
        while not job.run(full=True).counts.get("removed"):
            pass
        run = job.status()["runs"][0]["run"]
        dry, report = roll_back(job, run, dry_run=True), roll_back(job, run)
        assert (dry.counts, dry.cannot) == (report.counts, report.cannot)
        able = Operation.RESTORE in discover()[job.target.kind].capabilities
        if able:
            assert report.counts == {"taken out of the trash": 2}
            assert (assets_of(job.target), job.links()) == (before, links)
        else:
            assert (report.counts, stays(job)) == ({"kept": 2}, set(gone.values()))
        job.policy(deletes="none")
        assert job.run().counts["created"] == 0


def test_a_ledger_without_values_says_first_what_cannot_be_undone(tmp_path: Path) -> None:
    with removing(tmp_path, ("a_hypermedia", "b_documents"), ledger="keys") as job:
        job.retitle(list(job.links())[:1])
        job.run()
        before = assets_of(job.target)
        report = preview(job, 2)
        assert [(row["what"], row["number"]) for row in report.cannot] == [("values", 1)]
        assert "ledger: keys" in report.cannot[0]["reason"]
        assert roll_back(job, 2).nothing
        assert assets_of(job.target) == before
        assert roll_back(job, 1).counts == {"moved to the trash": ASSETS - 1, "kept": 1}


def test_a_run_waits_until_a_rollback_is_finished(tmp_path: Path) -> None:
    with removing(tmp_path, ("e_profiles", "c_brandlibrary")) as job:
        number = RollbackProcess(job, 1).live().counts["commit"]
        job.run()
        RollbackProcess(job, 3).live(Fuse(Point("commit", "before", number // 2)))
        with pytest.raises(SafetyStop, match="the rollback of run 3 was interrupted"):
            job.run()
        notes = job.run(accept_changes=True).notes
        assert [note for note in notes if "accepted: the rollback of run 3 was interrupted" in note]
        assert {row["result"] for row in job.status()["runs"]} == {"done"}


def test_what_was_accepted_for_a_killed_run_is_in_the_report_of_the_resumed_one(tmp_path: Path) -> None:
    with removing(tmp_path, ("e_profiles", "c_brandlibrary")) as job:
        number = RollbackProcess(job, 1).live().counts["commit"]
        job.run()
        RollbackProcess(job, 3).live(Fuse(Point("commit", "before", number // 2)))
        assert job.universe.live(job.job, Fuse(Point("call", "before", KILLED)), accept_changes=True).blown
        report = job.run()
        assert report.resumed
        assert [note for note in report.notes if "accepted: the rollback of run 3 was interrupted" in note]
        assert not [note for note in job.run().notes if "accepted: " in note]


def test_a_rollback_that_is_resumed_says_that_it_counts_only_the_rest(tmp_path: Path) -> None:
    with removing(tmp_path, ("e_profiles", "c_brandlibrary")) as job:
        number = RollbackProcess(job, 1).live().counts["commit"]
        job.run()
        RollbackProcess(job, 3).live(Fuse(Point("commit", "before", number // 2)))
        report = roll_back(job, 3)
        assert report.counts["moved to the trash"] < ASSETS
        assert [note for note in report.notes if "resumed" in note]
        assert not [note for note in roll_back(job, 3).notes if "resumed" in note]


def test_an_interrupted_run_is_undone_and_not_resumed(tmp_path: Path) -> None:
    kinds = ("b_documents", "a_hypermedia")
    with removing(tmp_path, kinds) as job:
        roll_back(job, 1)
        number = job.live().counts["call"]
        roll_back(job, 3)
        job.live(Fuse(Point("call", "after", number * 2 // 3)))
        assert job.living()
        job.wait(60.0)
        report = roll_back(job, 5)
        assert (job.living(), job.links()) == (set(), {}), (report.counts, report.cannot)
        assert roll_back(job, 5).nothing
        assert job.run().counts["created"] == ASSETS
        assert len(job.living()) == ASSETS


@pytest.mark.parametrize("target", ["a_hypermedia", "b_documents", "c_brandlibrary", "d_templates"])
def test_an_asset_whose_create_got_no_response_is_undone_with_its_run(tmp_path: Path, target: str) -> None:
    """It may have no marker yet, and the state does not know its id."""
    with removing(tmp_path, ("b_documents", target)) as job:
        roll_back(job, 1)
        for number in range(1, ASSETS + 1, 1 if EVERYTHING else 3):
            job.live(Fuse(until=lambda number=number: len(job.living()) >= number))  # type: ignore[misc]
            assert job.living()
            job.wait(60.0)
            report = roll_back(job, job.status()["runs"][0]["run"])
            assert (job.living(), job.links()) == (set(), {}), (number, report.counts, report.cannot)
        assert job.run().counts["created"] == len(job.living()) == ASSETS


@pytest.mark.parametrize("kind", ["a_hypermedia", "b_documents"])
def test_the_file_before_is_current_again_with_all_other_values_as_they_were(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, [REPLACED, *EDITS[kind][:1]], exposure=ACCEPTED) as job:
        before = assets_of(job.target)
        job.edit("source")
        assert job.run(full=True).operations["version"] == 1
        replaced = [each for each, row in assets_of(job.target).items() if file_of(row) != file_of(before[each])]
        report = roll_back(job, 2)
        assert report.counts == {"returned to earlier values": 2}
        assert [row["what"] for row in report.cannot] == ["file versions"]
        assert stays(job) == {*replaced}
        after = assets_of(job.target)
        assert {each: file_of(row) for each, row in after.items()} == {
            each: file_of(row) for each, row in before.items()
        }
        beside = [told for told in differing(before, after) if told.split()[1] not in ("versions:", "current:")]
        assert beside == []
        again = job.run()
        assert (again.operations.get("version"), again.counts["updated"]) == (1, 2)
        assert roll_back(job, 2).nothing


def file_of(row: Mapping[str, Any]) -> str:
    """The digest of the file that a service serves for an asset."""
    current = [file for file in row["versions"] if file["id"] == row.get("current")] or row["versions"][-1:]
    return str(current[0]["digests"]["sha256"])


@only_in_full
def test_the_report_of_a_rollback_is_stored(tmp_path: Path) -> None:
    with removing(tmp_path, ("c_brandlibrary", "e_profiles")) as job:
        roll_back(job, 1)
        do, clock, storage = job.universe.do, job.universe.clock, job.universe.storage
        kept = do(job_report(job.job, 2, "", clock, storage))
        assert (kept["kind"], kept["counts"], kept["run"]) == ("rollback", {"moved to the trash": ASSETS}, 2)
        assert [row["kind"] for row in do(job_reports(job.job, clock, storage))["reports"]] == ["rollback", "run"]
        assert "Rollback" in render_html(kept)


@pytest.mark.parametrize("accepted", [False, True])
def test_who_sees_an_asset_is_looked_up_at_the_target(tmp_path: Path, accepted: bool) -> None:
    """One that waited for approval got an earlier expiry, and then somebody approved it: the date before would show it
    for longer, though what was last written shows it to nobody."""
    earlier = DATES[1]
    policy = {**ACCEPTED, "reopened_by_rollback": "accept"} if accepted else ACCEPTED
    with scene(tmp_path, "c_brandlibrary", (earlier,), exposure=policy) as job:
        job.edits = (Edit("waits", "status", status("pending")),)
        job.edit("source")
        job.run(full=True)
        job.edits = (earlier,)
        job.edit("source")
        assert job.run(full=True).counts["updated"] == 1
        target = job.twin_of(earlier)
        job.edits = (Edit("approved", "status", status("published")),)
        job.edit()
        report = roll_back(job, 3)
        rights = next(row["rights"] for row in job.target.assets if row["id"] == target)
        assert rights["expires_at"].startswith("2050" if accepted else "2030")
        assert [row["reason"] for row in report.cannot] == ([] if accepted else [WIDENS.reason])
