"""Time and randomness: the only module that uses the real ones."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Source of time and randomness; tests and simulations pass their own."""

    def now(self) -> datetime:
        """The current time, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never decrease."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; can be cancelled."""
        ...

    def chance(self) -> float:
        """A number in [0, 1), for jitter."""
        ...

    def token(self) -> str:
        """32 hexadecimal digits that nobody can guess."""
        ...


class SystemClock:
    """The clock of the operating system."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))

    def block(self, seconds: float) -> None:
        """Wait in a thread that has no event loop."""
        time.sleep(seconds)

    def chance(self) -> float:
        return random.random()

    def token(self) -> str:
        return secrets.token_hex(16)


SYSTEM_CLOCK = SystemClock()
