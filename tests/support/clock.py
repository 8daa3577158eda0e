"""A clock under the test's control: time passes only by sleeping or when told to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count


@dataclass
class FakeClock:
    """Sleeping moves the time; whoever else waits goes on in order of his instant."""

    time: float = 0.0
    start: datetime = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
    slept: list[float] = field(default_factory=list)
    tokens: count[int] = field(default_factory=lambda: count(1))

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self.time)

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        due = self.time + max(0.0, seconds)
        await asyncio.sleep(0)
        self.time = max(self.time, due)

    def chance(self) -> float:
        return 0.5

    def token(self) -> str:
        return f"{next(self.tokens):032x}"
