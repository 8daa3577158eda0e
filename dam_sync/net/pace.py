"""How fast to call: slots on the clock, calls at once, cool-down after the service asked for it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from dam_sync.model.clock import Clock
from dam_sync.model.limits import Pace

STALL = 0.08  # seconds by which a call may reach the server later than it was sent, and still no window overflows
SLOWEST = 1 / 64
RECOVERY = 1.03  # each answered call brings so much of the rate back


@dataclass(slots=True)
class Taken:
    """One slot: when the call was sent, and when it was answered."""

    sent: float
    answered: float | None = None

    def arrived_by(self) -> float:
        """The latest instant at which the server has counted it."""
        late = self.sent + STALL
        return late if self.answered is None else min(late, self.answered)


@dataclass(slots=True)
class Pacer:
    """One credential's pace.

    Slots are evenly spaced, and the n-th call waits until one second after the (n - limit)-th has surely been counted:
    so no one-second window at the server holds more than the limit, even when it stalls for STALL. Costs at most 8 % of
    the rate, and nothing like it when answers are quick.
    """

    pace: Pace
    clock: Clock
    factor: float = 1.0
    learnt: float | None = None  # calls a second, where the documents are silent and the service refused
    _next: float = 0.0
    _cool_until: float = 0.0
    _log: deque[Taken] = field(default_factory=deque)
    _line: asyncio.Lock = field(default_factory=asyncio.Lock)
    _at_once: asyncio.Semaphore = field(init=False)
    _storage: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._at_once = asyncio.Semaphore(max(1, self.pace.at_once))
        self._storage = asyncio.Semaphore(max(1, self.pace.storage_at_once))

    @property
    def rate(self) -> float | None:
        """Calls a second right now; None is as fast as it goes."""
        limit = self.pace.per_second if self.pace.per_second is not None else self.learnt
        return None if limit is None else limit * self.factor

    @asynccontextmanager
    async def api(self) -> AsyncIterator[None]:
        """A turn to send one API call."""
        async with self._at_once:
            slot = await self._slot()
            try:
                yield
            finally:
                slot.answered = self.clock.monotonic()

    @asynccontextmanager
    async def storage(self) -> AsyncIterator[None]:
        """A turn to talk to a storage host; not counted against the rate."""
        async with self._storage:
            yield

    def throttled(self, retry_after: float | None) -> None:
        """The service refused for speed: halve the rate and pause for as long as it says."""
        now = self.clock.monotonic()
        if self.pace.per_second is None and self.learnt is None:
            self.learnt = max(1.0, float(sum(1 for taken in self._log if taken.sent > now - 1)))
        self.factor = max(SLOWEST, self.factor / 2)
        self._cool_until = max(self._cool_until, now + (1.0 if retry_after is None else retry_after))

    def answered(self) -> None:
        """A call went through: the rate comes back bit by bit."""
        self.factor = min(1.0, self.factor * RECOVERY)

    async def _slot(self) -> Taken:
        async with self._line:  # nothing but waiting happens inside; first come, first served
            while (wait := self._ready() - self.clock.monotonic()) > 0:
                await self.clock.sleep(wait)
            now = self.clock.monotonic()
            rate = self.rate
            self._next = max(self._next, now - 0.002) + (1 / rate if rate else 0.0)
            taken = Taken(now)
            self._log.append(taken)
            while len(self._log) > self._window():
                self._log.popleft()
            return taken

    def _window(self) -> int:
        return max(1, int(self.pace.per_second)) if self.pace.per_second else 64

    def _ready(self) -> float:
        ready = max(self._cool_until, self._next if self.rate else 0.0)
        per_second = self.pace.per_second
        if per_second and len(self._log) >= self._window():
            ready = max(ready, self._log[0].arrived_by() + self._window() / per_second)
        return ready
