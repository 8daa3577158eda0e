"""In what way a value at the target differs from the expected one, in a few words. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from html import unescape

from dam_sync.model.unicode_forms import nfc, nfd


class Pattern(StrEnum):
    """Patterns on which something is decided; all others are words for reports."""

    MISSING = "missing"
    ADDED = "added"
    OTHER = "other value"
    RENAMED = "renamed at the target"
    OTHER_NAME = "other name at the target"  # which the source gave it since, or the target cannot give it
    OTHER_BYTES = "other bytes"
    OTHER_ORDER = "other order of versions"
    NOT_COMPARED = "could not be compared"  # of files that were replaced each time while they were read


MISSING, ADDED, OTHER = Pattern.MISSING, Pattern.ADDED, Pattern.OTHER
RENAMED, OTHER_NAME = Pattern.RENAMED, Pattern.OTHER_NAME
OTHER_BYTES, OTHER_ORDER, NOT_COMPARED = Pattern.OTHER_BYTES, Pattern.OTHER_ORDER, Pattern.NOT_COMPARED
_SPACES = re.compile(r"\s+")
_TAGS = re.compile(r"<[^<>]*>")  # no `<` inside: each would be searched to the end of the text
_ELLIPSIS = re.compile(r"(…|\.\.\.)$")
_WIDEST = timedelta(hours=14)  # no time zone is further from UTC
_STEP = timedelta(minutes=15)


def pattern_of(expected: Sequence[str], found: Sequence[str], *, localized: bool = False) -> str:
    """The pattern of a difference between two lists of texts. localized: the texts begin with a language and a
    colon."""
    if not found:
        return MISSING
    if not expected:
        return ADDED
    if localized:
        return _of_languages(_by_language(expected), _by_language(found))
    ours, theirs = frozenset(expected), frozenset(found)
    lacks, more = [text for text in expected if text not in theirs], [text for text in found if text not in ours]
    if len(lacks) == len(more) == 1:
        return pattern_of_text(lacks[0], more[0])
    if not more:
        return f"{len(lacks)} of {len(expected)} values missing" if len(lacks) > 1 else "one value missing"
    return "values added" if not lacks else "other values"


def pattern_of_text(expected: str, found: str) -> str:
    """The pattern of a difference between two texts that are not equal."""
    if expected.strip() and not found.strip():
        return MISSING
    for name, same in _ALIKE:
        if same(expected) == same(found):
            return name
    if _wrongly_decoded(expected) == found:
        return "wrong encoding"
    kept = _ELLIPSIS.sub("", found).rstrip()
    if kept and expected.startswith(kept):
        return f"cut at {len(found)} characters"
    return _of_times(expected, found) or _of_numbers(expected, found) or _of_words(expected, found)


def pattern_of_size(expected: int, found: int) -> str:
    """The pattern of a file of another size."""
    if not found:
        return "empty file"
    return "shorter file" if found < expected else "longer file"


def _of_languages(expected: Mapping[str, str], found: Mapping[str, str]) -> str:
    for locale, text in expected.items():
        if locale not in found:
            other = next((each for each, there in found.items() if there == text and expected.get(each) != text), "")
            return f"language {other} instead of {locale}" if other else f"language {locale} missing"
    for locale, text in expected.items():
        if found[locale] == text:
            continue
        if found[locale] in (each for other, each in expected.items() if other != locale):
            return f"text of another language in {locale}"
        return pattern_of_text(text, found[locale])
    return "languages added"


def _by_language(texts: Sequence[str]) -> Mapping[str, str]:
    return {locale: text for locale, _, text in (each.partition(":") for each in texts)}


def _of_times(expected: str, found: str) -> str:
    want, have = _time(expected), _time(found)
    if want is None or have is None:
        return ""
    if isinstance(want, datetime) and isinstance(have, datetime):
        shift = have - want
        shifted = abs(shift) <= _WIDEST and not shift % _STEP
        return f"shifted by {_hours(shift)}" if shifted else "other time"
    if isinstance(want, datetime) or isinstance(have, datetime):
        return "time of day missing" if isinstance(want, datetime) else "time of day added"
    if abs((have - want).days) == 1:
        return f"shifted by {(have - want).days:+d} day"
    return "day and month swapped" if (want.day, want.month) == (have.month, have.day) else "other date"


def _time(text: str) -> date | datetime | None:
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            found = read(text)
        except ValueError:
            continue
        aware = not isinstance(found, datetime) or found.tzinfo is not None
        return found if aware and text[4:5] == "-" else None
    return None


def _hours(shift: timedelta) -> str:
    hours, rest = divmod(abs(shift), timedelta(hours=1))
    sign, minutes = "-" if shift < timedelta(0) else "+", rest // timedelta(minutes=1)
    return f"{sign}{hours} h {minutes} min" if minutes else f"{sign}{hours} h"


def _of_numbers(expected: str, found: str) -> str:
    try:
        want, have = float(expected), float(found)
    except ValueError:
        return ""
    decimals = len(found.partition(".")[2])
    return "rounded" if abs(want - have) <= 0.5 * 10.0**-decimals and len(found) < len(expected) else "other number"


def _of_words(expected: str, found: str) -> str:
    return "text added" if expected in found else OTHER


def _wrongly_decoded(text: str) -> str:
    """UTF-8 read as the encoding of western Windows, or of ISO 8859-1."""
    raw = text.encode("utf-8", "surrogatepass")
    try:
        return raw.decode("cp1252")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _without_accents(text: str) -> str:
    return "".join(each for each in nfd(text) if not unicodedata.combining(each))


def _plain(text: str) -> str:
    return _SPACES.sub(" ", unescape(_TAGS.sub("", text))).strip()


_ALIKE: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("whitespace", lambda text: _SPACES.sub(" ", text).strip()),
    ("Unicode form", nfc),
    ("upper and lower case", str.casefold),
    ("accents", _without_accents),
    ("formatting", _plain),
)
"""Patterns of texts that are equal apart from one thing, and what makes them equal."""
