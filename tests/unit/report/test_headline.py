"""The first sentence of a plan or a run, and the reasons after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from dam_sync.model.exposure import ExposureRule, meaning_of
from dam_sync.report.headline import complete, headline_of
from dam_sync.report.html import render_html
from dam_sync.report.parts import Estimate, FieldAccount, Omission, Reason
from dam_sync.report.report import Report, ReportedSide
from dam_sync.report.sentences import about_combined
from dam_sync.report.terminal import print_report

SIDE = ReportedSide("a", "b")


def plan(kind: str = "plan", **given: Any) -> Report:
    return Report(kind, "job", SIDE, SIDE, "", "", **given)


def points(report: Report) -> list[str]:
    complete(report)
    assert report.headline is not None
    return list(report.headline.points)


@pytest.mark.parametrize(
    ("counts", "lost", "expected"),
    [
        ({"created": 2}, 0, "all 7 values are carried"),
        ({"parked": 2}, 0, "all 7 values are carried, if what is parked is written"),
        ({"parked": 2}, 3, "3 of 7 values are not carried: 3 field title"),
    ],
)
def test_values_of_parked_assets_are_not_reported_as_carried(counts: dict[str, int], lost: int, expected: str) -> None:
    account = FieldAccount("fields.title", read=7, written=7 - lost, lost=lost)
    assert headline_of(plan(counts=counts, accounts=[account])).text.split("; ")[-1] == expected


@pytest.mark.parametrize(
    ("parked", "lost", "expected"),
    [
        (7, 0, "all 7 values are set aside with their assets"),
        (4, 0, "4 of 7 values are set aside with their assets, the others are carried"),
        (4, 3, "3 of 7 values are not carried: 3 field title; 4 are set aside with their assets"),
        (1, 3, "3 of 7 values are not carried: 3 field title; 1 is set aside with its asset"),
    ],
)
def test_values_that_are_set_aside_are_counted_apart(parked: int, lost: int, expected: str) -> None:
    account = FieldAccount("fields.title", read=7, written=7 - lost - parked, lost=lost, parked=parked)
    assert headline_of(plan(counts={"parked": 2}, accounts=[account])).text.endswith(f"; 2 parked; {expected}")


def test_what_the_mapping_leaves_out_on_purpose_is_distinguished_from_what_is_lost() -> None:
    ignored, dated = "ignored by the mapping", (Reason("dropped", "date", 5),)
    accounts = [
        FieldAccount("fields.views", read=1696, dropped=1696, reasons=(Reason("dropped", ignored, 1696),)),
        FieldAccount("status", read=280, lost=280, reasons=(Reason("lost", "not mapped", 280),)),
        FieldAccount("fields.dating", read=300, written=295, dropped=5, reasons=dated),
    ]
    omitted = Omission("fields.views", "Views", ignored, "", 1696, 280, 300)
    text = headline_of(plan(accounts=accounts, omissions=[omitted])).text
    shares = "1,696 left out by the mapping, 280 the status, 5 field dating"
    assert text.endswith(f"1,981 of 2,276 values are not carried: {shares}")


def test_the_shares_of_many_fields_add_up_to_what_is_not_carried() -> None:
    accounts = [FieldAccount(f"fields.f{n}", read=10, lost=n) for n in range(1, 10)]
    assert headline_of(plan(accounts=accounts)).text.endswith(
        "45 of 90 values are not carried: 9 field f9, 8 field f8, 7 field f7, 6 field f6, 15 others"
    )


@pytest.mark.parametrize("rule", list(ExposureRule))
def test_what_is_closed_by_policy_is_never_called_visible(rule: ExposureRule) -> None:
    for kind, fate in (("plan", "closed"), ("run", "closed"), ("run", "left closed")):
        row = {"rule": rule.value, "fate": fate, "assets": 25, "examples": [], "meaning": meaning_of(rule, fate)}
        report = plan(kind, exposure=[row])
        (point,) = points(report)
        assert "hidden at the target, because" in point
        assert "more people" not in point
        assert "visible" not in point
        assert report.headline is not None
        assert report.headline.level == "attention"


def test_why_something_is_hidden_is_said_with_the_number() -> None:
    row = {"rule": "archived_as_published", "fate": "closed", "assets": 25, "examples": []}
    row["meaning"] = meaning_of("archived_as_published", "closed")
    hidden = "hidden at the target, because archived at the source"
    assert points(plan(exposure=[row])) == [f"25 assets will be {hidden}"]
    assert points(plan("run", exposure=[{**row, "assets": 1}])) == [f"1 asset is {hidden}"]


@pytest.mark.parametrize(
    ("fate", "said", "level"),
    [
        ("set aside", "25 assets would be visible to more people (m): held back until you decide", "stop"),
        ("accepted", "25 assets will be visible to more people (m), as the job accepts", "attention"),
    ],
)
def test_what_is_held_back_did_not_become_visible(fate: str, said: str, level: str) -> None:
    row = {"rule": "groups_widened", "fate": fate, "assets": 25, "examples": [], "meaning": "m"}
    report = plan(exposure=[row])
    assert points(report) == [said]
    assert report.headline is not None
    assert report.headline.level == level


def parked(cause: str, text: str, count: int) -> dict[str, Any]:
    return {"cause": cause, "text": text, "operation": "", "hint": "", "count": count, "asset": "1", "example": "1: x"}


def test_each_cause_of_parking_is_one_sentence_and_no_two_are_equal() -> None:
    long, unknown = "technique is longer than 40 characters", "the target does not accept a value of the asset"
    rows = [parked("mapping fields.technique: truncate", long, 15), parked("InvalidValue", unknown, 4)]
    rows += [parked("InvalidValue", unknown, 1), parked("exposure: groups_widened", "more people", 3)]
    assert points(plan(parked=rows)) == [f"15 assets would be parked: {long}", f"5 assets would be parked: {unknown}"]


def test_causes_beyond_the_first_are_counted() -> None:
    rows = [parked(f"c{n}", f"reason {n}", 10 - n) for n in range(7)]
    assert points(plan(parked=rows))[-1] == "9 assets would be parked for 2 other reasons"


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
