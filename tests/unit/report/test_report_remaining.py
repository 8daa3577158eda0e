"""The remaining time of a phase: a range that contains the truth, or nothing as long as nobody knows."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.report.remaining import SAMPLES, RemainingTime, TimeRange


def after(paces: list[float], seconds: float = 1.0) -> tuple[RemainingTime, float]:
    """After so many steps, in each of which so many assets a second were completed."""
    made, done = RemainingTime(), 0.0
    for number, pace in enumerate([0.0, *paces]):
        done += pace * seconds
        made.add(number * seconds, round(done))
    return made, done


def test_nothing_is_said_before_enough_is_known() -> None:
    assert RemainingTime().range(5, 5) is None
    assert after([10.0] * 7)[0].range(5, 5) is None
    assert after([0.1] * 30)[0].range(5, 5) is None
    assert after([10.0] * 8)[0].range(5, 5) is not None


def test_a_steady_pace_gives_a_narrow_range() -> None:
    found = after([10.0] * 40)[0].range(600, 600)
    assert found is not None
    assert found.text == "about 1 min 0 s"


def test_what_is_not_listed_yet_widens_the_range() -> None:
    found = after([10.0] * 40)[0].range(100, 6000)
    assert found is not None
    assert found.text == "10 s to 10 min 0 s"
    unknown = after([10.0] * 40)[0].range(100, None)
    assert unknown is not None
    assert unknown.text == "more than 10 s"


def test_a_pace_that_breaks_down_has_no_upper_limit() -> None:
    found = after([10.0] * 40 + [0.0] * 20)[0].range(100, 100)
    assert found is not None
    assert found.most is None
    assert found.least <= 15


@given(st.integers(0, 10**6), st.lists(st.floats(0.0, 200.0), min_size=9, max_size=300), st.integers(0, 10**7))
def test_a_range_is_a_range(least: int, paces: list[float], more: int) -> None:
    found = after(paces)[0].range(least, least + more)
    assert found is None or (found.least >= 0 and (found.most is None or found.least <= found.most))


@pytest.mark.parametrize("seed", range(3))
def test_the_truth_is_within_the_range_nearly_always(seed: int) -> None:
    """Of a pace that changes at random around one that does not."""
    dice, hits = random.Random(seed), 0
    for _ in range(60):
        mean = dice.uniform(2, 50)
        found = after([dice.expovariate(1 / mean) for _ in range(60)])[0].range(3000, 3000)
        assert found is not None
        hits += found.least <= 3000 / mean <= (found.most or float("inf"))
    assert hits >= 54


def test_a_long_phase_is_remembered_in_few_samples() -> None:
    made, _ = after([5.0] * 5000)
    assert len(made._samples) <= SAMPLES
    assert made.range(50, 50) == TimeRange(pytest.approx(10, rel=0.05), pytest.approx(10, rel=0.05))
