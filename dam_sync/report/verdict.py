"""What a verification found, as rows for tables: the same difference of many assets is one group with examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dam_sync.model.wording import counted
from dam_sync.report.loss_words import part_in_words

COLUMNS = ("where", "how", "number", "asset at the source", "target id", "expected", "found")
OF_TARGET = COLUMNS.index("target id")
EVIDENCE = {
    "V4": "the digests of both services agree",
    "V3": "the bytes at the target, downloaded then, agree with those at the source, or with its digest",
    "V2": "the size agrees",
    "V1": "counted",
    "V0": "none",
}
"""What each class says, of the time of the verification that found it."""
COMPARED = "Files by what was compared, each read as one version, at the time of this verification"
NOT_CARRIED = "Not carried, as a run reported: no call changes it at the target"
DIFFERENCES = (("Differences", False), ("Additions at the target", True))  # titles, and which groups
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
    "doubled": "twice at the target",
    "gone_at_source": "gone from the source since",
    "removed": "removed by policy",
    "early": "too early to decide",
}
PARTS = {"file": "current files", "versions": "older versions", "attachments": "attachments"}


@dataclass(frozen=True, slots=True)
class Group:
    """Differences of one pattern at one place; `number` of them, of which the first are shown. cause, remedy:
    sentences, if the cause is known."""

    path: str
    pattern: str
    number: int
    examples: Sequence[Sequence[str]]
    cause: str = ""
    remedy: str = ""

    def rows(self, names: Mapping[str, str]) -> Iterable[tuple[str, ...]]:
        """For a table with COLUMNS; place, pattern and number are in the first row. names: of assets, by their ids."""
        for index, (asset, *example) in enumerate(self.examples):
            head = (self.path, self.pattern, f"{self.number:,}") if index == 0 else ("", "", "")
            yield (*head, called(names, asset), *example)


def called(names: Mapping[str, str], asset: str) -> str:
    """The name of an asset; its id if no name is known."""
    return names.get(asset, asset)


def parked_example(names: Mapping[str, str], row: Mapping[str, Any]) -> str:
    """The example of a cause with the name of its asset in place of the id, which a report of an earlier release does
    not have apart."""
    asset, example = row["asset"], str(row["example"])
    return f"{names[asset]}{example[len(asset) :]}" if asset in names else example


def with_ids(names: Mapping[str, str]) -> dict[str, str]:
    """The names, each with the id: `sea.jpg (7)`."""
    return {asset: f"{name} ({asset})" for asset, name in names.items()}


def without_target_ids(row: Sequence[str]) -> tuple[str, ...]:
    """A row with COLUMNS, or these, without the id at the target."""
    return (*row[:OF_TARGET], *row[OF_TARGET + 1 :])


def grouped(verdict: Mapping[str, Any], *, extra: bool) -> list[Group]:
    """Groups of differences, or of additions, the most frequent first."""
    names = [field.name for field in fields(Group)]
    return [Group(**{name: row[name] for name in names}) for row in verdict["groups"] if row["extra"] == extra]


def explained(verdict: Mapping[str, Any]) -> list[str]:
    """For each group whose cause is known: where, how many, why, and what to do."""
    return [
        f"{group.path}, {counted(group.number, 'asset')} ({group.pattern}): {group.cause}. What to do: {group.remedy}."
        for _, extra in DIFFERENCES
        for group in grouped(verdict, extra=extra)
        if group.cause
    ]


def not_carried(verdict: Mapping[str, Any]) -> dict[str, int]:
    """Assets by what of them no call changes at the target, in words. A verdict of an older release has none."""
    return {part_in_words(path): number for path, number in sorted(verdict.get("not_carried", {}).items())}


def evidence_in_words(counts: Mapping[str, int]) -> dict[str, int]:
    """Number of assets by evidence class, the strongest first, with what the class says."""
    return {evidence_words(each): number for each, number in sorted(counts.items(), reverse=True)}


def evidence_words(evidence: str) -> str:
    """An evidence class with what it says; of an unknown class, itself."""
    return f"{evidence}: {EVIDENCE[evidence]}" if evidence in EVIDENCE else evidence


def compared_files(verdict: Mapping[str, Any]) -> dict[str, int]:
    """Number of files by what was compared with what. A verdict of an older release has none."""
    return dict(sorted(verdict.get("compared", {}).items()))


def file_evidence(verdict: Mapping[str, Any]) -> dict[str, int]:
    """Number of files by role and evidence class."""
    return {
        f"{PARTS.get(part, part)}, {evidence}": number
        for part, counts in sorted(verdict["files"].items())
        for evidence, number in sorted(counts.items(), reverse=True)
    }
