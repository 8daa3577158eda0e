"""How samples of values read in a report."""

from __future__ import annotations

import pytest

from dam_sync.engine.value_samples import text_of
from dam_sync.model.values import Term, Value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Term("Sea", "7", path=("Sea",)), "Sea"),
        (Term("Sea", "7", path=("Nature", "Sea")), "/Nature/Sea"),
        (Term("Sea", "7"), "Sea"),
        ((Term("Sea", path=("Sea",)), Term("Sky")), "Sea; Sky"),
        (True, "yes"),
    ],
)
def test_a_term_reads_the_same_before_and_after_it_was_created(value: Value, text: str) -> None:
    assert text_of(value) == text
