"""Recognizes that the texts of a sample are several values in one, for a first `split` step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

SEPARATORS: Final = (";", "|")  # a comma stands in too many names
_LEAST: Final = 0.1  # of the values have to have it


@dataclass(frozen=True, slots=True)
class Separated:
    """`number` of `total` values have the separator `at`."""

    at: str
    number: int
    total: int

    @property
    def summary(self) -> str:
        """What the step does with the sample, for the comment of its line."""
        return f"splits {self.number:,} of {self.total:,} sampled values"


def separated(texts: Mapping[str, int]) -> Separated | None:
    """How these texts, each as often as its number says, are separated; None if they seem to be one value each."""
    total = sum(texts.values())
    found = (
        Separated(at, sum(number for text, number in texts.items() if len(_parts(text, at)) > 1), total)
        for at in SEPARATORS
    )
    best = max(found, key=lambda one: one.number)
    return best if best.number and best.number >= _LEAST * total else None


def _parts(text: str, at: str) -> list[str]:
    return [part for part in text.split(at) if part.strip()]
