"""Verbs that turn one kind of value into another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, tzinfo
from decimal import Decimal
from typing import Annotated, ClassVar, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BeforeValidator, Field

from dam_sync.mapping.shapes import ANY, SPEAKING, Fate, Made, Note, Shape, aware, shape_of, shown
from dam_sync.mapping.verb import EachVerb, Setting, fate_of
from dam_sync.mapping.vocabulary import TermIndex, path_text
from dam_sync.model.faults import nearest
from dam_sync.model.values import Person, Place, Row, Scalar, Term, instant_text, value_to_json

ISO = "iso"
LONGEST_NUMBER = 300
WORDS_TRUE = ("Yes", "true", "1")
WORDS_FALSE = ("No", "false", "0")
Words = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda given: [str(word) for word in (given if isinstance(given, list | tuple) else [given])]),
    Field(min_length=1, json_schema_extra={"anyOf": [{"type": "string"}, {"type": "array"}]}),
]


Unmatched = Annotated[
    Literal["park", "drop", "keep", "null"] | None,
    BeforeValidator(lambda given: "null" if given is None else given),  # YAML reads null as nothing
]


class _Moment(EachVerb):
    """What `date` and `datetime` have in common."""

    short: ClassVar[str] = "in"
    takes: ClassVar[frozenset[Shape]] = frozenset({Shape.TEXT, Shape.DATE, Shape.INSTANT})
    in_: Words = Field(default=(ISO,), alias="in")
    out: str | None = Field(default=None, min_length=1)
    zone: str = "UTC"

    def faults(self, setting: Setting) -> Iterator[str]:
        """Unknown zones and formats that no date fits."""
        if self.zone not in available_timezones():
            yield f"unknown time zone {self.zone}; {nearest(self.zone, available_timezones())}"
        for text in (*self.in_, *([self.out] if self.out else [])):
            if text != ISO and not _usable(text):
                yield f"{text!r} is not a date format; write {ISO} or letters like %Y-%m-%d"

    @property
    def place(self) -> tzinfo:
        """The zone in which dates are meant; UTC where it is unknown, which `faults` tells."""
        try:
            return ZoneInfo(self.zone)
        except (OSError, ValueError, KeyError):
            return UTC

    def moment(self, text: str) -> datetime | date | None:
        """The first format that fits."""
        for form in self.in_:
            found = _read_iso(text, self.place) if form == ISO else _read_as(text, form, self.place)
            if found is not None:
                return found
        return None

    def spelt(self, moment: datetime | date) -> Made:
        """As text in the format `out`."""
        try:
            return Made((moment.strftime(self.out or ""),))
        except ValueError:
            return self.fail(f"{moment} cannot be written as {self.out}")


class Date(_Moment):
    name: ClassVar[str] = "date"
    summary: ClassVar[str] = "a day, read by the first format of `in` that fits; an instant is taken in `zone`"
    example: ClassVar[str] = '{date: {in: ["%d/%m/%Y", iso], out: "%Y-%m-%d", zone: Europe/Paris}}'

    def gives(self, shape: Shape) -> Shape:
        """A date, or text where `out` is given."""
        return Shape.TEXT if self.out else Shape.DATE

    def each(self, value: Scalar, setting: Setting) -> Made:
        """See `EachVerb.each`."""
        found = value if isinstance(value, date) else self.moment(setting.tongue.text(value) or "")
        if found is None:
            return self.fail(f"{shown(value)} is no date of the form {' or '.join(self.in_)}")
        if isinstance(found, datetime):
            found = _local(found, self.place).date()
        return self.spelt(found) if self.out else Made((found,))


class DateTime(_Moment):
    name: ClassVar[str] = "datetime"
    summary: ClassVar[str] = "an instant, read as `date` reads; a day becomes its midnight in `zone`"
    example: ClassVar[str] = '{datetime: {in: ["%d/%m/%Y %H:%M"], zone: Europe/Paris}}'

    def gives(self, shape: Shape) -> Shape:
        """An instant, or text where `out` is given."""
        return Shape.TEXT if self.out else Shape.INSTANT

    def each(self, value: Scalar, setting: Setting) -> Made:
        """See `EachVerb.each`."""
        found = value if isinstance(value, date) else self.moment(setting.tongue.text(value) or "")
        if found is None:
            return self.fail(f"{shown(value)} is no instant of the form {' or '.join(self.in_)}")
        if not isinstance(found, datetime):
            found = datetime.combine(found, time(), self.place)
        if self.out == ISO:
            return Made((instant_text(aware(found)),))
        return self.spelt(_local(found, self.place)) if self.out else Made((aware(found),))


class Number(EachVerb):
    name: ClassVar[str] = "number"
    summary: ClassVar[str] = "a number from text; `decimal` is the sign before the fraction"
    example: ClassVar[str] = '{number: {decimal: ","}}'
    short: ClassVar[str] = "decimal"
    takes: ClassVar[frozenset[Shape]] = frozenset({Shape.TEXT, Shape.NUMBER})
    decimal: Literal[".", ","] = "."

    def gives(self, shape: Shape) -> Shape:
        """A number."""
        return Shape.NUMBER

    def each(self, value: Scalar, setting: Setting) -> Made:
        """See `EachVerb.each`."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Made((value,))
        text = self.text_of(value, setting)
        if isinstance(text, Made):
            return text
        plain = _digits(text, self.decimal)
        if plain is None:
            return self.fail(f"{shown(text)} is no number")
        if "." not in plain:
            return Made((int(plain),))
        number = float(plain)
        exact = Decimal(plain) == Decimal(repr(number))
        return Made((number,), None if exact else Note(self.name, f"{plain} rounded to {number!r}", Fate.KEPT))


