"""Labels of a source with the term of a target that each of them means, by hand: what matching of terms is measured
with. The rules were made with `development`; `held_out` was written before they were measured with it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dam_sync.mapping.vocabulary import Matching, TermIndex
from dam_sync.model.values import Term

FOLDER = Path(__file__).parent
AUTOMATIC = Matching(("exact", "casefold", "synonym", "fuzzy"), fuzzy=0.92, locales=("en", "fr"))


@dataclass(slots=True)
class Measured:
    """Labels of a source by what became of them: matched rightly, matched wrongly, or not though there is a term."""

    right: list[Sequence[str]] = field(default_factory=list)
    wrong: list[Sequence[str]] = field(default_factory=list)
    missed: list[Sequence[str]] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """The share of matches that are right."""
        return len(self.right) / (len(self.right) + len(self.wrong))

    @property
    def recall(self) -> float:
        """The share of terms that were found."""
        return len(self.right) / (len(self.right) + len(self.missed))


def rows_of(name: str) -> list[list[str]]:
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def measured(name: str, ways: Matching = AUTOMATIC) -> Measured:
    """What is matched automatically of one set."""
    index = TermIndex()
    for number, (label, synonyms) in enumerate(rows_of(f"{name}_terms")):
        words = {"en": tuple(synonyms.split(";"))} if synonyms else {}
        index.add(Term(label, str(number), synonyms=words))
    found = Measured()
    for source, target, kind in rows_of(name):
        match = index.find(Term(source), ways)
        row = (source, target, match.label if match else "", kind)
        if match is not None:
            (found.right if match.label == target else found.wrong).append(row)
        elif target:
            found.missed.append(row)
    return found
