"""One asset instead of another: texts of a real run, cut at everything that may differ from asset to asset."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any

from dam_sync.engine.compare.file_keys import version_key
from dam_sync.model.asset import Asset
from dam_sync.model.codec import asset_from_json, fingerprint
from dam_sync.store.tables import stamp
from tests.support.measuring.counted_calls import MARK

Row = dict[str, Any]
Pairs = Mapping[str, str]
MADE_UP = frozenset({"catalogue_id", "record"})
MILLISECOND = timedelta(milliseconds=1)


@dataclass
class Pattern:
    """One of the first assets: its truth at both services, its asset as the product reads it, its rows by table."""

    source: Row
    target: Row
    asset: Row
    rows: dict[str, list[Row]]
    leaves: tuple[list[str], list[str]] = field(init=False)
    digests: tuple[str, ...] = field(init=False)
    of_target: Template = field(init=False)
    of_asset: Template = field(init=False)
    of_rows: list[tuple[str, list[tuple[str, Any]]]] = field(init=False)

    def __post_init__(self) -> None:
        self.leaves = leaves_of(self.source), leaves_of(self.target)
        self.digests = digests_of(asset_from_json(self.asset))
        spelled = {text for each in chain(*self.leaves) for text in _spellings(each)} | set(self.digests)
        tokens = any_of(sorted(filter(None, spelled), key=len, reverse=True))
        self.of_target, self.of_asset = (Template(json.dumps(each), tokens) for each in (self.target, self.asset))
        self.of_rows = [
            (table, [(key, Template(value, tokens) if isinstance(value, str) else value) for key, value in row.items()])
            for table, rows in self.rows.items()
            for row in rows
        ]

    def rows_with(self, both: Pairs, there: Pairs) -> Iterator[tuple[str, Row]]:
        """Its rows for another asset, by table. Ids of the two services may be the same texts: one column has those of
        the target."""
        at_target = {**both, **there}
        for table, row in self.of_rows:
            yield (
                table,
                {
                    key: value.filled(at_target if key == "target" else both) if isinstance(value, Template) else value
                    for key, value in row
                },
            )


class Template:
    """A text of a pattern, cut at everything that may differ from asset to asset."""

    __slots__ = ("_gaps", "_parts")

    def __init__(self, text: str, tokens: re.Pattern[str]) -> None:
        spans = [found.span() for found in tokens.finditer(text)]
        ends = [0, *(border for span in spans for border in span), len(text)]
        self._parts = [text[start:end] for start, end in pairwise(ends)]
        self._gaps = self._parts[1::2]

    def filled(self, pairs: Pairs) -> str:
        """The text with what differs."""
        if not self._gaps:
            return self._parts[0]
        parts = self._parts.copy()
        parts[1::2] = [pairs.get(gap, gap) for gap in self._gaps]
        return "".join(parts)


def digests_of(asset: Asset) -> tuple[str, ...]:
    """What the product makes of an asset."""
    digest = fingerprint(asset)
    return (digest, digest[:16], *map(version_key, asset.versions))


def pairs_of(old: Sequence[str], new: Mapping[str, Any]) -> dict[str, str]:
    """Texts in which two truths of one shape differ, in every spelling. old: the leaves of the first."""
    found: dict[str, str] = {}
    for before, after in zip(old, leaves_of(new), strict=True):
        if before != after:
            found |= zip(_spellings(before), _spellings(after), strict=True)
    return found


def leaves_of(value: Mapping[str, Any]) -> list[str]:
    """Every text of a truth that may differ from asset to asset, in one order."""
    found: list[str] = []
    _gather(value, found)
    return found


def _gather(value: Any, found: list[str]) -> None:
    kind = type(value)
    if kind is str:
        found.append(value)
    elif kind is dict:
        for key in sorted(value):
            if key not in MADE_UP and not key.endswith(MARK):  # the marker holds another id
                _gather(value[key], found)
    elif kind is list or kind is tuple:
        for each in value:
            _gather(each, found)


@lru_cache(maxsize=4096)
def _spellings(text: str) -> tuple[str, ...]:
    """A text, and how else the product writes it: dates, the beginning of a digest. An emulator gives a version whose
    date nobody stated the millisecond before the next one."""
    if len(text) == 32 and text.isalnum():
        return text, text[:8]
    if not re.match(r"\d{4}-\d\d-\d\dT", text):
        return (text,)
    when = datetime.fromisoformat(text)
    milliseconds = str(round(when.timestamp() * 1000))
    exact, before = (at.isoformat(timespec="milliseconds").replace("+00:00", "Z") for at in (when, when - MILLISECOND))
    return text, stamp(when), exact, str(when), milliseconds, before


def any_of(texts: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<![0-9A-Za-z])(?:{'|'.join(map(re.escape, texts))})(?![0-9A-Za-z])")
