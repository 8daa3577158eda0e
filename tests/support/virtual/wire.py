"""The network of a virtual world: calls reach the emulated services in this process, after some virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
from starlette.types import ASGIApp, Message

from dam_sync.net.failures import failure
from dam_sync.net.transport import Answer, Outgoing, Wire
from tests.support.virtual.clock import VirtualClock
from tests.support.virtual.fuse import CALL, Fuse

NEAR, FAR = 0.004, 0.030  # seconds that a way takes


@dataclass(slots=True)
class Reply:
    """What came back. broken: the connection broke behind the last of `blocks`."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    blocks: list[bytes] = field(default_factory=list)
    broken: bool = False


class Network:
    """Who is served at which origin, and how long ways take. `trace` is what happened: instant, call, status."""

    def __init__(self, clock: VirtualClock, seed: int) -> None:
        self.clock = clock
        self.hosts: dict[str, ASGIApp] = {}
        self.trace: list[tuple[float, str, int]] = []
        self._rng = random.Random(f"network {seed}")
        self._under_way: set[asyncio.Task[Reply]] = set()

    def serve(self, app: Any, number: int) -> str:
        """Give the API and the storage host of `app` their origins; the API's."""
        app.world.api_origin, app.world.storage_origin = (f"http://127.0.0.1:{number + more}" for more in (0, 1))
        self.hosts[app.world.api_origin] = self.hosts[app.world.storage_origin] = app
        return str(app.world.api_origin)

    async def carry(self, outgoing: Outgoing) -> Reply:
        """There and back. The service goes on with what it began, whether or not somebody still waits."""
        parts = urlsplit(outgoing.address)
        app = self.hosts.get(f"{parts.scheme}://{parts.netloc}")
        if app is None:
            raise httpx.ConnectError("connection refused") from ConnectionRefusedError()
        body = await _body_of(outgoing)
        request = httpx.Request(
            outgoing.method, outgoing.address, headers=dict(outgoing.headers), content=b"".join(body) or None
        )
        await self.clock.sleep(self._way())
        task = asyncio.ensure_future(self._served(app, request, body))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        async with asyncio.timeout(outgoing.read_seconds):
            reply = await asyncio.shield(task)
        await self.clock.sleep(self._way())
        return reply

    async def calm(self) -> None:
        """Wait until the services are done with every call, though nobody waits for the answers."""
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

        try:
            await app(_scope(request), receive, send)
        except ConnectionResetError:
            reply.broken = True
        self.trace.append((self.clock.monotonic(), f"{request.method} {request.url.raw_path.decode()}", reply.status))
        return reply

    def _way(self) -> float:
        return self._rng.uniform(NEAR, FAR)


class VirtualWire(Wire):
    """See `Wire`; over a Network, through a Fuse."""

    def __init__(self, network: Network, fuse: Fuse) -> None:
        self._network, self._fuse = network, fuse

    async def open(self, outgoing: Outgoing) -> Answer:
        """See `Wire.open`; the head of an answer comes after the effect of its call."""
        number = self._fuse.enter(CALL)
        try:
            reply = await self._network.carry(outgoing)
            if reply.broken and not reply.status:
                raise httpx.ReadError("connection reset")
        except TimeoutError:
            raise failure(httpx.ReadTimeout("too late"), outgoing.host) from None
        except httpx.TransportError as problem:
            raise failure(problem, outgoing.host) from None
        self._fuse.leave(CALL, number)
        return Answer(httpx.Response(reply.status, headers=reply.headers, stream=_Stream(reply)), outgoing)

    async def close(self) -> None:
        """See `Wire.close`."""


class _Stream(httpx.AsyncByteStream):
    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for block in self._reply.blocks:
            if block:
                yield block
        if self._reply.broken:
            raise httpx.ReadError("connection reset")

    async def aclose(self) -> None:
        self._reply.blocks = []


async def _body_of(outgoing: Outgoing) -> list[bytes]:
    if outgoing.body is None:
        return []
    if isinstance(outgoing.body, bytes):
        return [outgoing.body]
    blocks = [block async for block in outgoing.body()]
    assert sum(map(len, blocks)) == outgoing.size, "a body of another length than announced"
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
