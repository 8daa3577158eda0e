"""What a sample of assets tells beyond the schema: types in use, and fields with values."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from dam_sync.mapping.media_families import family_of_file
from dam_sync.mapping.results import empty
from dam_sync.model.asset import Asset
from dam_sync.model.values import Localized, Scalar, Term, Value
from dam_sync.model.wording import counted

MOST_TEXTS = 500  # different texts kept of one field
LONGEST = 60  # characters of a text that may be a date
MOSTLY = 0.8  # of the files of a type are of one kind of media
REPEATED = 0.8  # of the values of a field are the names of the files


@dataclass(frozen=True, slots=True)
class Sample:
    """types: number of assets of each. filled: keys of fields with a value in any of them. whole: these are all the
    assets of the source. texts: by key of a field, its short texts and labels of terms, at most `MOST_TEXTS` different
    ones, each with the number of values that are equal to it. filenames: the first `MOST_TEXTS` of them. counts: by key
    of a field, the assets with a value; named: those whose value is the name of their file; tagged: with tags. groups:
    assets by each group that may see them, the most frequent first. families: by type, the kind of media that most of
    its files are of."""

    assets: int = 0
    types: Mapping[str, int] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    whole: bool = False
    texts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    filenames: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    named: Mapping[str, int] = field(default_factory=dict)
    tagged: int = 0
    groups: Mapping[str, int] = field(default_factory=dict)
    families: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, assets: Iterable[Asset], *, whole: bool = False) -> Sample:
        """The sample of any number of assets."""
        found = _Counting()
        for asset in assets:
            found.add(asset)
        names, counts = tuple(found.names), dict(found.counts)
        texts = {key: found.texts[key] for key in counts}
        parts = (dict(found.types), frozenset(counts), whole, texts, names, counts, dict(found.named))
        return cls(found.assets, *parts, found.tagged, dict(found.groups.most_common()), found.families())

    def fill_of(self, key: str) -> str:
        """How many of the assets have a value in this field, in words; empty if that is not known."""
        if not self.assets or (key in self.filled and key not in self.counts):
            return ""
        number = self.counts.get(key, 0)
        return f"filled in {number:,} of {counted(self.assets, 'sampled asset')}" if number else "empty in the sample"

    def is_empty(self, key: str) -> bool:
        """Whether there are assets, and none has a value in this field."""
        return self.assets > 0 and key not in self.filled

    def repeats_filenames(self, key: str) -> bool:
        """Whether most values of this field are the name of the file, which it then does not add to."""
        return self.named.get(key, 0) > REPEATED * self.counts.get(key, 0)


@dataclass(slots=True)
class _Counting:
    """Counts what some assets show."""

    assets: int = 0
    types: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)
    texts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    names: list[str] = field(default_factory=list)
    tagged: int = 0
    groups: Counter[str] = field(default_factory=Counter)
    media: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def families(self) -> dict[str, frozenset[str]]:
        """By type, the kind of media of most of its files."""
        return {
            kind: frozenset(family for family, number in counts.items() if family and number > MOSTLY * counts.total())
            for kind, counts in self.media.items()
        }

    def add(self, asset: Asset) -> None:
        """Count one asset."""
        self.assets += 1
        self.types[asset.type] += 1
        self.media[asset.type][family_of_file(asset.filename)] += 1
        self.tagged += bool(asset.tags)
        self.groups.update(sorted(asset.rights.groups))
        name = asset.filename.strip()
        if name and len(self.names) < MOST_TEXTS:
            self.names.append(asset.filename)
        for key, value in asset.fields.items():
            if holds(value):
                self.counts[key] += 1
                self.named[key] += bool(name) and {name, PurePosixPath(name).stem} & _all_texts(value) != set()
                _count(self.texts[key], value)


def _all_texts(value: Value) -> set[str]:
    return {text for one in _scalars(value) for text in _texts(one)}


def holds(value: Value) -> bool:
    """Whether any of the values is more than whitespace."""
    return not all(empty(one) for one in _scalars(value))


def _count(found: Counter[str], value: Value) -> None:
    for one in _scalars(value):
        for text in _texts(one):
            if 0 < len(text) <= LONGEST and (text in found or len(found) < MOST_TEXTS):
                found[text] += 1


def _texts(value: Scalar) -> Iterable[str]:
    match value:
        case str():
            return (value.strip(),)
        case Term(label=label):
            return (label.strip(),)
        case Localized(texts):
            return tuple(dict.fromkeys(text.strip() for text in texts.values()))
        case _:
            return ()


def _scalars(value: Value) -> tuple[Scalar, ...]:
    return value if isinstance(value, tuple) else (value,)
