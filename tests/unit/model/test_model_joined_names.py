"""Names are joined so that other names give another text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.model.asset import Placement, path_text
from dam_sync.model.joined_names import escaped, joined, parted, spaced, unescaped

SEPARATORS = "/;:\n\0\t|,> "
TRIMMED = st.lists(st.text("a/ ", min_size=1).map(str.strip).filter(bool), min_size=1, max_size=4)
NAMES = st.lists(st.text(alphabet=st.sampled_from("ab\\" + SEPARATORS)), min_size=1, max_size=5)


@given(NAMES, st.sampled_from(SEPARATORS))
def test_what_is_joined_is_parted_the_same(names: list[str], separator: str) -> None:
    assert parted(joined(names, separator), separator) == names


@given(NAMES, NAMES, st.sampled_from(SEPARATORS))
def test_other_names_give_another_text(one: list[str], other: list[str], separator: str) -> None:
    assert (joined(one, separator) == joined(other, separator)) == (one == other)


@given(TRIMMED, TRIMMED)
def test_other_names_give_another_name_that_people_read(one: list[str], other: list[str]) -> None:
    assert (spaced(one) == spaced(other)) == (one == other)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("b", "c"), "b / c"),
        (("b / c",), "b // c"),
        (("b // c", "d"), "b /// c / d"),
        (("b /", "/ c"), "b // / // c"),
        (("b/c", r"d\e"), r"b/c / d\e"),
        (("/",), "//"),
    ],
)
def test_slashes_of_a_name_that_look_like_a_separator_get_one_more(names: tuple[str, ...], text: str) -> None:
    assert spaced(names) == text


@given(st.text(alphabet="ab\\[{"))
def test_an_escaped_name_is_read_the_same(name: str) -> None:
    assert unescaped(escaped(name, "[{"), "[{") == name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("A\\B", ["A\\B"]),
        ("A\\\\B", ["A\\B"]),
        ("A\\/B/C", ["A/B", "C"]),
        ("A\\;B/C", ["A\\;B", "C"]),
        ("A\\", ["A\\"]),
        ("/A\\", ["", "A\\"]),
        ("", [""]),
    ],
)
def test_a_backslash_counts_before_a_separator_and_a_backslash_only(text: str, names: list[str]) -> None:
    assert parted(text, "/") == names


def test_the_last_part_may_be_left_as_it_is() -> None:
    assert parted("a\\:b:c:d\\:e", ":", 2) == ["a:b", "c:d\\:e"]
    assert parted("a:b:c", ":", 2) == ["a", "b:c"]


def test_the_text_of_a_path() -> None:
    assert path_text(()) == Placement("folder", ()).text == ""
    assert Placement("folder", ("Press", "A/B", "C\\D")).text == "/Press/A\\/B/C\\\\D"
