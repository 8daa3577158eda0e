"""What to write instead of an operation that CEL does not have for the types of its operands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from dam_sync.mapping.expression_types import NUMBERS, CelKind

_CASE = 'put it into the pipe of the line, pipe: [{0}]; to compare, matches("(?i)^a$") ignores case'
_PIPED = "put it into the pipe of the line: pipe: [{0}]"
_PART = 'write asset.filename.startsWith("M") or asset.filename.matches("^.{2}M")'
ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("len", "length", "count"), "write size(asset.tags)"),
    **dict.fromkeys(("lower", "toLower", "lowerAscii", "toLowerCase"), _CASE.format("lower")),
    **dict.fromkeys(("upper", "toUpper", "upperAscii", "toUpperCase"), _CASE.format("upper")),
    **dict.fromkeys(("trim", "strip"), _PIPED.format("trim")),
    "split": _PIPED.format('{split: ";"}'),
    "join": _PIPED.format('{join: "; "}'),
    **dict.fromkeys(("substring", "charAt", "indexOf", "slice"), _PART),
    "bool": 'write asset.fields.cleared == "true"',
    "replace": "use a table: pipe: [{lookup: NAME}]",
}
"""What to write instead of functions that other dialects of CEL and other languages have."""

Operand: TypeAlias = tuple[str, CelKind]
"""How an operand is written, and its kind."""


def condition(text: str, kind: CelKind) -> str:
    """Instead of something that is not true or false."""
    match kind:
        case CelKind.TEXT:
            return f'write {text} == "…", or {text} != ""'
        case CelKind.NUMBER | CelKind.WHOLE:
            return f"write {text} > 0"
        case CelKind.LIST | CelKind.PARTS:
            return f'write size({text}) > 0, or "…" in {text}'
        case CelKind.MOMENT:
            return f'write {text} > timestamp("2020-01-01T00:00:00Z"), or has({text})'
        case _:
            return "compare it with something"


def calculation(sign: str, left: Operand, right: Operand) -> str:
    """Instead of a calculation with two kinds."""
    kinds = {left[1], right[1]}
    for text, kind in (left, right):
        if kind in (CelKind.LIST, CelKind.PARTS):
            return f"name one value: {text}[0]" if kind is CelKind.LIST else f"name one part: {text}.label"
    if kinds == NUMBERS:
        return _double(*(left if left[1] is CelKind.WHOLE else right))
    if CelKind.TEXT in kinds and sign == "+":
        other = right if left[1] is CelKind.TEXT else left
        return _string(*other)
    if CelKind.TEXT in kinds:
        text = left[0] if left[1] is CelKind.TEXT else right[0]
        return f"write double({text}) for the number in {text}"
    if sign == "%" and CelKind.NUMBER in kinds:
        return f"write int({left[0]}) % int({right[0]})"
    if CelKind.MOMENT in kinds:
        return 'write duration("24h") for a day'
    return ""


def comparison(left: Operand, right: Operand, around: str = "%s") -> str:
    """Instead of a comparison of two kinds."""
    (text, kind), (other, against) = (left, right) if left[1] is not CelKind.TEXT else (right, left)
    match kind, against:
        case CelKind.NUMBER | CelKind.WHOLE, CelKind.TEXT:
            return f"write {around % f'{text} == double({other})'}; a number is written without quotes"
        case CelKind.FLAG, CelKind.TEXT:
            return f"write {text} or !{text}; true and false are written without quotes"
        case CelKind.MOMENT, CelKind.TEXT:
            return f'write timestamp("2020-01-01T00:00:00Z") instead of {other}'
        case CelKind.LIST, _:
            part = "path" if text == "asset.placements" else "label"
            return f"write {other} in {text}, or {text}.exists(v, v.{part} == {other})"
        case CelKind.PARTS, _:
            return f"name one part: {around % f'{text}.label == {other}'}"
        case _:
            return ""


def membership(value: str, holder: Operand) -> str:
    """Instead of `in` for what has no members."""
    return f"write {holder[0]}.contains({value})" if holder[1] is CelKind.TEXT else f"write {value} == {holder[0]}"


def _double(text: str, kind: CelKind) -> str:
    return f"write {text}.0 instead of {text}" if text.isdecimal() else f"write double({text})"


def _string(text: str, kind: CelKind) -> str:
    match kind:
        case CelKind.FLAG:
            return f'write ({text} ? "yes" : "no")'
        case CelKind.NULL:
            return 'write "" instead of null'
        case _:
            return f"write string({text})"
