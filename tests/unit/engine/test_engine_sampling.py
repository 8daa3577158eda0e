"""What a sample supports: the exact bound, compared with counting."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.engine.context.sampling import at_most, most_different, statement_of


def counted(found: int, population: int, differing: int, sample: int) -> float:
    """The same probability with whole numbers."""
    ways = sum(comb(differing, n) * comb(population - differing, sample - n) for n in range(found + 1))
    return ways / comb(population, sample)


@st.composite
def samples(draw: st.DrawFn) -> tuple[int, int, int]:
    population = draw(st.integers(1, 400))
    sample = draw(st.integers(0, population))
    return population, sample, draw(st.integers(0, sample))


@given(samples(), st.integers(0, 400))
def test_the_probability_is_that_of_counting(drawn: tuple[int, int, int], differing: int) -> None:
    population, sample, found = drawn
    differing = min(differing, population)
    assert at_most(found, population, differing, sample) == pytest.approx(
        counted(found, population, differing, sample), abs=1e-9
    )


@given(samples())
def test_the_bound_is_the_last_number_that_is_not_improbable(drawn: tuple[int, int, int]) -> None:
    population, sample, found = drawn
    most = most_different(population, sample, found)
    assert found <= most <= population - (sample - found)
    if sample < population:
        assert counted(found, population, most, sample) > 0.05 - 1e-9
        if most < population - (sample - found):
            assert counted(found, population, most + 1, sample) <= 0.05 + 1e-9


@given(samples())
def test_a_larger_sample_without_differences_supports_more(drawn: tuple[int, int, int]) -> None:
    population, sample, _ = drawn
    bounds = [most_different(population, size, 0) for size in range(sample, population + 1, 7)]
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.parametrize(
    ("population", "sample", "found", "statement"),
    [
        (
            *(15_000, 300, 0),
            "0 of 300 sampled of 15,000 assets differ at the level fields: with 95 % confidence at most 147 of all "
            "(1.0 %) differ",
        ),
        (
            *(1_000_000, 20_000, 15_000),
            "15,000 of 20,000 sampled of 1,000,000 assets differ at the level fields: with 95 % confidence at most "
            "754,984 of all (75.5 %) differ",
        ),
        (15_000, 15_000, 1, "1 of all 15,000 assets differs at the level fields"),
        (0, 0, 0, "no asset was compared, so nothing is known about any"),
    ],
)
def test_the_statement_is_a_sentence(population: int, sample: int, found: int, statement: str) -> None:
    assert statement_of(population, sample, found, "fields") == statement
