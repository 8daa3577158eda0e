"""A streamed request body of the announced length."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import cast

import httpx

from dam_sync.http.bounds import WRITE_SECONDS
from dam_sync.http.multipart import BodyFactory
from dam_sync.model.errors import ContractBroken


class RequestBody(httpx.AsyncByteStream):
    """A streamed body with its announced length enforced; remembers what its source raised. May be sent again. The
    deadline of the request is moved with every block, so that neither the source nor sending uses up the time for the
    response."""

    def __init__(self, source: BodyFactory, size: int) -> None:
        self._source = source
        self.size = size
        self._head_seconds = 0.0
        self.problem: Exception | None = None
        self.deadline: asyncio.Timeout | None = None
        self.on_block: Callable[[], None] = lambda: None  # called whenever the body moves

    def begin(self, deadline: asyncio.Timeout, head_seconds: float) -> None:
        """Send it within this deadline; after its last block, the head of the response has this many seconds."""
        self.problem, self.deadline, self._head_seconds = None, deadline, head_seconds

    async def joined(self) -> bytes:
        """The whole body, for one that is small. Raises what its source raises."""
        return b"".join([block async for block in self])

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        sent = 0
        blocks = self._source()
        try:
            self._within(None)
            async for block in blocks:
                sent += len(block)
                if sent > self.size:
                    raise ContractBroken(f"a body of {self.size} bytes was announced, its source returns more")
                self._within(WRITE_SECONDS)
                yield cast("bytes", block)  # transports take views as well
                self._within(None)
            if sent != self.size:
                raise ContractBroken(f"a body of {self.size} bytes was announced, its source returned {sent}")
            self._within(self._head_seconds)
        except Exception as problem:
            self.problem = problem
            raise
        finally:
            close = getattr(blocks, "aclose", None)
            if close is not None:
                await close()

    def _within(self, seconds: float | None) -> None:
        """Cancel the request unless it makes progress within this many seconds."""
        self.on_block()
        if self.deadline is not None and not self.deadline.expired():
            now = asyncio.get_running_loop().time()
            self.deadline.reschedule(None if seconds is None else now + seconds)
