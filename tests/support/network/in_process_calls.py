"""Calls to services emulated in this process, handed over without sockets: for many checks, each of many calls."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx

from dam_sync.emulators.kit.serve import Served
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.reply import Reply
from tests.support.virtual.wire import Network, VirtualTransport


class InProcessCalls:
    """The services that are called in the caller's own loop; nobody listens anywhere else."""

    def __init__(self) -> None:
        self.network: Network = _Street(_Turns(), 0)
        self.transport = VirtualTransport(self.network, Fuse())

    def add(self, served: Served, app: Any = None) -> None:
        """One more, or another `app` in front of it."""
        self.network.trace.clear()
        self.network.hosts[served.url] = self.network.hosts[served.storage_url] = app or served.app

    def remove(self, served: Served) -> None:
        """One less, before it ends: others may get its URLs."""
        del self.network.hosts[served.url], self.network.hosts[served.storage_url]


class _Street(Network):
    """Without faults."""

    async def carry(self, outgoing: httpx.Request) -> Reply:
        """See `Network.carry`."""
        app = self.called(outgoing)
        if app is None:
            raise httpx.ConnectError("connection refused") from ConnectionRefusedError()
        return await self.delivered(app, outgoing)


class _Turns:
    """A way takes a turn of the loop, so that others are on theirs meanwhile."""

    def monotonic(self) -> float:
        """See `Passing.monotonic`."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """See `Passing.sleep`."""
        await asyncio.sleep(0)

    def jump(self, seconds: float) -> None:
        """See `Passing.jump`; it is not asked for."""
