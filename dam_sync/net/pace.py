"""How fast a credential may call: a bucket for calls, a flow for bytes, both on the Clock."""

from __future__ import annotations

import math
from collections import deque

from dam_sync.model.clock import Clock

RESERVE = 0.02  # of the documented rate is left unused, see Bucket
WINDOW = 1.0  # seconds over which services count
_COOL_DOWN = 1.0  # seconds of silence after "too fast" that does not say how long
_SLOWEST = 0.2  # calls a second, however often we are told to slow down
_GAIN = 0.03  # calls a second won back by each success: twice the rate after about 23 s
_CAREFUL = 0.1  # of the gain, where the rate was once too fast
_REMEMBERED = 4096  # releases from which the rate of an unlimited client is told
_FORGOTTEN = 4.0  # times the rate that was too fast: then there is no limit any more


class Bucket:
    """Lets one call pass after another: never more than `per_second` of them in any window of one second.

    Calls are spaced evenly at 98 % of the rate, without bursts. Services count when a call arrives, so calls that are
    delayed on the way by different times bunch up; the 2 % that are given up pay for 20 ms of such differences, at any
    rate, before one second at the server could see one call too many. A late wake-up does not shift the calls behind
    it, so the loss stays at 2 %; after a stall of our own loop a log of the last second holds back the rest.

    The rate adapts: `slow_down` halves it (or half of what was sent, where no limit is known) and cools down, every
    success brings some of it back: a doubling in about 23 s, slower near the rate that was too fast.
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
        self._epoch = 0
        self._slowed_at = -math.inf
        self._released: deque[float] = deque(maxlen=math.ceil(per_second * WINDOW) if per_second else _REMEMBERED)

    @property
    def rate(self) -> float | None:
        """Calls per second as of now; None without a limit."""
        return self._rate

    async def take(self) -> float:
        """Wait for this call's turn; its instant of release on the clock's `monotonic()`."""
        now = self._clock.monotonic()
        while (wait := self._wait(now)) > 0:
            epoch = self._epoch
            await self._clock.sleep(wait)
            now = self._clock.monotonic()
            if epoch == self._epoch and self._is_clear(now):
                break
        self._released.append(now)
        return now

    def pause_left(self) -> float:
        """Seconds of the cool-down that are left."""
        return max(0.0, self._until - self._clock.monotonic())

    def slow_down(self, released: float, retry_after: float | None = None) -> None:
        """The service said "too fast" to a call released then. Answers to calls sent before the last slowing down
        only lengthen the pause: a burst of them is one event."""
        now = self._clock.monotonic()
        pause = _COOL_DOWN if retry_after is None else retry_after
        self._until = max(self._until, now + pause)
        self._next = max(self._next, self._until) if released <= self._slowed_at else self._until
        self._epoch += 1
        if released <= self._slowed_at:
            return
        self._slowed_at = now
        self._knee = self._rate or max(self._observed(now), 2 * _SLOWEST)
        self._rate = max(_SLOWEST, self._knee / 2)

    def succeeded(self) -> None:
        """A call went through."""
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

    def _wait(self, now: float) -> float:
        """Reserve the next turn; seconds until it comes."""
        if self._rate is None:
            return self._until - now
        turn = max(self._next, now, self._until)
        if len(self._released) == self._released.maxlen:
            turn = max(turn, self._released[0] + WINDOW)
        self._next = turn + 1 / (self._rate * (1 - RESERVE))
        return turn - now

    def _is_clear(self, now: float) -> bool:
        if now < self._until:
            return False
        full = self._rate is not None and len(self._released) == self._released.maxlen
        return not full or now - self._released[0] >= WINDOW

    def _observed(self, now: float) -> float:
        return float(sum(1 for moment in self._released if now - moment < WINDOW))


class Flow:
    """Bytes per second over everything that passes here; None is without limit. A block may be as large as it likes:
    it is paid for afterwards, by whoever comes next."""

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
        """Wait until `size` bytes may pass."""
        if self._per_second is None or size <= 0:
            return
        now = self._clock.monotonic()
        turn = max(self._next, now)
        self._next = turn + size / self._per_second
        if turn > now:
            await self._clock.sleep(turn - now)
