"""Numbers with their nouns and verbs, and clocks."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dam_sync.model.wording import against_ours, agreed, counted, the_first


@pytest.mark.parametrize(
    ("number", "noun", "first", "verb"),
    [
        (0, "0 assets", "the first 0 assets", "are"),
        (1, "1 asset", "the first asset", "is"),
        (2, "2 assets", "the first 2 assets", "are"),
        (1200, "1,200 assets", "the first 1,200 assets", "are"),
    ],
)
def test_nouns_and_verbs_agree_with_their_number(number: int, noun: str, first: str, verb: str) -> None:
    assert counted(number, "asset") == noun
    assert the_first(number, "asset") == first
    assert agreed(number, "is", "are") == verb


def test_an_irregular_plural_is_given() -> None:
    assert counted(2, "copy", "copies") == "2 copies"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-900.37, "is 0:15:00 behind ours"),
        (6999.6, "is 1:56:40 ahead of ours"),
        (90_000.0, "is 1 day, 1:00:00 ahead of ours"),
    ],
)
def test_a_clock_is_ahead_or_behind(seconds: float, text: str) -> None:
    assert against_ours(timedelta(seconds=seconds)) == text
