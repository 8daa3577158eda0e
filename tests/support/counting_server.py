"""A service that counts: at most so many calls in any second, each other one is refused.

`python -m tests.support.counting_server RATE` prints its port, and at the end of its input what it saw as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from tests.support.programs import PIPE, Program

TICK = 0.005
STALL, CALLER_STALL = 0.02, 0.05  # seconds
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
TOO_MANY = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"


@dataclass
class Seen:
    """When calls arrived, in seconds: those that were counted, and those refused; stalls: when the server itself stood
    still for long, as its machine had no time for it, and for how long."""

    counted: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    stalls: list[tuple[float, float]] = field(default_factory=list)

    def unexcused(self, results: Sequence[Mapping[str, Any]] = ()) -> list[float]:
        """The refusals without a stall of the service or of a caller (from `lessees.result`) shortly before, in which
        calls were counted or reported too late."""
        long = [at for at, seconds in self.stalls if seconds > STALL]
        long += [at for each in results for at, seconds in each["stalls"] if seconds > CALLER_STALL]
        return [at for at in self.refused if not any(at - 1.5 < stall <= at + TICK for stall in long)]

    def share(self, rate: float, least: float = 2.0) -> float:
        """The part of the limit that was used, without the beginning."""
        calls = [at for at in self.counted if at >= self.counted[0] + least]
        return (len(calls) - 1) / (calls[-1] - calls[0]) / rate


class CountingServer(asyncio.Protocol):
    """One connection."""

    def __init__(self, rate: int, seen: Seen, window: deque[float]) -> None:
        self.rate, self.seen, self.window = rate, seen, window

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        for _ in range(data.count(b"\r\n\r\n")):
            self._transport.write(OK if self._counts(time.monotonic()) else TOO_MANY)

    def _counts(self, now: float) -> bool:
        while self.window and self.window[0] <= now - 1.0:
            self.window.popleft()
        if len(self.window) >= self.rate:
            self.seen.refused.append(now)
            return False
        self.window.append(now)
        self.seen.counted.append(now)
        return True


@dataclass
class Counting:
    """A server in a process of its own."""

    process: Program
    url: str

    def end(self) -> Seen:
        """What it saw."""
        told, _ = self.process.communicate()
        return Seen(**json.loads(told.splitlines()[-1]))


@contextmanager
def counting(rate: int) -> Iterator[Counting]:
    """A server with this limit."""
    process = Program("tests.support.counting_server", str(rate), typed=PIPE, out=PIPE, err=None)
    assert process.stdout is not None
    try:
        yield Counting(process, f"http://127.0.0.1:{int(process.stdout.readline())}")
    finally:
        process.kill()
        process.communicate()


async def _serve(rate: int) -> None:
    loop, seen = asyncio.get_running_loop(), Seen()
    server = await loop.create_server(partial(CountingServer, rate, seen, deque()), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    ended = loop.run_in_executor(None, sys.stdin.read)
    while not ended.done():
        before = time.monotonic()
        await asyncio.sleep(TICK)
        if (late := time.monotonic() - before - TICK) > TICK:
            seen.stalls.append((time.monotonic(), late))
    print(json.dumps(asdict(seen)), flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
