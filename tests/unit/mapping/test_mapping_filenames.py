"""File names that every system takes."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.mapping.filenames import RESERVED, cut_to_characters, safe_name
from tests.support.libraries.value_strategies import texts


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("sea.jpg", "sea.jpg"),
        ("e\u0301te\u0301.jpg", "été.jpg"),
        ("a/b\\c:d*e?f.jpg", "a_b_c_d_e_f.jpg"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("../../etc/passwd", "._._etc_passwd"),
        ("CON", "_CON"),
        ("con.tar.gz", "_con.tar.gz"),
        ("lpt1.txt", "_lpt1.txt"),
        ("console.txt", "console.txt"),
        ("name. . .", "name"),
        ("photo\u202egpj.exe", "photogpj.exe"),
        ("a\x00b\nc.txt", "abc.txt"),
        (".htaccess", ".htaccess"),
        ("  two   blanks .jpg", "two blanks .jpg"),
        ("می\u200cخواهم.jpg", "می\u200cخواهم.jpg"),
        ("new emoji \U0001fae8.png", "new emoji \U0001fae8.png"),
        ("a\ufffeb\ud800.jpg", "ab.jpg"),
        ("👩‍👩‍👧.png", "👩‍👩‍👧.png"),
    ],
)
def test_names_become_safe(name: str, safe: str) -> None:
    assert safe_name(name, 255) == safe


@pytest.mark.parametrize(
    ("name", "most", "cut"),
    [
        pytest.param("a" * 300 + ".jpeg", 20, "a" * 15 + ".jpeg", id="extension stays"),
        pytest.param(
            "Report of the year. " + "b" * 300, 30, "Report of the year. " + "b" * 10, id="too long for an extension"
        ),
    ],
)
def test_a_name_that_is_too_long_is_cut(name: str, most: int, cut: str) -> None:
    assert safe_name(name, most) == cut


def test_a_character_keeps_its_accents_or_is_dropped_with_them() -> None:
    name = "x" * 6 + "g\u0303\u0303"  # a character that has no composed form
    assert cut_to_characters(name, 7) == "x" * 6
    assert cut_to_characters("👩‍👩‍👧👩‍👩‍👧", 7) == "👩‍👩‍👧"


@settings(max_examples=300)
@given(texts | st.text(max_size=400), st.integers(8, 300))
def test_every_name_becomes_safe(name: str, most: int) -> None:
    safe = safe_name(name, most)
    assert safe
    assert len(safe) <= most
    assert safe_name(safe, most) == safe
    assert unicodedata.is_normalized("NFC", safe)
    assert not set(safe) & set('/\\:*?"<>|')
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in safe)
    assert "\u202e" not in safe
    assert ".." not in safe
    assert not safe.endswith((".", " "))
    assert not RESERVED.fullmatch(safe)
