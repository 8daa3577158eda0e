"""What is measured of a test."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.sample import cost_meter
from tests.support.sample.cost_meter import CORES, CostMeter
from tests.support.sample.rotation import Cost

TEST: Any = SimpleNamespace(nodeid="tests/unit/test_short.py::test_short[case]", fixturenames=())
FUNCTION = "tests/unit/test_short.py::test_short"


def measured(seconds: float) -> CostMeter:
    """After a test that ended at once, while so many seconds of CPU came to light."""
    meter = CostMeter()
    meter.processes.cpu_seconds = iter([0.0, seconds]).__next__  # type: ignore[method-assign]
    running = meter.pytest_runtest_protocol(TEST)
    next(running)
    with suppress(StopIteration):
        next(running)
    return meter


def test_a_test_costs_no_more_than_its_time_on_all_cores() -> None:
    assert measured(1e9).cost(FUNCTION).seconds < 1e6 * CORES


def test_a_process_that_is_lost_sight_of_is_no_gain() -> None:
    assert measured(-5.0).cost(FUNCTION).seconds == 0


@pytest.mark.parametrize("mend", [True, False])
def test_a_test_that_came_with_a_mend_stays_marked_when_it_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, mend: bool
) -> None:
    monkeypatch.setattr(cost_meter, "costs", lambda: {FUNCTION: Cost(1.0, mend=mend)})
    assert measured(0.0).cost(FUNCTION).mend is mend
