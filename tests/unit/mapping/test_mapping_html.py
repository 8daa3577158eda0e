"""The text of HTML, whatever a user of the source wrote there."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.mapping.html_text import text_of_html

SIZE = 128 * 1024


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


@pytest.mark.parametrize(
    "piece",
    [
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
        "<a b='>",
        '<x y=">"',
        "&#",
        "<p>",
        "<a b=\"'>\" c='",
    ],
)
@pytest.mark.parametrize("end", ["", ">", "'", "\"'>", "-->"])
def test_hostile_html_takes_time_linear_in_its_length(piece: str, end: str) -> None:
    """The parser of the standard library took hours for some of these."""
    began = time.process_time()
    text_of_html(piece * (SIZE // len(piece)) + end)
    assert time.process_time() - began < 4


def test_of_a_very_long_text_the_tags_are_taken_out() -> None:
    began = time.process_time()
    assert text_of_html("<a href='x'>t</a> &amp;" * 400_000).startswith(" t  &")
    text_of_html("<a b='" * 4_000_000)
    assert time.process_time() - began < 10


@given(st.text(st.sampled_from("<>/!-='\"& apscript;#\n"), max_size=40))
def test_any_text_is_read(source: str) -> None:
    text_of_html(source)


@given(st.text(st.characters(exclude_characters="<&", exclude_categories=("Cs",))))
def test_what_has_no_markup_stays_as_it_is(source: str) -> None:
    assert text_of_html(source) == source
