"""What a transform is: its arguments, what it takes and gives, and one of two ways to work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

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
)
from dam_sync.mapping.tables import Lookup
from dam_sync.mapping.vocabulary import TermIndex, VocabularyRule
from dam_sync.model.values import Scalar

Words = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda given: [str(word) for word in (given if isinstance(given, list | tuple) else [given])]),
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
    """What a transform's own argument says about a value that does not fit; None leaves it to the line's on_error."""
    return OUTCOMES[choice] if choice else ValueOutcome.FAILED


@dataclass(frozen=True, slots=True)
class TransformContext:
    """What transforms may look up. terms: by the target's vocabulary key. unknown_groups: names that were looked up at
    the target and are not there."""

    languages: LanguagePreference = field(default_factory=LanguagePreference)
    lookups: Mapping[str, Lookup] = field(default_factory=dict)
    rules: Mapping[str, VocabularyRule] = field(default_factory=dict)
    terms: Mapping[str, TermIndex] = field(default_factory=dict)
    unknown_groups: frozenset[str] = frozenset()


class Transform(BaseModel):
    """One step of a pipe; its fields are its arguments. Total: it returns a value or a note, and never raises.

    short: the argument that a bare value stands for (`{split: ";"}`). takes: shapes it works on; values of another
    shape that have a plain text are turned into text first where it takes text.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, strict=False)
    name: ClassVar[str]
    summary: ClassVar[str]
    example: ClassVar[str]
    short: ClassVar[str] = ""
    takes: ClassVar[frozenset[ValueType]] = frozenset({ValueType.TEXT})
    each_language: ClassVar[bool] = False  # one text in, one text out: goes through every language of a text

    def output_type(self, shape: ValueType) -> ValueType:
        """The shape of its results for values of this shape."""
        return ValueType.TEXT

    def reject_reason(self, shape: ValueType) -> str:
        """Why values of this shape cannot go in; empty when they can."""
        if shape in self.takes or (ValueType.TEXT in self.takes and shape in SPEAKING):
            return ""
        return f"{self.name} takes {' or '.join(sorted(self.takes))}, not a {shape.value}"

    def is_multi(self, many: bool) -> bool:
        """Whether several values may come out, when `many` says whether several go in."""
        return many

    def problems(self, context: TransformContext) -> Iterator[str]:
        """What can be told to be wrong before any value is seen."""
        yield from ()


class EachTransform(Transform):
    """Works on one value after the other."""

    def each(self, value: Scalar, context: TransformContext) -> Result:
        """What comes of one value."""
        return Result((value,))

    def text_of(self, value: Scalar, context: TransformContext) -> str | Result:
        """The text to work on, or the note that there is none."""
        text = context.languages.text(value)
        if text is None:
            return self.fail(f"takes text, not a {type(value).__name__.lower()}")
        return text

    def fail(self, detail: str, choice: str | None = None) -> Result:
        """No value; what becomes of the asset is said by `choice` or the line's on_error."""
        return Result((), Note(self.name, detail, outcome_of(choice)))


class ListTransform(Transform):
    """Works on all values at once."""

    takes: ClassVar[frozenset[ValueType]] = ANY

    def output_type(self, shape: ValueType) -> ValueType:
        """Values go through as they are."""
        return shape

    def whole(self, values: Sequence[Scalar], context: TransformContext) -> ListResult:
        """What comes of the list."""
        return ListResult(tuple((value, (index,)) for index, value in enumerate(values)))
