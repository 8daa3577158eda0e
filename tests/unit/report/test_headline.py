"""The first sentence of a plan or a run."""

from __future__ import annotations

import pytest

from dam_sync.report.headline import headline_of
from dam_sync.report.parts import FieldAccount
from dam_sync.report.report import Report, ReportedSide


@pytest.mark.parametrize(
    ("counts", "lost", "expected"),
    [
        ({"created": 2}, 0, "all 7 values are carried"),
        ({"parked": 2}, 0, "all 7 values are carried, if what is parked is written"),
        ({"parked": 2}, 3, "3 of 7 values are not carried"),
    ],
)
def test_values_of_parked_assets_are_not_reported_as_carried(counts: dict[str, int], lost: int, expected: str) -> None:
    account = FieldAccount("fields.title", read=7, written=7 - lost, lost=lost)
    side = ReportedSide("a", "b")
    report = Report("plan", "job", side, side, "", "", counts=counts, accounts=[account])
    assert headline_of(report).text.split("; ")[-1] == expected
