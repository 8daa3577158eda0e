"""What a run sent and the responses that it got, in a file, so that something else can send the same again."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import httpx

from dam_sync.api.job_file import job_of
from dam_sync.api.jobs import run_job
from dam_sync.http.transport import NetworkTransport
from dam_sync.model.run_options import RunOptions

UNSENT = frozenset({"host", "content-length", "transfer-encoding", "connection"})  # a client or a server sets them


@dataclass(slots=True)
class Exchange:
    """One request and its response. target: path and query; headers: those that a client does not set by itself."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    status: int = 0
    answered: list[tuple[str, str]] = field(default_factory=list)
    answer: bytes = b""


class RecordingTransport(httpx.AsyncBaseTransport):
    """The network; every exchange is kept in order."""

    def __init__(self) -> None:
        self._network = NetworkTransport()
        self.exchanges: list[Exchange] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The response of the network, read as a whole."""
        sent = Exchange(request.method, request.url.raw_path.decode(), _kept(request.headers))
        self.exchanges.append(sent)
        blocks = [block async for block in cast("AsyncIterator[bytes]", request.stream)]
        sent.body = b"".join(blocks)
        again = httpx.Request(
            request.method, request.url, headers=request.headers, content=sent.body, extensions=request.extensions
        )
        response = await self._network.handle_async_request(again)
        raw = b"".join([block async for block in cast("AsyncIterator[bytes]", response.stream)])
        await response.aclose()
        sent.status, sent.answered, sent.answer = response.status_code, _kept(response.headers), raw
        return httpx.Response(response.status_code, headers=response.headers.raw, stream=_Once(raw))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._network.aclose()


class _Once(httpx.AsyncByteStream):
    def __init__(self, data: bytes) -> None:
        self._data = data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._data


def record(job: Path, to: Path) -> int:
    """Run a job in this process and keep its requests and responses; how many assets it created."""

    async def run() -> int:
        transport = RecordingTransport()
        report = await run_job(job_of(job), RunOptions(transport=transport))
        await transport.aclose()
        to.write_bytes(pickle.dumps(transport.exchanges))
        return report.counts["created"]

    return asyncio.run(run())


def recorded(path: Path) -> list[Exchange]:
    """What `record` kept."""
    found: list[Exchange] = pickle.loads(path.read_bytes())
    return found


def _kept(headers: httpx.Headers) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers.multi_items() if name.lower() not in UNSENT]
