"""The connections to the server of `watch`: so many at once and no more, and none that keeps others out by waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

from aiohttp import web
from aiohttp.typedefs import Middleware

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class ConnectionBounds:
    """most: connections at once, each of which takes a file handle that runs need as well; pages and deliveries that
    are read are fewer. idle: seconds until one without a request is closed; proxies close theirs after 60."""

    most: int = 400
    idle: float = 75.0


USUAL = ConnectionBounds()


class Connections:
    """Those of one server.

    With as many as allowed, a new one takes the place of the one that has waited longest for its caller: to send a
    whole request, or to read a response. While all of them are served, the new one is closed.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[_Connection] = set()
        self._waiting: dict[asyncio.BaseProtocol, _Connection] = {}  # longest first

    def accept(self, server: web.Server) -> asyncio.Protocol:
        """What handles a new connection."""
        if len(self._open) >= self._most and not self._end_longest():
            return _Refused()
        made = _Connection(server(), self._closed)
        self._open.add(made)
        self._waiting[made.handler] = made
        return made

    def middleware(self) -> Middleware:
        """Notes which connections are served."""

        @web.middleware
        async def noting(request: web.Request, handler: Handler) -> web.StreamResponse:
            made = self._waiting.pop(request.protocol, None)
            try:
                return await handler(request)
            finally:
                if made in self._open and made is not None:
                    self._waiting[request.protocol] = made  # from now on for its caller

        return noting

    def _end_longest(self) -> bool:
        """End the connection that waits longest; False if none waits."""
        found = next(iter(self._waiting.values()), None)
        if found is None:
            return False
        self._closed(found)
        found.abort()
        return True

    def _closed(self, made: _Connection) -> None:
        self._open.discard(made)
        self._waiting.pop(made.handler, None)


class _Connection(asyncio.Protocol):
    """Passes everything on to the server, and says when it is over."""

    def __init__(self, handler: asyncio.Protocol, closed: Callable[[_Connection], None]) -> None:
        self.handler = handler
        self._closed = closed
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.handler.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed(self)
        self.handler.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.handler.data_received(data)

    def eof_received(self) -> bool | None:
        return self.handler.eof_received()

    def pause_writing(self) -> None:
        self.handler.pause_writing()

    def resume_writing(self) -> None:
        self.handler.resume_writing()

    def abort(self) -> None:
        """End it at once, also if nobody reads what was sent."""
        if self._transport is not None:
            self._transport.abort()


class _Refused(asyncio.Protocol):
    """A connection that is closed at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).close()
