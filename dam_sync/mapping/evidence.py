"""What the values of a sample say for or against a pair of fields, beyond their names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dam_sync.mapping.date_formats import formats_of
from dam_sync.mapping.results import SHAPES, ValueType
from dam_sync.mapping.sample import Sample
from dam_sync.mapping.similarity import Similarity
from dam_sync.mapping.text_forms import flag_words_of, number_form_of
from dam_sync.mapping.vocabulary import fold
from dam_sync.model.schema import Field, Schema

FEWEST: Final = 3  # different values from which on their being terms of the target, or not, says something
ALIKE: Final = 0.5  # of the values are terms of the target
FOUND, EVERY = 0.5, 0.4  # score of two fields by their values alone: at least, and what all values being terms adds
MOST: Final = 0.99
DOUBTED: Final = 0.45  # if another field of the source has the same values, or this one has none
EMPTY, REPEATING, AGAINST, AGAINST_SAME = 0.75, 0.5, 0.6, 0.85  # factors
SHAPED: Final = frozenset({ValueType.DATE, ValueType.INSTANT, ValueType.NUMBER, ValueType.FLAG})


@dataclass(slots=True)
class Evidence:
    """What a sample of the source and the terms of the target show. terms: labels by vocabulary of the target; closed:
    those to which no term can be added."""

    sample: Sample
    terms: Mapping[str, Collection[str]] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    _folded: dict[str, frozenset[str]] = field(default_factory=dict)
    _values: dict[str, frozenset[str]] = field(default_factory=dict)
    _shares: dict[tuple[str, str], float | None] = field(default_factory=dict)
    _read: dict[tuple[str, ValueType], bool] = field(default_factory=dict)

    def weighed(self, source: Field, target: Field, alike: Similarity) -> Similarity:
        """The similarity of two names as their values confirm or contradict it."""
        return self._tempered(source, target, self._by_terms(source, target, alike))

    def says_little(self, key: str) -> bool:
        """Whether a field of the source has no values of its own."""
        return self.sample.is_empty(key) or self.sample.repeats_filenames(key)

    def by_values(self, source: Field, target: Field, others: Collection[Field]) -> Similarity:
        """Two fields whose names have nothing in common, by their values. others: fields of the source that may have
        the same values."""
        share = self._share(source, target)
        if share is None or share < ALIKE or share * len(self._values_of(source)) < FEWEST:
            return Similarity()
        rivals = [one for one in others if one.key != source.key and (self._share(one, target) or 0) >= share * ALIKE]
        score = DOUBTED if rivals else FOUND + EVERY * share
        return self._tempered(source, target, Similarity(score, self._shown(source, share)))

    def _tempered(self, source: Field, target: Field, found: Similarity) -> Similarity:
        if not found.score:
            return found
        if self._misshapen(source, target):
            against = AGAINST_SAME if found.exact else AGAINST
            reason = f"{found.reason}; none of its sampled values is a {SHAPES[target.kind].value}"
            found = replace(found, score=found.score * against, reason=reason)
        if self.sample.is_empty(source.key):
            score = found.score * EMPTY  # of another name, nothing was seen that speaks for it
            found = replace(found, score=score if found.exact else min(score, DOUBTED))
        if self.sample.repeats_filenames(source.key):
            found = replace(found, score=found.score * REPEATING, reason=f"{found.reason}; repeats the file names")
        return found

    def _by_terms(self, source: Field, target: Field, alike: Similarity) -> Similarity:
        share = self._share(source, target)
        if share is None or not alike.score:
            return alike
        if share:
            score = max(alike.score, alike.score + (MOST - alike.score) * share)
            return replace(alike, score=score, reason=f"{alike.reason}; {self._shown(source, share)}")
        if target.vocabulary not in self.closed:
            return alike
        against = AGAINST_SAME if alike.exact else AGAINST
        return replace(alike, score=alike.score * against, reason=f"{alike.reason}; no value is in the target's list")

    def _share(self, source: Field, target: Field) -> float | None:
        """The share of the source's values that are terms of the target's list; None if nothing can be said."""
        labels = self._labels_of(target)
        if not labels or SHAPES[source.kind] not in (ValueType.TEXT, ValueType.TERM):
            return None
        key = source.key, target.vocabulary
        if key not in self._shares:
            values = self._values_of(source)
            self._shares[key] = len(values & labels) / len(values) if len(values) >= FEWEST else None
        return self._shares[key]

    def _labels_of(self, target: Field) -> frozenset[str]:
        if SHAPES[target.kind] is not ValueType.TERM:
            return frozenset()
        key = target.vocabulary
        if key not in self._folded:
            self._folded[key] = frozenset(fold(label) for label in self.terms.get(key, ()))
        return self._folded[key]

    def _values_of(self, source: Field) -> frozenset[str]:
        if source.key not in self._values:
            texts = self.sample.texts.get(source.key, {})
            parts = (part.strip() for text in texts for part in re.split("[;|]", text))
            self._values[source.key] = frozenset(fold(part) for part in parts if part)
        return self._values[source.key]

    def _shown(self, source: Field, share: float) -> str:
        values = self._values_of(source)
        return f"{round(share * len(values)):,} of {len(values):,} different values are in the target's list"

    def _misshapen(self, source: Field, target: Field) -> bool:
        """Whether no text of the source is what the target stores."""
        shape, texts = SHAPES[target.kind], self.sample.texts.get(source.key, {})
        readable = SHAPES[source.kind] in (ValueType.TEXT, ValueType.TERM)
        if shape not in SHAPED or not readable or len(texts) < FEWEST:
            return False
        if (source.key, shape) not in self._read:
            self._read[source.key, shape] = _reads_any(shape, texts)
        return not self._read[source.key, shape]


def _reads_any(shape: ValueType, texts: Mapping[str, int]) -> bool:
    """Whether any of these texts is such a value."""
    if shape is ValueType.NUMBER:
        return bool(number_form_of(texts).read)
    return bool(flag_words_of(texts).read) if shape is ValueType.FLAG else formats_of(texts).looked_like_dates


def evidence_of(sample: Sample | None, terms: Mapping[str, Collection[str]], target: Schema) -> Evidence | None:
    """What there is to go by besides names, if anything."""
    closed = frozenset(key for key, vocabulary in target.vocabularies.items() if vocabulary.closed)
    return Evidence(sample, terms, closed) if sample is not None and sample.assets else None
