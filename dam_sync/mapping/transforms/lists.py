"""Transforms that work on all values at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, WithJsonSchema

from dam_sync.mapping.results import SPEAKING, ListResult, Note, ValueOutcome, ValueType, same_key, shape_of
from dam_sync.mapping.transforms.base import ListTransform, TransformContext, constant
from dam_sync.model.name_bounds import LONGEST_TEXT
from dam_sync.model.values import Json, Scalar

Constant = Annotated[
    Json,
    AfterValidator(lambda given: str(given) if isinstance(constant(given), str) else given),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
"""A value as the file has it; what YAML would take for another text stays the text."""


class Unique(ListTransform):
    name: ClassVar[str] = "unique"
    summary: ClassVar[str] = "removes duplicate values"
    example: ClassVar[str] = "unique"

    def whole(self, values: Sequence[Scalar], context: TransformContext) -> ListResult:
        found: dict[object, tuple[Scalar, list[int]]] = {}
        for index, value in enumerate(values):
            found.setdefault(same_key(value), (value, []))[1].append(index)
        return ListResult(tuple((value, (positions[0],)) for value, positions in found.values()))


class First(ListTransform):
    name: ClassVar[str] = "first"
    summary: ClassVar[str] = "only the first value"
    example: ClassVar[str] = "first"

    def whole(self, values: Sequence[Scalar], context: TransformContext) -> ListResult:
        kept = tuple((value, (index,)) for index, value in enumerate(values[:1]))
        note = Note(self.name, f"{len(values) - 1} more values", ValueOutcome.DROPPED) if len(values) > 1 else None
        return ListResult(kept, note)

    def is_multi(self, many: bool) -> bool:
        """One."""
        return False


class Join(ListTransform):
    name: ClassVar[str] = "join"
    summary: ClassVar[str] = "joins several values into one text, separated by `with`"
    example: ClassVar[str] = '{join: "; "}'
    short: ClassVar[str] = "with"
    takes: ClassVar[frozenset[ValueType]] = SPEAKING
    with_: str = Field(alias="with")

    def output_type(self, shape: ValueType) -> ValueType:
        """Text."""
        return ValueType.TEXT

    def whole(self, values: Sequence[Scalar], context: TransformContext) -> ListResult:
        texts = [(context.languages.text(value), index) for index, value in enumerate(values)]
        known = [(text, index) for text, index in texts if text is not None]
        note = None
        if len(known) < len(texts):
            silent = sorted({shape_of(values[index]).value for text, index in texts if text is None})
            note = Note(self.name, f"takes values with a text, not {', '.join(silent)}")
        if not known:
            return ListResult((), note)
        length = sum(len(text) for text, _ in known) + (len(known) - 1) * len(self.with_)
        if length > LONGEST_TEXT:
            return ListResult((), Note(self.name, f"a text of {length:,} characters, at most {LONGEST_TEXT:,}"))
        return ListResult(((self.with_.join(text for text, _ in known), tuple(index for _, index in known)),), note)

    def is_multi(self, many: bool) -> bool:
        """One."""
        return False


class Default(ListTransform):
    name: ClassVar[str] = "default"
    summary: ClassVar[str] = "this value if there is none"
    example: ClassVar[str] = "{default: Worldwide}"
    short: ClassVar[str] = "value"
    value: Constant

    def whole(self, values: Sequence[Scalar], context: TransformContext) -> ListResult:
        return super().whole(values, context) if values else ListResult(((self.value, ()),))


class Const(ListTransform):
    name: ClassVar[str] = "const"
    summary: ClassVar[str] = "this value instead of any others"
    example: ClassVar[str] = "{const: Cleared}"
    short: ClassVar[str] = "value"
    value: Constant

    def output_type(self, shape: ValueType) -> ValueType:
        """The type of the constant."""
        return shape_of(self.value)

    def whole(self, values: Sequence[Scalar], context: TransformContext) -> ListResult:
        return ListResult(((self.value, tuple(range(len(values)))),)) if values else ListResult(())

    def is_multi(self, many: bool) -> bool:
        """One."""
        return False