class Flag(EachVerb):
    name: ClassVar[str] = "flag"
    summary: ClassVar[str] = "words for yes and no: a flag becomes the first of them, one of them becomes a flag"
    example: ClassVar[str] = "{flag: {true: [Yes, Oui], false: [No, Non]}}"
    takes: ClassVar[frozenset[Shape]] = frozenset({Shape.TEXT, Shape.FLAG})
    yes: Words = Field(default=WORDS_TRUE, alias="true")
    no: Words = Field(default=WORDS_FALSE, alias="false")

    def gives(self, shape: Shape) -> Shape:
        """The other one."""
        return Shape.TEXT if shape is Shape.FLAG else Shape.FLAG

    def each(self, value: Scalar, setting: Setting) -> Made:
        """See `EachVerb.each`."""
        if isinstance(value, bool):
            return Made(((self.yes if value else self.no)[0],))
        text = self.text_of(value, setting)
        if isinstance(text, Made):
            return text
        word = text.strip().casefold()
        for words, flag in ((self.yes, True), (self.no, False)):
            if word in (known.casefold() for known in words):
                return Made((flag,))
        return self.fail(f"{shown(text)} is neither yes nor no")


class Pluck(EachVerb):
    name: ClassVar[str] = "pluck"
    summary: ClassVar[str] = (
        "one part: label, id or path of a term, name of a person, address of a place, cell of a row"
    )
    example: ClassVar[str] = "{pluck: path}"
    short: ClassVar[str] = "key"
    takes: ClassVar[frozenset[Shape]] = frozenset({Shape.TERM, Shape.PERSON, Shape.PLACE, Shape.ROW})
    key: str = Field(min_length=1)
    locale: str = ""

    def gives(self, shape: Shape) -> Shape:
        """Text, or a number for latitude and longitude."""
        return Shape.NUMBER if shape is Shape.PLACE and self.key in ("latitude", "longitude") else Shape.TEXT

    def misfit(self, shape: Shape) -> str:
        """See `Verb.misfit`."""
        parts = PARTS.get(shape)
        if parts is None or self.key in parts:
            return super().misfit(shape)
        return f"a {shape.value} has no {self.key}; {nearest(self.key, parts)}"

    def each(self, value: Scalar, setting: Setting) -> Made:
        """See `EachVerb.each`."""
        if isinstance(value, Row):
            return self._cell(value, setting)
        if shape_of(value) not in PARTS or self.key not in PARTS[shape_of(value)]:
            return self.fail(f"a {shape_of(value).value} has no {self.key}")
        part = self._part(value, setting)
        return self.fail(f"the {shape_of(value).value} has no {self.key}") if part in ("", None) else Made((part,))

    def _part(self, value: Scalar, setting: Setting) -> str | int | float:
        match value, self.key:
            case Term(), "label":
                return value.labels.get(self.locale, "") if self.locale else setting.tongue.label(value)
            case Term(), "path":
                return path_text(value)
            case Term() | Person(), "id":
                return value.id
            case Person(), _:
                return value.name
            case Place(), "address":
                return value.address
            case Place(), key:
                degrees = value.latitude if key == "latitude" else value.longitude
                return "" if degrees is None else degrees
        return ""

    def _cell(self, row: Row, setting: Setting) -> Made:
        cell = row.cells.get(self.key, ())
        texts = [setting.tongue.text(part) for part in (cell if isinstance(cell, tuple) else (cell,))]
        known = tuple(text for text in texts if text)
        return Made(known) if known else self.fail(f"the row has no {self.key}")


