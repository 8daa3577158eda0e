"""Tables on a terminal and in a pipe."""

from __future__ import annotations

import re
from typing import Any

import pytest
from rich.console import Console

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.verification.verdict import Verdict
from dam_sync.model.exposure import meaning_of
from dam_sync.report.csv_rows import report_rows
from dam_sync.report.html import render_html
from dam_sync.report.loss_words import in_words
from dam_sync.report.output import PIPE_WIDTH
from dam_sync.report.terminal import WITH_OPTIONS, print_report, print_table
from dam_sync.report.verdict import file_evidence, grouped
from tests.support.reporting.large_report import large_report


def lines(title: str, width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as shown:
        print_table(console, title, ("", ""), [("V3", "40")])
    return [line.rstrip() for line in shown.get().splitlines()]


@pytest.mark.parametrize(
    ("width", "title"), [(80, ["What proves it"]), (6, ["What", "proves"])], ids=["than its table", "than the terminal"]
)
def test_a_title_that_is_wider_is_folded_at_the_width_of_the_terminal(width: int, title: list[str]) -> None:
    assert lines("What proves it", width)[: len(title)] == title


def test_the_same_difference_of_many_assets_is_one_group_with_three_examples() -> None:
    verdict = Verdict("fields")
    for n in range(200):
        verdict.note(str(n), f"t{n}", [Difference("fields.title", "X", "Y")])
    verdict.note("7", "t7", [Difference("tags", "", "sea", pattern="other")])
    rows = [row for group in grouped(verdict.as_json(), extra=False) for row in group.rows({"1": "sea.jpg"})]
    assert [row[::2][:2] for row in rows] == [("fields.title", "200"), ("", ""), ("", ""), ("tags", "1")]
    assert [row[3:] for row in rows[:2]] == [("0", "t0", "X", "Y"), ("sea.jpg", "t1", "X", "Y")]


def test_evidence_is_reported_by_kind_of_file() -> None:
    verdict = {"files": {"file": {"V3": 2, "V4": 5}, "attachments": {"V0": 1}}}
    assert file_evidence(verdict) == {"attachments, V0": 1, "current files, V4": 5, "current files, V3": 2}


def piped(rows: list[tuple[str, str]]) -> str:
    console = Console(width=PIPE_WIDTH)
    console.plain = True  # type: ignore[attr-defined]
    with console.capture() as shown:
        print_table(console, "Check of job.yaml", ("", "found"), rows)
    return shown.get()


def test_a_pipe_gets_one_line_a_row_with_nothing_behind_it() -> None:
    long = "x" * 900
    text = piped([("OK", "short"), ("FAULT", long)])
    assert text.splitlines() == ["Check of job.yaml", "       found", "OK     short", f"FAULT  {long}", ""]


def test_results_of_a_check_have_colours_on_a_terminal_and_none_where_nobody_wants_them() -> None:
    for environment, coloured in (({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False)):
        console = Console(width=80, force_terminal=True, _environ=environment)
        with console.capture() as shown:
            print_table(console, "Check", ("", "found"), [("FAULT", "a"), ("WARN", "b"), ("OK", "c")])
        assert ("\x1b[31m" in shown.get() and "\x1b[33m" in shown.get() and "\x1b[32m" in shown.get()) == coloured


def printed(report: dict[str, Any], everything: str = "", *, ids: bool = False) -> str:
    console = Console(width=PIPE_WIDTH)
    console.plain = True  # type: ignore[attr-defined]
    with console.capture() as shown:
        print_report(console, report, everything, ids=ids)
    return shown.get()


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("plan", "`--json` lists all, `--html FILE` up to 200"),
        ("run", "`report JOB --csv FILE` lists all"),
        ("adopt", "`report JOB --kind adopt --csv FILE` lists all"),
    ],
)
def test_a_table_that_leaves_rows_out_says_where_all_are(kind: str, where: str) -> None:
    report = large_report(14) | {"kind": kind}
    assert f"… and 2 more: {where}" in printed(report)
    assert f"… and 2 more: {WITH_OPTIONS}" in printed(report, WITH_OPTIONS)


