"""A stored report is read whatever is wrong with it: it has the shape of a report, or the error names the place."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import asdict
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.verification.verdict import FileProof, Judgement, Verdict
from dam_sync.report.csv_rows import report_rows
from dam_sync.report.html import render_html
from dam_sync.report.parts import AllowanceReach, DiskNeed, FileProblem, IrreversibleStep, Omission, OpenOption, Reason
from dam_sync.report.stored_report import MisshapenReport, read_report
from dam_sync.report.terminal import print_report
from tests.support.reporting.large_report import large_report

TURNS = 4  # a place gets one value of so many
OTHERS: list[Any] = [None, True, -1, 1.5, 10**400, float("nan"), "text \ud800", [], [[]], {}, {"x": []}, [{"x": 1}]]


def whole() -> dict[str, Any]:
    """A report with something in every list."""
    verdict = Verdict("fields")
    found = [Difference("fields.title", "a", "b"), Difference("tags", "", "sea", extra=True)]
    verdict.count("1", "t1", Judgement("different", found, [FileProof("file", "k", "V4")], frozenset({"tags"})))
    report = large_report(3)
    report = {key: part[:2] if isinstance(part, list) else part for key, part in report.items()}
    for side in ("source", "target"):
        report[side]["calls"] = {"GET /1": 3}
    report |= {"kind": "verify", "run": 7, "verdict": verdict.as_json(), "notes": ["a note"], "wave": "first"}
    row = {
        "rule": "expiry_dropped",
        "fate": "set aside",
        "assets": 1,
        "examples": ["1"],
        "meaning": "seen",
        "remedy": "close it",
        "remedies": ["close it"],
        "closes": True,
    }
    report |= {"exposure": [row], "left_out": {"a condition": 1}, "repaired": {"tags": 1}, "names": {"1": "a.jpg"}}
    report["conflicts"] = [{"path": "tags", "take": "source", "by": "policy", "assets": 1, "examples": ["1"]}]
    report["gone"] = [{"asset": "1", "target": "t1", "reason": "deleted", "since": "2031", "until": "2032"}]
    report["files"] = [asdict(FileProblem("too large", 1, (("1", "too large"),)))]
    report["omissions"] = [asdict(Omission("fields.views", "Views", "ignored", "why", 3, 2, 3, ("7",)))]
    report["undecided"] = [asdict(OpenOption("target", "expiry", "lost", "an option", 1))]
    report["irreversible"] = [asdict(IrreversibleStep("create", 1, "stays"))]
    report["accounts"][0]["reasons"] = [asdict(Reason("dropped", "rule", 1))]
    report["estimate"]["disk"] = asdict(DiskNeed("/", 1, 1, 1))
    report["estimate"]["allowances"] = [asdict(AllowanceReach("source", 1, 1, 1, 1, "2031", 1))]
    read: dict[str, Any] = json.loads(json.dumps(report))
    return read


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value, the first of a list."""
    if before:
        yield before
    if isinstance(value, dict):
        for key, each in value.items():
            yield from places(each, (*before, key))
    elif isinstance(value, list):
        for number, each in enumerate(value[:1]):
            yield from places(each, (*before, number))


def replaced(report: Any, place: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(report)
    inner = made
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return made


def show(report: dict[str, Any]) -> None:
    """In every form in which a report is shown."""
    print_report(Console(file=StringIO(), width=100), report)
    assert "<html" in render_html(report)
    assert list(report_rows(report))
    json.dumps(report)


def test_a_whole_report_is_read_as_it_is() -> None:
    assert read_report(whole()) == whole()
    show(whole())


def test_a_value_of_another_shape_is_refused_or_can_be_shown() -> None:
    report, refused, shown = whole(), [], 0
    for number, place in enumerate(places(report)):
        for other in OTHERS[number % TURNS :: TURNS]:
            try:
                found = read_report(replaced(report, place, other))
            except MisshapenReport as error:
                refused.append((place[0], str(error)))
            else:
                shown += 1
                show(found)
    assert len(refused) > shown > 0
    assert [part for part, said in refused if part not in said] == []


def test_what_a_report_lacks_is_empty() -> None:
    report = whole()
    for number, place in enumerate(places(report)):
        if isinstance(place[-1], str) and number % TURNS == 0:
            lacking = copy.deepcopy(report)
            inner = lacking
            for step in place[:-1]:
                inner = inner[step]
            del inner[place[-1]]
            show(read_report(lacking))
    show(read_report({}))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("losses", 0, "assets"), "three", "losses[0].assets is a text, not a whole number"),
        (("verdict", "groups", 0, "examples", 0), ["1"], "verdict.groups[0].examples[0] has 1 values, not 4"),
        (("kind",), "novel", "kind is none of plan, run, verify, check, adopt, rollback"),
        (("source",), [], "source is a list, not an object"),
        (("seconds",), float("inf"), "seconds is a number that no report has"),
    ],
)
def test_the_error_names_the_position_in_the_report(place: tuple[Any, ...], value: Any, said: str) -> None:
    with pytest.raises(MisshapenReport) as error:
        read_report(replaced(whole(), place, value))
    assert str(error.value) == said


@pytest.mark.parametrize("body", [None, [], "text", 7])
def test_what_is_no_report_at_all_is_refused(body: Any) -> None:
    with pytest.raises(MisshapenReport, match="not an object"):
        read_report(body)


def test_a_report_nested_too_deeply_is_refused() -> None:
    deep: Any = {"name": "a", "new": True, "children": []}
    for _ in range(300):
        deep = {"name": "a", "new": True, "children": [deep]}
    tree = {"name": "folder", "number": 1, "left_out": 0, "roots": [deep]}
    for part, value in (("containers", [tree]), ("new in this version", deep)):
        with pytest.raises(MisshapenReport, match="nested more than 200 levels deep"):
            read_report(whole() | {part: value})
