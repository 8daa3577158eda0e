"""Limits that no service documents, learned from its responses: calls per second, and calls at once. No input/output.

The rate follows a cubic curve, as CUBIC does for TCP (RFC 9438): after a refusal 90 % of what was accepted, back to it
within 40 s of full use (at first 10 s), then slowly and later quickly beyond. The number of calls at once is found by
comparison: with more of them at once, are they completed faster in all? That needs no measurement of an idle service,
so that it also works if calls have to wait at the service from the first one on.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from dam_sync.http.rates.unrelated import UnrelatedRefusals
from dam_sync.model.values import Json

SLOWEST: Final = 0.2  # calls per second, however often the service refuses
_LOWEST: Final = 2 * SLOWEST  # limit that is learned
_BACK_OFF: Final = 0.9
_FIRST_CURVE, _CURVE = 10.0, 40.0  # seconds of full use until the rate is again what was refused; doubled up to 40
_EARLY: Final = 0.5  # of the curve: before that the rate is well below what was refused
_FORGOTTEN: Final = 4.0  # times the rate that was refused: beyond that there is no limit any more
_MEAN: Final = 0.97  # of the limit is what the curve comes to
_COUNTABLE: Final = 5.0  # calls per second: of fewer, a single second shows too little
VERY_LOW: Final = 1.0  # calls per second: a rate that was lowered to that is as good as the lowest

_STEP: Final = 1.5  # the factor between two numbers of calls at once that are compared
_WORTH: Final = 1.08  # more at once are kept if they are that much faster in all
_LOSS: Final = 0.95  # fewer at once are kept if they are not slower than that
_SAMPLES: Final = 48  # calls that are compared, at least
_ROUNDS: Final = 4  # the same per call at once
_HOLD, _LONGEST_HOLD = 8, 64  # comparisons left out after both directions, or a refusal; doubled each time
_SHORTEST: Final = 1e-4  # seconds of a response that counts


class LearnedRate:
    """Calls per second below an unknown limit. limit: the estimate, None if nothing was refused; used: seconds of full
    use since the last refusal."""

    def __init__(self, limit: float | None = None, used: float = 0.0) -> None:
        self.limit = limit
        self._low = (limit or 0.0) * _BACK_OFF
        self._curve = _CURVE if limit else _FIRST_CURVE / 2
        self.used = used
        self._accepted = 0
        self._most = 0.0  # calls accepted in a second, at refusals that were taken for unrelated
        self.unrelated = UnrelatedRefusals()

    @property
    def rate(self) -> float | None:
        """Calls per second to be sent now; None without a limit."""
        if self.limit is None:
            return None
        part = self.used / self._curve
        if part < 1:
            return self.limit - (self.limit - self._low) * (1 - part) ** 3
        return self.limit * (1 + (1 - _BACK_OFF) * (part - 1) ** 3)

    @property
    def is_steady(self) -> bool:
        """Whether successes change nothing."""
        return self.limit is None and not self.unrelated.usual

    @property
    def mean(self) -> float | None:
        """Calls per second to be expected in the long run."""
        return None if self.limit is None else self.limit * _MEAN

    def refused(self, accepted: float, *, paused: bool = False) -> None:
        """The service refused a call; it accepted so many in the second before, a part of which was a pause. If it has
        refused every call since the last refusal, it is out of order: then the estimate stays, and is returned to when
        calls are accepted again. One that does not depend on the rate changes nothing."""
        rate = self.rate
        if self.unrelated.is_usual:
            self._most = max(self._most, accepted)
            return
        if self.limit is None or rate is None or self._accepted:
            self._lower(self._proved(accepted, rate, paused=paused))
        else:
            self._low = max(SLOWEST, rate / 2)
        self.used, self._accepted = 0.0, 0

    def _proved(self, accepted: float, rate: float | None, *, paused: bool) -> float:
        """Calls per second that the service is known to accept. A second with a pause in it shows too few, and so does
        any second of a low rate: counting none or one of 1.2 calls, it could never be raised among refusals that do not
        depend on it."""
        if rate is None:
            return max(self._most, accepted, _COUNTABLE)
        unclear = rate < _COUNTABLE or (paused and not self._most)
        return rate if unclear else min(rate, max(self._most, accepted))

    def _lower(self, to: float) -> None:
        part = 1.0 if self.limit is None else self.used / self._curve
        self.limit = limit = max(_LOWEST, to)
        self._most = 0.0
        self._low = limit * _BACK_OFF
        self._curve = min(_CURVE, 2 * self._curve)
        if part >= 1:
            self.unrelated.related(limit)
        elif part < _EARLY and self.unrelated.early(limit, is_lowest=limit < VERY_LOW):
            self.limit, self._curve = None, _FIRST_CURVE / 2

    def succeeded(self) -> None:
        """A call sent after the last refusal was accepted. Only calls prove a rate: it does not grow while none are
        sent."""
        rate = self.rate
        if self.limit is None or rate is None:
            return
        self._accepted += 1
        self.used += 1 / rate
        if rate >= _FORGOTTEN * self.limit:
            self.limit, self._curve = None, _FIRST_CURVE / 2

    def dumped(self) -> dict[str, Json]:
        """All of it, for other processes."""
        return {
            "limit": self.limit,
            "low": self._low,
            "curve": self._curve,
            "used": self.used,
            "accepted": self._accepted,
            "most": self._most,
            "unrelated": self.unrelated.dumped(),
        }

    @classmethod
    def of(cls, dumped: Mapping[str, Json]) -> Self:
        """What another process dumped; without anything, no limit is known."""
        learned = cls(dumped.get("limit"))
        learned._low = dumped.get("low", learned._low)
        learned._curve = dumped.get("curve", learned._curve)
        learned.used = dumped.get("used", 0.0)
        learned._accepted = dumped.get("accepted", 0)
        learned._most = dumped.get("most", 0.0)
        learned.unrelated = UnrelatedRefusals.of(dumped.get("unrelated") or {})
        return learned


@dataclass(slots=True)
class _Comparison:
    """Calls with one number of calls at once: by operation, how many, and the sum of the logarithms of their seconds,
    because one slow call must not decide."""

    number: int = 0
    sums: dict[str, tuple[int, float]] = field(default_factory=lambda: defaultdict(lambda: (0, 0.0)))

    def add(self, operation: str, seconds: float) -> None:
        number, total = self.sums[operation]
        self.sums[operation] = number + 1, total + math.log(max(_SHORTEST, seconds))
        self.number += 1

    def slower_than(self, other: _Comparison) -> float | None:
        """The factor by which the same operations took longer; None if too few of them are in both."""
        both, total = 0, 0.0
        for operation in self.sums.keys() & other.sums.keys():
            (number, own), (others, their) = self.sums[operation], other.sums[operation]
            both, total = both + number, total + number * (own / number - their / others)
        return math.exp(total / both) if both * 2 > self.number else None


class LearnedConcurrency:
    """How many calls at once serve best: `limit`, between 1 and `most`.

    `epoch` is raised with every change; a call begun in an earlier one proves nothing about the current number. Tell it
    only of calls that were begun with `limit` calls under way and that did not wait for the rate.
    """

    def __init__(self, start: int, most: int, learned: int | None = None, *, settled: bool = False) -> None:
        self.limit = max(1, min(learned or start, most))
        self.epoch = 0
        self.settled = settled  # both more and fewer were tried
        self._start, self._most = start, most
        self._base: int | None = None  # the number that `limit` is compared with
        self._reference = self._current = _Comparison()
        self._warm_up = self.limit
        self._direction, self._rejected = 1, 0
        self._hold, self._patience = _HOLD if settled else 0, _HOLD

    @property
    def learned(self) -> int:
        """The best number so far."""
        return self._base or self.limit

    def responded(self, operation: str, seconds: float) -> None:
        """A call of this epoch took so long."""
        if self._warm_up > 0:
            self._warm_up -= 1
            return
        self._current.add(operation, seconds)
        if self._current.number >= max(_SAMPLES, _ROUNDS * self.limit):
            self._compared(self._current)

    def refused(self, *, least: int = 1) -> None:
        """A call of this epoch was refused, or got no response; `least`: not below that."""
        number = min(self.learned, max(1, least, int(self.limit * _BACK_OFF)))
        self._hold_back()
        self._become(number)

    def failed(self) -> None:
        """A call of this epoch got no response. Why is unknown, so that no fewer than at first are sent for it."""
        self.refused(least=self._start)

    def _compared(self, found: _Comparison) -> None:
        slower = found.slower_than(self._reference) if self._reference.number else None
        if self._base is None:
            if self._hold > 0:
                self._hold -= 1
                if slower is not None and slower >= _STEP:  # the service has become slow, perhaps only just
                    self._hold, self._direction = 0, -1
                return self._become(self.limit)
            self._reference = found
            return self._try()
        faster = None if slower is None else self.limit / self._base / slower
        if faster is None:
            return self._become(self._base)
        if faster < (_WORTH if self.limit > self._base else _LOSS):
            self._reject()
            return self._become(self._base)
        self._reference, self._rejected, self._patience = found, 0, _HOLD
        return self._try()

    def _try(self) -> None:
        """Begin to compare with the next number in this direction."""
        step = self.limit * _STEP if self._direction > 0 else self.limit / _STEP
        number = min(self._most, max(1, int(step) if self._direction < 0 else max(self.limit + 1, int(step))))
        if number == self.limit:
            self._reject()
            return self._become(number)
        return self._become(number, base=self.limit)

    def _reject(self) -> None:
        self._direction, self._rejected = -self._direction, self._rejected + 1
        if self._rejected >= 2:
            self.settled = True
            self._hold_back()

    def _hold_back(self) -> None:
        self._hold, self._patience, self._rejected = self._patience, min(_LONGEST_HOLD, 2 * self._patience), 0

    def _become(self, number: int, base: int | None = None) -> None:
        self.epoch += number != self.limit
        self._warm_up = 0 if number == self.limit else number
        self.limit, self._base, self._current = number, base, _Comparison()
