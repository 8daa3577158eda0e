"""The guard that stops a run whose first assets are all parked for the same cause, over outcomes that are made up."""

from __future__ import annotations

import pytest

from dam_sync.engine.guards.parking import FIRST, ParkingMonitor
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import SafetyStop
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import OtherCause, ParkCause, ParkReason
from dam_sync.model.run_options import RunOptions
from dam_sync.store.rows import Work
from tests.support.run_double import run_double

REFUSED = OtherCause("value refused")


def monitor() -> ParkingMonitor:
    return ParkingMonitor(run_double(options=RunOptions()).accepted)


def park(watching: ParkingMonitor, number: int, cause: ParkCause) -> None:
    watching.watch(Work(number, AssetId(f"s{number}"), "1"), Outcome("parked", cause), ())


def test_one_cause_of_all_the_first_assets_stops_the_run() -> None:
    watching = monitor()
    for number in range(FIRST - 1):
        park(watching, number, REFUSED)
    told = f"the first {FIRST} assets to write were all parked for the same cause: value refused"
    with pytest.raises(SafetyStop, match=told):
        park(watching, FIRST, REFUSED)
    assert watching.tripped == REFUSED


def test_where_the_operator_goes_on_the_cause_is_recorded_as_accepted() -> None:
    options = RunOptions(continue_parked=True)
    context = run_double(options=options)
    watching = ParkingMonitor(context.accepted)
    for number in range(2 * FIRST):
        park(watching, number, REFUSED)
    assert not watching.tripped
    told = f"the first {FIRST} assets to write were all parked for the same cause: value refused (--continue-parked)"
    assert context.accepted.findings == [told]


def test_missing_assets_are_left_to_the_guard_that_counts_them() -> None:
    watching = monitor()
    for number in range(2 * FIRST):
        park(watching, number, ParkReason.GONE)
    assert not watching.tripped
    for number in range(FIRST - 1):
        park(watching, number, REFUSED)
    with pytest.raises(SafetyStop):
        park(watching, FIRST, REFUSED)


def test_assets_that_an_earlier_run_parked_count_only_for_another_cause() -> None:
    watching = monitor()
    works = [Work(number, AssetId(f"s{number}"), "1", parked_for=REFUSED) for number in range(2 * FIRST)]
    for work in works:
        watching.watch(work, Outcome("parked", REFUSED), ())
    assert not watching.tripped
    for work in works[: FIRST - 1]:
        watching.watch(work, Outcome("parked", OtherCause("another")), ())
    with pytest.raises(SafetyStop):
        watching.watch(works[FIRST], Outcome("parked", OtherCause("another")), ())


def test_after_an_asset_that_was_written_the_guard_is_over() -> None:
    """One asset got through, so that the failure is none of everything."""
    for action in ("created", "updated"):
        watching = monitor()
        watching.watch(Work(0, AssetId("s0"), "1"), Outcome(action), ())
        for number in range(1, 2 * FIRST):
            park(watching, number, REFUSED)
        assert not watching.tripped
