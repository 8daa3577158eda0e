"""The closed registry of transforms; a new one is one more class in its list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from dam_sync.config.diagnostics import KeyPath, SourceMap, diagnostics_of
from dam_sync.mapping.transforms.base import Transform
from dam_sync.mapping.transforms.dates import Date, DateTime
from dam_sync.mapping.transforms.kinds import AsPlace, AsRow, AsText, Language
from dam_sync.mapping.transforms.lists import Const, Default, First, Join, Unique
from dam_sync.mapping.transforms.text import (
    Casefold,
    Escape,
    Lower,
    Nfc,
    SafeName,
    Split,
    StripHtml,
    StripPrefix,
    Title,
    Trim,
    Truncate,
    Upper,
)
from dam_sync.mapping.transforms.values import AsJson, Flag, LookUp, MatchTerm, Number, Pluck
from dam_sync.model.diagnostic import Diagnostic, nearest
from dam_sync.model.values import Json

TRANSFORMS: Mapping[str, type[Transform]] = {
    transform.name: transform
    for transform in (
        *(Nfc, Trim, Casefold, Upper, Lower, Title, StripPrefix, Truncate, SafeName, StripHtml, Escape),
        *(Split, Join, Unique, First, Default, Const),
        *(Date, DateTime, Number, Flag, AsText, AsPlace, AsRow, Language, Pluck, AsJson, LookUp, MatchTerm),
    )
}


def transform_from(step: Json, place: KeyPath, written: SourceMap, diagnostics: list[Diagnostic]) -> Transform | None:
    """The transform of one step of a pipe: `trim`, `{split: ";"}` or `{split: {on: ";"}}`; appends to `diagnostics`."""
    name, given = _taken_apart(step)
    if name is None:
        message = "a step is a transform, or one transform with its arguments"
        diagnostics.append(written.diagnostic(place, message, "write one step after the other: [trim, {truncate: 20}]"))
        return None
    kind = TRANSFORMS.get(name)
    if kind is None:
        hint = nearest(name, TRANSFORMS) or "`dam-sync help mapping` lists the transforms"
        diagnostics.append(written.diagnostic(place, f"unknown transform {name}", hint))
        return None
    arguments = _arguments(kind, given)
    try:
        return kind.model_validate(arguments)
    except ValidationError as error:
        diagnostics.extend(_diagnostics(kind, error, (*place, name), written, arguments is given))
        return None


def _taken_apart(step: Json) -> tuple[str | None, Json]:
    if isinstance(step, str):
        return step, {}
    if isinstance(step, dict) and len(step) == 1:
        ((name, given),) = step.items()
        return str(name), given
    return None, {}


def _arguments(kind: type[Transform], given: Json) -> Json:
    if given is None:
        return {}
    if isinstance(given, dict):
        return given
    return {kind.short: given} if kind.short else {"": given}


def _diagnostics(
    kind: type[Transform], error: ValidationError, place: KeyPath, written: SourceMap, nested: bool
) -> Iterator[Diagnostic]:
    """The errors of a step; an argument's own line only if the file has one for it."""
    schema = kind.model_json_schema(by_alias=True)
    inner = SourceMap(written.file, {}, {})
    errors = error.errors(include_url=False, include_input=False)
    bare = not nested and any(each["type"] == "extra_forbidden" for each in errors)
    for fault in diagnostics_of(inner, errors, schema):
        if fault.key == "file" or not nested:
            message, hint = ("takes no arguments", f"write {kind.name}") if bare else (fault.message, fault.hint)
            yield written.diagnostic(place, message, hint or f"for example {kind.example}")
        else:
            yield written.diagnostic((*place, fault.key), fault.message, fault.hint)
