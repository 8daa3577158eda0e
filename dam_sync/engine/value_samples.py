"""A few values of each field rule before and after the mapping, for reports."""

from __future__ import annotations

from dataclasses import dataclass, field

from dam_sync.mapping.crosswalk import Drafted
from dam_sync.mapping.results import LanguagePreference
from dam_sync.mapping.vocabulary import path_text
from dam_sync.model.values import GeoPoint, Localized, Row, Term, Value

MOST = 3
LONGEST = 200  # characters of each
PLAIN = LanguagePreference()


@dataclass(frozen=True, slots=True)
class SampledValue:
    """What one rule read of one asset and what it made of it. shortened: characters were cut off."""

    asset: str
    before: str
    after: str
    shortened: bool = False


@dataclass(slots=True)
class ValueSamples:
    """The first different values of each rule, by the place of the rule."""

    rows: dict[str, list[SampledValue]] = field(default_factory=dict)

    def add(self, asset: str, drafted: Drafted) -> None:
        """Keep what is new of one asset."""
        for rule, (before, after) in drafted.shown.items():
            known = self.rows.setdefault(rule, [])
            if len(known) < MOST:
                texts = "; ".join(map(text_of, before)), "; ".join(map(text_of, after))
                found = SampledValue(asset, _cut(texts[0]), _cut(texts[1]), any(len(text) > LONGEST for text in texts))
                if all((found.before, found.after) != (each.before, each.after) for each in known):
                    known.append(found)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def text_of(value: Value) -> str:
    """A value as people read it."""
    match value:
        case tuple():
            return "; ".join(map(text_of, value))
        case Localized(texts):
            return ", ".join(f"{locale}: {text}" for locale, text in texts.items())
        case Term():
            return path_text(value) if len(value.path) > 1 else value.label or path_text(value)
        case GeoPoint(latitude=latitude, longitude=longitude, address=address):
            return ", ".join(str(part) for part in (latitude, longitude, address) if part not in (None, ""))
        case Row(cells):
            return ", ".join(f"{key}: {text_of(cell)}" for key, cell in cells.items())
        case bool():
            return "yes" if value else "no"
        case _:
            return PLAIN.text(value) or ""
