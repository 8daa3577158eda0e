"""The rate of a credential as it is now: a limit, a temporary slowdown after refusals, or a learned limit; and what its
limiters have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from dam_sync.http.rates.learning import SLOWEST, VERY_LOW, LearnedRate
from dam_sync.http.rates.unrelated import UnrelatedRefusals
from dam_sync.model.errors import Throttled
from dam_sync.model.limits import PATIENCE
from dam_sync.model.values import Json

_GAIN = 0.03  # calls per second regained by each success: twice the rate after about 23 s
_CAREFUL = 0.1  # of the gain, near a rate that was once too fast
_WELL_BELOW = 0.9  # of the calls that were accepted in a second before a refusal
_TOO_FAST, _FAILING = 0.5, 0.9  # of the rate are left after a refusal, and after a failure that may have another cause


class AdaptiveRate:
    """Calls per second below a limit. A refusal halves it, a failure that need not be about the rate takes a tenth of
    it, every success regains some: a doubling in about 23 s, slower near the rate that was too fast. Once refusals are
    known not to depend on the rate (see `UnrelatedRefusals`), they leave it at the limit. Without a limit it is
    learned: see `LearnedRate`. No input/output."""

    def __init__(self, ceiling: float | None) -> None:
        if ceiling is not None and not ceiling > 0:
            raise ValueError(f"{ceiling} calls per second")
        self.ceiling = ceiling
        self.learned = LearnedRate()
        self._rate = ceiling
        self._knee: float | None = None
        self._unrelated = UnrelatedRefusals()  # of a limit that is known
        self._most = 0.0  # calls accepted in the second before refusals that may be about the rate

    @property
    def current(self) -> float | None:
        """Calls per second now; None without a limit."""
        return self.learned.rate if self.ceiling is None else self._rate

    @property
    def expected(self) -> float | None:
        """Calls per second to be expected in the long run; None without a limit."""
        return self.learned.mean if self.ceiling is None else self._rate

    @property
    def is_steady(self) -> bool:
        """Whether successes change nothing."""
        if self.ceiling is None:
            return self.learned.is_steady
        return self._knee is None and not self._unrelated.usual

    @property
    def unrelated(self) -> UnrelatedRefusals:
        """What is known of refusals that do not depend on the rate."""
        return self.learned.unrelated if self.ceiling is None else self._unrelated

    def lower_to(self, per_second: float | None) -> None:
        """Keep to this limit, too; a higher one changes nothing."""
        if per_second is not None and (self.ceiling is None or per_second < self.ceiling):
            current = self.current
            self.ceiling = per_second
            self._rate = per_second if current is None else min(current, per_second)

    def refused(self, accepted: float, *, paused: bool = False, failing: bool = False) -> None:
        """The service refused a call; it accepted so many in the second before. paused: a part of that was a pause;
        failing: it did not say that the call came too soon."""
        if self.ceiling is None:
            self.learned.refused(accepted, paused=paused)
        elif not self._unrelated.is_usual:
            self._lower(self._rate or self.ceiling, self.ceiling, accepted, failing=failing)

    def _lower(self, now: float, ceiling: float, accepted: float, *, failing: bool) -> None:
        """A refusal well below what was accepted in a second before need not be about the rate; several in a row that
        lowering did not help against are not."""
        self._knee = (self._knee or ceiling) if failing else now
        self._rate = max(SLOWEST, now * (_FAILING if failing else _TOO_FAST))
        if now >= _WELL_BELOW * self._most:
            self._unrelated.related(now)
            self._most = max(self._most, min(now, accepted))
        elif self._unrelated.early(now, is_lowest=now < VERY_LOW):
            self._rate, self._knee, self._most = ceiling, None, 0.0

    def counted(self, *, refused: int = 0, accepted: int = 0) -> None:
        """So many calls were refused and accepted, whenever they were sent."""
        self.unrelated.counted(refused=refused, accepted=accepted)

    def succeeded(self) -> None:
        """A call succeeded that was sent after the last refusal."""
        if self.ceiling is None:
            self.learned.succeeded()
            return
        if self._rate is None or self._knee is None:
            return
        near = 0.9 * self._knee <= self._rate <= 1.1 * self._knee
        rate = self._rate + (_GAIN * _CAREFUL if near else _GAIN)
        if rate >= self.ceiling:
            self._rate, self._knee = self.ceiling, None
        else:
            self._rate = rate

    def dumped(self) -> dict[str, Json]:
        """Everything but the limit, for other processes."""
        known = {"rate": self._rate, "knee": self._knee, "most": self._most}
        return {**known, "unrelated": self._unrelated.dumped(), "learned": self.learned.dumped()}

    def adopt(self, dumped: Mapping[str, Json]) -> None:
        """Become what another process dumped, below the limit of this one."""
        self.learned = LearnedRate.of(dumped.get("learned") or {})
        self._knee = dumped.get("knee")
        self._most = dumped.get("most", 0.0)
        self._unrelated = UnrelatedRefusals.of(dumped.get("unrelated") or {})
        self._rate = self.ceiling
        if self.ceiling is not None and self._knee is not None:
            self._rate = min(self.ceiling, dumped.get("rate") or self.ceiling)


class RateLimiter(ABC):
    """Limits calls to a rate that adapts."""

    def __init__(self, per_second: float | None) -> None:
        self._rate = AdaptiveRate(per_second)

    @abstractmethod
    def pause_left(self) -> float:
        """Remaining seconds of the pause that a service asked for."""

    def refuse_long_pause(self) -> None:
        """Raises Throttled in a pause that is longer than calls wait."""
        if (left := self.pause_left()) > PATIENCE:
            raise Throttled(f"the service asked for a pause, of which {left:.0f} s are left", retry_after=left)

    @property
    def rate(self) -> float | None:
        """Current calls per second, of all processes that share the limit; None without a limit."""
        return self._rate.current

    @property
    def expected(self) -> float | None:
        """Calls per second to be expected in the long run; None without a limit."""
        return self._rate.expected

    @property
    def learned(self) -> float | None:
        """The limit that was learned because none is known; None if nothing was refused."""
        return self._rate.learned.limit if self._rate.ceiling is None else None

    @property
    def refuses_anyway(self) -> bool:
        """Whether recent calls were refused whatever their rate, see `UnrelatedRefusals`."""
        return self._rate.unrelated.is_usual

    @property
    def used(self) -> float:
        """Seconds of full use since the last refusal: the longer, the more is tried."""
        return self._rate.learned.used

    def restore(self, learned: float, used: float = 0.0) -> None:
        """Begin with what an earlier process learned, and used since its last refusal, unless this one already has."""
        if self._rate.learned.limit is None:
            self._rate.learned = LearnedRate(max(SLOWEST, learned), used)

    def lower_to(self, per_second: float | None) -> None:
        """Keep to this rate, too; a higher one changes nothing."""
        self._rate.lower_to(per_second)