def test_a_loss_is_shown_with_an_example() -> None:
    report = large_report(1) | {"names": {"7": "sea.jpg"}}
    example = ("7", "“CON.jpg” is “_CON.jpg”")
    report["losses"] = [
        {"path": "filename", "rule": "safe_name", "assets": 3, "text": "", "examples": [example]},
        {"path": "tags", "rule": "not mapped", "assets": 1, "text": "", "examples": [("8", "")]},
        {"path": "title", "rule": "truncate", "assets": 1, "text": "", "examples": [("9", "x" * 500)]},
    ]
    text = printed(report)
    assert "safe_name   3       sea.jpg: “CON.jpg” is “_CON.jpg”\n" in text
    assert "not mapped  1       8\n" in text
    assert "x…\n" in text


def test_whitespace_in_the_key_of_a_field_can_be_seen_in_losses() -> None:
    report = large_report(1)
    path = "fields.pre\u00a0press"
    report["losses"] = [{"path": path, "rule": "not mapped", "assets": 1, "text": in_words(path, "not mapped")}]
    console = Console(width=200)
    with console.capture() as shown:
        print_report(console, report)
    for page in (shown.get(), render_html(report | {"losses": [{**report["losses"][0], "examples": []}]})):
        assert "pre\\u00a0press" in page
        assert path not in page


def test_ids_are_shown_only_where_they_are_asked_for() -> None:
    verdict = Verdict("fields")
    verdict.note("7", "t7", [Difference("fields.title", "X", "Y")])
    gone = {"asset": "7", "target": "t7", "reason": "in the trash", "since": "", "until": ""}
    lost = {"path": "tags", "rule": "not mapped", "assets": 1, "text": "", "examples": [("7", "Gulf")]}
    report = large_report(1) | {"names": {"7": "sea.jpg"}, "verdict": verdict.as_json(), "gone": [gone]}
    report |= {"losses": [lost], "parked": []}
    plain, with_ids = printed(report), printed(report, ids=True)
    assert plain.count("sea.jpg") == with_ids.count("sea.jpg (7)") == 3
    for word in ("t7", "target id", "(7)"):
        assert word not in plain
    assert with_ids.count("t7") == with_ids.count("target id") == 2
    assert "sea.jpg: Gulf" in plain
    assert "7" in printed(report | {"names": {}}), "an asset without a name is called by its id"


def test_what_is_hidden_is_not_listed_as_visible() -> None:
    rows = [
        {"rule": rule, "fate": fate, "assets": 2, "examples": ["7"], "meaning": meaning_of(rule, fate)}
        for rule, fate in (("archived_as_published", "closed"), ("groups_widened", "set aside"))
    ]
    text = printed(large_report(1) | {"exposure": rows})
    assert "Hidden at the target\n" in text
    assert "hidden at the target, because archived at the source" in text
    assert "Held back, because more people would see them\n" in text
    assert "Visible to more people" not in text


def test_what_the_mapping_leaves_out_is_shown_with_fill_rate_and_values() -> None:
    omitted = {"path": "fields.views", "label": "", "rule": "ignored by the mapping", "values": 1696, "assets": 280}
    omitted |= {"text": "the mapping names it under `ignore`", "read": 300, "samples": ["7", "8\x1b", "9"]}
    text = printed(large_report(1) | {"omissions": [omitted]})
    assert "Left out by your mapping\n" in text
    assert re.search(r"fields\.views +the mapping names .* 1,696 +280 of 300 \(93 %\) +7; 8\\x1b; 9\n", text)
    assert ["left out by the mapping", "fields.views", "ignored by the mapping", "1696", "7; 8\\x1b; 9"] in [
        row[:5] for row in report_rows(large_report(1) | {"omissions": [omitted]})
    ]


def test_why_assets_are_parked_is_shown_beside_the_cause() -> None:
    row = {"cause": "mapping fields.technique: too long", "operation": "mapping", "hint": "h", "count": 15}
    for text, said in (("technique is longer than 40 characters",) * 2, ("", "technique is longer than the target")):
        assert said in printed(large_report(1) | {"parked": [{**row, "text": text, "asset": "7", "example": "7: x"}]})
