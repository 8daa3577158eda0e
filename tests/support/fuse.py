"""A fuse in the connections of one service, whatever carries them."""

from __future__ import annotations

import pytest

from dam_sync.http import dispatch
from dam_sync.http.transport import RawRequest, RawResponse, Transport
from tests.support.virtual.fuse import CALL, Crash, Fuse


class FusedWire(Transport):
    """See `Transport`; another one behind a Fuse."""

    def __init__(self, inner: Transport, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    async def open(self, outgoing: RawRequest) -> RawResponse:
        """See `Transport.open`; the head of an answer comes after the effect of its call."""
        number = self._fuse.enter(CALL)
        answer = await self._inner.open(outgoing)
        try:
            self._fuse.leave(CALL, number)
        except Crash:
            await answer.aclose()
            raise
        return answer

    async def close(self) -> None:
        """See `Transport.close`."""
        await self._inner.close()


def install(fuse: Fuse, patch: pytest.MonkeyPatch) -> None:
    """Every service connected from now on goes through this fuse."""
    wire = dispatch.Transport
    patch.setattr(dispatch, "Transport", lambda name: FusedWire(wire(name), fuse))
