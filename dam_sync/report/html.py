"""A report as one HTML file without external resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape

from dam_sync.model.safe_text import visible_lines
from dam_sync.report.terminal import TITLES, duration
from dam_sync.report.verdict import COLUMNS, DIFFERENCES, VERDICT_ROWS, explained, file_evidence, grouped

_templates = Environment(
    loader=PackageLoader("dam_sync.report"),
    autoescape=select_autoescape(default=True),
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=lambda value: visible_lines(value) if type(value) is str else value,
)


def render_html(report: Mapping[str, Any]) -> str:
    """The report as an HTML page, with every value escaped."""
    template = _templates.get_template("report.html")
    words = {"rows": VERDICT_ROWS, "columns": COLUMNS, "grouped": grouped, "file_evidence": file_evidence}
    words |= {"kinds": DIFFERENCES, "explained": explained}
    return template.render(report=report, title=TITLES[report["kind"]], duration=duration, **words)
