"""The HTML report stays small, and shows nothing raw."""

from __future__ import annotations

from dam_sync.engine.verification.verdict import Verdict
from dam_sync.report.html import render_html
from tests.support.reporting.large_report import large_report

MOST = 5_000_000  # bytes


def test_a_report_of_a_hundred_thousand_assets_is_small() -> None:
    page = render_html(large_report(100_000))
    assert len(page.encode()) < MOST
    assert "and 4,800 more" in page


def test_what_services_say_is_escaped() -> None:
    report = large_report(3)
    report["losses"][0]["text"] = report["mapping"][0]["label"] = "<script>alert(1)</script>\x1b[31m"
    report["containers"][0]["name"] = report["source"]["tenant"] = "<img src=x>"
    page = render_html(report)
    assert "<script" not in page
    assert "<img" not in page
    assert "\x1b" not in page


def test_a_report_that_an_earlier_version_stored_is_shown() -> None:
    report = large_report(3)
    for key in ("headline", "origin", "scope", "mapping", "accounts", "terms", "containers", "estimate", "risks"):
        del report[key]
    for key in ("collisions", "files", "irreversible", "left_out"):
        report.pop(key, None)
    report["losses"] = [{"path": "tags", "rule": "not mapped", "assets": 3}]
    assert "tags" in render_html(report)


def test_the_verdict_of_a_run_is_not_that_of_a_plan() -> None:
    report = large_report(3)
    for kind, words in (("plan", "Read before you decide"), ("run", "Done, with what is listed here")):
        page = render_html(
            report | {"kind": kind, "headline": {"level": "attention", "text": "t", "points": ["p"] * 7}}
        )
        assert words in page
        assert "and 2 more" in page, "of seven points"


def test_whatever_makes_a_verification_fail_is_no_equality() -> None:
    for verdict, words in ((Verdict("digest", checked=2, equal=2), "Equal"), (_doubled(), "Differences found")):
        page = render_html(large_report(3) | {"kind": "verify", "verdict": verdict.as_json()})
        assert f"</span> {words}</p>" in page
    assert "1 twice at the target" in page


def _doubled() -> Verdict:
    return Verdict("digest", checked=2, equal=2, doubled=1)


def test_a_rehearsal_says_first_that_it_was_one() -> None:
    page = render_html(large_report(3) | {"kind": "run"}, ["this was a rehearsal"])
    assert "Rehearsal of job" in page
    assert page.index("This was a rehearsal") < page.index("<nav")
