"""Numbers with their nouns and verbs, and clocks."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dam_sync.model.wording import against_ours, agreed, bytes_text, counted, path_hint, the_first, timestamp_text

ESCAPES = "between double quotes \\n and \\t are a line break and a tab: write the path with /"


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


def test_sizes_and_timestamps_are_short() -> None:
    assert [bytes_text(size) for size in (0, 999, 1_000, 47_240_000, 5_000_000_000, 7e15)] == [
        "0 bytes",
        "999 bytes",
        "1.0 kB",
        "47.2 MB",
        "5.0 GB",
        "7,000.0 TB",
    ]
    assert timestamp_text("2026-06-01T10:00:00.123Z") == "2026-06-01T10:00:00Z"
    assert timestamp_text("took 1.5 s") == "took 1.5 s"


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("jobs/museum.yaml", "correct it"),
        ("Œuvres d'art/museum (2).yaml", "correct it"),
        (r"C:\jobs\museum.yaml", "folders are separated by / here, not by \\; correct it"),
        ("“museum.yaml”", "the curly quotes count as a part of the name: write straight ones, or none; correct it"),
        ("C:\new\table.yaml", f"{ESCAPES}; correct it"),
        ("$HOME/museum.yaml", "variables are not expanded in paths: write the path itself; correct it"),
        ("${JOBS}/museum.yaml", "variables are not expanded in paths: write the path itself; correct it"),
        ("%USERPROFILE%/museum.yaml", "variables are not expanded in paths: write the path itself; correct it"),
        ("50%/museum$.yaml", "correct it"),
    ],
)
def test_what_is_odd_about_a_path_comes_before_the_usual_hint(path: str, hint: str) -> None:
    assert path_hint(path, "correct it") == hint
