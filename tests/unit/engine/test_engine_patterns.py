"""In what way a value differs, and how differences are grouped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.compare.patterns import ADDED, MISSING, pattern_of, pattern_of_text
from dam_sync.engine.verification.groups import MOST, SHOWN, DifferenceGroups, Found, place_of
from dam_sync.engine.verification.overwritten import occurs, texts_of

TEXTS = [
    ("A long description of a harbour", "A long description", "cut at 18 characters"),
    ("A long description of a harbour", "A long descri…", "cut at 14 characters"),
    ("two  words ", "two words", "whitespace"),
    ("Harbour", "HARBOUR", "upper and lower case"),
    ("été", "ete\u0301".replace("ete", "e\u0301te"), "Unicode form"),
    ("Été", "Ete", "accents"),
    ("été", "Ã©tÃ©", "wrong encoding"),
    ("<p>A <b>bold</b> text</p>", "A bold text", "formatting"),
    ("2025-02-06T10:30:00Z", "2025-02-06T12:30:00Z", "shifted by +2 h"),
    ("2025-02-06T10:30:00Z", "2025-02-06T05:00:00Z", "shifted by -5 h 30 min"),
    ("2025-02-06T10:30:00Z", "2025-02-06T10:31:00Z", "other time"),
    ("2025-02-06T10:30:00Z", "2025-02-06", "cut at 10 characters"),
    ("2025-02-06", "2025-02-05", "shifted by -1 day"),
    ("2025-02-06", "2025-06-02", "day and month swapped"),
    ("2025-02-06", "2031-01-01", "other date"),
    ("3.14159", "3.14", "cut at 4 characters"),
    ("3.146", "3.15", "rounded"),
    ("12", "13", "other number"),
    ("Sea", "Sea and shore", "text added"),
    ("Sea", "Forest", "other value"),
    ("Sea", " ", MISSING),
]


@pytest.mark.parametrize(("expected", "found", "pattern"), TEXTS)
def test_a_text_differs_in_one_way(expected: str, found: str, pattern: str) -> None:
    assert pattern_of_text(expected, found) == pattern


LISTS = [
    (["a"], [], MISSING),
    ([], ["a"], ADDED),
    (["a", "b", "c"], ["a", "c"], "one value missing"),
    (["a", "b", "c"], ["a"], "2 of 3 values missing"),
    (["a"], ["a", "b"], "values added"),
    (["a", "b"], ["a", "B"], "upper and lower case"),
    (["a", "b", "c"], ["d", "e"], "other values"),
]


@pytest.mark.parametrize(("expected", "found", "pattern"), LISTS)
def test_a_list_lacks_values_or_has_others(expected: list[str], found: list[str], pattern: str) -> None:
    assert pattern_of(expected, found) == pattern


LANGUAGES = [
    (["en:Sea"], ["fr:Sea"], "language fr instead of en"),
    (["en:Sea", "fr:Mer"], ["en:Sea"], "language fr missing"),
    (["en:Sea", "fr:Mer"], ["en:Mer", "fr:Sea"], "text of another language in en"),
    (["en:Sea", "fr:Mer"], ["en:Sea", "fr:MER"], "upper and lower case"),
    (["en:Sea"], ["en:Sea", "fr:Mer"], "languages added"),
]


@pytest.mark.parametrize(("expected", "found", "pattern"), LANGUAGES)
def test_texts_of_languages_are_distinguished(expected: list[str], found: list[str], pattern: str) -> None:
    assert pattern_of(expected, found, localized=True) == pattern


@given(st.lists(st.text(max_size=30)), st.lists(st.text(max_size=30)), st.booleans())
def test_every_difference_has_a_short_pattern(expected: list[str], found: list[str], localized: bool) -> None:
    if expected != found:
        assert 0 < len(pattern_of(expected, found, localized=localized)) < 80


differences = st.builds(
    Difference,
    st.sampled_from(["fields.title", "tags", "version 1.md5", "version 2.md5", "attachment a.b.pdf.size"]),
    st.just("x"),
    st.just("y"),
    st.booleans(),
    st.sampled_from(["missing", "cut at 3 characters"]),
)


@given(st.lists(differences))
def test_groups_count_every_difference_once_and_show_the_first(rows: list[Difference]) -> None:
    groups = DifferenceGroups()
    for number, row in enumerate(rows):
        groups.add(Found(str(number), f"t{number}", row))
    found = groups.most_frequent()
    assert sum(group.number for group in found) == len(rows)
    for group in found:
        own = [
            str(number)
            for number, row in enumerate(rows)
            if (place_of(row.path), row.pattern, row.extra) == (group.path, group.pattern, group.extra)
        ]
        assert group.number == len(own)
        assert [source for source, *_ in group.examples] == own[:SHOWN]
    numbers = [group.number for group in found if not group.extra]
    assert numbers == sorted(numbers, reverse=True)


def test_the_number_of_groups_is_bounded() -> None:
    groups = DifferenceGroups()
    for number in range(5 * MOST):
        groups.add(Found("1", "2", Difference(f"fields.f{number}", "x", "y", pattern="cut")))
    assert len(groups.groups) <= 2 * MOST + 1
    assert sum(group.number for group in groups.most_frequent()) == 5 * MOST


@pytest.mark.parametrize("part", ["<", "<a ", "<!--", "<a b='", "&", "&#"])
def test_a_difference_in_a_long_text_takes_time_by_its_length(part: str) -> None:
    """A title is whatever a user of the source wrote; with a square of its length this would take hours."""
    text = part * (400_000 // len(part))
    assert pattern_of([text], [f"{text}x"]) == "text added"


def test_a_difference_in_long_lists_takes_time_by_their_length() -> None:
    ours, theirs = ([f"{each} {number}" for number in range(100_000)] for each in ("a", "b"))
    assert pattern_of(ours, theirs) == "other values"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("version 12.size", "versions.size"),
        ("attachment plan.v2.pdf.md5", "attachments.md5"),
        ("fields.version 1", "fields.version 1"),
        ("file.size", "file.size"),
    ],
)
def test_the_path_of_a_file_has_no_number_and_no_name(path: str, place: str) -> None:
    assert place_of(path) == place


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "latin-1"])
def test_a_text_is_found_in_the_metadata_of_a_file(encoding: str) -> None:
    head = b"\xff\xd8\xff\xe1" + "<dc:title>Été à Brest</dc:title>".encode(encoding)
    (text,) = texts_of("fr:Été à Brest")
    assert occurs(text, head)
    assert not occurs("Hiver à Brest", head)


def test_a_text_is_found_as_xml_writes_it() -> None:
    assert occurs('Sea & "shore"', b"<rdf:li>Sea &amp; &quot;shore&quot;</rdf:li>")
    assert texts_of("en:One text; fr:Un texte…; ab; 12:30 is no language") == [
        "One text",
        "Un texte",
        "12:30 is no language",
    ]
