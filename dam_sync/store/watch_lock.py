"""The lock that a `watch` holds for as long as it runs: two would send the webhooks of one job to two URLs in turn."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

from dam_sync.model.clock import Clock
from dam_sync.model.state_server import StateServer
from dam_sync.store.file.watch_lock import FileWatchLock
from dam_sync.store.store import server_extra


class _Lock(Protocol):
    def hold(self) -> None: ...
    def release(self) -> None: ...


class WatchLock:
    """The lock of one state. A process that ends, however, holds it no longer."""

    def __init__(self, place: Path | StateServer, clock: Clock) -> None:
        self.place = place
        self._lock = _lock_of(place, clock)
        self._one = asyncio.Lock()

    async def hold(self) -> None:
        """Take it, or prove that it is still held; safe to repeat. Raises StoreBusy with the code ALREADY_WATCHED while
        another `watch` holds it, and what the state raises."""
        async with self._one:
            await asyncio.to_thread(self._lock.hold)

    async def release(self) -> None:
        """Let it go; safe to repeat."""
        async with self._one:
            await asyncio.to_thread(self._lock.release)


def _lock_of(place: Path | StateServer, clock: Clock) -> _Lock:
    if isinstance(place, Path):
        return FileWatchLock(place, f"{clock.now():%Y-%m-%d %H:%M:%S} UTC")
    with server_extra(place):
        from dam_sync.store.server.watch_lock import ServerWatchLock
    return ServerWatchLock(place)
