"""A download in progress, and the bandwidth everything shares."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx

from dam_sync.model.clock import Clock
from dam_sync.model.errors import ContractBroken, Transient

BLOCK = 256 * 1024
CONTENT_RANGE = re.compile(r"^bytes (\d+)-(\d+)/(\d+|\*)$")


class Throttle:
    """Bytes a second over all bodies together; None is as fast as it goes."""

    def __init__(self, per_second: float | None, clock: Clock) -> None:
        self._per_second = per_second
        self._clock = clock
        self._free_at = 0.0

    async def spend(self, size: int) -> None:
        """Wait until these bytes fit."""
        if not self._per_second or not size:
            return
        now = self._clock.monotonic()
        self._free_at = max(self._free_at, now) + size / self._per_second
        if self._free_at > now:
            await self._clock.sleep(self._free_at - now)

    async def paced(self, blocks: Callable[[], AsyncIterator[bytes]]) -> AsyncIterator[bytes]:
        """The same blocks, no faster than allowed."""
        async for block in blocks():
            await self.spend(len(block))
            yield block


class HttpStream:
    """See `model.service.Stream`. Holds its turn of the lane until it is closed."""

    def __init__(
        self,
        response: httpx.Response,
        offset: int,
        host: str,
        lane: AbstractAsyncContextManager[None],
        throttle: Throttle,
    ) -> None:
        self._response = response
        self._host = host
        self._lane: AbstractAsyncContextManager[None] | None = lane
        self._throttle = throttle
        self.start, self.total = _position(response, offset)

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Blocks in order. Raises Transient when the connection breaks or the body is cut short."""
        return self._blocks()

    async def aclose(self) -> None:
        """Give back the connection and the turn; safe to repeat."""
        lane, self._lane = self._lane, None
        if lane is not None:
            try:
                await self._response.aclose()
            except httpx.HTTPError:
                return
            finally:
                await lane.__aexit__(None, None, None)

    async def __aenter__(self) -> HttpStream:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.aclose()

    async def _blocks(self) -> AsyncIterator[bytes]:
        try:
            async for block in self._response.aiter_raw(BLOCK):
                await self._throttle.spend(len(block))
                yield block
        except httpx.TimeoutException as error:
            raise Transient(f"a download from {self._host} stood still for too long") from error
        except httpx.HTTPError as error:
            raise Transient(f"a download from {self._host} broke off") from error


def _position(response: httpx.Response, offset: int) -> tuple[int, int | None]:
    """Where the bytes begin, and how long the whole file is. Raises ContractBroken for a range we did not ask for."""
    if response.status_code == 206:
        match = CONTENT_RANGE.match(response.headers.get("content-range", ""))
        if match is None or int(match[1]) != offset:
            raise ContractBroken("the range that came is not the one asked for")
        return offset, None if match[3] == "*" else int(match[3])
    length = response.headers.get("content-length", "")
    return 0, int(length) if length.isdigit() else None
