"""Vocabularies: which terms are used, and which may mean the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dam_sync.aio.closing import closing
from dam_sync.engine.inventory.library import MOST_TERMS, shown_key, term_keys, uses_of
from dam_sync.engine.inventory.near_terms import LabeledTerm, NearKeys, near_terms
from dam_sync.engine.inventory.tallies import MOST_SHOWN, shortened
from dam_sync.mapping.vocabulary import normal, path_text
from dam_sync.model.inventory import Distinct, NearTerms, TermUse, VocabularyInventory
from dam_sync.model.schema import Vocabulary
from dam_sync.model.service import Service
from dam_sync.model.values import Term

MOST_UNUSED = 1_000  # listed; all are counted
MOST_NEAR = 1_000


@dataclass(slots=True)
class VocabularyTally:
    """The terms of one vocabulary, and how many assets have each, None if that is unknown. fields: keys of those that
    hold its terms; foreign: values of assets that were found among no terms."""

    known: Vocabulary
    fields: tuple[str, ...]
    used: Mapping[str, int] | None
    terms: list[Term] = field(default_factory=list)
    exceeded: bool = False

    async def read(self, service: Service) -> None:
        """Read the terms, at most `MOST_TERMS`."""
        async with closing(service.terms(self.known.key)) as terms:
            async for term in terms:
                if len(self.terms) >= MOST_TERMS:
                    self.exceeded = True
                    return
                self.terms.append(term)

    def result(self) -> VocabularyInventory:
        """What is to be known of it."""
        names = [shortened(path_text(term) or normal(term.label)) for term in self.terms]
        locales = tuple(sorted({locale for term in self.terms for locale in _languages(term)}))
        near, spelled = near_terms(self._labeled(), locales)
        unused = None if self.used is None else [names[n] for n in self._unused()]
        return VocabularyInventory(
            self.known.key,
            self.known.label,
            self.fields,
            Distinct(len(self.terms), self.exceeded),
            self.known.closed,
            self.known.hierarchical,
            dict(sorted(Counter(locale for term in self.terms for locale in _languages(term)).items())),
            None if unused is None else len(unused),
            tuple((unused or ())[:MOST_UNUSED]),
            self._unlisted(),
            tuple(self._near(each, names) for each in near[:MOST_NEAR]),
            spelled,
            self._common(names),
        )

    def _uses(self, term: Term) -> int | None:
        return None if self.used is None else uses_of(term, self.used)

    def _unused(self) -> list[int]:
        """Terms that no asset has, and no asset has a term below them."""
        needed = {term.parent for term in self.terms if self._uses(term) and term.parent}
        parents = {term.id: term.parent for term in self.terms if term.id}
        pending = list(needed)
        while pending:
            above = parents.get(pending.pop(), "")
            if above and above not in needed:
                needed.add(above)
                pending.append(above)
        return [n for n, term in enumerate(self.terms) if not self._uses(term) and term.id not in needed]

    def _unlisted(self) -> tuple[str, ...]:
        if self.used is None or self.exceeded:
            return ()
        listed = {key for term in self.terms for key in term_keys(term)}
        return tuple(sorted(shown_key(key) for key in self.used if key not in listed)[: 4 * MOST_SHOWN])

    def _labeled(self) -> Iterable[LabeledTerm]:
        """Terms with the same id appear once."""
        return (LabeledTerm(str(n), term.label, term.parent) for n, term in enumerate(self.terms))

    def _near(self, found: NearKeys, names: Sequence[str]) -> NearTerms:
        terms = [(names[int(key)], self._uses(self.terms[int(key)])) for key in found.keys]
        return NearTerms(found.why, tuple(TermUse(name, uses) for name, uses in terms))

    def _common(self, names: Sequence[str]) -> tuple[TermUse, ...]:
        uses = [(self._uses(term) or 0, name) for term, name in zip(self.terms, names, strict=True)]
        most = sorted(((number, name) for number, name in uses if number), key=lambda one: (-one[0], one[1]))
        return tuple(TermUse(name, number) for number, name in most[:MOST_SHOWN])


def _languages(term: Term) -> Iterable[str]:
    return (locale for locale, label in term.labels.items() if label.strip())
