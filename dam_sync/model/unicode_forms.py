"""Unicode normalization in linear time. The standard library takes time by the square of the combining marks in a row,
hours for a title of a megabyte, because it sorts them by insertion."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import groupby
from typing import Final, Literal

Form = Literal["NFC", "NFD", "NFKD"]
SHORT: Final = 500  # characters that the standard library normalizes in a few milliseconds, whatever they are


def nfc(text: str) -> str:
    """The text in the form NFC: accents are composed with their characters."""
    return _normalized("NFC", text)


def nfd(text: str) -> str:
    """The text in the form NFD: accents are apart from their characters."""
    return _normalized("NFD", text)


def nfkd(text: str) -> str:
    """The text in the form NFKD: as NFD, and variants of characters are replaced by the characters."""
    return _normalized("NFKD", text)


def _normalized(form: Form, text: str) -> str:
    if len(text) <= SHORT or text.isascii():
        return unicodedata.normalize(form, text)
    if unicodedata.is_normalized(form, text):  # which sorts nothing that is not in order
        return text
    apart: Form = "NFKD" if form == "NFKD" else "NFD"
    return unicodedata.normalize(form, "".join(_in_order(text, apart)))


def _in_order(text: str, form: Form) -> Iterator[str]:
    """The text with its characters decomposed, and the combining marks after each other in their order (UAX #15)."""
    known: dict[str, str] = {}
    characters = (known.get(each) or known.setdefault(each, unicodedata.normalize(form, each)) for each in text)
    single = (each for whole in characters for each in whole)
    for marks, run in groupby(single, key=_is_mark):
        part = list(run)
        yield "".join(sorted(part, key=unicodedata.combining) if marks else part)


def _is_mark(character: str) -> bool:
    return unicodedata.combining(character) != 0
