"""Plain scalars of YAML that a parser takes for something else than the text that stands in the file.

`010`, `1.10`, `+33123`, `0x1F`, `1e3`, `1_000`, `True` or `2020-01-01 10:00` without quotes are numbers, a flag and a
timestamp to the parser; written back as text, they are other texts. Here such a scalar is the text that stands in the
file and remembers what it was taken for, which only counts where a number, a flag or a date belongs.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Self

from dam_sync.model.values import Json


class Spelt(str):
    """A text as it stands in the file. taken: what the parser of YAML takes it for."""

    __slots__ = ("taken",)
    taken: Json

    @classmethod
    def of(cls, text: str, taken: Json) -> Self:
        """A text, and what it is taken for."""
        made = cls(text)
        made.taken = taken
        return made


def settled(given: Json) -> Json:
    """Keys and values as YAML takes them, for files and places where no text stands without quotes."""
    if isinstance(given, Spelt):
        return given.taken
    if isinstance(given, dict):
        return {key: settled(value) for key, value in given.items()}
    return [settled(value) for value in given] if isinstance(given, list) else given


def for_service(given: Json) -> Json:
    """Keys and values for a service, which reads numbers in texts: numbers as they are spelt, flags as YAML takes
    them."""
    if isinstance(given, Spelt):
        return given.taken if isinstance(given.taken, bool) else str(given)
    if isinstance(given, dict):
        return {key: for_service(value) for key, value in given.items()}
    return [for_service(value) for value in given] if isinstance(given, list) else given


def without_spelling(taken: Json) -> Json:
    """Without the classes by which the parser remembers a part of the spelling."""
    if isinstance(taken, bool) or taken is None:
        return taken
    if isinstance(taken, datetime):
        return datetime.combine(taken.date(), taken.time(), taken.tzinfo)
    return next((kind(taken) for kind in (int, float) if isinstance(taken, kind)), taken)


def written_again(taken: Json) -> str:
    """How the scalar would be written as text."""
    match taken:
        case bool():
            return "true" if taken else "false"
        case None:
            return "null"
        case int():
            return str(int(taken)) if abs(taken) < 10**400 else ""
        case float():
            finite = taken == taken and abs(taken) != float("inf")
            return format(Decimal(repr(float(taken))), "f").removesuffix(".0") if finite else ""
        case datetime():
            return ""
        case date():
            return taken.isoformat()
        case _:
            return str(taken)
