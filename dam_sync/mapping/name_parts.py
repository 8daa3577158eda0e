"""The parts of a field's name: what kind of thing it is, and what distinguishes it from others of the kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rapidfuzz.distance import Prefix

from dam_sync.mapping.meanings import FILLING, FORMS, LINKING, NUMBER, UNITS, says_only_whose, singular

BESIDE: Final = FILLING | {"by", "in", "on", "at"}
NUMBERS: Final = NUMBER | {"id", "identifier", "code", "ref", "reference"}
NAMES: Final = frozenset({"name", "title", "date", "value", "field"})
"""Last words that add nothing: a series title is a series."""
GENERIC: Final = NUMBERS.union(
    ("name", "title", "date", "time", "type", "status", "url", "link", "email", "phone", "count", "size", "text"),
    ("note", "owner", "holder", "writer", "version", "information", "info", "detail", "other", "field", "value"),
    ("created", "modified", "updated", "changed", "added"),
)
"""Words that say nothing alone: there are many numbers and dates."""
QUALIFIERS: Final = 2
OTHERS: Final = GENERIC | NUMBER | {"key"}
STEM: Final = 5  # letters at least that the forms of a word share: directed, director
ENDINGS: Final = frozenset({"e", "ed", "er", "or", "ing", "ion", "tion", "ation"})
"""Endings of such forms."""


@dataclass(frozen=True, slots=True)
class NameParts:
    """head: the kind of thing; more: the other words, in the order of the alphabet."""

    head: str
    more: tuple[str, ...] = ()

    @property
    def is_generic(self) -> bool:
        """Whether the head alone says nothing, or only whose value it is: the weight of an object is no object name."""
        return self.head in GENERIC or says_only_whose((self.head,))


@lru_cache(maxsize=20_000)
def parts_of(words: Sequence[str]) -> NameParts | None:
    """The parts of a name of these words; None if it has none."""
    if "of" in words[1:-1]:  # `year of production` is a production year
        cut = words.index("of")
        words = (*words[cut + 1 :], *words[:cut])
    left = [singular(word) for word in words if word not in BESIDE and word != "of"]
    while len(left) > (2 if left[-1:] == ["date"] else 1) and left[-1] in NAMES:
        left.pop()
    plain = ["number" if word in NUMBERS else word for word in left]
    return NameParts(plain[-1], tuple(sorted(plain[:-1]))) if plain else None


def are_equal(left: NameParts, right: NameParts) -> bool:
    """Whether two names have the same words, in any order and form."""
    ours, theirs = (sorted((each.head, *each.more)) for each in (left, right))
    if (GENERIC | FORMS).issuperset(ours):
        return False
    return len(ours) == len(theirs) and all(are_forms(*each) for each in zip(ours, theirs, strict=True))


def is_kind_of(left: NameParts, right: NameParts) -> bool:
    """Whether one of two names says more about the same kind of thing: language, audio language."""
    if left.is_generic or left.head != right.head or (left.more and right.more):
        return False
    return len(left.more) + len(right.more) > 0


def are_same_but_for_whose(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether one of two names is the other and words that name the thing itself: provenance, object provenance."""
    shorter, more = _shared_and_more(left, right)
    return bool(more) and says_only_whose(more) and not shorter <= GENERIC | FORMS


def contains(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether one of two names is the whole of the other, but for at most `QUALIFIERS` words: date, date of loan. The
    date or the number of a thing is not the thing."""
    shared, more = _shared_and_more(left, right)
    return 0 < len(more) <= QUALIFIERS and not more & OTHERS and not shared <= UNITS


def _shared_and_more(left: Sequence[str], right: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The words of the shorter name, and those that the longer one has besides all of them; none if it lacks one."""
    shorter, longer = sorted((_plain(left), _plain(right)), key=len)
    return shorter, longer - shorter if shorter and shorter < longer else frozenset()


def _plain(words: Sequence[str]) -> frozenset[str]:
    return frozenset(singular(word) for word in words if word not in BESIDE and word not in LINKING)


def are_forms(left: str, right: str) -> bool:
    """Whether two words are forms of one: production, produced."""
    shared = Prefix.similarity(left, right)
    endings = {left[shared:], right[shared:]}
    return left == right or (shared >= STEM and (endings <= ENDINGS or endings == {"", "ed"}))
