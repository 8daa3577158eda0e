"""Refusals that do not depend on the rate: a service that refuses one call in a hundred, however few are sent. No
input/output.

Fewer calls do not help against these, and each would lower the rate a little more, down to the slowest. They are
recognized because calls are refused again and again well below the rate that was refused before, and stay so although
the rate was lowered by a quarter. From then on only more refusals than that are about the rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Final, Self

from dam_sync.model.values import Json

_IN_A_ROW: Final = 4  # refusals well below the rate that was refused before
_HELPLESS: Final = 0.75  # of the rate: lowered to that in vain
_MOST: Final = 0.2  # of all calls: a service that refuses more has too much to do
_LEAST: Final = 0.0005  # of all calls: fewer are not worth a distinction
_MORE: Final = 2.5  # times as many as usual are about the rate
_REMEMBERED: Final = 5  # refusals over which they are counted
_FEWER: Final = 0.125  # of the usual ones: then only half are usual


@dataclass(slots=True)
class UnrelatedRefusals:
    """The part of all calls that is refused at any rate. usual: that part, zero if none is known; recent: of the calls
    of late; before: the limit before it was lowered in vain; since then: refusals in a row, calls refused and accepted.
    """

    usual: float = 0.0
    recent: float = 0.0
    before: float | None = None
    in_a_row: int = 0
    refused: int = 0
    accepted: int = 0

    @property
    def is_usual(self) -> bool:
        """Whether the recent refusals are no more than usual."""
        return self.usual > 0 and self.recent <= _MORE * self.usual

    def counted(self, *, refused: int = 0, accepted: int = 0) -> None:
        """So many calls were refused and accepted."""
        self.refused += refused
        self.accepted += accepted
        if not self.usual:
            return
        kept = 1 - self.usual / _REMEMBERED
        self.recent = (1 - (1 - self.recent) * kept**refused) * kept**accepted
        if self.recent < _FEWER * self.usual:
            self._becomes(self.usual / 2)

    def related(self, limit: float) -> None:
        """A refusal that is about the rate, or may be; this is now the limit."""
        self.before, self.in_a_row, self.refused, self.accepted = limit, 0, 0, 0
        self.recent = self.usual

    def early(self, limit: float, *, is_lowest: bool) -> bool:
        """A refusal well below the limit that was refused before; it is lowered to this one. Whether that was in vain:
        then nothing is known of a limit."""
        self.before = self.before or limit
        self.in_a_row += 1
        if self.in_a_row < _IN_A_ROW or not (is_lowest or limit <= _HELPLESS * self.before):
            return False
        part = self.refused / max(1, self.refused + self.accepted)
        self.related(limit)
        if not _LEAST <= part <= _MOST:
            return False
        self._becomes(part)
        return True

    def _becomes(self, part: float) -> None:
        self.usual = self.recent = part if part >= _LEAST else 0.0

    def dumped(self) -> dict[str, Json]:
        """All of it, for other processes."""
        return asdict(self)

    @classmethod
    def of(cls, dumped: Mapping[str, Json]) -> Self:
        """What another process dumped."""
        return cls(**{one.name: dumped[one.name] for one in fields(cls) if one.name in dumped})
