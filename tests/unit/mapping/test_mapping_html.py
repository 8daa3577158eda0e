"""The text of HTML, whatever a user of the source wrote there."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.mapping.html_text import LONGEST, HtmlReader, text_of_html

SIZE = 8 * 1024


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain", "plain"),
        ("a < b > c & d", "a < b > c & d"),
        ("<p>A <b>b</b>&nbsp;&amp; c</p>", "\nA b\xa0& c\n"),
        ("one<br>two<BR/>three", "one\ntwo\nthree"),
        ("<a title='x > y' href=\"z>\">t</a>", "t"),
        ("<a title=it's>t</a> don't", "t don't"),
        ("<script>if (a<b) { x = '</p>' }</script>t", "t"),
        ("<STYLE>p > b {}</Style >t", "t"),
        ("<head><title>x</title></head>t", "t"),
        ("<head>no end of a head is needed", "no end of a head is needed"),
        ("t<script>never ends", "t"),
        ("a<!-- x > y -->b", "ab"),
        ("a<!-- never > ends", "a ends"),
        ("a <![if x]> b<?xml version='1.0'?>c</>d", "a  bcd"),
        ("a<b never ends", "a<b never ends"),
        ("<a b='never ends>t", "t"),
        ("x <3 y <", "x <3 y <"),
        ("&lt;p&gt; &#128512; &nosuch;", "<p> 😀 &nosuch;"),
        ("", ""),
    ],
)
def test_the_text_of_html(source: str, text: str) -> None:
    assert text_of_html(source) == text


PIECES = (
    *(
        "<a ",
        "<!--",
        "<a b='",
        "<a b=\"'>",
        "<!",
        "</",
        "</a ",
        "<script",
        "<script>",
        "<title>",
        "<a =",
        "= ",
        "<",
        "&",
    ),
    *(
        "<a b='>",
        '<x y=">"',
        "&#",
        "<p>",
        "<a b=\"'>\" c='",
        '=""',
        "='' ",
        "=",
        ">",
        '"',
        "'",
        "-->",
        "</title",
        "a" * 70,
    ),
)
STEPS = (
    6  # searches of a character at most: for `<`, for `>` from before and behind a quote that never ends, and others
)


def steps_of(source: str) -> int:
    reader = HtmlReader(source)
    assert "".join(reader.parts()) == text_of_html(source)
    return reader.steps


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("start", ["", "<a ", "<title>"])
@pytest.mark.parametrize("end", ["", "\"'>", "-->"])
def test_hostile_html_takes_steps_linear_in_its_length(start: str, piece: str, end: str) -> None:
    """A search that is repeated from each position looks at thousands of times the length."""
    source = start + piece * (SIZE // len(piece)) + end
    assert steps_of(source) <= STEPS * len(source)


@given(st.lists(st.tuples(st.sampled_from(PIECES), st.integers(1, 400)), max_size=8))
def test_no_mixture_of_repeated_pieces_takes_more_steps(runs: list[tuple[str, int]]) -> None:
    source = "".join(piece * times for piece, times in runs)
    assert steps_of(source) <= STEPS * len(source)


def test_a_character_reference_with_thousands_of_digits_is_no_error() -> None:
    for source in ("&#" + "1" * 5_000 + ";", "<b>&#" + "0" * 5_000 + "65;", "&#" + "9" * LONGEST + "; <b>"):
        assert text_of_html(source).strip() in ("\ufffd", "A")
    for source in ("&#0065;", "&#65 ", "&#1114111;", "&#1114112;", "&#0;", "&#00", "&#x41;", "&#;"):
        assert text_of_html(source) == html.unescape(source)


def test_of_a_very_long_text_the_tags_are_taken_out() -> None:
    assert text_of_html("<a href='x'>t</a> &amp;" * (LONGEST // 20)).startswith(" t  &")


@given(st.text(st.sampled_from("<>/!-='\"& apscript;#\n"), max_size=40))
def test_any_text_is_read(source: str) -> None:
    text_of_html(source)


@given(st.text(st.characters(exclude_characters="<&", exclude_categories=("Cs",))))
def test_what_has_no_markup_stays_as_it_is(source: str) -> None:
    assert text_of_html(source) == source
