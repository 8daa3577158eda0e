"""The terms of a vocabulary by how they are spelled: the one that a label is a spelling of, and those it is like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rapidfuzz import fuzz, process

from dam_sync.mapping.term_similarity import similarity_of, spelling_of
from dam_sync.model.values import Term

CLOSE = 80.0  # per cent alike, of what is compared by the rules
ALIKE = 60.0  # per cent alike, of what is shown to a person
COMPARED = 12
LONGEST = 1_000  # characters of a label of which the spelling is compared, in time by their square
REMEMBERED = 20_000  # labels whose result is kept
APART = 0.005  # two terms that are less apart than this are equally likely


@dataclass(frozen=True, slots=True)
class SimilarTerm:
    """A term, and how surely a label stands for it: from 0 to 1."""

    term: Term
    score: float


@dataclass(slots=True)
class FuzzyTerms:
    """An index of all labels of all terms. Labels are compared in C; the rules see the closest ones only."""

    terms: Sequence[Term]
    _texts: list[str] = field(default_factory=list)
    _labels: list[tuple[str, Term]] = field(default_factory=list)
    _keys: dict[str, list[int]] = field(default_factory=dict)
    _found: dict[tuple[str, float, tuple[str, ...]], list[SimilarTerm]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for term in self.terms:
            for label in dict.fromkeys((term.label, *term.labels.values())):
                if len(label) > LONGEST:
                    continue
                spelling = spelling_of(label)
                self._keys.setdefault(spelling.key, []).append(len(self._texts))
                self._texts.append(spelling.text)
                self._labels.append((label, term))

    def spelled(self, label: str, threshold: float, locales: Sequence[str] = ()) -> list[SimilarTerm]:
        """The terms that the label may be a spelling of, with at least this score, the surest first."""
        if len(label) > LONGEST:
            return []
        key = (label, threshold, tuple(locales))
        if key not in self._found:
            if len(self._found) >= REMEMBERED:
                self._found.clear()
            self._found[key] = self._spelled(label, threshold, locales)
        return self._found[key]

    def alike(self, label: str, most: int = 3) -> list[SimilarTerm]:
        """The terms whose labels look most like this one, for a person to choose from."""
        if len(label) > LONGEST:
            return []
        text = spelling_of(label).text
        rows = process.extract(text, self._texts, scorer=fuzz.ratio, score_cutoff=ALIKE, limit=most * 3)
        return _best((self._labels[index][1], round(score / 100, 2)) for _, score, index in rows)[:most]

    def _spelled(self, label: str, threshold: float, locales: Sequence[str]) -> list[SimilarTerm]:
        spelling = spelling_of(label)
        rows = process.extract(spelling.text, self._texts, scorer=fuzz.ratio, score_cutoff=CLOSE, limit=COMPARED)
        near = dict.fromkeys([*self._keys.get(spelling.key, ()), *(index for _, _, index in rows)])
        scored = ((term, similarity_of(label, known, locales)) for known, term in (self._labels[i] for i in near))
        return [one for one in _best(scored) if one.score >= threshold]


def only(candidates: Sequence[SimilarTerm]) -> Term | None:
    """The one candidate that is surer than all others."""
    if not candidates or (len(candidates) > 1 and candidates[0].score - candidates[1].score < APART):
        return None
    return candidates[0].term


def _best(scored: Iterable[tuple[Term, float]]) -> list[SimilarTerm]:
    """Each term with its best score, the best first."""
    best: dict[tuple[str, str, tuple[str, ...]], SimilarTerm] = {}
    for term, score in scored:
        key = (term.id, term.label, term.path)
        if key not in best or score > best[key].score:
            best[key] = SimilarTerm(term, score)
    return sorted(best.values(), key=lambda one: (-one.score, one.term.label, one.term.id))
