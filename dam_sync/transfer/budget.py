"""Memory for file bytes, shared by all transfers of a process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class MemoryBudget:
    """Fulfils `model.service.Budget`, first come first served, so that a large request is not starved by small ones.

    Whoever holds some and waits for more may wait for ever: hold once for one body.
    """

    def __init__(self, total: int) -> None:
        if total <= 0:
            raise ValueError("a budget has at least one byte")
        self._total = total
        self._free = total
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def held(self) -> int:
        """Bytes in use now."""
        return self._total - self._free

    @asynccontextmanager
    async def hold(self, size: int) -> AsyncIterator[None]:
        """See `Budget.hold`."""
        share = min(max(0, size), self._total)
        await self._take(share)
        try:
            yield
        finally:
            self._free += share
            self._serve()

    async def _take(self, share: int) -> None:
        if not self._waiting and share <= self._free:
            self._free -= share
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((share, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # granted and cancelled in the same moment
                self._free += share
            with suppress(ValueError):
                self._waiting.remove((share, turn))
            self._serve()
            raise

    def _serve(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._free:
            share, turn = self._waiting.popleft()
            if not turn.done():  # else cancelled, and its task has not run yet
                self._free -= share
                turn.set_result(None)
