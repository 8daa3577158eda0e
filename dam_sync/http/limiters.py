"""Rate limits: requests per second and bytes per second."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass

from dam_sync.model.clock import Clock

RESERVE = 0.02  # of the documented rate is left unused, see Bucket
LATE = 0.08  # seconds: how long after sending, without a response, a call may be counted
WINDOW = 1.001  # seconds over which services count, plus a thousandth for clock differences
_CATCH_UP = 0.02  # seconds of late wake-ups that are compensated
_COOL_DOWN = 1.0  # seconds pause after a refusal without Retry-After
_SLOWEST = 0.2  # calls per second, however often the service refuses
_GAIN = 0.03  # calls per second regained by each success: twice the rate after about 23 s
_CAREFUL = 0.1  # of the gain, near a rate that was once too fast
_REMEMBERED = 4096  # permits from which the rate of an unlimited client is computed
_FORGOTTEN = 4.0  # times the rate that was too fast: beyond that there is no limit any more


def sustained(per_second: float, response_seconds: float = LATE) -> float:
    """Calls per second that this rate allows. response_seconds: what responses take; beyond LATE it does not matter."""
    window = math.ceil(per_second)
    return window / max(window / (per_second * (1 - RESERVE)), WINDOW + min(LATE, response_seconds))


@dataclass(slots=True)
class Permit:
    """Permission for one request: when it was granted, and when its response began."""

    released: float
    responded: float | None = None

    @property
    def counted(self) -> float:
        """The latest time at which the service has counted it."""
        late = self.released + LATE
        return late if self.responded is None else min(late, self.responded)


class AdaptiveRateLimiter:
    """Spaces calls: never more than `per_second` of them in any window of one second.

    Calls are spaced evenly at 98 % of the rate, without bursts. Services count calls on arrival, and calls that take
    differently long to arrive bunch up there; so each call also waits until a second after the one `per_second` calls
    before it has surely been counted: at its response, or 80 ms after it was sent. If responses are quick this
    costs nothing beyond the 2 %; if they are slow the rate is 92.6 % of the limit. What is delayed by more than
    80 ms, with an even later response, may be counted too close to others: waiting for every response would cost a
    service with responses of 200 ms a sixth of its rate. Late wake-ups do not shift the calls behind them.

    The rate adapts: `slow_down` halves it (or half of the rate sent, if no limit is known) and cools down, every
    success regains some of it: a doubling in about 23 s, slower near the rate that was too fast.
    """

    def __init__(self, per_second: float | None, clock: Clock) -> None:
        if per_second is not None and not per_second > 0:
            raise ValueError(f"{per_second} calls per second")
        self._ceiling = per_second
        self._clock = clock
        self._rate = per_second
        self._knee: float | None = None
        self._next = -math.inf
        self._until = -math.inf
        self._slowed_at = -math.inf
        self._head = asyncio.Lock()
        self._turns: deque[Permit] = deque(maxlen=math.ceil(per_second) if per_second else _REMEMBERED)

    @property
    def rate(self) -> float | None:
        """Current calls per second; None without a limit."""
        return self._rate

    def lower_to(self, per_second: float | None) -> None:
        """Keep to this rate, too; a higher one changes nothing."""
        if per_second is not None and (self._ceiling is None or per_second < self._ceiling):
            self._ceiling = per_second
            self._rate = per_second if self._rate is None else min(self._rate, per_second)
            self._turns = deque(self._turns, maxlen=math.ceil(per_second))

    async def take(self) -> Permit:
        """Wait for permission to send, first come, first served; set `responded` when the response begins."""
        if self._rate is None and not self._head.locked():
            return self._passed(self._clock.monotonic())
        async with self._head:  # the first waits for the clock, the others for the first
            now = self._clock.monotonic()
            while (wait := self._ready() - now) > 0:
                await self._clock.sleep(wait)
                now = self._clock.monotonic()
            if self._rate is not None:
                self._next = max(self._next, now - _CATCH_UP) + 1 / (self._rate * (1 - RESERVE))
            return self._passed(now)

    def pause_left(self) -> float:
        """Remaining seconds of the cool-down."""
        return max(0.0, self._until - self._clock.monotonic())

    def slow_down(self, turn: Permit, retry_after: float | None = None) -> None:
        """The service rate-limited this request. Refusals of requests sent before the last slowdown only lengthen the
        pause: a burst is one event."""
        now = self._clock.monotonic()
        self._until = max(self._until, now + (_COOL_DOWN if retry_after is None else retry_after))
        if turn.released <= self._slowed_at:
            return
        self._slowed_at = now
        self._knee = self._rate or max(self._observed(now), 2 * _SLOWEST)
        self._rate = max(_SLOWEST, self._knee / 2)

    def succeeded(self) -> None:
        """A request succeeded."""
        if self._rate is None or self._knee is None:
            return
        near = 0.9 * self._knee <= self._rate <= 1.1 * self._knee
        gain = _GAIN * _CAREFUL if near else _GAIN
        rate = self._rate + gain
        if self._ceiling is not None and rate >= self._ceiling:
            self._rate, self._knee = self._ceiling, None
        elif self._ceiling is None and rate >= _FORGOTTEN * self._knee:
            self._rate, self._knee = None, None
        else:
            self._rate = rate

    def _ready(self) -> float:
        """When the next request may be sent."""
        ready = max(self._next, self._until)
        if self._ceiling is not None and len(self._turns) == self._turns.maxlen:
            ready = max(ready, self._turns[0].counted + WINDOW)
        return ready

    def _passed(self, now: float) -> Permit:
        turn = Permit(now)
        self._turns.append(turn)
        return turn

    def _observed(self, now: float) -> float:
        return float(sum(1 for turn in self._turns if now - turn.released < 1.0))


class BandwidthLimiter:
    """Limits bytes per second (None: unlimited). A block of any size passes at once; the next caller waits for it."""

    def __init__(self, per_second: float | None, clock: Clock) -> None:
        if per_second is not None and not per_second > 0:
            raise ValueError(f"{per_second} bytes per second")
        self._per_second = per_second
        self._clock = clock
        self._next = -math.inf

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self._per_second is not None

    async def pass_on(self, size: int) -> None:
        """Wait until `size` bytes may be sent."""
        if self._per_second is None or size <= 0:
            return
        now = self._clock.monotonic()
        turn = max(self._next, now)
        self._next = turn + size / self._per_second
        if turn > now:
            await self._clock.sleep(turn - now)
