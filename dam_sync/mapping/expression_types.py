"""Types of expressions in CEL: of the parts of an asset, and what operators and functions take and give."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from dam_sync.mapping.paths import FILE_PARTS, INSTANTS, SETS, TEXTS
from dam_sync.mapping.results import SHAPES, ValueType
from dam_sync.model.schema import Field, Schema


class CelKind(StrEnum):
    """What a part of an expression gives; the value is how a message calls it."""

    ANY = "any value"
    TEXT = "text"
    NUMBER = "a number"
    WHOLE = "a whole number"
    FLAG = "true or false"
    MOMENT = "a timestamp"
    DURATION = "a duration"
    LIST = "a list"
    PARTS = "keys and values"
    BYTES = "bytes"
    NULL = "null"


NUMBERS = frozenset({CelKind.NUMBER, CelKind.WHOLE})
ORDERED = frozenset({*NUMBERS, CelKind.TEXT, CelKind.FLAG, CelKind.MOMENT, CelKind.DURATION, CelKind.BYTES})
COUNTED = frozenset({CelKind.TEXT, CelKind.LIST, CelKind.PARTS, CelKind.BYTES})


@dataclass(frozen=True, slots=True)
class CelType:
    """A type. item: of a list, or of a part that is not among `parts`; parts: by name, as far as they are known."""

    kind: CelKind
    item: CelType | None = None
    parts: Mapping[str, CelType] = field(default_factory=dict)

    @property
    def inner(self) -> CelType:
        """The type of an item."""
        return self.item or ANY

    def part(self, name: str) -> CelType | None:
        """The type of a part; None if it is known not to exist."""
        return self.parts.get(name) or (None if self.parts else self.inner)


ANY, TEXT, NUMBER, WHOLE = CelType(CelKind.ANY), CelType(CelKind.TEXT), CelType(CelKind.NUMBER), CelType(CelKind.WHOLE)
FLAG, MOMENT, DURATION = CelType(CelKind.FLAG), CelType(CelKind.MOMENT), CelType(CelKind.DURATION)
BYTES, NULL = CelType(CelKind.BYTES), CelType(CelKind.NULL)
LOCALIZED = CelType(CelKind.ANY, item=TEXT)  # a text of each language; a service may give plain text all the same
PLACED = CelType(CelKind.PARTS, parts={"kind": TEXT, "path": TEXT})
OF_SHAPES: Mapping[ValueType, CelType] = {
    ValueType.TEXT: TEXT,
    ValueType.NUMBER: NUMBER,
    ValueType.FLAG: FLAG,
    ValueType.DATE: MOMENT,
    ValueType.INSTANT: MOMENT,
    ValueType.TERM: CelType(CelKind.PARTS, parts={"id": TEXT, "label": TEXT, "path": TEXT}),
    ValueType.PERSON: CelType(CelKind.PARTS, parts={"name": TEXT, "id": TEXT}),
    ValueType.PLACE: CelType(CelKind.PARTS, parts={"latitude": NUMBER, "longitude": NUMBER, "address": TEXT}),
    ValueType.ROW: CelType(CelKind.PARTS),
}


def asset_type(source: Schema) -> CelType:
    """The type of the asset, with the parts that `view_of` gives."""
    size = {"size": WHOLE}
    return CelType(
        CelKind.PARTS,
        parts={
            **dict.fromkeys(TEXTS, TEXT),
            **dict.fromkeys(INSTANTS, MOMENT),
            **dict.fromkeys(SETS, CelType(CelKind.LIST, TEXT)),
            "placements": CelType(CelKind.LIST, PLACED),
            "file": CelType(CelKind.PARTS, parts={**dict.fromkeys(FILE_PARTS, TEXT), **size}),
            "fields": CelType(CelKind.PARTS, parts={key: _field_type(known) for key, known in source.fields.items()}),
        },
    )


def _field_type(known: Field) -> CelType:
    shape = SHAPES[known.kind]
    each = LOCALIZED if known.localized and shape is ValueType.TEXT else OF_SHAPES[shape]
    return CelType(CelKind.LIST, each) if known.multiple else each


@dataclass(frozen=True, slots=True)
class Call:
    """How a function is called. receiver: kinds that it is a method of, none for a function; takes: kinds of each
    argument; `either`: it is also a method of its argument."""

    gives: CelType
    takes: tuple[Collection[CelKind], ...] = ()
    receiver: Collection[CelKind] = ()
    either: bool = False
    example: str = ""


TEXTUAL = frozenset({CelKind.TEXT})
_READABLE = frozenset({CelKind.TEXT, *NUMBERS})
_TIMED = frozenset({CelKind.MOMENT, CelKind.DURATION})
_CALENDAR = ("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear")
_CLOCK = ("getHours", "getMinutes", "getSeconds", "getMilliseconds")
CALLS: Mapping[str, Call] = {
    "size": Call(WHOLE, (COUNTED,), either=True, example="size(asset.tags)"),
    **{
        name: Call(FLAG, (TEXTUAL,), receiver=TEXTUAL, example=f'asset.filename.{name}("M")')
        for name in ("contains", "startsWith", "endsWith", "matches")
    },
    "string": Call(TEXT, (ORDERED - {CelKind.FLAG},), example="string(asset.file.size)"),
    "int": Call(WHOLE, (_READABLE,), example='int("12")'),
    "double": Call(NUMBER, (_READABLE,), example='double("1.5")'),
    "timestamp": Call(MOMENT, (TEXTUAL,), example='timestamp("2020-01-01T00:00:00Z")'),
    "duration": Call(DURATION, (TEXTUAL,), example='duration("24h")'),
    **{name: Call(WHOLE, receiver=(CelKind.MOMENT,), example=f"asset.created_at.{name}()") for name in _CALENDAR},
    **{name: Call(WHOLE, receiver=_TIMED, example=f"asset.created_at.{name}()") for name in _CLOCK},
}


def result_of(sign: str, left: CelType, right: CelType) -> CelType | None:
    """What an arithmetic operator gives; None if it does not take these."""
    kinds = left.kind, right.kind
    if CelKind.ANY in kinds:
        return _open_result(kinds)
    if left.kind is right.kind and left.kind in NUMBERS and (sign != "%" or left.kind is CelKind.WHOLE):
        return left
    if (
        sign == "+"
        and left.kind is right.kind
        and left.kind in (CelKind.TEXT, CelKind.LIST, CelKind.BYTES, CelKind.DURATION)
    ):
        return left if left == right else CelType(left.kind)
    if sign in ("+", "-") and kinds == (CelKind.MOMENT, CelKind.DURATION):
        return MOMENT
    if sign == "+" and kinds == (CelKind.DURATION, CelKind.MOMENT):
        return MOMENT
    if sign == "-" and left.kind is right.kind and left.kind in _TIMED:
        return DURATION
    return None


def _open_result(kinds: Sequence[CelKind]) -> CelType | None:
    """The same if the type of one of them is not known; nothing is calculated with these kinds whatever it is."""
    return None if {CelKind.FLAG, CelKind.NULL, CelKind.PARTS} & set(kinds) else ANY


def comparable(left: CelType, right: CelType, *, ordered: bool) -> bool:
    """Whether two types can be compared: in order, or for being equal, which two different ones never are."""
    if CelKind.ANY in (left.kind, right.kind):
        return True
    both = left.kind is right.kind or {left.kind, right.kind} <= NUMBERS
    if ordered:
        return both and left.kind in ORDERED
    return CelKind.NULL in (left.kind, right.kind) or both
