"""Ten days of `make test` run every case of every test, and every point of those that divide their points."""

from __future__ import annotations

from datetime import date, timedelta
from math import lcm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sample import rotation
from tests.support.sample.plugin import UNSTABLE
from tests.support.sample.promises import TESTS
from tests.support.sample.rotation import (
    CYCLE,
    OF_MENDS,
    OF_WHOLE_RUNS,
    PERIODS,
    SHARE,
    WHOLE_RUNS,
    Cost,
    cases_of_day,
    costs,
    period_of,
    points_of_day,
    turns,
)

FIRST = date(2026, 11, 29)
STEPS = (*PERIODS, *OF_WHOLE_RUNS, *OF_MENDS)
SAME = lcm(SHARE, *(days for _, days in STEPS))  # after so many days the same tests run
DAYS = [FIRST + timedelta(number) for number in range(SAME + CYCLE)]
DEAR = max(seconds for seconds, _ in PERIODS)
UNEVEN = 1.3  # times the average, in seconds that a day may cost


def test_any_ten_days_run_every_case_of_every_test() -> None:
    for function, cost in costs().items():
        runs = [set(cases_of_day(function, range(cost.cases), day)) for day in DAYS]
        for start in range(len(DAYS) - CYCLE):
            assert len(set().union(*runs[start : start + CYCLE])) == cost.cases, (function, DAYS[start])


@given(start=st.dates(), number=st.integers(1, 100), cases=st.integers(1, 20), seconds=st.floats(0, 100))
def test_any_ten_days_try_every_point_of_a_test(start: date, number: int, cases: int, seconds: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rotation, "costs", lambda: {"test": Cost(seconds, 0.0, cases, points=True)})
        patch.setattr(rotation, "turns", lambda: {"test": 0})
        tried = {case: set[int]() for case in range(cases)}
        for later in range(CYCLE):
            day = date.fromordinal(min(start.toordinal() + later, date.max.toordinal()))
            for case in cases_of_day("test", range(cases), day):
                tried[case] |= set(points_of_day("test", range(number), day))
    if start.toordinal() + CYCLE <= date.max.toordinal():
        assert all(points == set(range(number)) for points in tried.values())


def test_a_day_tries_a_third_of_the_points() -> None:
    points = list(range(30))
    assert [len(points_of_day("not measured", points, day)) for day in DAYS[:CYCLE]] == [10] * CYCLE


def test_a_test_that_was_never_measured_runs_every_day() -> None:
    assert all(cases_of_day("tests/unit/test_new.py::test_new", ["a"], day) == ["a"] for day in DAYS)


@pytest.mark.parametrize("function", sorted(TESTS))
def test_what_proves_a_promise_runs_every_day(function: str) -> None:
    cases = range(getattr(costs().get(function), "cases", 1))
    assert all(cases_of_day(function, cases, day) for day in DAYS)


def test_no_day_has_much_more_to_do_than_another() -> None:
    loads = []
    for day in DAYS:
        shares = ((cost, cases_of_day(name, range(cost.cases), day)) for name, cost in costs().items())
        loads.append(sum(cost.weight * len(cases) / cost.cases for cost, cases in shares))
    assert max(loads) <= UNEVEN * sum(loads) / len(loads)


def test_the_dearest_tests_rotate() -> None:
    rotating = [name for name, cost in costs().items() if cost.weight >= DEAR and period_of(name) == 1]
    assert all(name in TESTS or name.startswith(rotation.NEVER) for name in rotating)
    assert turns().keys() == costs().keys()


def test_what_came_with_a_mend_runs_at_least_as_often_as_another_test_of_its_cost() -> None:
    for folder in ("tests/unit/", *WHOLE_RUNS):
        for seconds, _ in STEPS:
            with pytest.MonkeyPatch.context() as patch:
                found = {f"{folder}mend": Cost(seconds, mend=True), f"{folder}other": Cost(seconds)}
                patch.setattr(rotation, "costs", lambda found=found: found)
                assert period_of(f"{folder}mend") <= period_of(f"{folder}other")


def test_periods_fit_into_the_cycle() -> None:
    assert all(days <= CYCLE for _, days in STEPS)
    assert SHARE * SHARE <= CYCLE


@pytest.mark.parametrize(
    ("name", "unstable"),
    [
        ("test_a[frozenset({('a', 'b')})]", True),
        ("test_a[<object object at 0x7f2b>]", True),
        ("test_a[frozenset()]", False),
        ("test_a[at noon]", False),
    ],
    ids=["a set", "an address", "an empty set", "words"],
)
def test_a_name_that_each_process_spells_differently_is_refused(name: str, unstable: bool) -> None:
    assert bool(UNSTABLE.search(name)) is unstable
