"""The requests of a recording sent again to a server that responds as recorded:
`python -m tests.support.measuring.replayed_requests`.

The server is a few lines on bare sockets. The client is a loop of httpx on httpx-aiohttp, with nothing of the product:
it prints the CPU seconds that it took.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote_to_bytes

import httpx
from httpx_aiohttp import AiohttpTransport

from tests.support.measuring.recorded_requests import Exchange, recorded

AT_ONCE = 16
WARM = 50  # requests before the clock starts: connections, caches
LENGTH = b"content-length:"


class Answering(asyncio.Protocol):
    """Responds to each request as recorded; several recorded responses to the same request come in their order."""

    def __init__(self, answers: dict[bytes, deque[bytes]]) -> None:
        self._answers = answers
        self._data = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client connected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Respond to as many requests as are complete."""
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end].lower()
            at = head.find(LENGTH)
            size = int(head[at + len(LENGTH) :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._data) < end + 4 + size:
                return
            line = unquote_to_bytes(self._data.split(b" HTTP/", 1)[0])  # clients quote differently
            self._data = self._data[end + 4 + size :]
            known = self._answers[line]
            assert self._transport is not None
            self._transport.write(known.popleft() if len(known) > 1 else known[0])


async def serve(path: Path) -> None:
    """Serve a recording until the process ends; prints the port."""
    answers: dict[bytes, deque[bytes]] = defaultdict(deque)
    for each in recorded(path):
        answers[unquote_to_bytes(f"{each.method} {each.target}")].append(_bytes(each))
    server = await asyncio.get_running_loop().create_server(lambda: Answering(answers), "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


def _bytes(each: Exchange) -> bytes:
    lines = [f"HTTP/1.1 {each.status} OK", *(f"{name}: {value}" for name, value in each.answered)]
    if not 100 <= each.status < 200 and each.status != 204:
        lines.append(f"content-length: {len(each.answer)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (each.answer if each.method != "HEAD" else b"")


async def replay(path: Path, port: int) -> float:
    """CPU seconds of a bare loop that sends what was recorded, 16 at once, and reads every response."""
    exchanges = recorded(path)
    async with httpx.AsyncClient(
        transport=AiohttpTransport(), base_url=f"http://127.0.0.1:{port}", trust_env=False
    ) as client:

        async def work(left: Iterator[Exchange]) -> None:
            for each in left:
                await client.request(each.method, each.target, headers=each.headers, content=each.body or None)

        reads = [each for each in exchanges if each.method == "GET"][:WARM]
        await asyncio.gather(*(work(iter([each])) for each in reads[:AT_ONCE]))
        shared, before = iter(exchanges), time.process_time()
        await asyncio.gather(*(work(shared) for _ in range(AT_ONCE)))
        return time.process_time() - before


@contextmanager
def serving(path: Path) -> Iterator[int]:
    """The port of a server in a process of its own."""
    command = [sys.executable, "-m", "tests.support.measuring.replayed_requests", "serve", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def bare_seconds(path: Path) -> float:
    """CPU seconds of the bare loop in a process of its own."""
    with serving(path) as port:
        command = [sys.executable, "-m", "tests.support.measuring.replayed_requests", "replay", str(path), str(port)]
        return float(json.loads(subprocess.check_output(command)))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(Path(sys.argv[2])))
    else:
        sys.stdout.write(json.dumps(asyncio.run(replay(Path(sys.argv[2]), int(sys.argv[3])))))
