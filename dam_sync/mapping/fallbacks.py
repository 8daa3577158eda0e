"""Suggests values for required fields of the target without a counterpart at the source."""

from __future__ import annotations

from dataclasses import replace

from dam_sync.mapping.conversions import Given, conversion
from dam_sync.mapping.results import SHAPES, ValueType
from dam_sync.mapping.suggestion import SuggestedLine
from dam_sync.model.schema import Field
from dam_sync.model.values import Json

UNKNOWN = "Unknown"
CELL = "name"
MOMENTS = ("created_at", "imported_at", "changed_at")
NOTHING = {ValueType.NUMBER: 0, ValueType.FLAG: False}
LAST_RESORT = 0.1


def filled(known: Field, rule: str, open_ended: bool, language: str) -> SuggestedLine:
    """A line for a required field without a counterpart. rule: the block for its terms; open_ended: new ones are
    accepted."""
    shape = SHAPES[known.kind]
    reason = "required, without a counterpart at the source: please choose"
    if shape in NOTHING:
        return SuggestedLine(known.key, (), (), LAST_RESORT, reason, more={"const": NOTHING[shape]})
    sources: tuple[str, ...] = ("filename",)
    pipe = conversion(Given(ValueType.TEXT), known, rule=rule, language=language) or ()
    if shape in (ValueType.DATE, ValueType.INSTANT):
        sources, pipe = MOMENTS, conversion(Given(ValueType.INSTANT), known) or ()
    elif shape is ValueType.TERM and rule and open_ended:
        pipe = ({"const": UNKNOWN}, *pipe)
    elif shape is ValueType.ROW:
        pipe = ({"rows": CELL},)
    return SuggestedLine(known.key, sources, pipe, LAST_RESORT, reason)


def with_last_resort(line: SuggestedLine, known: Field, open_ended: bool) -> SuggestedLine:
    """The line of a required field with a fallback for assets without a value."""
    shape = SHAPES[known.kind]
    if shape in NOTHING:
        return _with_fallback(line, f"else {NOTHING[shape]}".lower(), more={"default": NOTHING[shape]})
    if shape in (ValueType.DATE, ValueType.INSTANT):
        reads = any(step == "date" or (isinstance(step, dict) and "date" in step) for step in line.pipe)
        dated: tuple[Json, ...] = ("date", *line.pipe) if shape is ValueType.DATE and not reads else line.pipe
        return _with_fallback(line, "otherwise the date of creation or import", _with(line, *MOMENTS), dated)
    if shape is ValueType.TERM:
        return _term(line, open_ended)
    pipe = line.pipe
    if shape is ValueType.ROW:
        named: tuple[Json, ...] = tuple({"rows": CELL} if step == "rows" else step for step in pipe)
        pipe = named if named != pipe else ({"rows": CELL}, *pipe)
    return _with_fallback(line, "otherwise the file name", _with(line, "filename"), pipe)


def _term(line: SuggestedLine, open_ended: bool) -> SuggestedLine:
    matching = next((index for index, step in enumerate(line.pipe) if _is_matching(step)), None)
    if matching is not None and not open_ended:
        return replace(line, reason=f"{line.reason}; required: an asset without it is parked")
    where = len(line.pipe) if matching is None else matching
    return _with_fallback(line, f"else {UNKNOWN}", pipe=(*line.pipe[:where], {"default": UNKNOWN}, *line.pipe[where:]))


def _is_matching(step: Json) -> bool:
    return isinstance(step, dict) and "vocabulary" in step


def _with(line: SuggestedLine, *paths: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*line.sources, *paths)))


def _with_fallback(
    line: SuggestedLine,
    reason: str,
    sources: tuple[str, ...] | None = None,
    pipe: tuple[Json, ...] | None = None,
    more: dict[str, Json] | None = None,
) -> SuggestedLine:
    return replace(
        line,
        sources=line.sources if sources is None else sources,
        pipe=line.pipe if pipe is None else pipe,
        reason=f"{line.reason}; {reason}",
        more=line.more if more is None else more,
    )
