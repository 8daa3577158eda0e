"""A report on a terminal or in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dam_sync.model.exposure import HIDING, ExposureResult
from dam_sync.model.exposure_advice import what_to_do
from dam_sync.model.parking import ExposureCause, park_cause
from dam_sync.model.safe_text import shown_name, visible, visible_lines
from dam_sync.report.causes import cause_in_words, why_parked
from dam_sync.report.loss_words import LEFT_OUT, filled
from dam_sync.report.verdict import (
    COLUMNS,
    COMPARED,
    DIFFERENCES,
    NOT_CARRIED,
    VERDICT_ROWS,
    called,
    compared_files,
    evidence_in_words,
    explained,
    file_evidence,
    grouped,
    not_carried,
    parked_example,
    with_ids,
    without_target_ids,
)

TITLES = {
    **{"plan": "Plan", "run": "Run", "verify": "Verification", "check": "Check"},
    **{"adopt": "Adoption", "rollback": "Rollback"},
}
SHOWN = 12
LONGEST_EXAMPLE = 120
WITH_OPTIONS = "`--json` lists all, `--html FILE` up to 200"
GONE = {"asset": "asset", "target": "target id", "reason": "why", "since": "gone since", "until": "removed after"}
GONE_TITLE = "Gone from the source, to be removed at the target"
EXPOSURES = (
    ("Held back, because more people would see them", frozenset({ExposureResult.REFUSED})),
    ("Visible to more people than at the source", frozenset({ExposureResult.ACCEPTED})),
    ("Hidden at the target", frozenset(HIDING)),
)
"""Titles of the tables of assets by what becomes of them."""
ROWS_OF_GROUPS = 60
ALIGNED = 60  # characters to which the cells of a plain table are aligned
STYLES = {"FAULT": "red", "WARN": "yellow", "OK": "green", "ok": "green"}


def print_report(console: Console, report: Mapping[str, Any], everything: str = "", *, ids: bool = False) -> None:
    """Print the whole report as tables. everything: the words that say where the rows are that a table leaves out; ids:
    whether to show the id of an asset beside its name."""
    everything = everything or where_all_is(report)
    if ids:
        report = {**report, "names": with_ids(report.get("names", {}))}
    source, target = report["source"], report["target"]
    number = f" {plain(report['run'])}" if report["run"] else ""
    number += f" of wave {plain(report['wave'])}" if report.get("wave") else ""
    console.print(f"[bold]{TITLES[report['kind']]}{number}[/bold] of job [bold]{plain(report['job'])}[/bold]: ", end="")
    sides = [f"{plain(side['kind'])} ({plain(side['tenant'])})" for side in (source, target)]
    console.print(" to ".join(sides))
    if report.get("headline"):
        console.print(f"[bold]{plain(_sentence(report['headline']['text']))}[/bold]\n")
    _pairs(console, "Assets", report["counts"])
    _pairs(console, "Writes to be made" if report["kind"] == "plan" else "Writes made", report["operations"])
    _pairs(console, "To be repaired" if report["kind"] == "plan" else "Repaired", report.get("repaired", {}))
    if report["verdict"]:
        _verdict(console, report["verdict"], report.get("names", {}), everything, ids=ids)
    _lists(console, report, everything, ids=ids)
    for side in (source, target):
        total = sum(side["calls"].values())
        title = "Estimated API calls" if report["kind"] == "plan" else "API calls"
        calls = sorted(side["calls"].items(), key=lambda item: -item[1])
        bounded = side.get("at_least") or {}
        rows = [(call, f"at least {number}" if call in bounded else str(number)) for call, number in calls]
        number = f"at least {total}" if bounded else str(total)
        _table(console, f"{title}, {side['kind']}: {number}", ("call", "times"), rows, more=everything)
    for note in report["notes"]:
        console.print(f"note: {plain(note)}")
    if report.get("estimate") is not None:
        band = dict.fromkeys(duration(report["estimate"][part]) for part in ("p50", "p90"))
        console.print(f"estimated: about {' to '.join(band)}")
    elif report["seconds"]:
        console.print(f"took {duration(report['seconds'])}")


def _lists(console: Console, report: Mapping[str, Any], everything: str, *, ids: bool) -> None:
    """What the reader should look at: exposure, conflicts, losses, parked assets, removals, options."""
    names = report.get("names", {})
    for title, fates in EXPOSURES:
        seen = [
            (row["rule"], row["fate"], str(row["assets"]), _called(names, row["examples"]), row["meaning"])
            for row in report["exposure"]
            if row["fate"] in fates
        ]
        _table(console, title, ("rule", "", "assets", "for example", "meaning"), seen, more=everything)
    held = [row for row in report["exposure"] if row["fate"] == ExposureResult.REFUSED]
    if held:
        console.print("What to do about those that are set aside, the first that is right:")
        for text in what_to_do(held):
            console.print(f"- {plain(text)}")
    settled = [
        (row["path"], row["take"], row["by"], str(row["assets"]), _called(names, row["examples"]))
        for row in report["conflicts"]
    ]
    columns = ("what", "result", "by", "assets", "for example")
    _table(console, "Changed at both services", columns, settled, more=everything)
    omitted = [
        (shown_name(row["path"]), row["text"], f"{row['values']:,}", filled(row), "; ".join(row["samples"]))
        for row in report.get("omissions", ())
    ]
    columns = ("what", "why", "values", "filled", "for example")
    _table(console, LEFT_OUT, columns, omitted, more=everything)
    rows = [
        (shown_name(loss["path"]), loss["rule"], str(loss["assets"]), _lost(names, loss)) for loss in report["losses"]
    ]
    _table(console, "Losses", ("what", "rule", "assets", "for example"), rows, more=everything)
    parked = [
        (
            cause_in_words(park_cause(row["cause"])),
            why_parked(row),
            str(row["count"]),
            parked_example(names, row),
            _what_to_do(row),
        )
        for row in report["parked"]
    ]
    columns = ("cause", "meaning", "assets", "for example", "what to do")
    _table(console, "Parked", columns, parked, more=everything)
    shown = GONE if ids else tuple(key for key in GONE if key != "target")
    gone = [tuple(called(names, row[key]) if key == "asset" else row[key] for key in shown) for row in report["gone"]]
    _table(console, GONE_TITLE, tuple(GONE[key] for key in shown), gone, more=everything)
    undecided = [(row["side"], row["text"], f"{row['assets']:,}", row["hint"]) for row in report.get("undecided", ())]
    _table(console, "To be decided by an option of the job", ("", "what", "assets", "what to write"), undecided)


def _what_to_do(row: Mapping[str, Any]) -> str:
    """What helps with a cause; what is set aside has a list of its own."""
    exposed = isinstance(park_cause(row["cause"]), ExposureCause)
    return "see what to do above" if exposed else str(row["hint"])


def where_all_is(report: Mapping[str, Any]) -> str:
    """Where the rows are that a table leaves out. A plan is made again; every other report is kept in the state."""
    if report["kind"].startswith("plan"):
        return WITH_OPTIONS
    kind = f" --kind {report['kind']}" if report["kind"] != "run" else ""
    return f"`report JOB{kind} --csv FILE` lists all"


def print_table(
    console: Console,
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    shown: int | None = None,
    more: str = "",
    total: int | None = None,
) -> None:
    """Print one table: in full, or its first rows and where the others are. total: see `Output.table`."""
    _table(console, title, columns, rows, len(rows) if shown is None else shown, more, total)


def plain(text: object, *, lines: bool = False) -> str:
    """Untrusted text for a console, on one line unless `lines`: no markup, control characters escaped."""
    return escape((visible_lines if lines else visible)(str(text)))


def duration(seconds: float) -> str:
    """`2 h 5 min`, `3 min 20 s`, `12 s`."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60} s"
    return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _verdict(
    console: Console, verdict: Mapping[str, Any], names: Mapping[str, str], everything: str, *, ids: bool
) -> None:
    console.print(f"[bold]{plain(verdict['statement'])}[/bold]")
    counts = {key: verdict[key] for key in VERDICT_ROWS if verdict[key] or key in ("checked", "equal", "different")}
    _pairs(console, f"Verification, level {verdict['level']}", {VERDICT_ROWS[key]: n for key, n in counts.items()})
    _pairs(console, "Evidence by asset", evidence_in_words(verdict["evidence"]))
    _pairs(console, "Evidence by file", file_evidence(verdict))
    _pairs(console, COMPARED, compared_files(verdict))
    for title, extra in DIFFERENCES:
        rows = [COLUMNS, *(row for group in grouped(verdict, extra=extra) for row in group.rows(names))]
        columns, *shown = rows if ids else map(without_target_ids, rows)
        _table(console, title, columns, shown, shown=ROWS_OF_GROUPS, more=everything)
    for line in explained(verdict):
        console.print(plain(line))
    _pairs(console, "Not compared: the target does not return it, or cannot store it", verdict["not_compared"])
    _pairs(console, NOT_CARRIED, not_carried(verdict))


