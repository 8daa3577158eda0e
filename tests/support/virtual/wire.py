"""The network of a virtual world: calls reach the emulated services in this process, after some virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
from starlette.types import ASGIApp, Message

from dam_sync.emulators.kit.app import Application
from dam_sync.http.outgoing import DirectTransport, OutgoingRequest, ResponseSource
from tests.support.virtual.clock import Passing
from tests.support.virtual.fuse import CALL, Fuse
from tests.support.virtual.network_faults import Weather, patience
from tests.support.virtual.reply import Reply

NEAR, FAR = 0.004, 0.030  # seconds that a way takes
REDIRECTS = 5  # that a service follows


class Network:
    """Who is served at which origin, how long ways take, and what goes wrong on them. `trace` is what happened:
    time, call, status."""

    def __init__(self, clock: Passing, seed: int) -> None:
        self.clock = clock
        self.hosts: dict[str, Application] = {}
        self.weather = Weather(clock)
        self.trace: list[tuple[float, str, int]] = []
        self.fetched: list[tuple[str, int]] = []  # by services, from each other
        self._rng = random.Random(f"network {seed}")
        self._under_way: set[asyncio.Task[Reply]] = set()

    def serve(self, app: Any, number: int) -> str:
        """Give the API and the storage host of `app` their origins; the API's."""
        app.world.api_origin, app.world.storage_origin = (f"http://127.0.0.1:{number + more}" for more in (0, 1))
        self.hosts[app.world.api_origin] = self.hosts[app.world.storage_origin] = app
        app.world.fetch = self.fetch
        return str(app.world.api_origin)

    async def fetch(self, url: str) -> AsyncIterator[bytes]:
        """What a service gets that fetches from this URL; see `Environment.fetch`."""
        for _ in range(REDIRECTS):
            request = httpx.Request("GET", url)
            app = self.called(request)
            if app is None:
                raise ConnectionRefusedError(url)
            reply = await self._served(app, request, [])
            self.fetched.append((url, reply.status))
            if reply.status not in (301, 302, 303, 307, 308):
                break
            url = next(value.decode() for name, value in reply.headers if name.lower() == b"location")
        if reply.status != 200:
            raise ConnectionError(f"{reply.status} for {url}")
        for block in reply.blocks:
            yield block

    async def carry(self, outgoing: httpx.Request) -> Reply:
        """There and back, with the faults of the script."""
        app = self.called(outgoing)
        if app is None:
            raise httpx.ConnectError("connection refused") from ConnectionRefusedError()
        return await self.weather.carried(app, outgoing, lambda: self.delivered(app, outgoing))

    def called(self, outgoing: httpx.Request) -> Application | None:
        """Whom a call goes to, if there is anybody."""
        parts = urlsplit(str(outgoing.url))
        return self.hosts.get(f"{parts.scheme}://{parts.netloc}")

    async def delivered(self, app: ASGIApp, outgoing: httpx.Request) -> Reply:
        """What was sent arrives, and the service continues, though nobody may wait any more."""
        body = await body_of(outgoing)
        task = asyncio.ensure_future(self._served(app, outgoing, body))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        async with asyncio.timeout(patience(outgoing)):
            reply = await asyncio.shield(task)
        await self.clock.sleep(self._way())
        return reply

    async def calm(self) -> None:
        """Wait until the services are done with every call, though nobody waits for the responses."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def _served(self, app: ASGIApp, request: httpx.Request, body: Sequence[bytes]) -> Reply:
        reply = Reply()
        waiting = list(body) or [b""]

        async def receive() -> Message:
            if not waiting:
                return {"type": "http.disconnect"}
            block = waiting.pop(0)
            return {"type": "http.request", "body": block, "more_body": bool(waiting)}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                reply.status, reply.headers = message["status"], list(message["headers"])
            else:
                reply.blocks.append(bytes(message.get("body", b"")))

        await self.clock.sleep(self._way())
        try:
            await app(_scope(request), receive, send)
        except ConnectionResetError:
            reply.broken = True
        self.trace.append((self.clock.monotonic(), f"{request.method} {request.url.raw_path.decode()}", reply.status))
        return reply

    def _way(self) -> float:
        return self._rng.uniform(NEAR, FAR)


class VirtualTransport(DirectTransport):
    """The connections of one process: over a Network, through a Fuse."""

    def __init__(self, network: Network, fuse: Fuse) -> None:
        self._network, self._fuse = network, fuse

    async def send(self, outgoing: OutgoingRequest) -> ResponseSource:
        """See `DirectTransport`."""
        return _Arriving(await self.replied(outgoing.as_httpx), self._network.clock)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The same for what wraps this transport."""
        reply = await self.replied(request)
        return httpx.Response(reply.status, headers=reply.headers, stream=_Stream(reply, self._network.clock))

    async def replied(self, request: httpx.Request) -> Reply:
        """The head of a response comes after the effect of its call. What a process had begun when it came to stand
        still is broken when it wakes up."""
        if self._fuse.is_frozen:
            await self._fuse.awake()
            raise httpx.ConnectError("the connection was lost meanwhile")
        number = self._fuse.enter(CALL)
        try:
            reply = await self._network.carry(request)
        except TimeoutError:
            raise httpx.ReadTimeout("too late") from None
        if reply.broken and not reply.status:
            raise httpx.ReadError("connection reset")
        self._fuse.leave(CALL, number)
        return reply


class _Arriving:
    """A response whose body is still on its way."""

    def __init__(self, reply: Reply, clock: Passing) -> None:
        self.status, self.raw_headers = reply.status, reply.headers
        self._stream = _Stream(reply, clock)

    def arrived(self) -> bytes | None:
        return None

    def blocks(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Stream(httpx.AsyncByteStream):
    def __init__(self, reply: Reply, clock: Passing) -> None:
        self._reply, self._clock = reply, clock

    async def __aiter__(self) -> AsyncIterator[bytes]:
        first, rest = self._reply.halves() if self._reply.pause else (self._reply.blocks, [])
        for block in first:
            if block:
                yield block
        if self._reply.pause:
            await self._clock.sleep(self._reply.pause)
        if self._reply.stalls:
            raise httpx.ReadTimeout("no bytes any more")
        for block in rest:
            if block:
                yield block
        if self._reply.broken:
            raise httpx.ReadError("connection reset")

    async def aclose(self) -> None:
        self._reply.blocks = []


async def body_of(outgoing: httpx.Request) -> list[bytes]:
    """The blocks of a body, as long as was announced."""
    assert isinstance(outgoing.stream, httpx.AsyncByteStream)
    blocks = [block async for block in outgoing.stream]
    assert sum(map(len, blocks)) == int(outgoing.headers.get("content-length", 0)), "a body of another length"
    return blocks


def _scope(request: httpx.Request) -> dict[str, Any]:
    path, _, query = request.url.raw_path.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.url.scheme,
        "path": unquote(path.decode("ascii")),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": ("127.0.0.1", 50_000),
        "server": (request.url.host, request.url.port or 80),
    }
