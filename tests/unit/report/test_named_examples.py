"""Examples name their asset as a person knows it, whatever characters its id has."""

from __future__ import annotations

from dam_sync.api.reports.kept_reports import without_values
from dam_sync.model.parking import ParkReason
from dam_sync.report.html import render_html
from dam_sync.report.verdict import called, parked_example
from tests.support.reporting.large_report import large_report

ID = "Press: 2024/7: sea.jpg"
NAMES = {ID: "sea.jpg", "Press": "another asset"}
ROW = {"cause": str(ParkReason.DIGEST), "text": "", "operation": "", "hint": "", "count": 1}
PARKED = {**ROW, "asset": ID, "example": f"{ID}: it is damaged: at 7"}


def test_an_id_with_a_colon_is_one_id() -> None:
    assert called(NAMES, ID) == "sea.jpg"
    assert called(NAMES, "Press: 1") == "Press: 1"
    assert parked_example(NAMES, PARKED) == "sea.jpg: it is damaged: at 7"
    assert parked_example({}, PARKED) == PARKED["example"]


def test_the_page_of_a_report_names_it() -> None:
    page = render_html(large_report(1) | {"names": NAMES, "parked": [PARKED]})
    assert "sea.jpg: it is damaged: at 7" in page
    assert "another asset" not in page


def test_a_report_without_values_keeps_the_whole_id() -> None:
    kept = without_values(large_report(1) | {"names": NAMES, "parked": [PARKED]})
    assert kept["parked"][0]["example"] == kept["parked"][0]["asset"] == ID


def test_the_report_of_an_earlier_release_shows_its_example_as_it_was_stored() -> None:
    assert parked_example(NAMES, {**ROW, "asset": "", "example": "Press: x"}) == "Press: x"
