"""Counters of fixed size: what they keep does not grow with the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dam_sync.model.inventory import Distinct
from dam_sync.model.values import Localized, Row, Scalar, Value

MOST_DISTINCT = 2_000  # different values counted of one field
MOST_KEPT = 200  # characters kept of a value; longer ones that begin alike count as one
MOST_SHOWN = 5  # samples and frequent values


@dataclass(slots=True)
class BoundedCounter:
    """Counts texts, of which at most `bound` are kept: later ones are only known to exist."""

    bound: int = MOST_DISTINCT
    counts: Counter[str] = field(default_factory=Counter)
    exceeded: bool = False

    def add(self, text: str, number: int = 1) -> None:
        """Count a text; one beyond the bound sets `exceeded`."""
        if text in self.counts or len(self.counts) < self.bound:
            self.counts[text] += number
        else:
            self.exceeded = True

    @property
    def distinct(self) -> Distinct:
        """How many different texts were counted."""
        return Distinct(len(self.counts), self.exceeded)

    def common(self, most: int = MOST_SHOWN) -> tuple[tuple[str, int], ...]:
        """The most frequent texts, those of equal number by name."""
        return tuple(sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))[:most])


def lengths_of(value: Value) -> Iterator[int]:
    """Characters of each text in a value, every language and cell for itself; none for dates, numbers and places."""
    for one in scalars_of(value):
        match one:
            case Localized(texts):
                yield from map(len, texts.values())
            case Row(cells):
                for cell in cells.values():
                    yield from lengths_of(cell)
            case str():
                yield len(one)
            case _:
                label = getattr(one, "label", None) or getattr(one, "name", None)
                yield from (len(label),) if isinstance(label, str) else ()


def languages_of(value: Value) -> Iterable[str]:
    """The languages in which a value has a text."""
    texts = (one.texts for one in scalars_of(value) if isinstance(one, Localized))
    return {locale for each in texts for locale, text in each.items() if text.strip()}


def scalars_of(value: Value) -> tuple[Scalar, ...]:
    """A value as a tuple."""
    return value if isinstance(value, tuple) else (value,)


def shortened(text: str) -> str:
    """As much of a text as counters keep."""
    return text if len(text) <= MOST_KEPT else f"{text[: MOST_KEPT - 1]}…"
