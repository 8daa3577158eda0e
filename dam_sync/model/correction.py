"""Values that a person gave for one asset, in place of those that the mapping could not write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dam_sync.model.canonical import canonical
from dam_sync.model.values import Scalar

CORRECTED = "corrected by hand"  # the rule of what happened to a value in whose place another stands
WHOLE = ""  # in place of a failed value: the correction stands for everything that the line would write
LONGEST = 20_000  # characters of a failed value that are kept


@dataclass(frozen=True, slots=True)
class FailedValue:
    """A value that parks its asset. path: the line of the mapping, such as `fields.title`; rule: why it failed; value:
    as text, `WHOLE` if the line as a whole failed."""

    path: str
    rule: str
    value: str


@dataclass(frozen=True, slots=True)
class Corrections:
    """The corrections of one asset: by line of the mapping, what stands in place of each failed value."""

    by_line: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    def of(self, line: str) -> Mapping[str, tuple[str, ...]]:
        """Those of single values."""
        return {failed: texts for failed, texts in self.by_line.get(line, {}).items() if failed != WHOLE}

    def whole(self, line: str) -> tuple[str, ...]:
        """What the line writes whatever it reads; empty if nothing was given."""
        return self.by_line.get(line, {}).get(WHOLE, ())


def failed_text(value: Scalar) -> str:
    """A value as it is named in lists of failed values."""
    return "; ".join(canonical(value))[:LONGEST]