def _lost(names: Mapping[str, str], loss: Mapping[str, Any]) -> str:
    """The first asset that has the loss, and what was lost of it."""
    (asset, detail), *_ = loss.get("examples") or [("", "")]
    detail = detail if len(detail) <= LONGEST_EXAMPLE else f"{detail[: LONGEST_EXAMPLE - 1]}…"
    return f"{called(names, asset)}: {detail}" if asset and detail else called(names, asset)


def _called(names: Mapping[str, str], assets: Iterable[str]) -> str:
    return ", ".join(called(names, asset) for asset in assets)


def _pairs(console: Console, title: str, pairs: Mapping[str, int]) -> None:
    _table(console, title, ("", ""), [(key, f"{number:,}") for key, number in pairs.items()], shown=50)


def _table(
    console: Console,
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    shown: int = SHOWN,
    more: str = "",
    total: int | None = None,
) -> None:
    rows = list(rows)
    if not rows:
        return
    beyond = (len(rows) if total is None else total) - shown
    left = [_left_out(beyond, more)] if beyond > 0 else []
    rows = rows[:shown]
    if getattr(console, "plain", False):
        _plain_table(console, title, columns, rows, left)
        return
    whole = min(len(title), console.width)  # a title is not wrapped if there is room
    table = Table(
        title=plain(title), title_justify="left", show_header=any(columns), box=None, pad_edge=False, min_width=whole
    )
    for number, column in enumerate(columns):
        right = all(row[number].replace(",", "").isdigit() for row in rows)
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    for row in rows:
        style = STYLES.get(row[0])
        first = f"[{style}]{plain(row[0])}[/{style}]" if style else plain(row[0])
        table.add_row(first, *(plain(cell, lines=True) for cell in row[1:]))
    console.print(table)
    for line in left:
        console.print(plain(line))
    console.print()


def _left_out(number: int, where: str) -> str:
    return f"… and {number:,} more" + (f": {where}" if where else "")


def _plain_table(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str]
) -> None:
    """For a pipe: one line per row, short cells aligned, no trailing whitespace."""
    shown = [*([columns] if any(columns) else []), *rows]
    cells = [[visible(cell) for cell in row] for row in shown]
    widths = [max(min(len(row[number]), ALIGNED) for row in cells) for number in range(len(columns))]
    for text in (
        title,
        *("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in cells),
        *left,
        "",
    ):
        console.print(visible(text.rstrip()), markup=False, soft_wrap=True)
