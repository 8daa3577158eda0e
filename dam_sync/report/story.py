"""The story of one asset as sections of tables, for a terminal and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dam_sync.model.conflict import CONFLICT
from dam_sync.model.exposure import EXPOSURE
from dam_sync.model.journal_names import WriteKind, kind_of
from dam_sync.model.parking import park_cause
from dam_sync.report.causes import cause_in_words
from dam_sync.report.loss_words import in_words
from dam_sync.report.page_templates import templates
from dam_sync.report.terminal import duration
from dam_sync.report.verdict import evidence_words

LONGEST = 300  # characters of a value in a table
_templates = templates()


@dataclass(frozen=True, slots=True)
class Section:
    """One table; without columns, names and values."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def sections_of(story: Mapping[str, Any]) -> list[Section]:
    """Every section that has rows, in the order in which they are read."""
    return [section for section in _sections(story) if section.rows]


def render_story(story: Mapping[str, Any]) -> str:
    """The story as an HTML page without external resources, with every value escaped."""
    return _templates.get_template("story.html").render(story=story, sections=sections_of(story))


def title_of(story: Mapping[str, Any]) -> str:
    """Which asset, in a line."""
    asset = story["asset"]
    name = f" {asset['filename']}" if asset["filename"] else ""
    moved = f" -> {asset['target_id']} of {asset['target']}" if asset["target_id"] else ", not at the target"
    found = f", found by {asset['found by']}" if "found by" in asset else ""
    return f"Asset{name}: {asset['source_id']} of {asset['source']}{moved}{found}"


def _sections(story: Mapping[str, Any]) -> Iterator[Section]:
    now = story["now"]
    yield Section(
        "Now", ("", ""), _pairs({**now, "cause": cause_in_words(park_cause(now["cause"]))} if "cause" in now else now)
    )
    live = story["live"] or {}
    yield from _of_live(live)
    columns = ("value", "rule", "last written", "kept at the target")
    rows = ((row["value"], row["rule"], row["written"], row["kept at the target"]) for row in story["values"])
    yield Section("Values", columns, _cut(rows))
    losses = [row for row in story["losses"] if row["path"] not in (EXPOSURE, CONFLICT)]
    lost = ((row["path"], row["rule"], row.get("detail", "")) for row in losses)
    yield Section("Losses", ("what", "rule", "detail"), _cut(lost))
    seen = [row for row in story["losses"] if row["path"] == EXPOSURE]
    shown = ((in_words(EXPOSURE, row["rule"]), row["rule"], row.get("detail", "")) for row in seen)
    yield Section("Who sees it", ("what", "rule", "detail"), _cut(shown))
    corrected = ((row["value"], row["failed"], row["corrected"], row["at"]) for row in story.get("corrections", ()))
    yield Section("Corrected values", ("value", "failed", "corrected", "since"), _cut(corrected))
    keys = ("value", "written", "source", "target", "why", "decision")
    conflicts = (tuple(row[key] for key in keys) for row in story["conflicts"])
    yield Section("Open conflicts", keys, _cut(conflicts))
    decided = ((str(row["run"]), row["at"], *decision) for row in story["writes"] for decision in _decisions(row))
    yield Section("Decided conflicts", ("run", "at", "value", "taken", "by"), _cut(decided))
    yield Section("Files", ("part", "key", "evidence"), _cut(_files(story)))
    yield from _of_writes(story)
    yield Section("Unfinished writes", ("write", "state"), _cut(tuple(row.values()) for row in story["open_steps"]))
    yield Section("Still to be written", ("what", "refused"), _cut(tuple(row.values()) for row in story["waiting"]))


def _files(story: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for row in story["files"]:
        yield row["part"], row["key"], evidence_words(row["evidence"])


def _of_live(live: Mapping[str, Any]) -> Iterator[Section]:
    for side in ("source", "target"):
        if side in live:
            record = live[side]
            rows = [("", "not found")] if record is None else list(_lines(record))
            yield Section(f"Record at the {side}, now", ("", ""), _cut(rows))
    read = (
        (rule["rule"], path, value, outcome, made)
        for rule in live.get("rules", ())
        for path, value, outcome, made in _reading(rule)
    )
    yield Section("Rules, applied now", ("rule", "read", "value", "outcome", "result"), _cut(read))
    found = live.get("differences", ())
    keys = ("path", "pattern", "expected", "found")
    columns = ("where", "how", "expected", "found")
    yield Section("Differences, now", columns, _cut(tuple(row[key] for key in keys) for row in found))


def _reading(rule: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Its values, the result in the first row, then what is lost and rejected."""
    made = "; ".join(rule["made"])
    for index, row in enumerate(rule["read"] or [{"path": "", "value": "", "outcome": ""}]):
        yield row["path"], row["value"], row["outcome"], made if index == 0 else ""
    for what in ("lost", "rejected"):
        yield from (("", text, what, "") for text in rule[what])


def _of_writes(story: Mapping[str, Any]) -> Iterator[Section]:
    columns = ("run", "at", "write", "target", "calls", "bytes", "digest", "took")
    yield Section("Writes", columns, _cut(_write(row) for row in story["writes"]))
    changes = (
        (str(row["run"]), row["operation"], change["value"], change["before"], change["after"])
        for row in story["writes"]
        for change in row["changes"]
    )
    yield Section("Values before and after", ("run", "write", "value", "before", "after"), _cut(changes))
    yield Section("API calls that wrote it", ("call", "times"), [(key, str(n)) for key, n in story["calls"].items()])
    keys = ("run", "command", "started", "ended", "result")
    yield Section("Runs", keys, _cut(tuple(str(row[key]) for key in keys) for row in story["runs"]))


def _decisions(row: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What a row of the ledger says about conflicts: value, which side stands, and what decided."""
    if kind_of(row["operation"]) is WriteKind.CONFLICT:
        yield from ((path, one["take"], one["by"]) for path, one in row["detail"].items())


def _write(row: Mapping[str, Any]) -> tuple[str, ...]:
    calls = ", ".join(f"{call} {number}" for call, number in row["calls"].items())
    size = "" if row["bytes"] is None else f"{row['bytes']:,}"
    took = "" if row["seconds"] is None else duration(row["seconds"])
    return str(row["run"]), row["at"], row["operation"], row["target"], calls, size, row["digest"], took


def _lines(record: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each value of a record with its path."""
    if isinstance(record, Mapping):
        for key, part in record.items():
            yield from _lines(part, f"{path}.{key}" if path else str(key))
    elif isinstance(record, list):
        for index, part in enumerate(record):
            yield from _lines(part, f"{path}[{index}]")
    elif record is not None:
        yield path, str(record)


def _pairs(facts: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [(str(key), str(value)) for key, value in facts.items()]


def _cut(rows: Iterable[Sequence[object]]) -> list[tuple[str, ...]]:
    texts = (tuple(str(cell) for cell in row) for row in rows)
    return [tuple(text if len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in row) for row in texts]
