"""The HTML report stays small, and shows nothing raw."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from typing import Any

import pytest

from dam_sync.engine.verification.verdict import Verdict
from dam_sync.model.exposure import meaning_of
from dam_sync.report.html import render_html
from tests.support.reporting.large_report import large_report

MOST = 5_000_000  # bytes


def test_a_report_of_a_hundred_thousand_assets_is_small() -> None:
    page = render_html(large_report(100_000))
    assert len(page.encode()) < MOST
    assert "and 4,800 more" in page


def test_what_services_say_is_escaped() -> None:
    report = large_report(3)
    report["losses"][0]["text"] = report["mapping"][0]["label"] = "<script>alert(1)</script>\x1b[31m"
    report["containers"][0]["name"] = report["source"]["tenant"] = "<img src=x>"
    page = render_html(report)
    assert "<script" not in page
    assert "<img" not in page
    assert "\x1b" not in page


def test_a_report_that_an_earlier_version_stored_is_shown() -> None:
    report = large_report(3)
    for key in ("headline", "origin", "scope", "mapping", "accounts", "terms", "containers", "estimate", "risks"):
        del report[key]
    for key in ("collisions", "files", "irreversible", "left_out"):
        report.pop(key, None)
    report["losses"] = [{"path": "tags", "rule": "not mapped", "assets": 3}]
    assert "tags" in render_html(report)


def test_the_verdict_of_a_run_is_not_that_of_a_plan() -> None:
    report = large_report(3)
    for kind, words in (("plan", "Read before you decide"), ("run", "Done, with what is listed here")):
        page = render_html(
            report | {"kind": kind, "headline": {"level": "attention", "text": "t", "points": ["p"] * 7}}
        )
        assert words in page
        assert "and 2 more" in page, "of seven points"


def test_whatever_makes_a_verification_fail_is_no_equality() -> None:
    for verdict, words in ((Verdict("digest", checked=2, equal=2), "Equal"), (_doubled(), "Differences found")):
        page = render_html(large_report(3) | {"kind": "verify", "verdict": verdict.as_json()})
        assert f"</span> {words}</p>" in page
    assert "1 twice at the target" in page


def _doubled() -> Verdict:
    return Verdict("digest", checked=2, equal=2, doubled=1)


def test_a_rehearsal_says_first_that_it_was_one() -> None:
    page = render_html(large_report(3) | {"kind": "run"}, ["this was a rehearsal"])
    assert "Rehearsal of job" in page
    assert page.index("This was a rehearsal") < page.index("<nav")


class Page(HTMLParser):
    """Headings and sections in their order, anchors and links, and the cells of the tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.order: list[str] = []
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.cells: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if identity := given.get("id"):
            self.anchors.add(identity)
            self.order.append(identity)
        if tag == "a":
            self.links.append(str(given.get("href")))
        if tag == "td":
            self.cells.append(given)


def shown(page: str) -> str:
    """What a reader sees of the page, without its head."""
    return " ".join(re.sub("<[^>]*>", " ", page[page.index("<body") :]).split())


def signed(**changes: Any) -> dict[str, Any]:
    """A plan of a few assets."""
    return large_report(3) | {"losses": [], "parked": [], "risks": [], **changes}


def closed(rule: str = "archived_as_published", fate: str = "closed") -> dict[str, Any]:
    return {"rule": rule, "fate": fate, "assets": 25, "examples": ["7"], "meaning": meaning_of(rule, fate)}


def test_what_is_closed_by_policy_is_neither_shown_nor_lost() -> None:
    page = render_html(signed(exposure=[closed()], names={"7": "sea.jpg"}))
    assert shown(page).count("hidden at the target, because archived at the source") == 1
    assert "▢</span> hidden" in page
    for word in ("</span> shown", "</span> lost", "visible at the target"):
        assert word not in page


@pytest.mark.parametrize(
    ("fate", "word"), [("set aside", "held back"), ("accepted", "shown"), ("left closed", "hidden")]
)
def test_each_line_of_who_sees_an_asset_says_what_becomes_of_it(fate: str, word: str) -> None:
    assert f"</span> {word}</td>" in render_html(signed(exposure=[closed("reopened_by_repair", fate)]))


OMITTED = {
    "path": "fields.stat_views",
    "label": "Views",
    "rule": "ignored by the mapping",
    "text": "the mapping names it under `ignore`",
    "values": 1696,
    "assets": 280,
    "read": 300,
    "samples": ["7", "<b>8</b>", "9"],
}


