"""A fuse in the connections of one service, for tests over real sockets."""

from __future__ import annotations

import pytest

from dam_sync.net import line
from dam_sync.net.transport import Answer, Outgoing, TransportName, Wire
from tests.support.virtual.fuse import CALL, Crash, Fuse


class FusedWire(Wire):
    """See `Wire`; through a Fuse."""

    def __init__(self, name: TransportName, fuse: Fuse) -> None:
        super().__init__(name)
        self._fuse = fuse

    async def open(self, outgoing: Outgoing) -> Answer:
        """See `Wire.open`; the head of an answer comes after the effect of its call."""
        number = self._fuse.enter(CALL)
        answer = await super().open(outgoing)
        try:
            self._fuse.leave(CALL, number)
        except Crash:
            await answer.aclose()
            raise
        return answer


def install(fuse: Fuse, patch: pytest.MonkeyPatch) -> None:
    """Every service connected from now on goes through this fuse."""
    patch.setattr(line, "Wire", lambda name: FusedWire(name, fuse))
