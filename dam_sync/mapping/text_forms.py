"""Recognizes how the texts of a sample write numbers, and yes and no, for a first `number` or `flag` step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dam_sync.mapping.results import shown
from dam_sync.mapping.transforms.values import WORDS_FALSE, WORDS_TRUE, plain_digits
from dam_sync.model.values import Json

POINT, COMMA = ".", ","
COMPUTED: Final = (  # as spreadsheet programs write them, by their language
    *(("true", "false"), ("wahr", "falsch"), ("vrai", "faux"), ("waar", "onwaar")),
    *(("verdadero", "falso"), ("vero", "falso")),
)
WORDS: Final = (
    *COMPUTED,
    *(("yes", "no"), ("1", "0"), ("y", "n"), ("on", "off"), ("ja", "nein"), ("ja", "nee"), ("oui", "non")),
    *(("sí", "no"), ("si", "no"), ("sì", "no")),
)
"""Words for yes and no."""
SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class NumberForm:
    """decimal: the decimal separator, empty if the sample does not decide it. read: how many of `total` values are
    numbers with it. example: a value that is another number with a point than with a comma; unread: one that is none;
    fractions: whether some values have a part after the separator; coded: some begin with a zero that numbers lack."""

    decimal: str = ""
    total: int = 0
    read: int = 0
    example: str = ""
    unread: str = ""
    fractions: bool = False
    coded: bool = False

    @property
    def step(self) -> Json:
        """The step that reads them."""
        return {"number": COMMA} if self.decimal == COMMA else "number"

    @property
    def summary(self) -> str:
        """What the step does with the sample, for the comment of its line."""
        kind = " with a decimal comma" if self.decimal == COMMA else ""
        return f"reads {self.read:,} of {self.total:,} sampled values{kind}" if self.total else ""

    def open_points(self) -> Iterator[str]:
        """What a person has to decide, one sentence each."""
        if self.example and not self.decimal:
            undecided = f"the sample does not decide whether {self.example} has a decimal point"
            yield f'{undecided}; with a comma, write {{number: ","}}'
        if self.unread:
            yield f"{self.unread} is no number"


def number_form_of(texts: Mapping[str, int]) -> NumberForm:
    """How these texts write numbers. texts: each with the number of values that are equal to it."""
    texts = {text: number for text, number in texts.items() if text.strip()}
    points, commas = ({text: plain_digits(text, mark) for text in texts} for mark in (POINT, COMMA))
    only_points = [text for text in texts if points[text] is not None and commas[text] is None]
    only_commas = [text for text in texts if commas[text] is not None and points[text] is None]
    either = [text for text in texts if None not in (points[text], commas[text]) and points[text] != commas[text]]
    decimal = COMMA if len(only_commas) > len(only_points) else POINT if only_points or not either else ""
    readings = commas if decimal == COMMA else points
    read = sum(number for text, number in texts.items() if readings[text] is not None)
    unread = next((text for text in texts if readings[text] is None), "")
    fractions = any("." in reading for reading in readings.values() if reading is not None)
    coded = any(re.match(r"0\d", text.strip()) for text in texts)
    example = shown(either[0], SHOWN) if either else ""
    return NumberForm(
        decimal, sum(texts.values()), read, example, shown(unread, SHOWN) if unread else "", fractions, coded
    )


@dataclass(frozen=True, slots=True)
class FlagWords:
    """yes, no: the words of the sample and their opposites. read: how many of `total` values are such words; unread: an
    example of the others; computed: all of them are words of a spreadsheet program. usual: the step knows them."""

    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    total: int = 0
    read: int = 0
    unread: str = ""
    computed: bool = False
    usual: bool = True

    @property
    def step(self) -> Json:
        """The step that reads them."""
        return "flag" if self.usual else {"flag": {"true": list(self.yes), "false": list(self.no)}}

    @property
    def summary(self) -> str:
        """What the step does with the sample, for the comment of its line."""
        return f"reads {self.read:,} of {self.total:,} sampled values" if self.total else ""

    def open_points(self) -> Iterator[str]:
        """What a person has to decide, one sentence each."""
        if self.unread:
            yield f"{self.unread} is no known word for yes or no"


def flag_words_of(texts: Mapping[str, int]) -> FlagWords:
    """The words for yes and no among these texts. texts: each with the number of values that are equal to it."""
    given = {text.strip().casefold(): text.strip() for text in texts if text.strip()}
    used = [pair for pair in WORDS if given.keys() & set(pair)]
    yes, no = (tuple(dict.fromkeys(_as_given(pair[at], pair, given) for pair in used)) for at in (0, 1))
    known = {word for pair in used for word in pair}
    read = sum(number for text, number in texts.items() if text.strip().casefold() in known)
    unread = next((text for word, text in given.items() if word not in known), "")
    usual = {word.casefold() for word in (*WORDS_TRUE, *WORDS_FALSE)}
    return FlagWords(
        yes,
        no,
        total=sum(number for text, number in texts.items() if text.strip()),
        read=read,
        unread=shown(unread, SHOWN) if unread else "",
        computed=bool(given) and given.keys() <= {word for pair in COMPUTED for word in pair},
        usual=given.keys() & known <= usual,
    )


def _as_given(word: str, pair: tuple[str, str], given: Mapping[str, str]) -> str:
    """The word as the sample writes it, or else in the letters of its opposite."""
    written = next((given[each] for each in (word, *pair) if each in given), word)
    return word.upper() if len(written) > 1 and written.isupper() else word.title() if written.istitle() else word
