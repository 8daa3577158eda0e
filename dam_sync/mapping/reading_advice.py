"""Which step of a pipe would read a text that a step or a field refused as a date, a number, yes or no."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from dam_sync.mapping.date_formats import formats_of
from dam_sync.mapping.results import Result, ValueOutcome, ValueType
from dam_sync.mapping.text_forms import flag_words_of, number_form_of
from dam_sync.mapping.transforms.dates import ISO
from dam_sync.mapping.yaml_writer import flow
from dam_sync.model.values import Json, Scalar, Term

STEPS: Final[Mapping[str, str]] = {
    ValueType.DATE: "date",
    ValueType.INSTANT: "datetime",
    ValueType.NUMBER: "number",
    ValueType.FLAG: "flag",
}
"""The step that makes values of each type of a text."""
LONGEST: Final = 60  # characters of a text that may be such a value


def advised(step: str, value: Scalar, made: Result) -> Result:
    """The result, with the step that reads the value in its note, if this one has refused it and another argument or
    step of this kind would read it."""
    note, text = made.note, value.label if isinstance(value, Term) else value
    if note is None or note.outcome is not ValueOutcome.FAILED or not isinstance(text, str) or len(text) > LONGEST:
        return made
    advice = _advice(step, text.strip())
    return replace(made, note=replace(note, detail=f"{note.detail}; {advice}")) if advice else made


@lru_cache(maxsize=1_000)
def _advice(step: str, text: str) -> str:
    found = {text: 1}
    match step:
        case "date" | "datetime":
            dates = formats_of(found)
            if dates.undecided:
                day, month, _ = dates.undecided[0]
                return f"{flow({step: {'in': [ISO, day]}})} reads it with the day first, {month} with the month first"
            return _reads({step: {"in": list(dates.arguments)}}) if dates.arguments else ""
        case "number":
            numbers = number_form_of(found)
            return _reads(numbers.step) if numbers.read and numbers.step != step else ""
        case "flag":
            words = flag_words_of(found)
            return _reads(words.step) if words.read and words.step != step else ""
        case _:
            return ""


def _reads(step: Json) -> str:
    return f"{flow(step)} reads it"
