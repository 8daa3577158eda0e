"""The first sentence of a plan or a run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from dam_sync.report.headline import complete, headline_of
from dam_sync.report.html import render_html
from dam_sync.report.parts import Estimate, FieldAccount
from dam_sync.report.report import Report, ReportedSide
from dam_sync.report.sentences import about_combined
from dam_sync.report.terminal import print_report


@pytest.mark.parametrize(
    ("counts", "lost", "expected"),
    [
        ({"created": 2}, 0, "all 7 values are carried"),
        ({"parked": 2}, 0, "all 7 values are carried, if what is parked is written"),
        ({"parked": 2}, 3, "3 of 7 values are not carried"),
    ],
)
def test_values_of_parked_assets_are_not_reported_as_carried(counts: dict[str, int], lost: int, expected: str) -> None:
    account = FieldAccount("fields.title", read=7, written=7 - lost, lost=lost)
    side = ReportedSide("a", "b")
    report = Report("plan", "job", side, side, "", "", counts=counts, accounts=[account])
    assert headline_of(report).text.split("; ")[-1] == expected


def test_calls_that_are_a_lower_bound_are_said_to_be_one() -> None:
    takes = {"POST /values": "up to 100 values"}
    target = ReportedSide("c", "tenant", calls={"POST /values": 18, "GET /x": 2}, at_least=takes)
    report = Report("plan", "job", ReportedSide("a", "b", calls={"GET /y": 1}), target, "", "", counts={"created": 2})
    report.estimate = Estimate(1.0, 2.0)
    report.notes = about_combined("target", target.calls, target.at_least)
    complete(report)
    data = report.as_json()
    assert (data["target"]["at_least"], data["source"]["at_least"]) == (takes, {})
    console = Console(width=200)
    with console.capture() as shown:
        print_report(console, data)
    text, page = shown.get(), render_html(data)
    for words in ("at least 21 calls", "are a lower bound", "POST /values"):
        assert words in text
        assert words in page
    assert "c: at least 20" in text
    assert "at least 18" in text
    assert "at least 20 calls" in page
    plain = replace(report, target=replace(target, at_least={}), notes=[])
    complete(plain)
    assert plain.headline is not None
    assert "at least" not in plain.headline.text
