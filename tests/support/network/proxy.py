"""A proxy on a free port of this computer: every tunnel it is asked for leads to one server, whatever the host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Self


class Proxy:
    """An async context manager. `seen`: the first lines it was sent, `headers`: theirs, names in lower case.
    status: its response instead of opening a tunnel."""

    def __init__(self, port: int, *, status: int = 200) -> None:
        self._port, self._status = port, status
        self._open: set[asyncio.Task[None]] = set()
        self.seen: list[str] = []
        self.headers: list[Mapping[str, str]] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.name = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        self.seen.append(head[0])
        named = (line.partition(":") for line in head[1:] if line)
        self.headers.append({name.strip().lower(): text.strip() for name, _, text in named})
        try:
            if self._status != 200:
                writer.write(f"HTTP/1.1 {self._status} No\r\nContent-Length: 0\r\n\r\n".encode())
                await writer.drain()
                return
            there = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            async with asyncio.TaskGroup() as group:
                group.create_task(_poured(reader, there[1]))
                group.create_task(_poured(there[0], writer))
        finally:
            writer.close()


async def _poured(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while block := await reader.read(65536):
            writer.write(block)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
