"""What was read a moment ago, for the write that follows."""

from __future__ import annotations

from typing import Generic, TypeVar

from dam_sync.aio.lru import LruCache
from dam_sync.model.clock import Clock

V = TypeVar("V")
SECONDS = 30.0  # a run writes as soon as it compared an asset of the target, but may wait for a permit
KEPT = 1_000


class JustRead(Generic[V]):
    """Returns each value once, and only for `SECONDS`: an asset that was read to be compared need not be read again
    to be written. Not for a state that must be current when a call is sent."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._values: LruCache[str, tuple[float, V]] = LruCache(KEPT)

    def put(self, key: str, value: V) -> None:
        """It was read now."""
        self._values.put(key, (self._clock.monotonic(), value))

    def take(self, key: str) -> V | None:
        """The value, which is forgotten; None if it was not read, or too long ago."""
        found = self._values.drop(key)
        if found is None or self._clock.monotonic() - found[0] > SECONDS:
            return None
        return found[1]
