"""A clock in the hands of the test."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NOW = datetime(2026, 6, 15, 10, 20, 30, tzinfo=UTC)  # where a `StillClock` stands
_IDLE_TURNS = 4  # of the loop without a new sleeper, then time may jump


class StillClock:
    """Time of an emulated world that only its `advance` moves."""

    def now(self) -> datetime:
        return NOW

    async def sleep(self, seconds: float) -> None:
        return None


class SteppedClock:
    """Time stands still until it is moved.

    `await clock.advance(s)` wakes sleepers in order of their time, each at its own time. With `auto=True` time jumps
    to the next sleeper by itself as soon as nothing else is ready to run; what waits for a socket or a thread does not
    count as ready, so use it where sleepers are all there is to wait for, or where the jump does no harm.

    `slept` are the seconds asked for, in order. `chances` are returned in turn, over and over.
    """

    def __init__(self, start: datetime = START, *, auto: bool = False, chances: tuple[float, ...] = (0.5,)) -> None:
        self._start = start
        self._elapsed = 0.0
        self._auto = auto
        self._chances = itertools.cycle(chances)
        self._order = itertools.count()
        self._tokens = itertools.count(1)
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._jump: asyncio.TimerHandle | asyncio.Handle | None = None
        self.slept: list[float] = []

    def now(self) -> datetime:
        """See `Clock.now`."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`."""
        self.slept.append(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), woken))
        if self._auto:
            self._plan_jump(_IDLE_TURNS)
        await woken

    def chance(self) -> float:
        """See `Clock.chance`."""
        return next(self._chances)

    def token(self) -> str:
        """See `Clock.token`; the first is 1."""
        return f"{next(self._tokens):032x}"

    @property
    def waiting(self) -> int:
        """How many sleep."""
        return sum(1 for _, _, woken in self._sleepers if not woken.done())

    async def advance(self, seconds: float) -> None:
        """Let this much time pass; returns when whoever woke has had a turn."""
        await _settle()
        until = self._elapsed + seconds
        while self._sleepers and self._sleepers[0][0] <= until:
            self._wake_next()
            await _settle()
        self._elapsed = until

    def skip(self, seconds: float) -> None:
        """Time passes and nobody is woken: the process was busy, or the computer asleep."""
        self._elapsed += seconds

    def _wake_next(self) -> None:
        instant, _, woken = heapq.heappop(self._sleepers)
        if not woken.done():
            self._elapsed = max(self._elapsed, instant)
            woken.set_result(None)

    def _plan_jump(self, turns: int) -> None:
        if self._jump is not None:
            self._jump.cancel()
        loop = asyncio.get_running_loop()
        self._jump = loop.call_soon(self._plan_jump, turns - 1) if turns else loop.call_soon(self._jump_now)

    def _jump_now(self) -> None:
        self._jump = None
        if self._sleepers:
            self._wake_next()
        if self._sleepers:
            self._plan_jump(_IDLE_TURNS)


async def _settle() -> None:
    for _ in range(_IDLE_TURNS):
        await asyncio.sleep(0)
