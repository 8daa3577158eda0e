"""A report as rows for a CSV file: one line per count, write, loss, cause, call and note."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dam_sync.model.safe_text import csv_cell
from dam_sync.report.causes import why_parked
from dam_sync.report.loss_words import filled
from dam_sync.report.verdict import VERDICT_ROWS, compared_files, file_evidence, not_carried

SECTIONS = ("section", "item", "rule", "number", "example", "meaning")
DIFFERENCES = ("asset", "target", "kind", "where", "pattern", "expected", "found")

LISTS: Mapping[str, Callable[[Any], tuple[object, ...]]] = {
    "risks": lambda row: ("risk", row["kind"], row["level"], row["assets"], "", row["text"]),
    "undecided": lambda row: (
        "to decide",
        row["part"],
        row["side"],
        row["assets"],
        "",
        f"{row['text']}: {row['hint']}",
    ),
    "irreversible": lambda row: ("irreversible", row["operation"], "", row["number"], "", ""),
    "mapping": lambda row: (
        *("mapping line", row["target"], row["rule"], row["filled"], _sample(row["samples"]), ", ".join(row["source"])),
    ),
    "accounts": lambda row: ("values read", row["path"], "", row["read"], "", _outcomes(row)),
    "omissions": lambda row: (
        *("left out by the mapping", row["path"], row["rule"], row["values"], "; ".join(row["samples"])),
        f"{row['text']}; filled in {filled(row)}",
    ),
    "losses": lambda row: ("loss", row["path"], row["rule"], row["assets"], _examples(row["examples"]), row["text"]),
    "files": lambda row: ("file", row["problem"], "", row["assets"], _examples(row["examples"]), ""),
    "exposure": lambda row: (
        *("exposure", row["rule"], row["fate"], row["assets"], ", ".join(row["examples"]), row["meaning"]),
    ),
    "conflicts": lambda row: (
        *("conflict", row["path"], f"{row['take']} by {row['by']}", row["assets"], ", ".join(row["examples"]), ""),
    ),
    "parked": lambda row: (
        *("parked", row["cause"], row["operation"], row["count"], row["example"]),
        f"{why_parked(row)}: {row['hint']}" if why_parked(row) else row["hint"],
    ),
    "gone": lambda row: (
        *("gone from the source", row["asset"], row["reason"], "", row["target"], f"removed after {row['until']}"),
    ),
    "notes": lambda note: ("note", "", "", "", "", note),
}
"""Of each list of a report, a row with the columns SECTIONS."""


OUTCOMES = ("written", "transformed", "defaulted", "dropped", "lost", "parked")


def _outcomes(account: Mapping[str, Any]) -> str:
    """What became of the values of a path, and why."""
    numbers = [f"{account[outcome]:,} {outcome}" for outcome in OUTCOMES if account[outcome]]
    reasons = [f"{row['outcome']} by {row['rule']}: {row['values']:,}" for row in account["reasons"] if row["rule"]]
    return "; ".join([", ".join(numbers), *reasons])


def _examples(pairs: Iterable[Sequence[str]]) -> str:
    """Assets, each with its detail."""
    return "; ".join(": ".join(text for text in pair if text) for pair in pairs)


def _sample(samples: Iterable[Mapping[str, Any]]) -> str:
    return "; ".join(f"{row['asset']}: {row['before']} -> {row['after']}" for row in samples)


def report_rows(report: Mapping[str, Any]) -> Iterator[list[str]]:
    """The columns, then the rows. That of a verification lists differences after an empty line, as far as the report
    has them."""
    yield list(SECTIONS)
    for row in _sections(report):
        yield [csv_cell(cell) for cell in row]
    verdict = report["verdict"]
    if verdict and (verdict["differences"] or verdict["extras"]):
        yield []
        yield list(DIFFERENCES)
        shown = (*verdict["differences"], *verdict["extras"])
        yield from (difference_row(*row) for row in shown)
        more = sum(group["number"] for group in verdict["groups"]) - len(shown)
        if more > 0:
            yield [f"{more:,} more are not kept in the report: `verify JOB --csv FILE` writes all"]


def difference_row(source: str, target: str, found: Mapping[str, Any]) -> list[str]:
    """One difference or addition, with the columns DIFFERENCES."""
    kind = "addition" if found["extra"] else "difference"
    texts = (source, target, kind, found["path"], found.get("pattern", ""), found["expected"], found["found"])
    return [csv_cell(text) for text in texts]


def _sections(report: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    for side in ("source", "target"):
        facts = report[side]
        yield side, facts["kind"], facts["release"], facts["assets"] or "", "", facts["tenant"]
    if report["headline"] is not None:
        yield "headline", report["headline"]["level"], "", "", "", report["headline"]["text"]
    for section, numbers in _counts(report):
        yield from ((section, item, "", number, "", "") for item, number in numbers.items())
    for key, row_of in LISTS.items():
        yield from (row_of(row) for row in report[key])


def _counts(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, int]]]:
    yield from (
        ("assets", report["counts"]),
        ("writes", report["operations"]),
        ("repaired", report["repaired"]),
        ("left out", report["left_out"]),
    )
    yield from _verdict(report["verdict"])
    yield from ((f"calls to the {side}", report[side]["calls"]) for side in ("source", "target"))


def _verdict(verdict: Mapping[str, Any] | None) -> Iterator[tuple[str, Mapping[str, int]]]:
    if verdict:
        yield "verification", {words: verdict[key] for key, words in VERDICT_ROWS.items()}
        yield "evidence by asset", verdict["evidence"]
        yield "evidence by file", file_evidence(verdict)
        yield "files by what was compared", compared_files(verdict)
        yield "not compared", verdict["not_compared"]
        yield "not carried", not_carried(verdict)
