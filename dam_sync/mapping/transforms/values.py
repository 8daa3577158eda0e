"""Transforms that turn one kind of value into another."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from dam_sync.mapping.results import ANY, SPEAKING, Note, Result, ValueOutcome, ValueType, shape_of, shown
from dam_sync.mapping.transforms.base import EachTransform, Problem, TransformContext, Words, outcome_of
from dam_sync.mapping.vocabulary import TermIndex, path_text
from dam_sync.model.diagnostic import Similar, nearest
from dam_sync.model.values import GeoPoint, Person, Row, Scalar, Term, value_to_json

LONGEST_NUMBER = 400  # the smallest and the largest number have about 330 digits
WORDS_TRUE = ("Yes", "true", "1")
WORDS_FALSE = ("No", "false", "0")
Unmatched = Annotated[
    Literal["park", "drop", "keep", "null"] | None,
    BeforeValidator(lambda given: "null" if given is None else given),  # YAML reads null as nothing
]


class Number(EachTransform):
    name: ClassVar[str] = "number"
    summary: ClassVar[str] = "a number from text; `decimal` is the decimal separator"
    example: ClassVar[str] = '{number: {decimal: ","}}'
    short: ClassVar[str] = "decimal"
    takes: ClassVar[frozenset[ValueType]] = frozenset({ValueType.TEXT, ValueType.NUMBER})
    decimal: Literal[".", ","] = "."

    def output_type(self, shape: ValueType) -> ValueType:
        """A number."""
        return ValueType.NUMBER

    def each(self, value: Scalar, context: TransformContext) -> Result:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Result((value,))
        text = self.text_of(value, context)
        if isinstance(text, Result):
            return text
        plain = plain_digits(text, self.decimal)
        if plain is None:
            return self.fail(f"{shown(text)} is not a number")
        if "." not in plain:
            return Result((int(plain),))
        number = float(plain)
        if math.isinf(number):
            return self.fail(f"{shown(text)} is too large")
        exact = Decimal(plain) == Decimal(repr(number))
        return Result(
            (number,), None if exact else Note(self.name, f"{plain} rounded to {number!r}", ValueOutcome.KEPT)
        )


class Flag(EachTransform):
    name: ClassVar[str] = "flag"
    summary: ClassVar[str] = "words for yes and no: a flag becomes the first of them, any of them becomes a flag"
    example: ClassVar[str] = "{flag: {true: [Yes, Oui], false: [No, Non]}}"
    takes: ClassVar[frozenset[ValueType]] = frozenset({ValueType.TEXT, ValueType.FLAG})
    yes: Words = Field(default=WORDS_TRUE, alias="true")
    no: Words = Field(default=WORDS_FALSE, alias="false")

    def output_type(self, shape: ValueType) -> ValueType:
        """The other type."""
        return ValueType.TEXT if shape is ValueType.FLAG else ValueType.FLAG

    def each(self, value: Scalar, context: TransformContext) -> Result:
        if isinstance(value, bool):
            return Result(((self.yes if value else self.no)[0],))
        text = self.text_of(value, context)
        if isinstance(text, Result):
            return text
        word = text.strip().casefold()
        for words, flag in ((self.yes, True), (self.no, False)):
            if word in (known.casefold() for known in words):
                return Result((flag,))
        return self.fail(f"{shown(text)} is neither yes nor no")


class Pluck(EachTransform):
    name: ClassVar[str] = "pluck"
    summary: ClassVar[str] = (
        "one part: label, id or path of a term, name of a person, address of a place, cell of a row"
    )
    example: ClassVar[str] = "{pluck: path}"
    short: ClassVar[str] = "key"
    takes: ClassVar[frozenset[ValueType]] = frozenset(
        {ValueType.TERM, ValueType.PERSON, ValueType.PLACE, ValueType.ROW}
    )
    key: str = Field(min_length=1)
    locale: str = ""

    def output_type(self, shape: ValueType) -> ValueType:
        """Text, or a number for latitude and longitude."""
        return (
            ValueType.NUMBER if shape is ValueType.PLACE and self.key in ("latitude", "longitude") else ValueType.TEXT
        )

    def reject_reason(self, shape: ValueType) -> str:
        parts = PARTS.get(shape)
        if parts is None or self.key in parts:
            return super().reject_reason(shape)
        return f"a {shape.value} has no {self.key}; {nearest(self.key, parts)}"

    def each(self, value: Scalar, context: TransformContext) -> Result:
        if isinstance(value, Row):
            return self._cell(value, context)
        if shape_of(value) not in PARTS or self.key not in PARTS[shape_of(value)]:
            return self.fail(f"a {shape_of(value).value} has no {self.key}")
        part = self._part(value, context)
        return self.fail(f"the {shape_of(value).value} has no {self.key}") if part in ("", None) else Result((part,))

    def _part(self, value: Scalar, context: TransformContext) -> str | int | float:
        match value, self.key:
            case Term(), "label":
                return value.labels.get(self.locale, "") if self.locale else context.languages.label(value)
            case Term(), "path":
                return path_text(value)
            case Term() | Person(), "id":
                return value.id
            case Person(), _:
                return value.name
            case GeoPoint(), "address":
                return value.address
            case GeoPoint(), key:
                degrees = value.latitude if key == "latitude" else value.longitude
                return "" if degrees is None else degrees
        return ""

    def _cell(self, row: Row, context: TransformContext) -> Result:
        cell = row.cells.get(self.key, ())
        texts = [context.languages.text(part) for part in (cell if isinstance(cell, tuple) else (cell,))]
        known = tuple(text for text in texts if text)
        return Result(known) if known else self.fail(f"the row has no {self.key}")


class AsJson(EachTransform):
    name: ClassVar[str] = "json"
    summary: ClassVar[str] = "any value as JSON text, for rows and places that a target cannot store"
    example: ClassVar[str] = "json"
    takes: ClassVar[frozenset[ValueType]] = ANY

    def each(self, value: Scalar, context: TransformContext) -> Result:
        return Result((json.dumps(value_to_json(value), ensure_ascii=False, sort_keys=True),))


class LookUp(EachTransform):
    name: ClassVar[str] = "lookup"
    summary: ClassVar[str] = "the value that a table of `lookups` gives for this one"
    example: ClassVar[str] = "{lookup: country}"
    short: ClassVar[str] = "name"
    table: str = Field(alias="name")
    unmatched: Unmatched = None

    def problems(self, context: TransformContext) -> Iterator[Problem]:
        """Unknown tables."""
        if self.table not in context.lookups:
            own = (
                f"{self.table} is a vocabulary: use {{vocabulary: {self.table}}}" if self.table in context.rules else ""
            )
            yield Problem(f"unknown lookup {self.table}", own or Similar(self.table, context.lookups))

    def each(self, value: Scalar, context: TransformContext) -> Result:
        text = self.text_of(value, context)
        if isinstance(text, Result):
            return text
        table = context.lookups.get(self.table)
        found = table.find(text) if table else None
        if found is not None:
            return Result((found,))
        choice = self.unmatched or (table.unmatched if table else None)
        note = Note(self.name, f"{shown(text)} is not in {self.table}", outcome_of(choice))
        return Result((text,) if choice == "keep" else (), note)


class MatchTerm(EachTransform):
    name: ClassVar[str] = "vocabulary"
    summary: ClassVar[str] = "the term of the target, found or created by a rule of `vocabularies`"
    example: ClassVar[str] = "{vocabulary: subject}"
    short: ClassVar[str] = "name"
    takes: ClassVar[frozenset[ValueType]] = SPEAKING
    rule: str = Field(alias="name")

    def output_type(self, shape: ValueType) -> ValueType:
        """A term."""
        return ValueType.TERM

    def problems(self, context: TransformContext) -> Iterator[Problem]:
        """Unknown rules."""
        if self.rule not in context.rules:
            own = f"{self.rule} is a lookup: use {{lookup: {self.rule}}}" if self.rule in context.lookups else ""
            yield Problem(f"unknown vocabulary {self.rule}", own or Similar(self.rule, context.rules))

    def each(self, value: Scalar, context: TransformContext) -> Result:
        rule = context.rules.get(self.rule)
        if rule is None:
            return self.fail(f"unknown vocabulary {self.rule}")
        index = context.terms.get(rule.target)
        return rule.apply(value, TermIndex() if index is None else index, context.languages, self.name)


PARTS = {
    ValueType.TERM: ("label", "id", "path"),
    ValueType.PERSON: ("name", "id"),
    ValueType.PLACE: ("address", "latitude", "longitude"),
}


def plain_digits(text: str, decimal: str) -> str | None:
    """Plain digits with a decimal point, from a number with digit groups; None if it is not a number."""
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
