"""Terms of one label are distinguished by their ids, where both sides have them."""

from __future__ import annotations

import pytest

from dam_sync.model.canonical import canonical, told_apart
from dam_sync.model.values import Term, Value

SEA, OTHER, BARE = Term("Sea", "1"), Term("Sea", "2"), Term("Sea")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (SEA, SEA, True),
        (SEA, OTHER, False),
        ((SEA, OTHER), (SEA, OTHER), True),
        ((SEA, OTHER), (SEA,), False),
        (SEA, BARE, True),
        ((SEA, BARE), (OTHER,), True),
        ("Sea", SEA, True),
        (None, None, True),
        (SEA, Term("Ocean", "1"), False),
    ],
)
def test_terms_are_compared_by_their_ids_and_labels(one: Value | None, other: Value | None, *, same: bool) -> None:
    assert (canonical(told_apart(one, other)[0]) == canonical(told_apart(one, other)[1])) == same
