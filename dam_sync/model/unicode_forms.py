"""Unicode normalization in linear time. The standard library takes time by the square of the combining marks in a row,
hours for a title of a megabyte, because it sorts them by insertion. And characters replaced without a list of
them, which takes up to eighty times the memory of the text."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from io import StringIO
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
    return unicodedata.normalize(form, _in_order(text, apart))


def _in_order(text: str, form: Form) -> str:
    """The text with its characters decomposed, and the combining marks after each other in their order (UAX #15)."""
    ordered = StringIO()
    marks: dict[int, StringIO] = {}  # of the row that is read, by their class
    apart: dict[str, list[tuple[str, int]]] = {}
    for character in text:
        parts = apart.get(character)
        if parts is None:
            whole = unicodedata.normalize(form, character)
            parts = apart[character] = [(each, unicodedata.combining(each)) for each in whole]
        for part, order in parts:
            if order:
                marks.setdefault(order, StringIO()).write(part)
                continue
            if marks:
                _end_row(ordered, marks)
            ordered.write(part)
    _end_row(ordered, marks)
    return ordered.getvalue()


def _end_row(ordered: StringIO, marks: dict[int, StringIO]) -> None:
    for order in sorted(marks):
        ordered.write(marks[order].getvalue())
    marks.clear()


class CharacterTable(dict[int, str | None]):
    """What becomes of each character, for `str.translate`; asked once for each that occurs. None: it is left out."""

    def __init__(self, change: Callable[[str], str | None]) -> None:
        super().__init__()
        self._change = change

    def __missing__(self, code: int) -> str | None:
        made = self[code] = self._change(chr(code))
        return made


BASE_LETTERS: Final = CharacterTable(lambda each: None if unicodedata.combining(each) else each)
"""Leaves combining marks out of a text in the form NFD or NFKD."""
