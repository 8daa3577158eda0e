"""A fuse in the connections of one service, whatever carries them."""

from __future__ import annotations

import httpx

from tests.support.virtual.fuse import CALL, Crash, Fuse


class FusedTransport(httpx.AsyncBaseTransport):
    """Another transport behind a Fuse."""

    def __init__(self, inner: httpx.AsyncBaseTransport, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The head of a response comes after the effect of its call."""
        number = self._fuse.enter(CALL)
        response = await self._inner.handle_async_request(request)
        try:
            self._fuse.leave(CALL, number)
        except Crash:
            await response.aclose()
            raise
        return response
