"""The assets that a run has read and not written yet: few at a time if they are large."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.weights import HELD_BYTES, weight_of


class HeldAssets:
    """Bounds their bytes. Reading begins in order, so that what is read first can be written first. One asset is read
    whatever its size, if nothing else is held.

    What an asset weighs is known once it was read: until then it is taken for one of those read last.
    """

    def __init__(self, most: int = HELD_BYTES) -> None:
        self._most = most
        self._weights: dict[AssetId, int] = {}
        self._held = 0  # their sum
        self._reading = 0
        self._expected = 0  # of an asset that is read now
        self._turn, self._freed = asyncio.Lock(), asyncio.Event()

    @property
    def bytes(self) -> int:
        """Of what was read, and what is expected of those that are read now."""
        return self._held + self._reading * self._expected

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Within it one asset is read, once there is room for it; then `keep` it."""
        async with self._turn:
            while self.bytes and self.bytes + self._expected > self._most:
                self._freed.clear()
                await self._freed.wait()
            self._reading += 1
        try:
            yield
        finally:
            self._reading -= 1
            self._freed.set()

    def keep(self, name: AssetId, asset: Asset | None) -> None:
        """It was read, and is held under this name until `drop`."""
        weight = 0 if asset is None else weight_of(asset)
        self._held += weight - self._weights.get(name, 0)
        self._weights[name] = weight
        self._expected = max(weight, self._expected // 2)

    def drop(self, name: AssetId) -> None:
        """It was written, parked or put back; safe to repeat."""
        if weight := self._weights.pop(name, 0):
            self._held -= weight
            self._freed.set()
