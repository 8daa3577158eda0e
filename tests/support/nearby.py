"""Calls to services emulated in this process, handed over without sockets: for many checks, each of many calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dam_sync.emulators.kit.serve import Served
from dam_sync.http import dispatch
from dam_sync.http.transport import RawRequest, RawResponse, Transport
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.reply import Reply
from tests.support.virtual.wire import Network, VirtualWire


class Nearby:
    """The services that are called in the caller's own loop. All others, and those of other clients than the product's,
    are called over sockets as ever."""

    def __init__(self) -> None:
        self.network: Network = _Street(_Turns(), 0)

    def add(self, served: Served) -> None:
        """One more."""
        self.network.trace.clear()
        self.network.hosts[served.url] = self.network.hosts[served.storage_url] = served.app

    def remove(self, served: Served) -> None:
        """One less, before it ends: others may get its addresses."""
        del self.network.hosts[served.url], self.network.hosts[served.storage_url]


@contextmanager
def handing_over() -> Iterator[Nearby]:
    """Inside, calls of the product are handed over."""
    nearby = Nearby()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "Transport", lambda name: _Near(nearby.network, Transport(name)))
        yield nearby


class _Near(VirtualWire):
    def __init__(self, network: Network, far: Transport) -> None:
        super().__init__(network, Fuse())
        self._far = far

    async def open(self, outgoing: RawRequest) -> RawResponse:
        """See `Transport.open`."""
        return await (super() if self._network.called(outgoing) else self._far).open(outgoing)

    async def close(self) -> None:
        """See `Transport.close`."""
        await self._far.close()


class _Street(Network):
    """Always fine weather."""

    async def carry(self, outgoing: RawRequest) -> Reply:
        """See `Network.carry`."""
        app = self.called(outgoing)
        assert app is not None
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
