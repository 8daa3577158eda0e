"""Terms that may mean the same are found by their labels, and nothing else is."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.engine.inventory.near_terms import MOST_SPELLED, LabeledTerm, near_terms, simplified
from tests.support.pairs import EVERYTHING

WORDS = st.text(st.characters(categories=["Ll", "Lu"], max_codepoint=0x24F), min_size=1, max_size=15)


def found(*labels: str) -> list[tuple[str, frozenset[str]]]:
    """Groups as their reason and their labels."""
    near, spelled = near_terms(LabeledTerm(str(number), label) for number, label in enumerate(labels))
    assert spelled
    return [(one.why, frozenset(labels[int(key)] for key in one.keys)) for one in near]


def test_spellings_of_texts_as_long_as_books_are_not_compared() -> None:
    """A label is whatever a user of the source wrote; with a square of its length this would take hours."""

    def seconds(words: int) -> float:
        books = [("lorem ipsum " * words) + str(number) for number in range(20)]
        began = time.process_time()
        assert found(*books, "Harbour", "Harbor") == [("spelling", frozenset({"Harbour", "Harbor"}))]
        return time.process_time() - began

    longest = 20_000 if EVERYTHING else 2_000
    short = min(seconds(longest // 10) for _ in range(3))
    assert seconds(longest) < 40 * short  # ten times as long; squared it would be 100 times


@pytest.mark.parametrize(
    ("left", "right", "why"),
    [
        ("Sea", "sea", "case"),
        ("Sea", "Sea ", "whitespace"),
        ("New York", "New  york", "whitespace"),
        ("Sea-side", "sea side", "punctuation"),
        ("Été", "ete", "accents"),
        ("House", "houses", "plural"),
        ("City", "Cities", "plural"),
        ("Church", "Churches", "plural"),
        ("Cheval marin", "chevals marins", "plural"),
        ("Photographer", "Photogrpaher", "spelling"),
        ("Harbour", "Harbor", "spelling"),
        ("Photographie", "Fotographie", "spelling"),
        ("marriage", "marraige", "spelling"),
        ("Chruch", "Church", "spelling"),
        ("Sculptre", "Sculpture", "spelling"),
        ("places: architectural", "places: architectrual", "spelling"),
        ("Noël", unicodedata.normalize("NFD", "Noël"), "same label"),
    ],
)
def test_near_duplicates(left: str, right: str, why: str) -> None:
    assert found(left, right, "Something else") == [(why, frozenset({left, right}))]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1980s", "1990s"),
        ("Room 12", "Room 13"),
        ("Man", "Mat"),
        ("Sea", "Tea"),
        ("Paris", "Bus"),
        ("Glass", "Gloss paint"),
        ("Photographer", "Choreographer"),
        ("stable", "table"),
        ("tower", "power"),
        ("fountain", "mountain"),
        ("house", "horse"),
        ("dance", "Dante"),
        ("marriage", "carriage"),
        ("instrument, harp", "instrument, horn"),
        ("book - non-specific", "boat - non-specific"),
        ("individuals: female", "individuals: male"),
        ("John, chapter 3", "Job, chapter 3"),
        ("congregation", "congregating"),
    ],
)
def test_different_terms_stay_apart(left: str, right: str) -> None:
    assert found(left, right) == []


def test_terms_below_different_parents_are_not_compared() -> None:
    near, _ = near_terms([LabeledTerm("1", "Paris", "france"), LabeledTerm("2", "paris", "texas")])
    assert near == ()


def test_very_large_vocabularies_are_not_compared_by_spelling() -> None:
    terms = [LabeledTerm(str(number), f"term {number}") for number in range(MOST_SPELLED)]
    near, spelled = near_terms([*terms, LabeledTerm("x", "Harbour"), LabeledTerm("y", "harbour")])
    assert not spelled
    assert [one.keys for one in near] == [("x", "y")]


@given(st.lists(WORDS, max_size=12))
def test_every_group_has_different_terms_and_no_term_is_in_two_groups_of_equals(labels: list[str]) -> None:
    near, _ = near_terms(LabeledTerm(str(number), label) for number, label in enumerate(labels))
    equal = [key for one in near if one.why != "spelling" for key in one.keys]
    assert len(equal) == len(set(equal))
    assert all(len(one.keys) > 1 and one.why for one in near)
    assert all(len(set(one.keys)) == len(one.keys) for one in near)


@given(WORDS, st.sampled_from([str.upper, str.lower, lambda text: f" {text} ", lambda text: f"{text}-"]))
def test_a_variant_of_a_label_is_always_found(label: str, change) -> None:  # type: ignore[no-untyped-def]
    variant = change(label)
    if variant != label and simplified(variant) == simplified(label):
        assert found(label, variant) == [(found(label, variant)[0][0], frozenset({label, variant}))]


@given(WORDS)
def test_simplifying_twice_changes_nothing_but_plurals(label: str) -> None:
    once = simplified(label)
    assert once == once.casefold()
    assert once == once.strip()
