"""Recognizes that the texts of a sample are several values in one, for a first `split` step."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

from dam_sync.mapping.yaml_writer import flow

SEPARATORS: Final = (";", "|")
AMBIGUOUS: Final = (",", "\n", " / ")  # names, places and sentences have them, too
_LEAST: Final = 0.1  # of the values have to have it
_FEWEST: Final = 8  # different values that have an ambiguous one, to judge it by
_OFTEN: Final = 2  # how often a part of them occurs, on average
_ODD: Final = 0.2  # of the values with more than two parts have an odd number of them
_MOST: Final = 0.5  # of the parts recur, and of these are found at different places


@dataclass(frozen=True, slots=True)
class Separated:
    """`number` of `total` values have the separator `at`. doubt: why it may stand within one value."""

    at: str
    number: int
    total: int
    doubt: str = ""

    @property
    def sure(self) -> bool:
        """Whether to split the values there."""
        return not self.doubt

    @property
    def summary(self) -> str:
        """What the sample shows, for the comment of its line."""
        if self.sure:
            return f"splits {self.number:,} of {self.total:,} sampled values"
        seen = f"{self.number:,} of {self.total:,} sampled values have {_shown(self.at)}, {self.doubt}"
        return f"{seen}; if it separates several values, add {{split: {_shown(self.at)}}}"


def separated(texts: Mapping[str, int]) -> Separated | None:
    """How these texts, each as often as its number says, are separated; None if they seem to be one value each."""
    sure = _most_frequent(texts, SEPARATORS)
    if sure is not None:
        return sure
    found = _most_frequent(texts, AMBIGUOUS)
    return None if found is None else Separated(found.at, found.number, found.total, _doubt(texts, found.at))


def _most_frequent(texts: Mapping[str, int], separators: Iterable[str]) -> Separated | None:
    total = sum(texts.values())
    found = (
        Separated(at, sum(number for text, number in texts.items() if len(_parts(text, at)) > 1), total)
        for at in separators
    )
    best = max(found, key=lambda one: one.number)
    return best if best.number and best.number >= _LEAST * total else None


def _doubt(texts: Iterable[str], at: str) -> str:
    """Why this may stand within one value; empty if the parts are values of their own: most of them recur in other
    values, and at other places, where those of “Surname, Given” and “City, Country” have one place each."""
    values = [[part.strip().casefold() for part in _parts(text, at)] for text in texts]
    number = Counter(chain.from_iterable(set(parts) for parts in values))
    every = sum(number.values())
    recurring = sum(times for times in number.values() if times > 1)
    if sum(len(parts) > 1 for parts in values) < _FEWEST:
        return "but they are too few to judge by"
    if every < _OFTEN * len(number) or recurring < _MOST * every:
        return "but their parts hardly recur"
    moving = sum(number[part] for part in _moving(values))
    return (
        "" if moving > _MOST * recurring and not _in_pairs(values) else "but their parts keep their order, as in names"
    )


def _in_pairs(values: Iterable[list[str]]) -> bool:
    """Whether the longer of these values look like several names, each with a surname and a given name."""
    longer = [len(parts) for parts in values if len(parts) > 2]
    return bool(longer) and sum(number % 2 for number in longer) < _ODD * len(longer)


def _moving(values: Iterable[list[str]]) -> list[str]:
    """The parts that have no place of their own, neither from the start nor from the end."""
    first, last = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
    for parts in values:
        for place, part in enumerate(parts):
            first[part].add(place)
            last[part].add(len(parts) - place)
    return [part for part, places in first.items() if len(places) > 1 and len(last[part]) > 1]


def _shown(at: str) -> str:
    return '"\\n"' if at == "\n" else flow(at)


def _parts(text: str, at: str) -> list[str]:
    return [part for part in text.split(at) if part.strip()]
