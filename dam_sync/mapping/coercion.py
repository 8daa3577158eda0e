"""The last step of every rule: converts a value to what the field of the target accepts, or says why it does not
fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal

from dam_sync.mapping.results import (
    SHAPES,
    SPEAKING,
    Note,
    Result,
    ValueOutcome,
    ValueType,
    aware,
    number_text,
    shape_of,
    shown,
)
from dam_sync.mapping.transforms.base import TransformContext
from dam_sync.mapping.vocabulary import TermIndex, VocabularyRule
from dam_sync.model.diagnostic import nearest
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.naming import Naming
from dam_sync.model.schema import Field, FieldKind
from dam_sync.model.values import GeoPoint, Localized, Person, Row, Scalar, Term, Value

NOUNS = {shape: f"a {shape.value}" for shape in ValueType} | {ValueType.INSTANT: "a timestamp"}
FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

TAKES: Mapping[ValueType, frozenset[ValueType]] = {
    ValueType.TEXT: SPEAKING,
    ValueType.NUMBER: frozenset({ValueType.NUMBER, ValueType.TEXT}),
    ValueType.FLAG: frozenset({ValueType.FLAG}),
    ValueType.DATE: frozenset({ValueType.DATE, ValueType.TEXT}),
    ValueType.INSTANT: frozenset({ValueType.INSTANT, ValueType.TEXT}),
    ValueType.TERM: SPEAKING,
    ValueType.PERSON: frozenset({ValueType.PERSON, ValueType.TEXT, ValueType.TERM}),
    ValueType.PLACE: frozenset({ValueType.PLACE, ValueType.TEXT}),
    ValueType.ROW: frozenset({ValueType.ROW}),
}
WAY_OUT: Mapping[tuple[ValueType, ValueType], str] = {
    (ValueType.INSTANT, ValueType.DATE): "date",
    (ValueType.DATE, ValueType.INSTANT): "datetime",
    (ValueType.FLAG, ValueType.TEXT): "flag or text",
    (ValueType.TEXT, ValueType.FLAG): "flag",
    (ValueType.FLAG, ValueType.TERM): "flag",
    (ValueType.FLAG, ValueType.NUMBER): "flag and number",
    (ValueType.NUMBER, ValueType.FLAG): "flag",
    (ValueType.TERM, ValueType.FLAG): "flag",
    (ValueType.TERM, ValueType.NUMBER): "pluck and number",
    (ValueType.TERM, ValueType.DATE): "date",
    (ValueType.TERM, ValueType.INSTANT): "datetime",
    (ValueType.TERM, ValueType.PLACE): "place",
    (ValueType.TEXT, ValueType.ROW): "rows",
    (ValueType.PLACE, ValueType.TEXT): "pluck or text",
    (ValueType.PLACE, ValueType.TERM): "pluck or text",
    (ValueType.ROW, ValueType.TEXT): "pluck, text or json",
}


@dataclass(frozen=True, slots=True)
class Fit:
    """What one field, or other part, of the target accepts.

    choices: the closed list a text must be in. rule: how a value that is not yet a term of the target becomes one;
    matched: terms come from a `vocabulary` transform and are already the target's. locales: languages the target has,
    empty for any. trims: it removes whitespace at the ends of texts.
    folds: of values that differ in case alone it keeps one.
    """

    field: Field
    choices: frozenset[str] | None = None
    rule: VocabularyRule | None = None
    matched: bool = False
    locales: tuple[str, ...] = ()
    trims: bool = False
    folds: bool = False

    @property
    def shape(self) -> ValueType:
        """The type that is written."""
        return SHAPES[self.field.kind]

    def reject_reason(self, shape: ValueType) -> tuple[str, str]:
        """Why values of this type cannot be written, and what to do; empty if they can."""
        if shape in TAKES[self.shape]:
            return "", ""
        transforms = WAY_OUT.get((shape, self.shape), "")
        hint = f"the pipe needs {transforms}" if transforms else f"read a value of kind {self.shape.value}"
        return f"values of kind {shape.value} do not fit a field of kind {self.shape.value}", hint

    def typed(self, text: str) -> Scalar:
        """A text that a person gave, as a value that `each` can convert."""
        if self.shape is ValueType.FLAG:
            return FLAGS.get(text.strip().casefold(), text)
        return text

    def each(self, value: Scalar, context: TransformContext) -> Result:
        """One value as the field accepts it."""
        if isinstance(value, Localized):
            return self._languages(value, context)
        if self.shape is ValueType.TERM:
            return self._term(value, context)
        made = CONVERT[self.shape](value, context)
        if made is None:
            misfit, hint = self.reject_reason(shape_of(value))
            return _refused(
                LossRule.KIND, "; ".join(filter(None, (misfit, hint))) or f"{shown(value)} is not {NOUNS[self.shape]}"
            )
        if isinstance(made, Person) and made.name in context.unknown_people:
            return _refused(LossRule.CLOSED, f"the target has no user {shown(made.name)}")
        lacking = self._lacking(made)
        if lacking:
            return _refused(LossRule.KIND, lacking)
        checked = self._checked(made)
        rounded = None if checked.note else _rounding(value, made)
        return checked if rounded is None else replace(checked, note=rounded)

    def _lacking(self, value: Scalar) -> str:
        """What a place or a row lacks, or has in excess, for this field."""
        if isinstance(value, GeoPoint) and self.field.coordinates and None in (value.latitude, value.longitude):
            return f"{shown(value.address)} has no latitude and longitude, which the target requires"
        if isinstance(value, Row) and self.field.cells:
            strange = sorted(set(value.cells) - self.field.cells)
            if strange:
                hint = nearest(strange[0], self.field.cells)
                return f"the target's rows have no cell {', '.join(strange)}{f'; {hint}' if hint else ''}"
        return ""

    def _row(self, row: Row) -> Result:
        """A row with each date of the kind of its cell; no rule of a mapping can convert a cell."""
        kinds = self.field.cell_kinds
        made = Row({key: _dated(cell, kinds.get(key)) for key, cell in row.cells.items()})
        timed = sorted(key for key, cell in row.cells.items() if kinds.get(key) is FieldKind.DATE and _has_time(cell))
        if not timed:
            return Result((made,))
        return Result(
            (made,), Note(LossRule.ROUNDED, f"the target keeps the day alone of {', '.join(timed)}", ValueOutcome.KEPT)
        )

    def _checked(self, value: Scalar) -> Result:
        if isinstance(value, Row):
            return self._row(value)
        if self.trims and isinstance(value, str) and value != value.strip():
            trimmed = value.strip()
            made = self._checked(trimmed) if trimmed else Result(())
            outcome = ValueOutcome.KEPT if trimmed else ValueOutcome.DROPPED
            return made if made.note is not None else replace(made, note=Note(LossRule.TRIMMED, shown(value), outcome))
        most = self.field.max_length
        if isinstance(value, str) and most is not None and len(value) > most:
            return _refused(LossRule.LENGTH, f"{len(value)} characters, at most {most}: {shown(value)}")
        if self.choices is not None and value not in self.choices:
            return _refused(LossRule.CLOSED, f"{shown(value)} is not one of the target's")
        return Result((value,))

    def _term(self, value: Scalar, context: TransformContext) -> Result:
        if self.rule is None or (self.matched and isinstance(value, Term)):
            text = context.languages.text(value)
            return (
                _refused(LossRule.KIND, f"a {shape_of(value).value} is not a term")
                if text is None
                else Result((_term(value, text),))
            )
        index = context.terms.get(self.rule.target)
        return self.rule.apply(value, TermIndex() if index is None else index, context.languages, LossRule.CLOSED)

    def _languages(self, value: Localized, context: TransformContext) -> Result:
        if not self.field.localized or self.shape is not ValueType.TEXT:
            return self.each(value.texts.get(context.languages.pick(value.texts), ""), context)
        known = {locale: text for locale, text in value.texts.items() if not self.locales or locale in self.locales}
        if not known:
            return _refused(LossRule.LANGUAGE, f"the target has no {', '.join(sorted(value.texts))}")
        for text in known.values():
            made = self._checked(text)
            if made.note is not None:
                return made
        gone = [f"{locale}: {shown(text)}" for locale, text in sorted(value.texts.items()) if locale not in known]
        note = Note(LossRule.LANGUAGE, f"the target has no {', '.join(gone)}", ValueOutcome.KEPT) if gone else None
        return Result((Localized(known),), note)


@dataclass(frozen=True, slots=True)
class NameFit(Fit):
    """A file name, without the characters that the target forbids."""

    naming: Naming | None = None

    def each(self, value: Scalar, context: TransformContext) -> Result:
        made = Fit.each(self, value, context)
        if made.note is not None or self.naming is None:
            return made
        before = str(made.values[0])
        name = self.naming.filename(before)
        return (
            made
            if name == before
            else Result((name,), Note(LossRule.AVOIDED, f"{shown(before)} is {shown(name)}", ValueOutcome.KEPT))
        )


@dataclass(frozen=True, slots=True)
class GroupFit(Fit):
    """A group of the target; if it does not list groups, each is looked up before it is written."""

    def each(self, value: Scalar, context: TransformContext) -> Result:
        made = Fit.each(self, value, context)
        if made.note is None and made.values[0] in context.unknown_groups:
            return _refused(LossRule.CLOSED, f"the target has no group or user {shown(made.values[0])}")
        return made


def text_field(key: str, *, multiple: bool = False, kind: FieldKind = FieldKind.TEXT) -> Field:
    """Stands for a part that is not a metadata field: a file name, tags, dates."""
    return Field(key, kind, multiple=multiple)


def _rounding(text: Scalar, number: Scalar) -> Note | None:
    """A text has more digits than the number that was made of it."""
    if not isinstance(text, str) or not isinstance(number, float) or Decimal(text.strip()) == Decimal(repr(number)):
        return None
    return Note(LossRule.ROUNDED, f"{shown(text)} is {number_text(number)}", ValueOutcome.KEPT)


def _dated(cell: Value, kind: FieldKind | None) -> Value:
    """A cell of a row with dates in place of timestamps, or timestamps of midnight (UTC) in place of dates."""
    if isinstance(cell, tuple):
        return tuple(_day_or_moment(each, kind) for each in cell)
    return _day_or_moment(cell, kind)


def _day_or_moment(value: Scalar, kind: FieldKind | None) -> Scalar:
    if kind is FieldKind.DATE and isinstance(value, datetime):
        return aware(value).date()
    if kind is FieldKind.INSTANT and isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time(), UTC)
    return value


def _has_time(cell: Value) -> bool:
    values = cell if isinstance(cell, tuple) else (cell,)
    return any(isinstance(each, datetime) and aware(each).time() != time() for each in values)


def _refused(rule: str, detail: str) -> Result:
    return Result((), Note(rule, detail))


def _term(value: Scalar, text: str) -> Term:
    return value if isinstance(value, Term) else Term(text.strip())


def _to_text(value: Scalar, context: TransformContext) -> Scalar | None:
    return context.languages.text(value)


def _to_number(value: Scalar, context: TransformContext) -> Scalar | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value if value == value and abs(value) != float("inf") else None
    if not isinstance(value, str) or not re.fullmatch(r"\s*-?[0-9]{1,308}(\.[0-9]{1,400})?\s*", value):
        return None
    return float(value) if "." in value else int(value)


def _to_flag(value: Scalar, context: TransformContext) -> Scalar | None:
    return value if isinstance(value, bool) else None


def _to_date(value: Scalar, context: TransformContext) -> Scalar | None:
    if isinstance(value, datetime):
        return None
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value.strip()) if isinstance(value, str) else None
    except ValueError:
        return None


def _to_instant(value: Scalar, context: TransformContext) -> Scalar | None:
    if isinstance(value, datetime):
        return aware(value)
    if not isinstance(value, str) or len(value.strip()) <= len("2024-01-01"):
        return None
    try:
        return aware(datetime.fromisoformat(value.strip()))
    except ValueError:
        return None


def _to_person(value: Scalar, context: TransformContext) -> Scalar | None:
    """By name, because an id of the source may belong to somebody else at the target."""
    return Person(context.languages.text(value) or "") if isinstance(value, Person | str | Term) else None


def _to_place(value: Scalar, context: TransformContext) -> Scalar | None:
    return value if isinstance(value, GeoPoint) else GeoPoint(address=value) if isinstance(value, str) else None


def _to_row(value: Scalar, context: TransformContext) -> Scalar | None:
    return value if isinstance(value, Row) else None


CONVERT: Mapping[ValueType, Callable[[Scalar, TransformContext], Scalar | None]] = {
    ValueType.TEXT: _to_text,
    ValueType.NUMBER: _to_number,
    ValueType.FLAG: _to_flag,
    ValueType.DATE: _to_date,
    ValueType.INSTANT: _to_instant,
    ValueType.PERSON: _to_person,
    ValueType.PLACE: _to_place,
    ValueType.ROW: _to_row,
}
