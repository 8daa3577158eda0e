"""A server on a real socket that answers exactly what a test scripts, byte by byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Seen:
    """One request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Handler = Callable[[Seen, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class WireServer:
    """Keeps what it saw; `handler` answers."""

    handler: Handler
    url: str = ""
    seen: list[Seen] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await self._head(reader)) is not None:
                request = await self._read(head, reader)
                self.seen.append(request)
                await self.handler(request, writer)
                if writer.is_closing():
                    return
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _head(self, reader: asyncio.StreamReader) -> list[str] | None:
        try:
            raw = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        return raw.decode("latin-1").strip().split("\r\n")

    async def _read(self, head: list[str], reader: asyncio.StreamReader) -> Seen:
        method, target, _ = head[0].split(" ", 2)
        pairs = (line.split(":", 1) for line in head[1:])
        headers = {name.lower(): value.strip() for name, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Seen(method, target, headers, body)


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[WireServer]:
    """A server on a free port of 127.0.0.1 for as long as the block runs."""
    server = WireServer(handler)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()


def answer(status: int, body: Any = b"", **headers: str) -> bytes:
    """A whole answer; a mapping or list becomes JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(raw)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + raw


def script(*answers: bytes | Callable[[Seen], bytes] | None) -> Handler:
    """Answers in order, the last one for ever; None breaks the connection without an answer."""
    left = list(answers)

    async def handler(seen: Seen, writer: asyncio.StreamWriter) -> None:
        each = left.pop(0) if len(left) > 1 else left[0]
        if each is None:
            writer.transport.abort()
            return
        writer.write(each(seen) if callable(each) else each)

    return handler
