"""Time and chance of a virtual world."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from typing import Protocol

from tests.support.virtual.loop import VirtualLoop

EPOCH = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


class Passing(Protocol):
    """What a network needs of a clock."""

    def monotonic(self) -> float:
        """Seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def jump(self, seconds: float) -> None:
        """So many pass at once."""
        ...


class VirtualClock:
    """The loop's time as timestamps, a seeded chance. A `dam_sync.model.clock.Clock` and one of emulated worlds."""

    def __init__(self, loop: VirtualLoop, seed: int) -> None:
        self._loop = loop
        self._rng = random.Random(f"clock {seed}")

    def now(self) -> datetime:
        """See `Clock.now`."""
        return EPOCH + timedelta(seconds=self._loop.time())

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`."""
        await asyncio.sleep(max(0.0, seconds))

    def jump(self, seconds: float) -> None:
        """So many seconds pass at once, as while a computer sleeps: whatever was due is late."""
        self._loop.jump(seconds)

    def chance(self) -> float:
        """See `Clock.chance`."""
        return self._rng.random()

    def token(self) -> str:
        """See `Clock.token`."""
        return self._rng.randbytes(16).hex()
