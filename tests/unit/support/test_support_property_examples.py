"""How many examples of what a test asks for are tried."""

from __future__ import annotations

import pytest

from tests.support.pairs import EVERYTHING
from tests.support.sample.property_examples import examples


@pytest.mark.parametrize(("asked", "sample"), [(300, 75), (150, 38), (60, 15), (40, 10), (25, 10), (10, 10), (3, 3)])
def test_a_quarter_but_not_fewer_than_ten(asked: int, sample: int) -> None:
    assert examples(asked) == (asked if EVERYTHING else sample)
