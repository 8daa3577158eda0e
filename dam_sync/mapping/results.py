"""What flows through a pipe: values, their types, and the results of transforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import assert_never

from dam_sync.model.schema import FieldKind
from dam_sync.model.values import GeoPoint, Localized, Person, Row, Scalar, Term, instant_text


class ValueType(StrEnum):
    """The types of value that transforms accept and return."""

    TEXT = "text"
    NUMBER = "number"
    FLAG = "flag"
    DATE = "date"
    INSTANT = "instant"
    TERM = "term"
    PERSON = "person"
    PLACE = "place"
    ROW = "row"


ANY = frozenset(ValueType)
SPEAKING = frozenset(
    {ValueType.TEXT, ValueType.NUMBER, ValueType.DATE, ValueType.INSTANT, ValueType.TERM, ValueType.PERSON}
)
"""Types that are converted to text if a transform or a field accepts text."""

SHAPES: Mapping[FieldKind, ValueType] = {
    FieldKind.TEXT: ValueType.TEXT,
    FieldKind.LONG_TEXT: ValueType.TEXT,
    FieldKind.HTML: ValueType.TEXT,
    FieldKind.EMAIL: ValueType.TEXT,
    FieldKind.URL: ValueType.TEXT,
    FieldKind.NUMBER: ValueType.NUMBER,
    FieldKind.FLAG: ValueType.FLAG,
    FieldKind.DATE: ValueType.DATE,
    FieldKind.INSTANT: ValueType.INSTANT,
    FieldKind.TERM: ValueType.TERM,
    FieldKind.PERSON: ValueType.PERSON,
    FieldKind.PLACE: ValueType.PLACE,
    FieldKind.ROWS: ValueType.ROW,
}

SHAPES_OF_TYPES: tuple[tuple[type, ValueType], ...] = (
    (str, ValueType.TEXT),
    (Term, ValueType.TERM),
    (bool, ValueType.FLAG),  # before numbers, which flags are as well
    (int, ValueType.NUMBER),
    (float, ValueType.NUMBER),
    (datetime, ValueType.INSTANT),  # before dates, of which it is a subclass
    (date, ValueType.DATE),
    (Localized, ValueType.TEXT),
    (Person, ValueType.PERSON),
    (GeoPoint, ValueType.PLACE),
    (Row, ValueType.ROW),
)


class ValueOutcome(StrEnum):
    """What happened to a value, according to a note."""

    KEPT = "kept"  # it was kept, but part of it was lost
    DROPPED = "dropped"
    EMPTY = "null"  # the whole field stays empty
    PARKED = "parked"
    FAILED = "failed"  # the rule's on_error decides


@dataclass(frozen=True, slots=True)
class Note:
    """Why a value did not pass unchanged; `rule` is a stable identifier."""

    rule: str
    detail: str = ""
    outcome: ValueOutcome = ValueOutcome.FAILED


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one value: any number of values, and a note if something was lost.

    new_terms: (vocabulary of the target, term) that must exist before the value can be written, parents first; the
    value is the last of them, without an id.
    """

    values: tuple[Scalar, ...] = ()
    note: Note | None = None
    new_terms: tuple[tuple[str, Term], ...] = ()


@dataclass(frozen=True, slots=True)
class ListResult:
    """The result of a list of values: each with the positions it was made from, and a note on what was lost."""

    items: tuple[tuple[Scalar, tuple[int, ...]], ...]
    note: Note | None = None


@dataclass(frozen=True, slots=True)
class LanguagePreference:
    """Languages in order of preference."""

    locales: tuple[str, ...] = field(default=())

    def pick(self, texts: Mapping[str, str]) -> str:
        """The preferred locale among these, or the first if none is preferred. Empty without texts."""
        filled = [locale for locale, text in texts.items() if text.strip()]
        wanted = next((locale for locale in self.locales if locale in filled), "")
        return wanted or next((locale for locale in ("en", *filled) if locale in filled), "")

    def label(self, term: Term) -> str:
        """The term's label in a preferred language, otherwise its own."""
        found = next((term.labels[locale] for locale in self.locales if term.labels.get(locale, "").strip()), "")
        return found or term.label

    def text(self, value: Scalar) -> str | None:
        """A value as text if that is unambiguous; otherwise None."""
        match value:
            case str():
                return value
            case Localized(texts):
                return texts.get(self.pick(texts), "")
            case Term():
                return self.label(value)
            case Person():
                return value.name
            case _:
                return _plain_text(value)


def _plain_text(value: bool | int | float | date | GeoPoint | Row) -> str | None:
    match value:
        case bool() | GeoPoint() | Row():
            return None
        case int() | float():
            return number_text(value)
        case datetime():
            return instant_text(aware(value))
        case date():
            return value.isoformat()
        case _:
            assert_never(value)


def aware(moment: datetime) -> datetime:
    """The timestamp with a time zone; one without an offset is read as UTC, and one at the edge of the calendar is
    clamped."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return moment.replace(tzinfo=UTC)


def number_text(value: int | float) -> str:
    """A number in full, without an exponent and without `.0`."""
    if isinstance(value, int):
        return str(value)
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    return format(Decimal(repr(value or 0)), "f").removesuffix(".0")


def shape_of(value: Scalar) -> ValueType:
    """The type of a value."""
    return next(shape for kind, shape in SHAPES_OF_TYPES if isinstance(value, kind))


def same_key(value: Scalar) -> object:
    """Equal keys mean equal values: terms and people by id where they have one, other terms by path or label."""
    match value:
        case Term(label=label, id=identity, path=path):
            return ("term", identity or path or label)
        case Person(name=name, id=identity):
            return ("person", identity or name)
        case Localized(texts):
            return ("texts", tuple(sorted(texts.items())))
        case Row(cells):
            return ("row", repr(sorted(cells.items())))
        case _:
            return (type(value).__name__, value)


def empty(value: Scalar) -> bool:
    """Whether a value is whitespace, or consists of such texts only."""
    match value:
        case str():
            return not value.strip()
        case Localized(texts):
            return not any(text.strip() for text in texts.values())
        case Term(label=label):
            return not label.strip()
        case _:
            return False


def shown(value: object, most: int = 60) -> str:
    """A value, shortened for a message."""
    text = str(value)
    return f"“{text if len(text) <= most else text[: most - 1] + '…'}”"


def listed(words: Sequence[str]) -> str:
    """Words, joined for a message."""
    return ", ".join(sorted(words))
