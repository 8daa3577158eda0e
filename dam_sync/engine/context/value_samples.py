"""A few values of each field rule before and after the mapping, and of what the mapping leaves out, for reports."""

from __future__ import annotations

from dataclasses import dataclass, field

from dam_sync.mapping.coverage import Coverage
from dam_sync.mapping.crosswalk import Drafted
from dam_sync.mapping.value_text import cut, text_of
from dam_sync.model.asset import Asset

MOST = 3
LONGEST = 200  # characters of each


@dataclass(frozen=True, slots=True)
class SampledValue:
    """What one rule read of one asset and what it made of it. shortened: characters were cut off."""

    asset: str
    before: str
    after: str
    shortened: bool = False


@dataclass(slots=True)
class ValueSamples:
    """The first different values of each rule, by the place of the rule; left_out: of each field that the mapping
    leaves out on purpose, by its path."""

    rows: dict[str, list[SampledValue]] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def add(self, asset: str, drafted: Drafted) -> None:
        """Keep what is new of one asset."""
        for rule, (before, after) in drafted.shown.items():
            known = self.rows.setdefault(rule, [])
            if len(known) < MOST:
                texts = "; ".join(map(text_of, before)), "; ".join(map(text_of, after))
                shortened = any(len(text) > LONGEST for text in texts)
                found = SampledValue(asset, cut(texts[0], LONGEST), cut(texts[1], LONGEST), shortened)
                if all((found.before, found.after) != (each.before, each.after) for each in known):
                    known.append(found)

    def add_left_out(self, asset: Asset, coverage: Coverage) -> None:
        """Keep what is new of the values of one asset that the mapping leaves out on purpose."""
        for path, value in coverage.left_out(asset):
            known = self.left_out.setdefault(path, [])
            if len(known) < MOST:
                text = cut(text_of(value), LONGEST)
                if text not in known:
                    known.append(text)
