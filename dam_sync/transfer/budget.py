"""Memory for file bytes, shared by all transfers of a process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar

_HELD: ContextVar[tuple[MemoryBudget | None, int]] = ContextVar("held", default=(None, 0))


class MemoryBudget:
    """Implements `model.ports.Budget`, first come, first served, so that a large request is not starved by small ones.

    Inside a hold, in the same task and those it starts, another one of up to the same size is for the same bytes: it
    takes nothing and never waits. Otherwise all holders of a small file could wait for each other forever.
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
        owner, outer = _HELD.get()
        held = outer if owner is self else 0
        share = min(max(0, size - held), self._total)
        await self._take(share)
        _HELD.set((self, held + share))
        try:
            yield
        finally:
            _HELD.set((owner, outer))
            self._free += share
            self._serve()

    async def _take(self, share: int) -> None:
        if not share or (not self._waiting and share <= self._free):
            self._free -= share
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((share, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # granted and cancelled at the same time
                self._free += share
            with suppress(ValueError):
                self._waiting.remove((share, turn))
            self._serve()
            raise

    def _serve(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._free:
            share, turn = self._waiting.popleft()
            if not turn.done():  # otherwise cancelled, and its task has not run yet
                self._free -= share
                turn.set_result(None)
