"""Calls to services emulated in this process, handed over without sockets: many checks, each of many calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import httpx
import pytest
from starlette.types import Message

from dam_sync.emulation.app import Application
from dam_sync.net import line
from dam_sync.net.failures import failure
from dam_sync.net.transport import Answer, Outgoing, Wire

TURNS: Final = 3  # of the loop that a call is under way at least, so that others are, too


@contextmanager
def handed_over(apps: dict[str, Application]) -> Iterator[None]:
    """Inside, calls to the origins in `apps` go to their applications in the caller's own loop; all others, and those
    of other clients, over sockets as ever."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line, "Wire", lambda name: _Short(apps, Wire(name)))
        yield


class _Short(Wire):
    def __init__(self, apps: dict[str, Application], far: Wire) -> None:
        self._apps, self._far = apps, far

    async def open(self, outgoing: Outgoing) -> Answer:
        """See `Wire.open`."""
        parts = urlsplit(outgoing.address)
        app = self._apps.get(f"{parts.scheme}://{parts.netloc}")
        if app is None:
            return await self._far.open(outgoing)
        body = await _body_of(outgoing)
        request = httpx.Request(
            outgoing.method, outgoing.address, headers=dict(outgoing.headers), content=b"".join(body) or None
        )
        call = _Call(body)
        try:
            async with asyncio.timeout(outgoing.read_seconds):
                await call.made(app, _scope(request))
        except TimeoutError:
            raise failure(httpx.ReadTimeout("too late"), outgoing.host) from None
        if call.broken and not call.status:
            raise failure(httpx.ReadError("connection reset"), outgoing.host) from None
        return Answer(httpx.Response(call.status, headers=call.headers, stream=_Stream(call)), outgoing)

    async def close(self) -> None:
        """See `Wire.close`."""
        await self._far.close()


class _Call:
    """One call and what came back of it; `broken`: the connection broke behind the last of `blocks`."""

    def __init__(self, body: Sequence[bytes]) -> None:
        self._waiting = list(body) or [b""]
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.blocks: list[bytes] = []
        self.broken = False

    async def made(self, app: Application, scope: dict[str, Any]) -> None:
        """There and back."""
        try:
            await app(scope, self._receive, self._send)
        except ConnectionResetError:
            self.broken = True

    async def _receive(self) -> Message:
        if not self._waiting:
            return {"type": "http.disconnect"}
        block = self._waiting.pop(0)
        return {"type": "http.request", "body": block, "more_body": bool(self._waiting)}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            for _ in range(TURNS):
                await asyncio.sleep(0)
            self.status, self.headers = message["status"], list(message["headers"])
        else:
            self.blocks.append(bytes(message.get("body", b"")))


class _Stream(httpx.AsyncByteStream):
    def __init__(self, call: _Call) -> None:
        self._call = call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for block in self._call.blocks:
            if block:
                yield block
        if self._call.broken:
            raise httpx.ReadError("connection reset")

    async def aclose(self) -> None:
        self._call.blocks = []


async def _body_of(outgoing: Outgoing) -> list[bytes]:
    if outgoing.body is None:
        return []
    if isinstance(outgoing.body, bytes):
        return [outgoing.body]
    return [block async for block in outgoing.body()]


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
