"""What a sample of assets tells beyond the schema: types in use, and fields with values."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dam_sync.mapping.results import empty
from dam_sync.model.asset import Asset
from dam_sync.model.values import Localized, Scalar, Term, Value

MOST_TEXTS = 500  # different texts kept of one field
LONGEST = 60  # characters of a text that may be a date


@dataclass(frozen=True, slots=True)
class Sample:
    """types: number of assets of each. filled: keys of fields with a value in any of them. whole: these are all the
    assets of the source. texts: by key of a field, its short texts and labels of terms, at most `MOST_TEXTS` different
    ones, each with the number of values that are equal to it. filenames: the first `MOST_TEXTS` of them. groups: assets
    by each group that may see them, the most frequent first."""

    assets: int = 0
    types: Mapping[str, int] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    whole: bool = False
    texts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    filenames: tuple[str, ...] = ()
    groups: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, assets: Iterable[Asset], *, whole: bool = False) -> Sample:
        """The sample of any number of assets."""
        number, types, filled = 0, Counter[str](), set[str]()
        texts: dict[str, Counter[str]] = defaultdict(Counter)
        names: list[str] = []
        groups = Counter[str]()
        for asset in assets:
            number += 1
            groups.update(sorted(asset.rights.groups))
            types[asset.type] += 1
            if asset.filename.strip() and len(names) < MOST_TEXTS:
                names.append(asset.filename)
            for key, value in asset.fields.items():
                if _holds(value):
                    filled.add(key)
                    _count(texts[key], value)
        return cls(number, dict(types), frozenset(filled), whole, dict(texts), tuple(names), dict(groups.most_common()))


def _holds(value: Value) -> bool:
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
