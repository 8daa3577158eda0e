"""The transforms that convert values of one type for a field of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dam_sync.mapping.results import SHAPES, ValueType
from dam_sync.model.schema import Field, FieldKind
from dam_sync.model.values import Json

BETWEEN = "; "
TEXT, NUMBER, FLAG, DATE, INSTANT = ValueType.TEXT, ValueType.NUMBER, ValueType.FLAG, ValueType.DATE, ValueType.INSTANT
TERM, PERSON, PLACE, ROW = ValueType.TERM, ValueType.PERSON, ValueType.PLACE, ValueType.ROW

STEPS: Mapping[tuple[ValueType, ValueType], tuple[Json, ...]] = {
    **{(shape, shape): () for shape in ValueType},
    **{(shape, TEXT): () for shape in (NUMBER, DATE, INSTANT, TERM, PERSON)},
    **{(shape, TEXT): ("text",) for shape in (FLAG, PLACE, ROW)},
    **{(shape, TERM): () for shape in (TEXT, NUMBER, DATE, INSTANT, PERSON)},
    **{(shape, TERM): ("text",) for shape in (FLAG, PLACE)},
    **{(shape, NUMBER): ("number",) for shape in (TEXT, TERM)},
    **{(shape, FLAG): ("flag",) for shape in (TEXT, TERM, NUMBER)},
    **{(shape, DATE): ("date",) for shape in (TEXT, TERM, INSTANT)},
    **{(shape, INSTANT): ("datetime",) for shape in (TEXT, TERM, DATE)},
    **{(shape, PERSON): () for shape in (TEXT, TERM)},
    **{(shape, PLACE): ("place",) for shape in (TEXT, TERM)},
    (FLAG, NUMBER): ({"flag": {"true": "1", "false": "0"}}, "number"),
    (TEXT, ROW): ("rows",),
}
"""Conversions not listed make no sense: a number is not a place, an address not a person."""

CHARACTERS: Mapping[ValueType, int] = {NUMBER: 40, DATE: 10, INSTANT: 24, FLAG: 5}
"""The maximum length of such a value as text, practically always."""

UNSURE = frozenset({NUMBER, FLAG, DATE, INSTANT, ROW})
"""Types that not every text can be converted to."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a path returns: type, whether several values, whether localized, maximum length of a text if known."""

    shape: ValueType
    many: bool = False
    html: bool = False
    localized: bool = False
    characters: int | None = None

    @classmethod
    def by(cls, field: Field) -> Given:
        """What a whole field returns."""
        shape = SHAPES[field.kind]
        characters = field.max_length if shape is TEXT else CHARACTERS.get(shape)
        return cls(shape, field.multiple, field.kind is FieldKind.HTML, field.localized and shape is TEXT, characters)


def conversion(given: Given, wanted: Field, *, rule: str = "", language: str = "") -> tuple[Json, ...] | None:
    """The pipe from a given value to the field, or None if that makes no sense.

    rule: the name of the `vocabularies` block for its terms; language: that of plain text for a localized field.
    """
    shape = SHAPES[wanted.kind]
    if (given.shape, shape) not in STEPS:
        return None
    return tuple(_journal(given, wanted, rule, language if not given.localized else ""))


def fits_surely(given: Given, wanted: Field) -> bool:
    """Whether every value can be converted, not only those in the right format."""
    shape = SHAPES[wanted.kind]
    if (shape is PLACE and wanted.coordinates) or (shape is ROW and wanted.cells):
        return False
    return given.shape is shape or shape not in UNSURE or {given.shape, shape} in ({DATE, INSTANT}, {FLAG, NUMBER})


def _journal(given: Given, wanted: Field, rule: str, language: str) -> Iterator[Json]:
    shape, to_html = SHAPES[wanted.kind], wanted.kind is FieldKind.HTML
    if given.html and not to_html:
        yield "strip_html"
    yield from STEPS[given.shape, shape]
    if given.shape is shape is DATE:
        yield "date"  # some services keep a time of day in fields for days
    if to_html and not given.html and given.shape in (TEXT, TERM, PERSON, PLACE, ROW):
        yield "escape"
    if shape is TERM and rule:
        yield {"vocabulary": rule}
    if given.many:
        yield from _gathered(shape, wanted, labels=given.shape is TERM)
    if shape is TEXT:
        yield from _shortened(given, wanted)
        if wanted.localized and language:
            yield {"language": language}


def _gathered(shape: ValueType, wanted: Field, *, labels: bool) -> Iterator[Json]:
    if labels and shape is TEXT:
        yield from ("text", "unique")  # two terms may have one label
    if shape is TERM:
        yield "unique"
    if not wanted.multiple:
        yield {"join": BETWEEN} if shape is TEXT else "first"


def _shortened(given: Given, wanted: Field) -> Iterator[Json]:
    joined = given.many and not wanted.multiple
    known = given.characters if not joined and wanted.kind is not FieldKind.HTML else None
    most = wanted.max_length
    if most is not None and most >= 1 and (known is None or known > most):
        yield {"truncate": {"max": most, "on_cut": "note"}}
