"""A server of raw HTTP/1.1 on a free port of this computer: says what a test wants, notes what it saw."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import ssl
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

Talk: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    at: float  # monotonic seconds
    connection: int

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


@dataclass(frozen=True, slots=True)
class Said:
    """One response. `length` is announced instead of the true one; None announces none (the end of the connection is
    the end of the body). then: `keep` the connection, `close` it in order or `reset` it. blocks: the body in pieces
    with `gap` seconds between. silent: no response at all."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = -1
    then: str = "keep"
    pause: float = 0.0
    blocks: Sequence[bytes] = ()
    gap: float = 0.0
    silent: bool = False


Handler = Callable[[Seen], "Said | Awaitable[Said]"]


def said(data: Any, status: int = 200, **headers: str) -> Said:
    """A JSON response; underscores in header names are hyphens."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Said(status, json.dumps(data).encode(), {"Content-Type": "application/json", **named})


class RawServer:
    """An async context manager; `url` is its origin, `seen` what came, in order of arrival."""

    def __init__(self, handler: Handler, *, tls: ssl.SSLContext | None = None) -> None:
        self._handler = handler
        self._tls = tls
        self._connections = 0
        self._open: set[asyncio.Task[None]] = set()
        self.seen: list[Seen] = []
        self.under_way = 0
        self.most_under_way = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._tls, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    @property
    def connections(self) -> int:
        """How many were opened."""
        return self._connections

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        task = asyncio.ensure_future(self._serve(reader, writer, self._connections))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        try:
            while await self._one(reader, writer, number):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        at = time.monotonic()
        method, target, _ = head[0].split(" ", 2)
        headers = {name.strip().lower(): text.strip() for name, _, text in (h.partition(":") for h in head[1:] if h)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        seen = Seen(method, target, headers, body, at, number)
        self.seen.append(seen)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            answer = self._handler(seen)
            if inspect.isawaitable(answer):
                answer = await answer
            if answer.pause:
                await asyncio.sleep(answer.pause)
        finally:
            self.under_way -= 1
        return await self._say(writer, method, answer)

    async def _say(self, writer: asyncio.StreamWriter, method: str, answer: Said) -> bool:
        blocks = [*answer.blocks] or [answer.body]
        if not answer.silent:
            length = sum(map(len, blocks)) if answer.length == -1 else answer.length
            lines = [f"HTTP/1.1 {answer.status} Said", *(f"{name}: {text}" for name, text in answer.headers.items())]
            if length is not None and answer.status != 204:
                lines.append(f"Content-Length: {length}")
            writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
            for block in blocks if method != "HEAD" else ():
                writer.write(block)
                await writer.drain()
                if answer.gap:
                    await asyncio.sleep(answer.gap)
            await writer.drain()
        if answer.then == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        return answer.then == "keep" and answer.length is not None and not answer.silent


def in_turn(*answers: Said) -> Handler:
    """Each response once, the last again and again."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@asynccontextmanager
async def no_http(words: bytes, linger: float = 0.0) -> AsyncIterator[str]:
    """The URL of a server that says these words to whatever comes first, reads on for a while and hangs up."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(words)
        await writer.drain()
        with suppress(TimeoutError):
            async with asyncio.timeout(linger):
                while linger and await reader.read(65536):
                    pass

    async with _talking(talk) as (url, _):
        yield url


@asynccontextmanager
async def dripping(first: bytes, drop: bytes, gap: float) -> AsyncIterator[str]:
    """The URL of a server that responds with `first` and then with `drop` again and again."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(first)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(gap)

    async with _talking(talk) as (url, tasks):
        try:
            yield url
        finally:
            for task in tasks:
                task.cancel()


@asynccontextmanager
async def _talking(talk: Talk) -> AsyncIterator[tuple[str, set[asyncio.Task[None]]]]:
    """The URL of a server that talks so to each client until it is hung up on, and its conversations, which end
    with the block."""
    tasks: set[asyncio.Task[None]] = set()

    async def ended(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await talk(reader, writer)
        finally:
            writer.close()

    def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.ensure_future(ended(reader, writer)))

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", tasks
    finally:
        server.close()
        await asyncio.gather(*tasks, return_exceptions=True)


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
