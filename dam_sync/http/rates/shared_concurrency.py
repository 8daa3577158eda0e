"""Calls at once, where a service has a fixed number of them and several processes share it."""

from __future__ import annotations

import asyncio
import math

from dam_sync.aio.polling import sleep_until_set
from dam_sync.http.rates.limiters import ConcurrencyLimiter
from dam_sync.model.clock import Clock
from dam_sync.model.permits import CredentialPermits
from dam_sync.model.waits import OTHERS, waiting

EVERY = 1.0  # seconds after which the share is asked for again


class SharedConcurrency:
    """Keeps a limiter to the share of this process: nothing until it has one, which is when the others have given back
    what exceeds theirs. The share of a process that begins no calls changes, too.

    Each call is made within `async with`, which raises StoreUnreachable.
    """

    def __init__(self, limiter: ConcurrencyLimiter, permits: CredentialPermits, clock: Clock, side: str = "") -> None:
        self._side = side
        self._limiter, self._permits, self._clock = limiter, permits, clock
        self._most, self._name = limiter.limit, clock.token()
        self._asked = -math.inf
        self._asking = asyncio.Lock()
        self._changed = asyncio.Event()
        limiter.limit = 0
        permits.on_beat(self._renew)
        permits.on_change(self._changed.set)

    async def __aenter__(self) -> None:
        if self._is_due():
            with waiting(self._clock, None, OTHERS, self._side):
                await self._shared()
        await self._limiter.__aenter__()

    async def _shared(self) -> None:
        """Until this process has a share."""
        while self._is_due():
            async with self._asking:
                if not self._is_due():
                    continue
                await self._ask()
            if self._limiter.limit == 0:
                await sleep_until_set(self._clock, EVERY, self._changed)

    async def __aexit__(self, *_: object) -> None:
        await self._limiter.__aexit__()

    async def _renew(self) -> None:
        """Calls that wait for the limiter ask for nothing themselves."""
        async with self._asking:
            if self._asked > -math.inf and self._is_due():
                await self._ask()

    async def _ask(self) -> None:
        self._changed.clear()
        self._limiter.limit = await self._permits.share(self._name, self._most, self._limiter.under_way)
        self._asked = self._clock.monotonic()

    def _is_due(self) -> bool:
        return self._limiter.limit == 0 or self._changed.is_set() or self._clock.monotonic() - self._asked >= EVERY
