"""Terms that may mean the same, found by their labels."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz import process
from rapidfuzz.distance import OSA

from dam_sync.mapping.term_similarity import known_words, similarity_of, without_accents
from dam_sync.model.unicode_forms import nfc

MOST_SPELLED = 5_000  # terms of one vocabulary whose spellings are compared with each other
LEAST, LONG = 5, 10  # characters from which one error, and two errors, are looked for in a word
LONGEST = 200  # characters of a label of which the spelling is compared, in time by their square
PLURALS = (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("aux", "al"), ("s", ""))
UNCHANGED = ("ss", "us", "is")  # ends of words that are no plural


@dataclass(frozen=True, slots=True)
class LabeledTerm:
    """A term as it is compared: its key, its label, and the key of its parent. Only terms below the same parent are
    compared."""

    key: str
    label: str
    parent: str = ""


@dataclass(frozen=True, slots=True)
class NearKeys:
    """Keys of terms that may mean the same, in the order in which they were given, and why."""

    why: str
    keys: tuple[str, ...]


def near_terms(terms: Iterable[LabeledTerm], locales: Sequence[str] = ()) -> tuple[tuple[NearKeys, ...], bool]:
    """Groups of terms that may mean the same, and whether spellings were compared: not for more than `MOST_SPELLED`.
    locales: the languages of the labels, whose dictionaries tell words from misspelled ones."""
    below: dict[str, list[LabeledTerm]] = defaultdict(list)
    for term in terms:
        below[term.parent].append(term)
    found = [near for siblings in below.values() for near in _alike(siblings)]
    spelled = sum(map(len, below.values())) <= MOST_SPELLED
    if spelled:
        found += [near for siblings in below.values() for near in _misspelled(siblings, locales)]
    return tuple(found), spelled


def difference_of(labels: Sequence[str]) -> str:
    """The first step of simplification that makes all of these labels equal; empty if none does."""
    for why, step in STEPS:
        labels = [step(label) for label in labels]
        if len(set(labels)) == 1:
            return why
    return ""


def simplified(label: str) -> str:
    """A label after all steps: what is left distinguishes terms."""
    for _, step in STEPS:
        label = step(label)
    return label


def singular(label: str) -> str:
    """A label with each word in the singular, by the usual ends of English and French words."""
    return " ".join(map(_singular, label.split(" ")))


def _singular(word: str) -> str:
    if len(word) < 4 or word.endswith(UNCHANGED):
        return word
    return next((word[: -len(end)] + stem for end, stem in PLURALS if word.endswith(end)), word)


STEPS = (
    ("same label", nfc),
    ("case", str.casefold),
    ("whitespace", lambda label: " ".join(label.split())),
    ("punctuation", lambda label: re.sub(r"[\W_]+", " ", label).strip() or label),
    ("accents", without_accents),
    ("plural", singular),
)
"""Steps that simplify a label, in this order, and what two labels differ in that a step makes equal."""


def _alike(siblings: Sequence[LabeledTerm]) -> Iterator[NearKeys]:
    """Terms that are equal once simplified."""
    groups: dict[str, list[LabeledTerm]] = defaultdict(list)
    for term in siblings:
        groups[simplified(term.label)].append(term)
    for group in groups.values():
        if len(group) > 1:
            yield NearKeys(difference_of([term.label for term in group]), tuple(term.key for term in group))


def _misspelled(siblings: Sequence[LabeledTerm], locales: Sequence[str]) -> Iterator[NearKeys]:
    """Pairs with a few characters added, left out, replaced or swapped, one of which may be a misspelling of the other:
    not two words of a dictionary, such as tower and power. Digits must be the same."""
    words: dict[str, LabeledTerm] = {}
    for term in siblings:
        words.setdefault(simplified(term.label), term)
    long_enough = [word for word in words if LEAST <= len(word) <= LONGEST]
    for number, word in enumerate(long_enough):
        later = long_enough[number + 1 :]
        for other, distance, _ in process.extract(word, later, scorer=OSA.distance, score_cutoff=2, limit=None):
            errors = 2 if min(len(word), len(other)) >= LONG else 1
            alike = distance <= errors and _digits(word) == _digits(other)
            if alike and _may_be_one(words[word].label, words[other].label, locales):
                yield NearKeys("spelling", (words[word].key, words[other].key))


def _may_be_one(left: str, right: str, locales: Sequence[str]) -> bool:
    """Whether one label may be a misspelling of the other."""
    if similarity_of(left, right, locales) or similarity_of(right, left, locales):
        return True
    ours, theirs = simplified(left).split(), simplified(right).split()
    different = [pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]]
    if len(ours) != len(theirs) or len(different) != 1 or min(map(len, different[0])) < LONG:
        return False
    return not known_words(locales).issuperset(different[0])


def _digits(word: str) -> list[str]:
    return re.findall(r"\d+", word)
