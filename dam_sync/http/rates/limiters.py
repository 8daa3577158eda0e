"""Rate limits: requests per second and bytes per second."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass

from dam_sync.http.rates.adaptive import RateLimiter
from dam_sync.model.clock import Clock
from dam_sync.model.waits import ASKED, BANDWIDTH, RATE, sleep_for

RESERVE = 0.02  # of the documented rate is left unused, see AdaptiveRateLimiter
LATE = 0.08  # seconds: how long after sending, without a response, a call may be counted
WINDOW = 1.001  # seconds over which services count, plus a thousandth for clock differences
_CATCH_UP = 0.02  # seconds of late wake-ups that are compensated
COOL_DOWN = 1.0  # seconds pause after a refusal without Retry-After
_REMEMBERED = 4096  # permits from which the rate of an unlimited client is computed


def sustained(per_second: float, response_seconds: float = LATE) -> float:
    """Calls per second that this rate allows. response_seconds: what responses take; beyond LATE it does not matter."""
    window = math.ceil(per_second)
    return window / max(window / (per_second * (1 - RESERVE)), WINDOW + min(LATE, response_seconds))


@dataclass(slots=True)
class Permit:
    """Permission for one request: when it was granted, and when its response began. waited: for the rate; failing: it
    was refused by a service that did not say that it came too soon; epoch: that of `LearnedConcurrency`, if as many
    calls as allowed were under way."""

    released: float
    responded: float | None = None
    waited: bool = False
    refused: bool = False
    failing: bool = False
    epoch: int | None = None

    @property
    def counted(self) -> float:
        """The latest time at which the service has counted it."""
        late = self.released + LATE
        return late if self.responded is None else min(late, self.responded)


class AdaptiveRateLimiter(RateLimiter):
    """Spaces calls: never more than `per_second` of them in any window of one second.

    Calls are spaced evenly at 98 % of the rate, without bursts. Services count calls on arrival, and calls that take
    differently long to arrive bunch up there; so each call also waits until a second after the one `per_second` calls
    before it has surely been counted: at its response, or 80 ms after it was sent. If responses are quick this
    costs nothing beyond the 2 %; if they are slow the rate is 92.6 % of the limit. What is delayed by more than
    80 ms, with an even later response, may be counted too close to others: waiting for every response would cost a
    service with responses of 200 ms a sixth of its rate. Late wake-ups do not shift the calls behind them.

    The rate adapts: `slow_down` cools down and lowers it, every success regains some of it: a doubling in about 23 s,
    slower near the rate that was too fast. Without `per_second` it is learned: see `LearnedRate`.
    """

    def __init__(self, per_second: float | None, clock: Clock) -> None:
        super().__init__(per_second)
        self._clock = clock
        self._next = -math.inf
        self._until = -math.inf
        self._slowed_at = -math.inf
        self._head = asyncio.Lock()
        self.has_news = False  # nobody else must be told anything
        self._permits: deque[Permit] = deque(maxlen=math.ceil(per_second) if per_second else _REMEMBERED)

    def lower_to(self, per_second: float | None) -> None:
        super().lower_to(per_second)
        if self._rate.ceiling is not None:
            self._permits = deque(self._permits, maxlen=math.ceil(self._rate.ceiling))

    async def take(self, side: str = "") -> Permit:
        """Wait for permission to send, first come, first served; set `responded` when the response begins. side: whose
        wait it is, to be shown. Raises Throttled in a pause that is too long, also if it begins meanwhile."""
        now, waited = self._clock.monotonic(), self._head.locked()
        if self.rate is None and not waited and self._until <= now:
            return self._passed(now)
        async with self._head:  # the first waits for the clock, the others for the first
            now = self._clock.monotonic()
            while (wait := self._ready() - now) > 0:
                waited = True
                self.refuse_long_pause()
                await sleep_for(self._clock, wait, ASKED if self._until > now else RATE, side)
                now = self._clock.monotonic()
            if (rate := self.rate) is not None:
                self._next = max(self._next, now - _CATCH_UP) + 1 / (rate * (1 - RESERVE))
            return self._passed(now, waited=waited)

    def pause_left(self) -> float:
        """Remaining seconds of the cool-down."""
        return max(0.0, self._until - self._clock.monotonic())

    def slow_down(self, permit: Permit, retry_after: float | None = None) -> None:
        """The service rate-limited this request. Refusals of requests sent before the last slowdown only lengthen the
        pause: a burst is one event."""
        now = self._clock.monotonic()
        permit.refused = True
        self._rate.counted(refused=1)
        resumed = self._until
        self._until = max(self._until, now + (COOL_DOWN if retry_after is None else retry_after))
        if permit.released <= self._slowed_at:
            return
        self._slowed_at = now
        self._rate.refused(self._accepted(now), paused=now - resumed < 1.0, failing=permit.failing)

    def succeeded(self, permit: Permit | None = None) -> None:
        """A request succeeded."""
        self._rate.counted(accepted=1)
        if self._rate.ceiling is not None or permit is None or permit.released > self._slowed_at:
            self._rate.succeeded()

    async def publish(self) -> None:
        """Other processes do not share this limit."""

    def _ready(self) -> float:
        """When the next request may be sent."""
        ready = max(self._next, self._until)
        if self._rate.ceiling is not None and len(self._permits) == self._permits.maxlen:
            ready = max(ready, self._permits[0].counted + WINDOW)
        return ready

    def _passed(self, now: float, *, waited: bool = False) -> Permit:
        permit = Permit(now, waited=waited)
        self._permits.append(permit)
        return permit

    def _accepted(self, now: float) -> float:
        """Calls accepted in the last second; half of those sent, if there are none or responses are slow."""
        sent = sum(1 for permit in self._permits if now - permit.released < 1.0)
        done = (permit for permit in self._permits if permit.responded is not None and now - permit.responded < 1.0)
        return max(sum(1 for permit in done if not permit.refused), sent / 2)


class ConcurrencyLimiter:
    """At most `limit` calls at once, first come, first served; the limit may be changed at any time.

    A semaphore of asyncio cannot be made smaller, and `anyio.CapacityLimiter` can exceed a total that was changed.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        """How many."""
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        self._limit = limit
        self._admit()

    async def __aenter__(self) -> None:
        if self.under_way < self._limit and not self._waiting:
            self.under_way += 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter  # whoever ends it has counted this call
        except asyncio.CancelledError:
            if not waiter.cancelled():
                await self.__aexit__()
            elif waiter in self._waiting:
                self._waiting.remove(waiter)
            raise

    async def __aexit__(self, *_: object) -> None:
        self.under_way -= 1
        self._admit()

    def _admit(self) -> None:
        while self.under_way < self._limit and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self.under_way += 1
                waiter.set_result(None)


class BandwidthLimiter:
    """Limits bytes per second (None: unlimited). A block of any size passes at once; the next caller waits for it."""

    def __init__(self, per_second: float | None, clock: Clock, side: str = "") -> None:
        if per_second is not None and not per_second > 0:
            raise ValueError(f"{per_second} bytes per second")
        self._per_second = per_second
        self._clock, self._side = clock, side
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
        at = max(self._next, now)
        self._next = at + size / self._per_second
        if at > now:
            await sleep_for(self._clock, at - now, BANDWIDTH, self._side)
