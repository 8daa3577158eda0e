"""A rate limit that processes share: permits are leased in small blocks; each process spaces its calls over its own.

A permit is due at a time by the clock of the schedule (`model.permits`). It is used then or up to `VALID` seconds
later, never earlier and never after. Calls that were late are reported, so that the schedule keeps its distance to
them, as `AdaptiveRateLimiter` does within one process. A pause that another process reports is known at once, also if
permits were leased already; while the schedule cannot tell, after `FRESH` and `EARLY` seconds and a round trip at most.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable
from dataclasses import dataclass

from dam_sync.http.rates.adaptive import RateLimiter
from dam_sync.http.rates.limiters import COOL_DOWN, LATE, RESERVE, WINDOW, Permit
from dam_sync.http.rates.server_time import ServerTime
from dam_sync.model.clock import Clock
from dam_sync.model.permits import AHEAD, CredentialPermits, Lease, LeaseRequest
from dam_sync.model.waits import ASKED, RATE, Wait, waiting

BLOCK = 0.1  # seconds of the rate that are leased at once, besides the delay of a response; at least one permit
FRESH = 0.1  # seconds for which the last response of the schedule is believed after it has come
PROMPT_FRESH = 10.0  # the same, while the schedule tells of pauses at once
EARLY = 0.02  # seconds before a permit is due, to ask for pauses; more if a response takes longer
VALID = 0.05  # seconds for which a permit may still be used
LEARN_EVERY = 1.0  # seconds between two reports of successes
_REMEMBERED = 0.1  # the weight of one response in the part of slow ones
_TURNS = 2  # of the loop after the next one, within which a request is written to its connection
_KEPT = 0.9  # the part of the longest response that is expected after a shorter one
_SOON = 0.8  # the largest part of `AHEAD` that a permit is delayed
_TRIES = 8  # to change what other processes change at the same time


@dataclass(slots=True)
class LeasedPermit(Permit):
    """One of a lease: its number in the schedule, and when it was due by the clock of the schedule. sent: when the
    request had surely left this process, which may stand still after `released` on a busy computer."""

    number: int = 0
    due: float = 0.0
    sent: float = -math.inf

    @property
    def counted(self) -> float:
        late = max(self.released, self.sent) + LATE
        return late if self.responded is None else min(late, self.responded)


class UsualMost:
    """What the largest number of a period usually is: the smaller one of the last two periods, so that a single large
    number does not count. 0 if there is none. Times are in seconds."""

    def __init__(self, period: float) -> None:
        self._period = period
        self._began = -math.inf
        self._now, self._last, self._before = 0.0, 0.0, 0.0

    def add(self, now: float, number: float) -> None:
        """A number of this time."""
        self._turn(now)
        self._now = max(self._now, number)

    def most(self, now: float) -> float:
        """The number at this time."""
        self._turn(now)
        return min(self._last, max(self._before, self._now))

    def _turn(self, now: float) -> None:
        if now - self._began >= self._period:
            is_next = now - self._began < 2 * self._period
            self._last, self._before = (self._now, self._last) if is_next else (0.0, 0.0)
            self._began, self._now = now, 0.0


class LeasedRateLimiter(RateLimiter):
    """Takes the place of `AdaptiveRateLimiter` for a credential whose limit is shared by processes.

    Every method that waits raises StoreUnreachable if the schedule cannot be reached: nothing is sent without a permit.
    """

    def __init__(self, per_second: float | None, clock: Clock, permits: CredentialPermits) -> None:
        super().__init__(per_second)
        self._clock, self._permits = clock, permits
        self._time = ServerTime()
        self._seen: Lease | None = None
        self._trip = 0.0  # seconds that a response of the schedule takes, a little less after each that takes less
        self._looked = -math.inf
        self._is_told = False  # that something changed
        permits.on_change(self._told)
        self._due: deque[tuple[int, float]] = deque()
        self._sent: deque[LeasedPermit] = deque()
        self._recent: deque[tuple[float, int]] = deque()  # time of the schedule, permits and calls until then
        self._waiting = self._passed = self._successes = 0
        self._slowed_at = self._learn_at = -math.inf
        self._refused: list[tuple[Permit, float]] = []
        self._is_late = False
        self._slow_part = 1.0  # of the recent responses; until some show that calls are counted at once
        self._lateness = UsualMost(WINDOW)
        self._head, self._learning = asyncio.Lock(), asyncio.Lock()

    @property
    def has_news(self) -> bool:
        """Whether other processes must be told something at once; see `publish`."""
        return bool(self._refused) or self._is_late

    def restore(self, learned: float, used: float = 0.0) -> None:
        """See `RateLimiter.restore`; the processes that share the limit may know better."""
        if self._seen is None:
            super().restore(learned, used)

    def pause_left(self) -> float:
        """Remaining seconds of a pause, whichever process was asked for it."""
        return 0.0 if self._seen is None else max(0.0, self._time.local(self._seen.paused_until) - self._now())

    async def take(self, side: str = "") -> Permit:
        """Wait for permission to send, first come, first served; set `responded` when the response begins. side: whose
        wait it is, to be shown. Raises Throttled in a pause that is too long, whichever process was asked for it."""
        waited = self._head.locked()
        self._waiting += 1
        try:
            async with self._head:  # the first leases for all
                while True:
                    with waiting(self._clock, None, RATE, side) as wait:
                        permit = await self._next(wait)
                    if permit is not None:
                        permit.waited = permit.waited or waited
                        return permit
                    waited = True
        finally:
            self._waiting -= 1

    def slow_down(self, permit: Permit, retry_after: float | None = None) -> None:
        """The service rate-limited this request; `publish` it."""
        permit.refused = True
        self._refused.append((permit, COOL_DOWN if retry_after is None else retry_after))

    def succeeded(self, permit: Permit | None = None) -> None:
        """A request succeeded."""
        if isinstance(permit, LeasedPermit):
            is_slow = permit.counted >= max(permit.released, permit.sent) + LATE
            self._slow_part += (is_slow - self._slow_part) * _REMEMBERED
            self._counted(permit)
            self._is_late = self._is_late or self._matters(permit)
        if not self._rate.is_steady and (permit is None or self._time.earliest(permit.released) > self._slowed_at):
            self._successes += 1

    async def publish(self) -> None:
        """Tell the other processes of a refusal, or of a call that was later than they know."""
        refused, self._refused, self._is_late = self._refused, [], False
        if not refused:
            await self._ask(self._permits.lease(self._request(0)))
            return
        async with self._learning:
            before = self._seen.paused_until if self._seen is not None else -math.inf
            await self._ask(self._permits.pause(max(seconds for _, seconds in refused)))
            self._due.clear()
            latest = max((permit for permit, _ in refused), key=lambda permit: permit.released)
            await self._lower(latest, before, len(refused), failing=all(permit.failing for permit, _ in refused))

    async def _next(self, wait: Wait) -> Permit | None:
        """A permit; None if something must be looked at again. wait: as it is shown."""
        now = self._now()
        if self._seen is None:
            await self._ask(self._permits.look())
            return None
        if (pause := self.pause_left()) > 0:
            self.refuse_long_pause()
            wait.what, wait.until = ASKED, now + pause
            await self._clock.sleep(pause)
            return None
        spacing = self._spacing()
        if spacing is None:
            return await self._unlimited(now)
        if not self._due:
            await self._lease()
            if not self._due and self.pause_left() <= 0:
                await self._clock.sleep(self._retry_in())
            return None
        return await self._used(*self._due.popleft())

    async def _unlimited(self, now: float) -> Permit | None:
        """No rate is known: calls are only counted."""
        if self._is_told or now - self._looked >= FRESH:
            await self._ask(self._permits.lease(self._request(0)))
            return None
        self._passed += 1
        return Permit(now)

    async def _used(self, number: int, due: float) -> Permit | None:
        """The permit, when it is due; None if that was too long ago, or in a pause."""
        at = self._time.local(due)
        waits = at > self._now()
        if not self._due and self._waiting > 1:
            await self._lease()  # the next ones, while this one is waited for
        if self._is_told or at - self._looked > (PROMPT_FRESH if self._permits.is_prompt else FRESH + self._trip):
            await self._sleep_until(at - max(EARLY, self._trip))
            await self._ask(self._permits.look())
        await self._sleep_until(at)
        if self._is_told:  # meanwhile
            await self._ask(self._permits.look())
        now = self._now()
        if now > at + VALID or (self._seen is not None and due < self._seen.paused_until):
            return None
        permit = LeasedPermit(now, waited=waits, number=number, due=due)
        self._sent.append(permit)
        asyncio.get_running_loop().call_soon(self._leaves, permit, _TURNS)
        if self._is_slow:
            self._counted(permit)
            if self._matters(permit):
                await self._ask(self._permits.lease(self._request(0)))
                permit.released = self._now()
        return permit

    async def _lease(self) -> None:
        spacing = self._spacing() or 0.0
        most = max(1, math.ceil((BLOCK + self._delay()) / spacing)) if spacing else self._waiting
        lease = await self._ask(self._permits.lease(self._request(min(most, max(1, self._waiting)))))
        self._due.extend((lease.first + each, due) for each, due in enumerate(lease.due))

    def _request(self, permits: int) -> LeaseRequest:
        passed, self._passed = self._passed, 0
        ceiling, spacing = self._rate.ceiling, self._spacing() or 0.0
        window = math.ceil(ceiling) if ceiling is not None else 0
        return LeaseRequest(permits, spacing, window, WINDOW, passed, self._latest(spacing), self._delay())

    def _delay(self) -> float:
        """Seconds until a permit has come from the schedule, and pauses were asked for where nobody tells of them. The
        schedule leases no permits that are later than `AHEAD`."""
        trips = 0.5 if self._permits.is_prompt else 1.5
        return min(max(0.0, self._trip * trips - EARLY), AHEAD * _SOON)

    async def _ask(self, request: Awaitable[Lease]) -> Lease:
        """The response of the schedule, and what it says about all processes."""
        began, self._is_told = self._now(), False
        lease = await request
        self._trip = max(self._now() - began, self._trip * _KEPT)
        self._time.measured(began, self._now(), lease.now)
        self._looked = began
        self._adopt(lease)
        if self._successes and not self._learning.locked() and self._now() >= self._learn_at:
            async with self._learning:
                await self._report_successes()
        return lease

    def _told(self) -> None:
        self._is_told = True

    def _adopt(self, lease: Lease) -> None:
        is_new = self._seen is None or lease.version > self._seen.version
        if self._seen is not None and lease.now < self._seen.now:  # responses may overtake each other
            return
        self._seen = lease
        self._recent.append((lease.now, lease.issued))
        while len(self._recent) > 2 and self._recent[1][0] <= lease.now - 1.0:
            self._recent.popleft()
        if is_new and lease.version:
            self._rate.adopt(lease.learned)
            self._slowed_at = lease.learned.get("slowed_at", -math.inf)

    async def _lower(self, permit: Permit, paused_before: float, number: int, *, failing: bool) -> None:
        """Lower the rate for all, unless another process did after this call, the last of so many, was sent: a burst
        is one event."""
        for _ in range(_TRIES):
            lease = self._seen
            if lease is None or self._time.earliest(permit.released) <= self._slowed_at:
                return
            self._rate.counted(refused=number)
            self._rate.refused(self._accepted(), paused=lease.now - paused_before < 1.0, failing=failing)
            if await self._learned(lease, lease.now):
                return

    async def _report_successes(self) -> None:
        self._learn_at = self._now() + LEARN_EVERY
        number = self._successes
        for _ in range(_TRIES):
            lease = self._seen
            if lease is None:
                return
            self._rate.counted(accepted=number)
            for _ in range(number):
                self._rate.succeeded()
            slowed_at = self._slowed_at if math.isfinite(self._slowed_at) else lease.now
            if await self._learned(lease, slowed_at):
                self._successes -= number
                return

    async def _learned(self, lease: Lease, slowed_at: float) -> bool:
        """Whether all processes now have the rate of this one; otherwise this one has theirs."""
        dumped = {**self._rate.dumped(), "slowed_at": slowed_at}
        changed = await self._permits.learn(lease.version, dumped, self._spacing() or 0.0)
        self._adopt(changed or await self._permits.look())
        return changed is not None

    def _accepted(self) -> float:
        """Calls of all processes in the last second."""
        (began, first), (ended, last) = self._recent[0], self._recent[-1]
        return max(1.0, (last - first + self._passed) / max(1.0, ended - began))

    def _spacing(self) -> float | None:
        """Seconds between two permits: so many that a window of them has room for the latest of the recent calls."""
        rate, ceiling = self._rate.current, self._rate.ceiling
        if rate is None:
            return None
        late = 0.0 if ceiling is None else (WINDOW + self._lateness.most(self._now())) / math.ceil(ceiling)
        return max(1 / (rate * (1 - RESERVE)), late)

    def _counted(self, permit: LeasedPermit) -> None:
        late = self._time.latest(permit.counted) - permit.due
        self._lateness.add(self._now(), min(late, VALID + LATE))

    def _latest(self, spacing: float) -> tuple[int, float] | None:
        """The permit used latest compared with its time, of those whose calls were surely counted; they are reported
        once."""
        now, latest = self._now(), None
        for permit in list(self._sent):
            if permit.responded is None and now < permit.counted and not self._is_slow:
                continue
            self._sent.remove(permit)
            counted = self._time.latest(permit.counted)
            if latest is None or counted - permit.number * spacing > latest[1] - latest[0] * spacing:
                latest = permit.number, counted
        return latest

    def _leaves(self, permit: LeasedPermit, turns: int) -> None:
        """The request is written within some turns of the loop."""
        permit.sent = self._now()
        if turns and permit.responded is None:
            asyncio.get_running_loop().call_soon(self._leaves, permit, turns - 1)

    @property
    def _is_slow(self) -> bool:
        """Whether most responses do not show when calls are counted."""
        return self._slow_part > 0.5

    def _matters(self, permit: LeasedPermit) -> bool:
        """Whether the call may have been counted so late that the permit a window later must keep its distance."""
        seen, spacing, ceiling = self._seen, self._spacing(), self._rate.ceiling
        if seen is None or spacing is None or ceiling is None:
            return False
        later = permit.number + math.ceil(ceiling) - seen.issued
        return later >= 0 and self._time.latest(permit.counted) + WINDOW - later * spacing > seen.free

    def _retry_in(self) -> float:
        """Seconds until a permit can be leased."""
        lease = self._seen
        return 0.0 if lease is None else max(0.002, lease.free - AHEAD - lease.now)

    async def _sleep_until(self, at: float) -> None:
        if (wait := at - self._now()) > 0:
            await self._clock.sleep(wait)

    def _now(self) -> float:
        return self._clock.monotonic()
