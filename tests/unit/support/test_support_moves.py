"""What became of links is compared after a crash, too."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.virtual.moves import FILE, GIVEN_UP, PULLED, of_links

SENT = "in create: sent instead"
FETCHED = Counter({("a", PULLED): 1, ("b", PULLED): 1})
IN_VAIN = Counter({("a", PULLED): 1, ("a", SENT): 1, ("a", FILE): 1, ("b", PULLED): 1})


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (FETCHED, FETCHED),
        (FETCHED + Counter({("a", PULLED): 1}), FETCHED),  # given again after a crash
        (Counter({("b", PULLED): 1, ("b", SENT): 1, ("b", FILE): 1}), IN_VAIN),  # another one got no link
        (Counter({("a", FILE): 1}), Counter({("a", FILE): 1})),
    ],
    ids=["same", "again", "other", "none"],
)
def test_what_a_crash_may_change_of_links(got: Counter[tuple[str, str]], want: Counter[tuple[str, str]]) -> None:
    assert list(of_links(got, want)) == []


@pytest.mark.parametrize(
    ("got", "want", "said"),
    [
        (Counter({("a", PULLED): 1}), FETCHED, "links of ['a'] instead of ['a', 'b']"),
        (FETCHED + Counter({("b", FILE): 1}), FETCHED, "sent though they were fetched: ['b']"),
        (IN_VAIN + Counter({("a", SENT): 1}), IN_VAIN, "a in create: sent instead, 2 times"),
        (Counter({("a", GIVEN_UP): 1}), IN_VAIN, "a in create: given up, 1 times"),
    ],
    ids=["no-link", "sent", "twice", "without"],
)
def test_what_no_crash_may_change_of_links(
    got: Counter[tuple[str, str]], want: Counter[tuple[str, str]], said: str
) -> None:
    assert any(said in each for each in of_links(got, want))
