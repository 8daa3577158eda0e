"""A report as one HTML file without external resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape

from dam_sync.model.safe_text import shown_name, visible_lines
from dam_sync.model.wording import agreed, counted
from dam_sync.report.terminal import TITLES, duration
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
)

SECTIONS = (
    ("assets", "Assets", ("counts",)),
    ("decisions", "Decisions", ("losses", "exposure", "undecided")),
    ("mapping", "Mapping", ("mapping",)),
    ("accounts", "Values", ("accounts",)),
    ("trees", "Terms and containers", ("terms", "containers")),
    ("estimate", "Duration and space", ("estimate",)),
    ("risks", "Risks", ("risks", "irreversible")),
    ("parked", "Parked", ("parked",)),
    ("conflicts", "Conflicts", ("conflicts",)),
    ("gone", "Gone", ("gone",)),
    ("verification", "Verification", ("verdict",)),
    ("calls", "API calls", ("source",)),
    ("notes", "Notes", ("notes",)),
)
"""Parts of the page: anchor, title, and the keys of the report that fill them."""

_templates = Environment(
    loader=PackageLoader("dam_sync.report"),
    autoescape=select_autoescape(default=True),
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=lambda value: visible_lines(value) if type(value) is str else value,
)
_templates.globals |= {"agreed": agreed, "counted": counted, "shown_name": shown_name}


def render_html(
    report: Mapping[str, Any], rehearsal: Sequence[str] = (), verification: Mapping[str, Any] | None = None
) -> str:
    """The report as an HTML page, with every value escaped. rehearsal: what was in another way than in a run, for a run
    that was only rehearsed; verification: the verdict on it."""
    template = _templates.get_template("report.html")
    sections = [(name, words, any(report.get(key) for key in keys)) for name, words, keys in SECTIONS]
    words = {"rows": VERDICT_ROWS, "columns": COLUMNS, "grouped": grouped, "file_evidence": file_evidence}
    words |= {"NOT_CARRIED": NOT_CARRIED, "not_carried": not_carried}
    words |= {"COMPARED": COMPARED, "compared_files": compared_files}
    words |= {"evidence_in_words": evidence_in_words}
    words |= {"kinds": DIFFERENCES, "explained": explained, "example": called}
    words |= {"rehearsal": rehearsal, "verification": verification}
    title = "Rehearsal" if rehearsal else TITLES[report["kind"]]
    return template.render(report=report, title=title, duration=duration, sections=sections, **words)
