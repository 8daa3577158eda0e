"""The interface of transforms: arguments, input and output types, on one value or on a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Annotated, ClassVar, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from dam_sync.mapping.results import (
    ANY,
    SPEAKING,
    LanguagePreference,
    ListResult,
    Note,
    Result,
    ValueOutcome,
    ValueType,
    aware,
    number_text,
)
from dam_sync.mapping.tables import Lookup
from dam_sync.mapping.vocabulary import TermIndex, VocabularyRule
from dam_sync.model.correction import Corrections
from dam_sync.model.diagnostic import Hint
from dam_sync.model.values import Json, Scalar, instant_text


def as_word(given: Json) -> Json:
    """A value that YAML reads as something else than text, as it is written."""
    match given:
        case bool():
            return str(given).lower()
        case int() | float():
            return number_text(given)
        case datetime():
            return instant_text(aware(given))
        case date() | str():
            return str(given)
        case _:
            return given


def constant(given: Json) -> Json:
    """A constant as the file has it. Raises ValueError for what is no single value."""
    if given is None:
        raise ValueError("null is no value; remove it, or put the word in quotes")
    if not isinstance(given, str | int | float | date):
        raise ValueError("should be a text, a number, a date, true or false")
    return given


Words = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda given: [as_word(word) for word in (given if isinstance(given, list | tuple) else [given])]),
    Field(min_length=1, json_schema_extra={"anyOf": [{"type": "string"}, {"type": "array"}]}),
]
"""One word or several."""
OUTCOMES: Mapping[str, ValueOutcome] = {
    "park": ValueOutcome.PARKED,
    "drop": ValueOutcome.DROPPED,
    "keep": ValueOutcome.KEPT,
    "null": ValueOutcome.EMPTY,
    "note": ValueOutcome.KEPT,
}


def outcome_of(choice: str | None) -> ValueOutcome:
    """The outcome that a transform's argument names for a value that does not fit; None leaves it to the rule's
    on_error."""
    return OUTCOMES[choice] if choice else ValueOutcome.FAILED


@dataclass(frozen=True, slots=True)
class TransformContext:
    """What transforms can look up. terms: by the target's vocabulary key. unknown_groups, unknown_people: names
    that were looked up at the target and do not exist. corrections: what a person gave for this asset."""

    languages: LanguagePreference = field(default_factory=LanguagePreference)
    lookups: Mapping[str, Lookup] = field(default_factory=dict)
    rules: Mapping[str, VocabularyRule] = field(default_factory=dict)
    terms: Mapping[str, TermIndex] = field(default_factory=dict)
    unknown_groups: frozenset[str] = frozenset()
    unknown_people: frozenset[str] = frozenset()
    corrections: Corrections = field(default_factory=Corrections)


class Problem(NamedTuple):
    """What is wrong with the arguments of a transform."""

    message: str
    hint: Hint = ""


class Transform(BaseModel):
    """One step of a pipe; its fields are its arguments. Total: it returns a value or a note, and never raises.

    short: the argument that a bare value stands for (`{split: ";"}`). takes: types it works on; values of another
    type with a plain text are converted to text first if it accepts text.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, strict=False)
    name: ClassVar[str]
    summary: ClassVar[str]
    example: ClassVar[str]
    short: ClassVar[str] = ""
    takes: ClassVar[frozenset[ValueType]] = frozenset({ValueType.TEXT})
    each_language: ClassVar[bool] = False  # one text in, one text out: applied to every language of a text

    def output_type(self, shape: ValueType) -> ValueType:
        """The type of its results for values of this type."""
        return ValueType.TEXT

    def reject_reason(self, shape: ValueType) -> str:
        """Why values of this type are not accepted; empty if they are."""
        if shape in self.takes or (ValueType.TEXT in self.takes and shape in SPEAKING):
            return ""
        return f"{self.name} takes {' or '.join(sorted(self.takes))}, not a {shape.value}"

    def is_multi(self, many: bool) -> bool:
        """Whether it may return several values; `many`: whether it gets several."""
        return many

    def problems(self, context: TransformContext) -> Iterator[Problem]:
        """Problems that are known before any value is processed."""
        yield from ()


class EachTransform(Transform):
    """Works on one value at a time."""

    def each(self, value: Scalar, context: TransformContext) -> Result:
        """The result for one value."""
        return Result((value,))

    def text_of(self, value: Scalar, context: TransformContext) -> str | Result:
        """The text to work on, or a note that there is none."""
        text = context.languages.text(value)
        if text is None:
            return self.fail(f"takes text, not a {type(value).__name__.lower()}")
        return text

    def fail(self, detail: str, choice: str | None = None) -> Result:
        """No value; `choice` or the rule's on_error says what happens to the asset."""
        return Result((), Note(self.name, detail, outcome_of(choice)))


class ListTransform(Transform):
    """Works on all values at once."""

    takes: ClassVar[frozenset[ValueType]] = ANY

    def output_type(self, shape: ValueType) -> ValueType:
        """Values are not changed."""
        return shape

    def whole(self, values: Sequence[Scalar], context: TransformContext) -> ListResult:
        """The result for the list."""
        return ListResult(tuple((value, (index,)) for index, value in enumerate(values)))
