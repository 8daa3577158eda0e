"""What a sample of assets tells beyond the schema: types in use, and fields with values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dam_sync.mapping.results import empty
from dam_sync.model.asset import Asset
from dam_sync.model.values import Value


@dataclass(frozen=True, slots=True)
class Sample:
    """types: number of assets of each. filled: keys of fields with a value in any of them. whole: these are all the
    assets of the source."""

    assets: int = 0
    types: Mapping[str, int] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    whole: bool = False

    @classmethod
    def of(cls, assets: Iterable[Asset], *, whole: bool = False) -> Sample:
        """The sample of any number of assets."""
        number, types, filled = 0, Counter[str](), set[str]()
        for asset in assets:
            number += 1
            types[asset.type] += 1
            filled |= {key for key, value in asset.fields.items() if _holds(value)}
        return cls(number, dict(types), frozenset(filled), whole)


def _holds(value: Value) -> bool:
    return not all(empty(one) for one in (value if isinstance(value, tuple) else (value,)))
