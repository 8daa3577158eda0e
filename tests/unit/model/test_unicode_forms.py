"""Unicode forms are those of the standard library, in time by the length of the text."""

from __future__ import annotations

import random
import sys
import unicodedata
from collections.abc import Callable

import pytest

from dam_sync.mapping.filenames import safe_name
from dam_sync.mapping.tables import folded
from dam_sync.model.unicode_forms import SHORT, nfc, nfd, nfkd

FORMS = {"NFC": nfc, "NFD": nfd, "NFKD": nfkd}
ODD = [
    each
    for each in map(chr, range(sys.maxunicode + 1))
    if unicodedata.combining(each) or unicodedata.decomposition(each)
]
LONG = 200_000  # characters, of which the standard library would sort the marks for many minutes
MANY_MARKS = {
    "two classes that alternate": "a" + "\u0300\u0316" * (LONG // 2),
    "one class after the other": "a" + "\u0300" * (LONG // 2) + "\u0316" * (LONG // 2),
    "marks that decompose": "a" + "\u0340\u0316" * (LONG // 2),
    "no marks that become marks": "\u0f73" * LONG,
    "variants that become marks": "\uff9e\u0316" * (LONG // 2),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("odd", [0.1, 0.5, 0.95])
def test_a_form_is_that_of_the_standard_library(form: str, odd: float) -> None:
    chance = random.Random(7)
    plain = "aeiou \u1100\u1161\u11a8\uac00\u304b\u3099"
    for length in (0, 1, 10, SHORT, SHORT + 1, 2 * SHORT):
        for _ in range(50):
            text = "".join(chance.choice(ODD if chance.random() < odd else plain) for _ in range(length))
            assert FORMS[form](text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", MANY_MARKS.values(), ids=MANY_MARKS)
def test_many_marks_in_a_row_take_time_by_their_number(form: str, text: str) -> None:
    """A title is whatever a user of the source wrote; with a square of its length this would take hours."""
    assert len(FORMS[form](text)) >= LONG


@pytest.mark.parametrize("of", [folded, lambda text: safe_name(text, 255)], ids=["keys", "file names"])
@pytest.mark.parametrize("text", MANY_MARKS.values(), ids=MANY_MARKS)
def test_values_of_many_marks_stop_nothing(of: Callable[[str], str], text: str) -> None:
    assert of(text)
