"""A report as one HTML file without external resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dam_sync.report.causes import why_parked
from dam_sync.report.loss_words import LEFT_OUT, filled
from dam_sync.report.page_templates import templates
from dam_sync.report.terminal import TITLES, duration
from dam_sync.report.verdict import (
    COLUMNS,
    COMPARED,
    DIFFERENCES,
    NOT_CARRIED,
    VERDICT_ROWS,
    compared_files,
    evidence_in_words,
    explained,
    file_evidence,
    grouped,
    not_carried,
    parked_example,
    without_target_ids,
)

DECISIONS = ("losses", "exposure", "undecided", "omissions", "left_out")
SECTIONS = (
    ("assets", "Assets", ("counts",)),
    ("decisions", "Decisions", DECISIONS),
    ("mapping", "Mapping", ("mapping",)),
    ("accounts", "Values", ("accounts",)),
    ("trees", "Terms and containers", ("terms", "containers")),
    ("estimate", "Duration and space", ("estimate",)),
    ("risks", "Risks", ("risks", "irreversible")),
    ("parked", "Parked", ("parked",)),
    ("conflicts", "Conflicts", ("conflicts",)),
    ("gone", "Gone", ("gone",)),
    ("verification", "Verification", ("verdict",)),
    ("notes", "Notes", ("notes",)),
)
"""Parts of the page: anchor, title, and the keys of the report that fill them."""
WORDS: Mapping[str, Any] = {
    **{"rows": VERDICT_ROWS, "columns": without_target_ids(COLUMNS), "without_target_ids": without_target_ids},
    **{"grouped": grouped, "file_evidence": file_evidence, "NOT_CARRIED": NOT_CARRIED, "not_carried": not_carried},
    **{"COMPARED": COMPARED, "compared_files": compared_files, "evidence_in_words": evidence_in_words},
    **{"kinds": DIFFERENCES, "explained": explained, "example": parked_example, "duration": duration},
    **{"LEFT_OUT": LEFT_OUT, "filled": filled, "why_parked": why_parked},
}
_templates = templates()


def render_html(
    report: Mapping[str, Any], rehearsal: Sequence[str] = (), verification: Mapping[str, Any] | None = None
) -> str:
    """The report as an HTML page, with every value escaped. rehearsal: what was in another way than in a run, for a run
    that was only rehearsed; verification: the verdict on it."""
    decides = any(report.get(key) for key in DECISIONS)
    title = "Rehearsal" if rehearsal else TITLES[report["kind"]]
    given = {"title": title, "sections": list(_sections(report, decides)), "decides": decides}
    given |= {"rehearsal": rehearsal, "verification": verification}
    return _templates.get_template("report.html").render(report=report, **given, **WORDS)


def _sections(report: Mapping[str, Any], decides: bool) -> Iterator[tuple[str, str, bool]]:
    """Anchor and title of each part, and whether the page has it."""
    yield from ((name, words, any(report.get(key) for key in keys)) for name, words, keys in SECTIONS)
    yield "calls", "API calls", any(report[side]["calls"] for side in ("source", "target"))
    yield "signature", "Signature", decides and report["kind"] == "plan"
