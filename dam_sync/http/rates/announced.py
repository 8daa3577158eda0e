"""Limits that a service announces in its responses. No input/output.

A limit that is lower than the one kept to so far is kept to from then on, by everything that uses the credential; a
higher one changes nothing, and neither does a text that is no limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from dam_sync.http.rates.learning import SLOWEST

AnnouncedRate: TypeAlias = Callable[[Mapping[str, str]], float | None]
"""Reads calls per second from response headers (lower case); None if they announce no limit."""

_DIGITS: Final = 9  # a longer number is no limit of calls
_LONGEST: Final = 86_400  # seconds: what is beyond a day is a point in time, and no span


def calls_per_second(calls: str, seconds: str) -> float | None:
    """The rate of so many calls in so many seconds, both as texts of whole numbers. None for anything else, and for a
    rate below the slowest at which any refusal makes us call: no run could keep to it."""
    if not (_is_number(calls) and _is_number(seconds)):
        return None
    span = int(seconds)
    if not 0 < span <= _LONGEST:
        return None
    rate = int(calls) / span
    return rate if rate >= SLOWEST else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS
