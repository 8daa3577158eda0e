"""What a verification found, as rows for tables: the same difference of many assets is one group with examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

EXAMPLES = 3
COLUMNS = ("where", "assets", "source id", "target id", "expected", "found")
VERDICT_ROWS = {
    "source_assets": "at the source",
    "linked": "moved",
    "parked": "parked with a reason",
    "skipped": "left out by a rule",
    "checked": "compared",
    "equal": "equal",
    "different": "different",
    "extra": "with additions at the target",
    "missing": "missing at the target",
    "unaccounted": "not accounted for",
    "gone_at_source": "gone from the source since",
    "removed": "removed by policy",
    "early": "too early to decide",
}
PARTS = {"file": "current files", "versions": "older versions", "attachments": "attachments"}


@dataclass(frozen=True, slots=True)
class Group:
    """Differences at one place; `number` of them, of which the first are shown."""

    path: str
    number: int
    examples: Sequence[tuple[str, str, str, str]]

    def rows(self) -> Iterable[tuple[str, ...]]:
        """For a table with COLUMNS; place and number are in the first row."""
        for index, example in enumerate(self.examples):
            yield (self.path, f"{self.number:,}", *example) if index == 0 else ("", "", *example)


def grouped(found: Iterable[tuple[str, str, Mapping[str, Any]]]) -> list[Group]:
    """Differences grouped by place, the most frequent first."""
    by_path: dict[str, list[tuple[str, str, str, str]]] = {}
    for source, target, difference in found:
        row = (source, target, difference["expected"], difference["found"])
        by_path.setdefault(difference["path"], []).append(row)
    groups = [Group(path, len(rows), rows[:EXAMPLES]) for path, rows in by_path.items()]
    return sorted(groups, key=lambda group: (-group.number, group.path))


def file_evidence(verdict: Mapping[str, Any]) -> dict[str, int]:
    """Number of files by role and evidence class."""
    return {
        f"{PARTS.get(part, part)}, {evidence}": number
        for part, counts in sorted(verdict["files"].items())
        for evidence, number in sorted(counts.items(), reverse=True)
    }