class AsJson(EachVerb):
    name: ClassVar[str] = "json"
    summary: ClassVar[str] = "any value as JSON text, for rows and places that a target cannot hold"
    example: ClassVar[str] = "json"
    takes: ClassVar[frozenset[Shape]] = ANY

    def each(self, value: Scalar, setting: Setting) -> Made:
        """See `EachVerb.each`."""
        return Made((json.dumps(value_to_json(value), ensure_ascii=False, sort_keys=True),))


class LookUp(EachVerb):
    name: ClassVar[str] = "lookup"
    summary: ClassVar[str] = "the value beside this one in a table of `lookups`"
    example: ClassVar[str] = "{lookup: country}"
    short: ClassVar[str] = "name"
    table: str = Field(alias="name")
    unmatched: Unmatched = None

    def faults(self, setting: Setting) -> Iterator[str]:
        """Unknown tables."""
        if self.table not in setting.lookups:
            yield f"there is no lookup {self.table}; {nearest(self.table, setting.lookups)}".rstrip("; ")

    def each(self, value: Scalar, setting: Setting) -> Made:
        """See `EachVerb.each`."""
        text = self.text_of(value, setting)
        if isinstance(text, Made):
            return text
        table = setting.lookups.get(self.table)
        found = table.find(text) if table else None
        if found is not None:
            return Made((found,))
        choice = self.unmatched or (table.unmatched if table else None)
        note = Note(self.name, f"{shown(text)} is not in {self.table}", fate_of(choice))
        return Made((text,) if choice == "keep" else (), note)


class Match(EachVerb):
    name: ClassVar[str] = "vocabulary"
    summary: ClassVar[str] = "the target's term, found or made by a rule of `vocabularies`"
    example: ClassVar[str] = "{vocabulary: subject}"
    short: ClassVar[str] = "name"
    takes: ClassVar[frozenset[Shape]] = SPEAKING
    rule: str = Field(alias="name")

    def gives(self, shape: Shape) -> Shape:
        """A term."""
        return Shape.TERM

    def faults(self, setting: Setting) -> Iterator[str]:
        """Unknown rules."""
        if self.rule not in setting.rules:
            yield f"there is no vocabulary {self.rule}; {nearest(self.rule, setting.rules)}".rstrip("; ")

    def each(self, value: Scalar, setting: Setting) -> Made:
        """See `EachVerb.each`."""
        rule = setting.rules.get(self.rule)
        if rule is None:
            return self.fail(f"there is no vocabulary {self.rule}")
        index = setting.terms.get(rule.target)
        return rule.apply(value, TermIndex() if index is None else index, setting.tongue, self.name)


PARTS = {
    Shape.TERM: ("label", "id", "path"),
    Shape.PERSON: ("name", "id"),
    Shape.PLACE: ("address", "latitude", "longitude"),
}


def _usable(form: str) -> bool:
    """Whether what this format writes can be read by it."""
    sample = datetime(2021, 11, 23, 13, 14, 15, tzinfo=UTC)
    try:
        datetime.strptime(sample.strftime(form), form).replace(tzinfo=UTC)
    except (ValueError, re.error):
        return False
    return "%" in form


def _read_as(text: str, form: str, zone: tzinfo) -> datetime | date | None:
    try:
        found = datetime.strptime(text.strip(), form)  # noqa: DTZ007 -- the zone follows in the next line
    except (ValueError, re.error, OverflowError):
        return None
    if not re.search(r"%[HIMSfcXT]", form):
        return found.date()
    return found if found.tzinfo else found.replace(tzinfo=zone)


def _read_iso(text: str, zone: tzinfo) -> datetime | date | None:
    plain = text.strip()
    try:
        return date.fromisoformat(plain)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(plain)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=zone)


def _local(moment: datetime, zone: tzinfo) -> datetime:
    try:
        return aware(moment).astimezone(zone)
    except OverflowError:
        return moment


def _digits(text: str, decimal: str) -> str | None:
    """Plain digits with a point, from a number written with groups; None when it is none."""
    group = "," if decimal == "." else "."
    plain = re.sub(r"(?<=\d)[\s'’\u00a0\u202f](?=\d{3})", "", text.strip().replace("−", "-"))
    if len(plain) > LONGEST_NUMBER:
        return None
    mark, sign = re.escape(decimal), re.escape(group)
    match = re.fullmatch(rf"([+-]?)(\d+|\d{{1,3}}(?:{sign}\d{{3}})+)(?:{mark}(\d+))?", plain, re.ASCII)
    if match is None:
        return None
    whole = match[2].replace(group, "")
    return f"{'-' if match[1] == '-' else ''}{whole}" + (f".{match[3]}" if match[3] else "")