def test_what_the_mapping_leaves_out_is_a_block_of_its_own_among_the_decisions() -> None:
    report = signed(omissions=[OMITTED], left_out={'asset.status == "draft"': 12})
    page = render_html(report)
    block = page[page.index('id="left_out"') : page.index('id="mapping"')]
    told = shown(f"<body>{block}")
    for words in ("Left out by your mapping", "Views", "1,696", "280 of 300 (93 %)", "7 &lt;b&gt;8&lt;/b&gt; 9"):
        assert words in told
    assert "12 whole assets" in told
    assert "<code>ignore</code>" in block
    assert page.index('id="decisions"') < page.index('id="left_out"')
    assert "left_out" not in Page(render_html(signed())).anchors


def test_the_signature_comes_after_everything_that_is_signed() -> None:
    page = Page(render_html(large_report(3)))
    assert page.order[-1] == "signature"
    assert {"decisions", "mapping", "accounts", "made_of"} <= set(page.order)
    assert "signature" not in Page(render_html(large_report(3) | {"kind": "run"})).anchors


def test_every_link_of_the_page_leads_somewhere_and_no_heading_is_empty() -> None:
    empty = {"calls": {}, "kind": "a", "tenant": "b", "user": "", "release": "", "assets": None}
    for report in (large_report(3), signed(), large_report(3) | {"source": empty, "target": empty}):
        page = Page(render_html(report))
        assert {link.removeprefix("#") for link in page.links} <= page.anchors
    assert "calls" not in page.anchors


def test_on_a_phone_every_cell_is_named_by_its_column() -> None:
    """As on the live page: tables are stacked there."""
    verdict = _doubled().as_json() | {"groups": [_group()]}
    for report in (
        large_report(3) | {"exposure": [closed()]},
        large_report(3) | {"kind": "verify", "verdict": verdict},
    ):
        cells = Page(render_html(report)).cells
        assert all("data-label" in cell and cell.get("role") == "cell" for cell in cells)
        assert {"assets", "for example", "read"} <= {str(cell["data-label"]) for cell in cells}
    assert "content: attr(data-label)" in render_html(large_report(3))


def _group() -> dict[str, Any]:
    example = ("7", "t7", "X", "Y")
    words = {"cause": "", "remedy": "", "pattern": "other value", "extra": False, "number": 1}
    return {"path": "fields.title", "examples": [example], **words}


def test_ids_are_out_of_sight_where_the_name_is_known() -> None:
    verdict = _doubled().as_json() | {"groups": [_group()]}
    page = render_html(large_report(3) | {"kind": "verify", "verdict": verdict, "names": {"7": "sea.jpg"}})
    assert "sea.jpg" in shown(page)
    assert "t7" not in shown(page)
    lost = {"path": "tags", "rule": "not mapped", "assets": 1, "text": "tags", "examples": [("7", "Gulf\x1b")]}
    page = render_html(signed(losses=[lost], names={"7": "sea.jpg"}))
    assert '<span title="7">sea.jpg</span>: Gulf\\x1b' in page


def test_code_sizes_and_times_are_shown_as_people_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "CET-1")
    time.tzset()
    try:
        report = signed(notes=["write `options: {sections: on}` or `half"])
        report["estimate"] = {**report["estimate"], "bytes": 23_149_422, "largest": 1}
        page = render_html(report)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert "write <code>options: {sections: on}</code> or `half" in page
    assert '<span title="23,149,422 bytes">23.1 MB</span>' in page
    assert "2031-03-01 04:00:00 CET (03:00:00 UTC) to 2031-03-01 05:00:00 CET" in page


def test_the_bars_of_the_page_are_printed() -> None:
    style = render_html(signed()).partition("@media print")[2]
    assert re.search(r"\.bar i[^}]*print-color-adjust: exact", style)


def test_why_an_asset_is_parked_comes_before_the_name_of_the_cause() -> None:
    text = "technique is longer than 40 characters, and the mapping says `on_cut: park`"
    row = {"cause": "mapping fields.technique: truncate", "text": text, "operation": "mapping", "hint": "", "count": 15}
    page = render_html(signed(parked=[{**row, "asset": "7", "example": "7: x"}]))
    assert "technique is longer than 40 characters, and the mapping says <code>on_cut: park</code>" in page
    old = {key: value for key, value in row.items() if key != "text"}
    assert "technique is longer than" in render_html(signed(parked=[{**old, "asset": "7", "example": "7: x"}]))
