"""A service in virtual time that documents no limit, and callers that send to it as fast as a client lets them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from dam_sync.http.client import Client, ClientConfig, Request
from dam_sync.model.errors import DamSyncError
from dam_sync.model.limits import Pace
from tests.support.virtual.clock import VirtualClock
from tests.support.virtual.loop import VirtualLoop

CALLERS = 32
PACE = Pace(None, 8, 4, most_at_once=CALLERS)


@dataclass
class Service:
    """latency: seconds of a call when nothing waits; servers: calls that are worked on at once, others wait; rate:
    calls in any one second, beyond which `status` is returned; most: calls under way, likewise; spread: of the latency;
    down: whether every call is refused then; noise: part of all calls that is refused at any rate."""

    latency: float = 0.05
    servers: int | None = None
    rate: int | None = None
    most: int | None = None
    status: int = 429
    spread: float = 0.2
    down: Callable[[float], bool] = lambda _: False
    noise: float = 0.0
    retry_after: str = ""
    seen: list[tuple[float, int]] = field(default_factory=list)  # when, and with which status
    under_way: int = 0
    peak: int = 0
    _recent: deque[float] = field(default_factory=deque)
    _chance: Random = field(default_factory=lambda: Random(1))
    _noises: Random = field(default_factory=lambda: Random(7))
    _room: asyncio.Semaphore | None = None

    async def handle(self, loop: VirtualLoop) -> int:
        """The status of one call."""
        self.under_way += 1
        self.peak = max(self.peak, self.under_way)
        try:
            status = await self._answered(loop)
        finally:
            self.under_way -= 1
        self.seen.append((loop.time(), status))
        return status

    async def _answered(self, loop: VirtualLoop) -> int:
        seconds = self.latency * self._chance.uniform(1 - self.spread, 1 + self.spread)
        if self._refuses(loop.time()):
            await asyncio.sleep(seconds / 2)
            return self.status
        if self.servers is None:
            await asyncio.sleep(seconds)
            return 200
        self._room = self._room or asyncio.Semaphore(self.servers)
        async with self._room:
            await asyncio.sleep(self.latency * self._chance.uniform(1 - self.spread, 1 + self.spread))
        return 200

    def _refuses(self, now: float) -> bool:
        while self._recent and self._recent[0] <= now - 1:
            self._recent.popleft()
        if self.noise and self._noises.random() < self.noise:
            return True
        if self.down(now) or (self.most is not None and self.under_way > self.most):
            return True
        if self.rate is not None and len(self._recent) >= self.rate:
            return True
        self._recent.append(now)
        return False

    def per_second(self, start: float, end: float) -> float:
        """Accepted calls per second in this time."""
        return sum(1 for at, status in self.seen if start <= at < end and status == 200) / (end - start)

    @property
    def refused(self) -> float:
        """The part of all calls that was refused."""
        return sum(1 for _, status in self.seen if status != 200) / len(self.seen)


class _Transport(httpx.AsyncBaseTransport):
    def __init__(self, service: Service, loop: VirtualLoop) -> None:
        self._service, self._loop = service, loop

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        status = await self._service.handle(self._loop)
        headers = {"retry-after": self._service.retry_after} if status != 200 and self._service.retry_after else {}
        return httpx.Response(status, headers=headers, json={})


def called(service: Service, seconds: float, pace: Pace = PACE, callers: int = CALLERS, **more: Any) -> Client:
    """Let so many callers send for so long; the client, whose counters may be read. more: of its configuration."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(_called(loop, service, seconds, pace, callers, more))
    finally:
        loop.close()


async def _called(
    loop: VirtualLoop, service: Service, seconds: float, pace: Pace, callers: int, more: dict[str, Any]
) -> Client:
    given = {"transport": _Transport(service, loop), "clock": VirtualClock(loop, 1), **more}
    client = Client(ClientConfig("x_service", {"": "https://dam.example"}, None, (), pace, **given))

    async def call() -> None:
        while loop.time() < seconds:
            try:
                await client.send(Request("GET /thing", "GET", "/thing"))
            except DamSyncError:
                continue

    tasks = [asyncio.ensure_future(call()) for _ in range(callers)]
    await asyncio.gather(*tasks)
    return client
