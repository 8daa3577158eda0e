"""The command that is suggested next does what its reader wants to do next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dam_sync.report.next_step import (
    after_adoption,
    after_conflicts,
    after_errors,
    after_map_diff,
    after_plan,
    after_redirects,
    after_report,
    after_rollback,
    after_sheet,
    after_status,
)


def test_a_plan_that_was_written_is_the_one_to_run() -> None:
    assert after_plan("job.yaml", Path("my plan.json"), sampled=False) == ["run job.yaml --plan 'my plan.json'"]
    assert after_plan("job.yaml", None, sampled=False) == ["run job.yaml"]
    assert after_plan("job.yaml", Path("part.json"), sampled=True) == ["run job.yaml"], "that of a sample cannot be run"


def test_a_plan_without_a_file_is_run_with_its_options() -> None:
    asked = ["--full", "--repair", "--only 7"]
    assert after_plan("job.yaml", None, sampled=False, asked=asked) == ["run job.yaml --full --repair --only 7"]
    assert after_plan("job.yaml", None, sampled=False, wave="a b", asked=["--repair"]) == [
        "run job.yaml --wave 'a b' --repair"
    ]
    assert after_plan("job.yaml", Path("p.json"), sampled=False, asked=asked) == ["run job.yaml --plan p.json"]


def test_no_repair_is_named_before_people_saw_what_it_would_overwrite() -> None:
    verdict = {"clean": False, "different": 3, "missing": 0, "unfinished": None}
    report = {"kind": "verify", "verdict": verdict, "parked": []}
    assert after_report(report, "job.yaml") == ["plan job.yaml --repair"]
    assert after_report({**report, "wave": "press"}, "job.yaml") == ["plan job.yaml --repair --wave press"]


def test_a_list_that_was_written_is_read_back() -> None:
    listed = Path("my list.csv")
    assert after_errors("job.yaml", 2, 0, values=True)[0] == "errors job.yaml --csv errors.csv"
    assert after_errors("job.yaml", 2, 0, values=True, listed=listed)[0] == "errors job.yaml --import 'my list.csv'"
    assert after_conflicts("job.yaml", 1, 0) == ["conflicts job.yaml --csv conflicts.csv"]
    assert after_conflicts("job.yaml", 1, 0, listed) == ["conflicts job.yaml --import 'my list.csv'"]


def test_links_are_asked_where_there_are_some() -> None:
    assert after_redirects("job.yaml", found=False, written=True, probed=False) == ["status job.yaml"]
    assert after_redirects("job.yaml", found=True, written=True, probed=False) == ["redirects job.yaml --probe"]


def test_tools_of_the_mapping_lead_back_to_it() -> None:
    assert after_sheet("job.yaml", Path("terms.csv")) == ["map sheet job.yaml --import terms.csv"]
    assert after_map_diff("job.yaml", changed=True) == ["plan job.yaml --full"]
    assert after_map_diff("job.yaml", changed=False) == ["plan job.yaml"]


def test_a_preview_of_a_rollback_leads_to_it_only_where_something_would_be_undone() -> None:
    assert after_rollback("job.yaml", 3, dry_run=True, complete=True) == ["rollback job.yaml --run 3"]
    assert after_rollback("job.yaml", 3, dry_run=True, complete=True, nothing=True) == ["status job.yaml"]
    assert after_rollback("job.yaml", 3, dry_run=False, complete=True, nothing=True) == ["plan job.yaml"]


def test_an_unfinished_rollback_is_finished_before_anything_else() -> None:
    assert after_errors("job.yaml", 0, 0, stopped=True, rollback=4) == ["rollback job.yaml --run 4"]
    assert after_status("job.yaml", unfinished="rollback 4", parked=0) == ["rollback job.yaml --run 4"]
    planned = after_status("job.yaml", unfinished="run", parked=0, code=6)
    assert planned == ["plan job.yaml", "run job.yaml"], "after a safety stop people look before they go on"
    stale = after_status("job.yaml", unfinished="run", parked=0, code=6, planned=True)
    assert stale == ["plan job.yaml -o plan.json", "run job.yaml --plan plan.json"], "the run alone is refused again"


@pytest.mark.parametrize(
    ("state", "command"),
    [
        pytest.param({"unfinished": "run", "running": True}, "status", id="run under way: watched"),
        pytest.param({"begun": False}, "plan", id="no run: nothing to verify"),
        pytest.param({}, "verify", id="a run that is done"),
        pytest.param({"waiting": 3}, "run", id="assets wait for the next run"),
        pytest.param({"waiting": 3, "parked": 2}, "errors", id="others are parked"),
    ],
)
def test_the_state_of_the_last_run_leads_to_the_next_command(state: dict[str, Any], command: str) -> None:
    assert after_status("job.yaml", **{"unfinished": "", "parked": 0, **state}) == [f"{command} job.yaml"]


def test_a_job_with_waves_continues_with_the_first_that_waits_for_a_command() -> None:
    def after(*commands: str) -> list[str]:
        rows = [{"wave": f"wave {number}", "next": each} for number, each in enumerate(commands, 1)]
        return after_status("job.yaml", unfinished="", parked=0, waves=rows)

    assert after("verify", "") == ["verify job.yaml --wave 'wave 1'"]
    assert after("", "run") == ["run job.yaml --wave 'wave 2'"]
    assert after("", "") == ["verify job.yaml"]


def adopted(dry_run: bool = False, listed: Path | None = None, decided: Path | None = None, **counts: int) -> list[str]:
    counts = {name.replace("_", " "): number for name, number in counts.items()}
    return after_adoption("job.yaml", counts, ways="--by-file", dry_run=dry_run, listed=listed, decided=decided)


def test_an_adoption_goes_on_in_the_way_in_which_it_began() -> None:
    asked = Path("my matches.csv")
    assert adopted(ambiguous=3) == ["adopt job.yaml --by-file --csv ambiguous.csv"]
    assert adopted(ambiguous=3, listed=asked) == ["adopt job.yaml --by-file --decisions 'my matches.csv'"]
    assert adopted(dry_run=True, would_be_linked_by_file=3) == ["adopt job.yaml --by-file"], "no link is saved yet"
    assert adopted(dry_run=True, decided=asked, would_be_linked_by_file=3) == [
        "adopt job.yaml --by-file --decisions 'my matches.csv'"
    ]
    assert adopted(dry_run=True, ambiguous=0) == ["plan job.yaml"], "nothing would be linked"
    assert adopted(dry_run=True, would_be_linked_in_vain=3) == ["plan job.yaml"], "these are no links"
    assert adopted(linked_by_file=3) == ["plan job.yaml"]
