"""Suggests lines for required fields of the target that have no counterpart at the source, or not for every asset.

No value is made up: a title may be the name of the file, and for anything else the asset waits for a person.
"""

from __future__ import annotations

from dataclasses import replace

from dam_sync.mapping.conversions import Given, conversion
from dam_sync.mapping.meanings import core_meanings_of
from dam_sync.mapping.results import SHAPES, ValueType
from dam_sync.mapping.similarity import names_of, words_of
from dam_sync.mapping.suggestion import SuggestedLine
from dam_sync.model.schema import Field

FILENAME = "filename"
LAST_RESORT = 0.1
TITLE = core_meanings_of(("title",))
NOTHING = "null"  # in CEL


def filled(known: Field, language: str) -> SuggestedLine:
    """A line for a required field without a counterpart. language: of plain text."""
    if is_title(known):
        pipe = conversion(Given(ValueType.TEXT), known, language=language) or ()
        reason = "required, without a counterpart at the source: the file name, please choose"
        return SuggestedLine(known.key, (FILENAME,), pipe, LAST_RESORT, reason)
    reason = "required, without a counterpart at the source: parks each asset; write {from: …} or {const: …} instead"
    return SuggestedLine(known.key, (), (), LAST_RESORT, reason, more={"cel": NOTHING, "required": True})


def with_last_resort(line: SuggestedLine, known: Field) -> SuggestedLine:
    """The line of a required field for assets without a value."""
    if not is_title(known):
        return replace(line, reason=f"{line.reason}; required: an asset without it is parked")
    sources = tuple(dict.fromkeys((*line.sources, FILENAME)))
    return replace(line, sources=sources, reason=f"{line.reason}; otherwise the file name")


def is_title(known: Field) -> bool:
    """Whether the field is a text that says what an asset is called."""
    named = any(core_meanings_of(words_of(name)) & TITLE for name in names_of(known))
    return SHAPES[known.kind] is ValueType.TEXT and named
