"""What a verb is: its arguments, what it takes and gives, and one of two ways to work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from dam_sync.mapping.results import ANY, SPEAKING, Fate, Kept, Made, Note, Shape, Tongue
from dam_sync.mapping.tables import Lookup
from dam_sync.mapping.vocabulary import TermIndex, VocabularyRule
from dam_sync.model.values import Scalar

Words = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda given: [str(word) for word in (given if isinstance(given, list | tuple) else [given])]),
    Field(min_length=1, json_schema_extra={"anyOf": [{"type": "string"}, {"type": "array"}]}),
]
"""One word or several."""
FATES: Mapping[str, Fate] = {
    "park": Fate.PARKED,
    "drop": Fate.DROPPED,
    "keep": Fate.KEPT,
    "null": Fate.EMPTY,
    "note": Fate.KEPT,
}


def fate_of(choice: str | None) -> Fate:
    """What a verb's own argument says about a value that does not fit; None leaves it to the line's on_error."""
    return FATES[choice] if choice else Fate.FAILED


@dataclass(frozen=True, slots=True)
class Setting:
    """What verbs may look things up in. `terms` by the target's vocabulary key. unknown_groups: names that were looked
    up at the target and are not there."""

    tongue: Tongue = field(default_factory=Tongue)
    lookups: Mapping[str, Lookup] = field(default_factory=dict)
    rules: Mapping[str, VocabularyRule] = field(default_factory=dict)
    terms: Mapping[str, TermIndex] = field(default_factory=dict)
    unknown_groups: frozenset[str] = frozenset()


class Verb(BaseModel):
    """One step of a pipe; its fields are its arguments. Verbs are total: they give a value or a note, never an error.

    short: the argument that a bare value stands for (`{split: ";"}`). takes: shapes it works on; values of another
    shape that have a plain text are turned into text first where it takes text.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, strict=False)
    name: ClassVar[str]
    summary: ClassVar[str]
    example: ClassVar[str]
    short: ClassVar[str] = ""
    takes: ClassVar[frozenset[Shape]] = frozenset({Shape.TEXT})
    each_language: ClassVar[bool] = False  # one text in, one text out: goes through every language of a text

    def gives(self, shape: Shape) -> Shape:
        """The shape of its results for values of this shape."""
        return Shape.TEXT

    def misfit(self, shape: Shape) -> str:
        """Why values of this shape cannot go in; empty when they can."""
        if shape in self.takes or (Shape.TEXT in self.takes and shape in SPEAKING):
            return ""
        return f"{self.name} takes {' or '.join(sorted(self.takes))}, not a {shape.value}"

    def many(self, many: bool) -> bool:
        """Whether several values may come out, when `many` says whether several go in."""
        return many

    def faults(self, setting: Setting) -> Iterator[str]:
        """What can be told to be wrong before any value is seen."""
        yield from ()


class EachVerb(Verb):
    """Works on one value after the other."""

    def each(self, value: Scalar, setting: Setting) -> Made:
        """What comes of one value."""
        return Made((value,))

    def text_of(self, value: Scalar, setting: Setting) -> str | Made:
        """The text to work on, or the note that there is none."""
        text = setting.tongue.text(value)
        if text is None:
            return self.fail(f"takes text, not a {type(value).__name__.lower()}")
        return text

    def fail(self, detail: str, choice: str | None = None) -> Made:
        """No value; what becomes of the asset is said by `choice` or the line's on_error."""
        return Made((), Note(self.name, detail, fate_of(choice)))


class ListVerb(Verb):
    """Works on all values at once."""

    takes: ClassVar[frozenset[Shape]] = ANY

    def gives(self, shape: Shape) -> Shape:
        """Values go through as they are."""
        return shape

    def whole(self, values: Sequence[Scalar], setting: Setting) -> Kept:
        """What comes of the list."""
        return Kept(tuple((value, (index,)) for index, value in enumerate(values)))
