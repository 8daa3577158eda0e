"""Refusals that do not depend on the rate: a service that refuses one call in a hundred, however few are sent. No
input/output.

Fewer calls do not help against these, and each would lower a learned rate a little more, down to the slowest. They are
recognized because calls are refused again and again well below the rate that was refused before, and stay so although
the rate was lowered by a quarter. From then on only more refusals than that are about the rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self

from dam_sync.model.values import Json

_IN_A_ROW: Final = 4  # refusals well below the rate that was refused before
_HELPLESS: Final = 0.75  # of the rate: lowered to that in vain
_MOST: Final = 0.2  # of all calls: a service that refuses more has too much to do
_LEAST: Final = 0.0005  # of all calls: fewer are not worth a distinction
_MORE: Final = 2.5  # times as many as usual are about the rate
_REMEMBERED: Final = 5  # refusals over which they are counted
_FEWER: Final = 0.125  # of the usual ones: then only half are usual


class UnrelatedRefusals:
    """The part of all calls that is refused at any rate."""

    def __init__(self) -> None:
        self.usual = 0.0
        self._recent = 0.0
        self._before: float | None = None  # the limit before it was lowered in vain
        self._early = 0
        self._refused = self._accepted = 0  # since then

    @property
    def is_usual(self) -> bool:
        """Whether the recent refusals are no more than usual."""
        return self.usual > 0 and self._recent <= _MORE * self.usual

    def counted(self, *, refused: int = 0, accepted: int = 0) -> None:
        """So many calls were refused and accepted."""
        self._refused += refused
        self._accepted += accepted
        if not self.usual:
            return
        kept = 1 - self.usual / _REMEMBERED
        self._recent = (1 - (1 - self._recent) * kept**refused) * kept**accepted
        if self._recent < _FEWER * self.usual:
            self._becomes(self.usual / 2)

    def related(self, limit: float) -> None:
        """A refusal that is about the rate, or may be; this is now the limit."""
        self._before, self._early, self._refused, self._accepted = limit, 0, 0, 0
        self._recent = self.usual

    def early(self, limit: float, *, is_lowest: bool) -> bool:
        """A refusal well below the limit that was refused before; it is lowered to this one. Whether that was in vain:
        then nothing is known of a limit."""
        self._before = self._before or limit
        self._early += 1
        if self._early < _IN_A_ROW or not (is_lowest or limit <= _HELPLESS * self._before):
            return False
        part = self._refused / max(1, self._refused + self._accepted)
        self.related(limit)
        if not _LEAST <= part <= _MOST:
            return False
        self._becomes(part)
        return True

    def _becomes(self, part: float) -> None:
        self.usual = self._recent = part if part >= _LEAST else 0.0

    def dumped(self) -> dict[str, Json]:
        """All of it, for other processes."""
        return {name.strip("_"): value for name, value in vars(self).items()}

    @classmethod
    def of(cls, dumped: Mapping[str, Json]) -> Self:
        """What another process dumped."""
        found = cls()
        for name in vars(found):
            setattr(found, name, dumped.get(name.strip("_"), getattr(found, name)))
        return found
