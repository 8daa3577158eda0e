"""The world an emulated service lives in: its clock, its chance, its counters."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, deque
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from email.utils import formatdate
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from dam_sync.emulators.kit.fetching import Fetch, fetched

Json: TypeAlias = Any  # what `json.loads` gives

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


class Clock(Protocol):
    """What a world needs of a clock; the product's own clocks fit."""

    def now(self) -> datetime:
        """The timestamp, aware, in UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class RealClock:
    """The machine's own."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


class CallInFlight:
    """One API call in progress."""

    __slots__ = ("_over", "_world")

    def __init__(self, world: Environment) -> None:
        self._world = world
        self._over = False

    def leave(self) -> None:
        """The call has ended; safe to repeat."""
        if not self._over:
            self._over = True
            self._world.at_once -= 1


class Environment:
    """Time = the clock's + an offset that `advance` moves; `rng` is seeded, so equal seeds make equal worlds.

    `set_back` is by how many seconds its clock was set back in all. `lag_s` is how far search indexes trail, in
    seconds. `api_origin` and `storage_origin` (`http://127.0.0.1:8080`) are set by whoever serves. `api_calls` counts
    by `METHOD /template`, `api_days` also by day (UTC), `refused` answers of 4xx and 5xx by status, `fetches` files
    that it was asked to fetch from a URL, which `fetch` does.
    """

    def __init__(self, seed: int = 0, clock: Clock | None = None, lag_s: float = 0.0) -> None:
        self.seed = seed
        self.clock: Clock = clock or RealClock()
        self.lag_s = lag_s
        self.rng = random.Random(seed)
        self.api_origin = "http://emulator.test"
        self.storage_origin = "http://storage.test"
        self.api_calls: Counter[str] = Counter()
        self.api_days: Counter[tuple[date, str]] = Counter()
        self.storage_calls = 0
        self.fetch: Fetch = fetched
        self.fetches = 0
        self.refused: Counter[str] = Counter()
        self.events: list[dict[str, Json]] = []
        self.peak_per_second = 0
        self.peak_at_once = 0
        self._offset = timedelta()
        self.set_back = 0.0
        self._recent: deque[float] = deque()
        self.at_once = 0

    def now(self) -> datetime:
        """The world's timestamp, aware, in UTC."""
        return self.clock.now() + self._offset

    def http_date(self) -> bytes:
        """The world's timestamp as a Date header spells it."""
        return _http_date(int(self.now().timestamp()))

    def elapsed(self) -> float:
        """The world's timestamp as if its clock had never been set back: what is under way is not later for that."""
        return self.now().timestamp() + self.set_back

    def advance(self, seconds: float) -> None:
        """Move the world's time forward (or set its clock back, if negative)."""
        self._offset += timedelta(seconds=seconds)
        self.set_back -= min(seconds, 0.0)

    async def sleep(self, seconds: float) -> None:
        """Let real (or the clock's) time pass."""
        await self.clock.sleep(seconds)

    def word(self, length: int = 10) -> str:
        """A random word of lower-case letters and digits, from the seeded chance."""
        return "".join(self.rng.choices(_LETTERS, k=length))

    def event(self, kind: str, **facts: Json) -> None:
        """Note something that happened inside the service, for `GET /_emulator/events`."""
        self.events.append({"at": self.now().isoformat(), "event": kind, **facts})

    def entered(self, template: str) -> CallInFlight:
        """Count one API call and keep the peaks: calls in any one second of real time, calls at once until `leave`."""
        self.api_calls[template] += 1
        self.api_days[self.now().astimezone(UTC).date(), template] += 1
        self.at_once += 1
        self.peak_at_once = max(self.peak_at_once, self.at_once)
        now = time.monotonic()
        self._recent.append(now)
        while self._recent[0] <= now - 1.0:
            self._recent.popleft()
        self.peak_per_second = max(self.peak_per_second, len(self._recent))
        return CallInFlight(self)

    def reset_calls(self) -> None:
        """All counters back to nothing."""
        self.api_calls.clear()
        self.api_days.clear()
        self.refused.clear()
        self.storage_calls = self.fetches = self.peak_per_second = self.peak_at_once = 0
        self._recent.clear()

    def calls(self) -> Mapping[str, Json]:
        """The counters as `GET /_emulator/calls` shows them."""
        return {
            "api": dict(self.api_calls),
            "storage": self.storage_calls,
            "fetches": self.fetches,
            "refused": dict(self.refused),
            "peak_per_second": self.peak_per_second,
            "peak_at_once": self.peak_at_once,
        }


class RateLimit:
    """At most `per_second` calls in any one second of the world's time (a sliding window)."""

    def __init__(self, world: Environment, per_second: float) -> None:
        self.world = world
        self.per_second = per_second
        self._taken: deque[float] = deque()

    def take(self) -> float:
        """0.0 if the call may pass (and it is counted), else after how many seconds to come again."""
        now = self.world.now().timestamp()
        while self._taken and not now - 1.0 < self._taken[0] <= now:  # what is ahead: the clock was set back
            self._taken.popleft()
        if len(self._taken) < self.per_second:
            self._taken.append(now)
            return 0.0
        return max(0.001, self._taken[0] + 1.0 - now)


@lru_cache(maxsize=4)
def _http_date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()
