"""Reads a stored report: whatever a damaged or forged state holds, the result has the shape of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

from dam_sync.model.values import Json
from dam_sync.report.parts import ATTENTION, GOOD, STOP
from dam_sync.report.report import Report
from dam_sync.report.terminal import TITLES

DEEPEST = 200  # levels of a report within each other
LARGEST = 1 << 63  # of a number
NAMED = 60  # characters of a key in a message


class ParkedLine(TypedDict):
    """A cause of parked assets. text: in words; asset: of the example, which begins with it."""

    cause: str
    text: str
    operation: str
    hint: str
    count: int
    asset: str
    example: str


class ExposureLine(TypedDict):
    """Assets that more people would see, by rule."""

    rule: str
    fate: str
    assets: int
    examples: list[str]
    meaning: str
    remedy: str
    remedies: list[str]
    closes: bool


class ConflictLine(TypedDict):
    """Values that changed at both services."""

    path: str
    take: str
    by: str
    assets: int
    examples: list[str]


class GoneLine(TypedDict):
    """An asset that is gone from the source."""

    asset: str
    target: str
    reason: str
    since: str
    until: str


class DifferenceLine(TypedDict):
    """A difference of one asset."""

    path: str
    expected: str
    found: str
    extra: bool
    pattern: str


class GroupLine(TypedDict):
    """Differences of one pattern at one place."""

    path: str
    pattern: str
    extra: bool
    number: int
    examples: list[tuple[str, str, str, str]]
    cause: str
    remedy: str


class VerdictBody(TypedDict):
    """The result of a verification."""

    level: str
    extras_policy: str
    statement: str
    clean: bool
    source_assets: int
    linked: int
    parked: int
    skipped: int
    checked: int
    equal: int
    different: int
    extra: int
    missing: int
    missing_compared: int
    unaccounted: int
    doubled: int
    gone_at_source: int
    removed: int
    early: int
    until: str
    bytes: int
    evidence: dict[str, int]
    files: dict[str, dict[str, int]]
    compared: dict[str, int]
    not_compared: dict[str, int]
    not_carried: dict[str, int]
    differences: list[tuple[str, str, DifferenceLine]]
    extras: list[tuple[str, str, DifferenceLine]]
    groups: list[GroupLine]


SHAPES: Mapping[str, Any] = {
    "format": int,
    "parked": list[ParkedLine],
    "exposure": list[ExposureLine],
    "conflicts": list[ConflictLine],
    "gone": list[GoneLine],
    "verdict": VerdictBody | None,
}
"""Of the parts of a report that `Report` leaves open."""
CHOICES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("kind",): tuple(TITLES),
    ("headline", "level"): (GOOD, ATTENTION, STOP),
}
WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "nothing"}
EMPTY: Mapping[Any, Json] = {str: "", int: 0, float: 0.0, bool: False}


class MisshapenReport(ValueError):
    """A value is not of the shape that a report has there; the message names its place."""


def read_report(body: Json) -> dict[str, Any]:
    """The report, with the keys that were added to reports since it was made, empty; what a newer version added stays.
    Raises MisshapenReport."""
    return _object(body, {**_shapes(Report), **SHAPES}, (), {"kind": "run"})


Place = tuple[str, ...]


def _read(value: Json, shape: Any, place: Place) -> Json:
    """The value, with what it lacks. Raises MisshapenReport unless it has this shape."""
    if len(place) > DEEPEST:
        raise MisshapenReport(f"{_named(place[:3])} is nested more than {DEEPEST} levels deep")
    origin = get_origin(shape)
    if origin in (Union, UnionType):
        (other,) = (each for each in get_args(shape) if each is not NoneType)
        return None if value is None else _read(value, other, place)
    if is_typeddict(shape) or is_dataclass(shape):
        return _object(value, _shapes(shape), place, _defaults(shape))
    return OF_ORIGIN.get(origin, _scalar)(value, shape, place)


def _object(value: Json, shapes: Mapping[str, Any], place: Place, defaults: Mapping[str, Json]) -> dict[str, Any]:
    """The object with these keys; further ones stay as they are."""
    if not isinstance(value, dict):
        raise _wrong(value, "an object", place)
    given = {key: _read(each, shapes.get(key, Any), (*place, key)) for key, each in value.items()}
    lacking = {key: defaults.get(key, MISSING) for key in shapes if key not in given}
    return given | {key: _empty(shapes[key]) if each is MISSING else each for key, each in lacking.items()}


def _list(value: Json, shape: Any, place: Place) -> list[Json]:
    """A list of any length, or a tuple of a fixed one."""
    if not isinstance(value, list):
        raise _wrong(value, "a list", place)
    parts = get_args(shape)
    if len(parts) == 1 or parts[-1] is Ellipsis:
        parts = parts[:1] * len(value)
    if len(parts) != len(value):
        raise MisshapenReport(f"{_named(place)} has {len(value)} values, not {len(parts)}")
    return [_read(each, part, (*place, f"[{n}]")) for n, (each, part) in enumerate(zip(value, parts, strict=True))]


def _dict(value: Json, shape: Any, place: Place) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise _wrong(value, "an object", place)
    return {key: _read(each, get_args(shape)[1], (*place, key)) for key, each in value.items()}


def _any(value: Json, place: Place) -> Json:
    """What a newer version added stays as it is."""
    if isinstance(value, dict):
        return {key: _read(each, Any, (*place, key)) for key, each in value.items()}
    if isinstance(value, list):
        return [_read(each, Any, (*place, f"[{number}]")) for number, each in enumerate(value)]
    return value


def _scalar(value: Json, shape: Any, place: Place) -> Json:
    if shape is Any:
        return _any(value, place)
    kinds = (int, float) if shape is float else (shape,)
    if type(value) not in kinds:
        raise _wrong(value, WORDS[shape], place)
    if shape in (int, float) and not -LARGEST < value < LARGEST:
        raise MisshapenReport(f"{_named(place)} is a number that no report has")
    if (choices := CHOICES.get(place)) and value not in choices:
        raise MisshapenReport(f"{_named(place)} is none of {', '.join(choices)}")
    return value


OF_ORIGIN: Mapping[Any, Callable[[Json, Any, Place], Json]] = {list: _list, tuple: _list, dict: _dict}


@cache
def _shapes(shape: Any) -> Mapping[str, Any]:
    """Of the parts of an object."""
    return get_type_hints(shape)


@cache
def _defaults(shape: Any) -> Mapping[str, Json]:
    """Simple values that a part of a report has by default."""
    return {} if is_typeddict(shape) else {each.name: each.default for each in fields(shape)}


def _empty(shape: Any) -> Json:
    """The least value of this shape."""
    origin = get_origin(shape)
    if origin in (Union, UnionType):
        return None
    if origin in (list, tuple):
        return []
    if is_typeddict(shape) or is_dataclass(shape):
        return _object({}, _shapes(shape), (), _defaults(shape))
    return EMPTY.get(shape, {})


def _wrong(value: Json, wanted: str, place: Place) -> MisshapenReport:
    found = {list: "a list", dict: "an object", **WORDS}.get(type(value), "something else")
    return MisshapenReport(f"{_named(place)} is {found}, not {wanted}")


def _named(place: Place) -> str:
    """`losses[2].assets`"""
    shown = (part if part.startswith("[") else f".{part[:NAMED]}" for part in place)
    return "".join(shown).removeprefix(".") or "it"
