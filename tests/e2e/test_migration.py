"""The main job, from the outside: plan, run, verify, run again, change something, run again."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.e2e.conftest import ASSETS
from tests.support.jobs.tenants import Pair, duplicates


def digests(assets: list[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    """The bytes of every version of every asset, as the emulators themselves have them."""
    return Counter(tuple(sorted(file["digests"]["sha256"] for file in asset["versions"])) for asset in assets)


def test_everything_arrives_byte_by_byte_and_a_second_run_writes_nothing(tenants: Pair) -> None:
    report = tenants.json("run", str(tenants.job))
    assert report["counts"]["created"] == ASSETS
    assert report["parked"] == []
    target = tenants.target.assets
    assert len(target) == ASSETS
    assert duplicates(target) == []
    assert digests(target) == digests(tenants.source.assets)
    verdict = tenants.json("verify", str(tenants.job), "--level", "digest")["verdict"]
    assert (verdict["equal"], verdict["different"], verdict["missing"], verdict["unaccounted"]) == (ASSETS, 0, 0, 0)
    assert verdict["evidence"] == {"V3": ASSETS}
    tenants.target.forget_calls()
    again = tenants.json("run", str(tenants.job))
    assert tenants.target.writes == 0
    assert again["operations"] == {}


def test_the_plan_is_what_the_run_does(tenants: Pair) -> None:
    tenants.source.forget_calls()
    tenants.target.forget_calls()
    plan_file = tenants.folder / "plan.json"
    plan = tenants.json("plan", str(tenants.job), "-o", str(plan_file), "--detailed-exitcode", check=10)
    assert tenants.target.writes == 0
    assert not (tenants.folder / "state" / "job.db").exists()
    tenants.source.forget_calls()
    tenants.target.forget_calls()
    run = tenants.json("run", str(tenants.job))
    assert run["operations"] == plan["operations"]
    planned = json.loads(plan_file.read_text())["operations"]
    assert Counter(row["operation"] for row in planned) == Counter(run["operations"])
    for side, tenant in (("source", tenants.source), ("target", tenants.target)):
        estimate, real = sum(plan[side]["calls"].values()), sum(tenant.calls.values())
        assert abs(estimate - real) <= max(1, real * 0.01), (plan[side]["calls"], tenant.calls)


def test_status_errors_and_state_report_a_completed_run(tenants: Pair) -> None:
    tenants.cli("run", str(tenants.job), "--no-progress")
    status = tenants.json("status", str(tenants.job))
    assert status["now"]["linked"] == ASSETS
    assert status["runs"][0]["result"] == "done"
    assert tenants.json("errors", str(tenants.job))["count"] == 0
    assert tenants.json("state", str(tenants.job), "show")["rows"]
    assert "done" in tenants.cli("status", str(tenants.job)).stdout


def test_check_finds_nothing_wrong(tenants: Pair) -> None:
    findings = tenants.json("check", str(tenants.job))["findings"]
    assert all(finding["ok"] for finding in findings), findings


def test_limit_takes_no_more_than_asked_and_the_next_run_goes_on(tenants: Pair) -> None:
    done = tenants.cli("run", str(tenants.job), "--limit", "7", "--no-progress", check=8)
    assert "stopped after 7 assets" in done.stderr
    assert len(tenants.target.assets) == 7
    assert tenants.json("run", str(tenants.job))["counts"]["created"] == ASSETS
    assert duplicates(tenants.target.assets) == []


def test_max_calls_stops_before_the_call_that_exceeds_it(tenants: Pair) -> None:
    tenants.target.forget_calls()
    tenants.cli("run", str(tenants.job), "--max-calls", "60", "--no-progress", check=8)
    assert sum(tenants.target.calls.values()) <= 60
    tenants.cli("run", str(tenants.job), "--no-progress")
    assert len(tenants.target.assets) == ASSETS
    assert duplicates(tenants.target.assets) == []


def test_only_takes_the_named_asset(tenants: Pair) -> None:
    ids = [asset["id"] for asset in tenants.source.assets]
    tenants.cli("run", str(tenants.job), "--only", str(ids[3]), "--no-progress")
    assert len(tenants.target.assets) == 1
