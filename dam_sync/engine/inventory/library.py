"""Counts what the assets of one library hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from dam_sync.engine.inventory.duplicates import DuplicateTally
from dam_sync.engine.inventory.rights import RightsTally, RiskCounter
from dam_sync.engine.inventory.tallies import (
    MOST_SHOWN,
    BoundedCounter,
    languages_of,
    lengths_of,
    scalars_of,
    shortened,
)
from dam_sync.mapping.results import empty
from dam_sync.mapping.vocabulary import normal, path_text
from dam_sync.model.asset import Asset, FileRef
from dam_sync.model.canonical import canonical
from dam_sync.model.schema import Field, Schema
from dam_sync.model.values import Person, Scalar, Term, Value

MOST_TERMS = 50_000  # terms of one vocabulary
MOST_GROUPS = 500  # types, statuses and years
UNDATED = "unknown"


_ID, _LABEL = "#", "="


@dataclass(slots=True)
class FieldTally:
    """What the values of one field are."""

    filled: int = 0
    most: int = 0
    longest: int = 0
    values: BoundedCounter = field(default_factory=BoundedCounter)
    languages: Counter[str] = field(default_factory=Counter)
    samples: dict[str, None] = field(default_factory=dict)

    def add(self, value: Value) -> None:
        """Count the value of one asset."""
        texts = canonical(value)
        self.filled += 1
        self.most = max(self.most, len(scalars_of(value)))
        self.longest = max([self.longest, *lengths_of(value)])
        self.languages.update(languages_of(value))
        for text in texts:
            self.values.add(shortened(text))
        if texts and len(self.samples) < MOST_SHOWN:
            self.samples[shortened(texts[0])] = None


@dataclass(slots=True)
class AmountTally:
    """Assets and bytes of their files."""

    assets: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        """Count one asset."""
        self.assets += 1
        self.bytes += size


@dataclass(slots=True)
class LibraryTally:
    """Everything that is counted of the assets; its size is bounded. used: assets by term, by vocabulary, under the
    keys of `term_keys`. hidden: what assets have and the service does not return, by path. unopenable: assets with a
    file that will not be read; unsized: other files without a size."""

    schema: Schema
    rights: RightsTally
    duplicates: DuplicateTally
    assets: AmountTally = field(default_factory=AmountTally)
    fields: dict[str, FieldTally] = field(default_factory=dict)
    types: dict[str, AmountTally] = field(default_factory=dict)
    statuses: dict[str, AmountTally] = field(default_factory=dict)
    years: dict[str, AmountTally] = field(default_factory=dict)
    used: dict[str, BoundedCounter] = field(default_factory=dict)
    containers: dict[tuple[str, str], int] = field(default_factory=dict)
    hidden: dict[str, RiskCounter] = field(default_factory=dict)
    unopenable: RiskCounter = field(default_factory=RiskCounter)
    unsized: int = 0

    @classmethod
    def of(cls, schema: Schema, now: datetime, by: str) -> LibraryTally:
        """Counters for a library with this schema. by: how duplicates are found."""
        return cls(schema, RightsTally.of(schema.fields.values(), now, schema.capabilities), DuplicateTally(by))

    def add(self, asset: Asset, refused: Sequence[FileRef] = ()) -> None:
        """Count one asset. refused: those of its files that will not be read."""
        if refused:
            self.unopenable.add(asset)
        size = self._size(asset)
        self.unsized -= sum(file.size is None for file in refused)
        self.assets.add(size)
        made = asset.created_at or asset.imported_at
        keys = (
            (self.types, asset.type),
            (self.statuses, asset.status),
            (self.years, str(made.year) if made else UNDATED),
        )
        for tallies, key in keys:
            if key in tallies or len(tallies) < MOST_GROUPS:
                tallies.setdefault(key, AmountTally()).add(size)
        self._add_fields(asset)
        for kind, path in {(one.kind, one.text) for one in asset.placements}:
            self.place(kind, path)
        self.rights.add(asset)
        self.duplicates.add(asset)
        for path in {loss.path for loss in asset.losses}:
            self.hidden.setdefault(path, RiskCounter()).add(asset)

    def place(self, kind: str, path: str, number: int = 1) -> None:
        """Count members of a container."""
        key = (kind, path)
        if key in self.containers or len(self.containers) < MOST_TERMS:
            self.containers[key] = self.containers.get(key, 0) + number

    def holders(self, known: Field) -> int:
        """Assets of a type that has this field."""
        if not known.types:
            return self.assets.assets
        return sum(tally.assets for name, tally in self.types.items() if name in known.types)

    def _add_fields(self, asset: Asset) -> None:
        used: dict[str, set[str]] = {}
        for key, value in asset.fields.items():
            if value is False or all(map(empty, scalars_of(value))):
                continue  # some services return `no` for every flag that nobody set
            self.fields.setdefault(key, FieldTally()).add(value)
            known = self.schema.fields.get(key)
            if known is not None and known.vocabulary:
                used.setdefault(known.vocabulary, set()).update(map(term_key, scalars_of(value)))
        for vocabulary, keys in used.items():
            counter = self.used.setdefault(vocabulary, BoundedCounter(MOST_TERMS))
            for key in keys:
                counter.add(key)

    def _size(self, asset: Asset) -> int:
        files = (*asset.versions, *asset.attachments)
        self.unsized += sum(file.size is None for file in files)
        return sum(file.size or 0 for file in files)


def term_key(value: Scalar) -> str:
    """By what a value of a vocabulary is counted: its id, its path or its label, each with a sign of its own."""
    match value:
        case Term():
            return next(term_keys(value), _LABEL)
        case Person(name=name, id=identity):
            return f"{_ID}{identity}" if identity else label_key(name)
        case _:
            return label_key(next(iter(canonical(value)), ""))


def term_keys(term: Term) -> Iterator[str]:
    """The keys under which a term may have been counted, the most precise first."""
    if term.id:
        yield f"{_ID}{term.id}"
    if path := path_text(term):
        yield path
    if normal(term.label):
        yield label_key(term.label)


def label_key(label: str) -> str:
    """The key of a term of which only the label is known."""
    return f"{_LABEL}{normal(label)}"


def shown_key(key: str) -> str:
    """A key as people know it."""
    return key if key.startswith("/") else key[1:]


def uses_of(term: Term, used: Mapping[str, int]) -> int:
    """How many assets have a term."""
    return next((used[key] for key in term_keys(term) if key in used), 0)
