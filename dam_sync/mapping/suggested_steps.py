"""The steps of a suggested line that follow from the values of a sample: separators, dates, numbers, yes and no."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dam_sync.mapping.conversions import Given, conversion
from dam_sync.mapping.date_formats import formats_of
from dam_sync.mapping.matching import FieldPair
from dam_sync.mapping.results import SHAPES, ValueType
from dam_sync.mapping.sample import Sample
from dam_sync.mapping.separators import Separated, separated
from dam_sync.mapping.similarity import one_line
from dam_sync.mapping.suggestion import SuggestedLine
from dam_sync.mapping.text_forms import flag_words_of, number_form_of
from dam_sync.mapping.yaml_writer import LONGEST_COMMENT
from dam_sync.model.schema import Field, FieldKind
from dam_sync.model.values import Json

READABLE: Final = frozenset({ValueType.TEXT, ValueType.TERM})  # what these steps read by a format
DATE_STEPS: Final = ("date", "datetime")
UNSURE_SCORE: Final = 0.85  # of a line that needs a person
DAY: Final = "%Y-%m-%d"
FEWEST: Final = 2  # values of a text that may be rewritten
_DATE_LIKE: Final = re.compile(
    r"\d{1,4}([./:-])\d{1,2}\1\d{1,4}|[^\W\d]{3,10}\.? \d{1,2},? \d{4}|\d{1,2}\.? [^\W\d]{3,10} \d{4}"
)


@dataclass(frozen=True, slots=True)
class SuggestedSteps:
    """What the sample adds to a line. first: steps before all others; instead: steps in place of others, by name;
    summary: what they do with the sample; open_points: what a person has to decide."""

    first: tuple[Json, ...] = ()
    instead: Mapping[str, Json] = field(default_factory=dict)
    summary: str = ""
    open_points: tuple[str, ...] = ()

    def applied(self, line: SuggestedLine) -> SuggestedLine:
        """The line with these steps, and what they do in its comment."""
        pipe = tuple(self.instead.get(step, step) if isinstance(step, str) else step for step in line.pipe)
        reason = "; ".join(filter(None, (line.reason, self.summary, *self.open_points)))
        score = min(line.score, UNSURE_SCORE) if self.open_points else line.score
        return replace(line, pipe=(*self.first, *pipe), reason=reason, score=score)


def line_of(
    pair: FieldPair, known: Field, rule: str, language: str, sample: Sample | None
) -> tuple[SuggestedLine, list[str]]:
    """The line for a pair of fields, and notes on what a person has to decide. rule: the block for its terms; language:
    that of plain text."""
    texts = sample.texts.get(pair.key, {}) if sample is not None else {}
    seen = _separated(pair.given, known, texts)
    split = seen if seen is not None and seen.sure else None
    given = replace(pair.given, many=True) if split else pair.given
    steps = conversion(given, known, rule=rule, language=language) or ()
    line = SuggestedLine(known.key, (pair.path,), steps, pair.score, pair.reason)
    read = _read(pair.given, known, steps, texts)
    line = read.applied(line)
    if split:
        line = replace(line, pipe=({"split": split.at}, *line.pipe))
    if seen:
        line = replace(line, score=min(line.score, UNSURE_SCORE), reason=f"{line.reason}; {seen.summary}")
    points = "; ".join(one_line(point, LONGEST_COMMENT) for point in read.open_points)
    return line, [f"the line {one_line(line.target)} {read.summary}; {points}"] if points else []


def _separated(given: Given, known: Field, texts: Mapping[str, int]) -> Separated | None:
    """How texts of the sample seem to hold several values each, for a field of several; None if they do not."""
    plain = replace(given, characters=None) == Given(ValueType.TEXT)
    if not (plain and known.multiple and SHAPES[known.kind] in READABLE):
        return None
    return separated(texts) if texts else None


def _read(given: Given, known: Field, steps: Iterable[Json], texts: Mapping[str, int]) -> SuggestedSteps:
    """How the texts are read that the target stores as something else, or that are something else than text."""
    if not texts or given.shape not in READABLE:
        return SuggestedSteps()
    step = next((step for step in steps if step in (*DATE_STEPS, "number", "flag")), "")
    if step in DATE_STEPS:
        return _as_dates(str(step), texts)
    if step == "number":
        numbers = number_form_of(texts)
        return SuggestedSteps((), {"number": numbers.step}, numbers.summary, tuple(numbers.open_points()))
    if step == "flag":
        words = flag_words_of(texts)
        return SuggestedSteps((), {"flag": words.step}, words.summary, tuple(words.open_points()))
    plain = SHAPES[known.kind] is ValueType.TEXT and known.kind is not FieldKind.HTML
    untouched = plain and given.shape is ValueType.TEXT and not (given.localized or given.html)
    return _rewritten(texts) if untouched and sum(texts.values()) >= FEWEST else SuggestedSteps()


def _as_dates(step: str, texts: Mapping[str, int]) -> SuggestedSteps:
    found = formats_of(texts)
    formats: Json = {step: {"in": list(found.arguments)}} if found.arguments else step
    return SuggestedSteps((), {step: formats}, found.summary, tuple(found.open_points()))


def _rewritten(texts: Mapping[str, int]) -> SuggestedSteps:
    """Texts that are dates, decimals or truth values in the form of a country, as everybody reads them."""
    if all(_DATE_LIKE.fullmatch(text) for text in texts):
        return _rewritten_dates(texts)
    numbers, words = number_form_of(texts), flag_words_of(texts)
    if numbers.step != "number" and numbers.read == numbers.total and numbers.fractions and not numbers.coded:
        return SuggestedSteps((numbers.step,), {}, f"{numbers.summary} and writes a decimal point")
    if words.computed and not words.usual:
        return SuggestedSteps((words.step, "text"), {}, f"{words.summary} and writes true or false")
    return SuggestedSteps()


def _rewritten_dates(texts: Mapping[str, int]) -> SuggestedSteps:
    dates = formats_of(texts)
    if dates.decided and dates.arguments:
        step: Json = {"date": {"in": list(dates.arguments), "out": DAY}}
        return SuggestedSteps((step,), {}, f"{dates.summary} and writes ISO dates")
    if dates.undecided and not dates.unread:
        day, month, example = dates.undecided[0]
        add = f'{{date: {{in: [iso, "{day}"], out: "{DAY}"}}}}'
        point = f"if {example} begins with the day, add {add}, else the same with {month}"
        return SuggestedSteps((), {}, f"{dates.total:,} of {dates.total:,} sampled values are dates", (point,))
    return SuggestedSteps()
