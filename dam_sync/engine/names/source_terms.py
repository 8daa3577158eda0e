"""Completes source terms: listings often carry labels only, but a hierarchy needs complete terms."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from dam_sync.engine.context.libraries import Source
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.asset import Asset
from dam_sync.model.capabilities import Operation
from dam_sync.model.service import Service
from dam_sync.model.values import Scalar, Term, Value


@dataclass(slots=True)
class SourceTerms:
    """Terms by vocabulary and id, read once per run, when the first term has to be created, or distinguished from one
    with the same label; vocabularies: by the fields of the source whose terms are written with levels or languages;
    trees: those of them whose terms are found by their place in the tree."""

    source: Service
    vocabularies: Mapping[str, str] = field(default_factory=dict)
    trees: frozenset[str] = frozenset()
    by_id: dict[str, dict[str, Term]] = field(default_factory=dict)
    by_path: dict[tuple[str, tuple[str, ...]], Term] = field(default_factory=dict)  # and vocabulary
    loaded: bool = False
    _loading: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def of(cls, source: Source, crosswalk: Crosswalk) -> SourceTerms:
        """The source terms that a run needs."""
        fields = source.schema.fields
        from_ = {rule.source for rule in crosswalk.vocabularies.values() if rule.whole}
        known = {
            key: one.vocabulary for key, one in fields.items() if one.vocabulary and key in crosswalk.coverage.needed
        }
        trees = {rule.source for rule in crosswalk.vocabularies.values() if rule.by_path}
        return cls(
            source.service,
            {key: name for key, name in known.items() if from_ & {"", name}},
            frozenset(key for key, name in known.items() if trees & {"", name}),
        )

    async def placed(self, asset: Asset) -> Asset:
        """The asset with complete terms, after reading vocabularies in which labels are ambiguous."""
        if self._lacking(asset, self.trees):
            await self.load(asset)
        return self.whole(asset)

    def lacks(self, asset: Asset, new: Iterable[Term] = ()) -> bool:
        """Whether its terms, or `new` ones above them, can be completed by reading the vocabularies."""
        known = self.loaded or Operation.TERMS not in self.source.capabilities
        return not known and (self._lacking(asset, self.vocabularies) or self._above(asset, new))

    async def load(self, asset: Asset, new: Iterable[Term] = ()) -> bool:
        """Read the vocabularies at most once; whether more is known than before."""
        if not self.lacks(asset, new):
            return False
        await self.read()
        return True

    async def read(self) -> None:
        """Read the vocabularies, at most once."""
        async with self._loading:
            if self.loaded:
                return
            for vocabulary in sorted(set(self.vocabularies.values())):
                known = self.by_id.setdefault(vocabulary, {})
                async for term in self.source.terms(vocabulary):
                    known[term.id] = term
                    self.by_path.setdefault((vocabulary, term.path), term)
            self.loaded = True

    def whole(self, asset: Asset) -> Asset:
        """The asset with complete terms, as far as they are known."""
        if not self.loaded:
            return asset
        changed = {
            key: self._completed_value(key, asset.fields[key]) for key in self.vocabularies if key in asset.fields
        }
        return replace(asset, fields={**asset.fields, **changed})

    def at(self, vocabulary: str, path: tuple[str, ...]) -> Term | None:
        """The term of a vocabulary, or of any if that is empty, with this path."""
        among = (vocabulary,) if vocabulary else self.by_id
        return next((found for name in among if (found := self.by_path.get((name, path))) is not None), None)

    def completed(self, term: Term, vocabulary: str = "") -> Term:
        """A term to be created, with its languages and synonyms at the source; it may be an ancestor of the asset's
        terms. vocabulary: that of the source, or empty for any."""
        own = self.at(vocabulary, term.path)
        if own is None or term.labels:
            return term
        return replace(term, labels=own.labels, synonyms=own.synonyms, descriptions=own.descriptions)

    def _lacking(self, asset: Asset, fields: Iterable[str]) -> bool:
        return any(_bare(each) for each in _values(asset, fields))

    def _above(self, asset: Asset, new: Iterable[Term]) -> bool:
        """Whether a new term is an ancestor of one that has languages, so that it has some too."""
        paths = {each.path for each in _values(asset, self.vocabularies) if isinstance(each, Term) and each.labels}
        return any(term.path in {path[:depth] for path in paths for depth in range(1, len(path))} for term in new)

    def _completed_value(self, key: str, value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(self._one(key, each) for each in value)
        return self._one(key, value)

    def _one(self, key: str, value: Scalar) -> Scalar:
        if not isinstance(value, Term) or not _bare(value):
            return value
        own = self.by_id[self.vocabularies[key]].get(value.id)
        return value if own is None else replace(own, label=value.label, labels=value.labels or own.labels)


def _values(asset: Asset, fields: Iterable[str]) -> Iterator[Scalar]:
    for value in (asset.fields[key] for key in fields if key in asset.fields):
        yield from value if isinstance(value, tuple) else (value,)


def _bare(value: Scalar) -> bool:
    return isinstance(value, Term) and bool(value.id) and not value.path
