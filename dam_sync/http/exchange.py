"""One request over a transport: a body of the announced length, a response read within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from typing import cast

import httpx

from dam_sync.http.bounds import LARGEST_ERROR, LARGEST_REPLY, SLOWEST, WRITE_SECONDS
from dam_sync.http.decoding import Undecodable, codings_of, decoded
from dam_sync.http.failures import FAILURES, failure
from dam_sync.model.errors import ContractBroken, Transient
from dam_sync.model.values import Json


async def open_response(transport: httpx.AsyncBaseTransport, request: httpx.Request) -> RawResponse:
    """Send a request with its timeouts as extension `timeout` and read the head of the response. Raises NotSent,
    Transient, ConfigError (TLS, proxy), and what the body raises."""
    body = request.stream if isinstance(request.stream, RequestBody) else None
    try:
        async with asyncio.timeout(_head_seconds(request)) as deadline:
            if body is not None:
                body.begin(deadline, _head_seconds(request))
            response = await transport.handle_async_request(request)
    except FAILURES as problem:
        if body is not None and body.problem is not None:
            raise body.problem from None
        raise failure(problem, request.url.host, proxy=request.extensions.get("proxy", "")) from None
    finally:
        if body is not None:
            body.deadline = None  # a response may begin before the last block is sent
    return RawResponse(response, request)


class RawResponse:
    """Status and headers; the body is not read yet. Must be closed."""

    def __init__(self, response: httpx.Response, request: httpx.Request) -> None:
        self.response = response
        self._host = request.url.host
        self._read_seconds: float = request.extensions["timeout"]["read"]
        self.status = response.status_code
        self.body = b""
        self.parsed: list[Json] = []  # the body, if it was parsed to see whether it can be
        self._is_read = False
        self.headers: Mapping[str, str] = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers.raw
        }
        self._codings = codings_of(self.headers.get("content-encoding", ""))

    @property
    def is_encoded(self) -> bool:
        """Whether the body is compressed."""
        return bool(self._codings)

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    async def read(self) -> bytes:
        """The whole body, decoded; only its beginning unless the status is a success. Raises Transient if it breaks off
        or is too slow, ContractBroken if it is larger than anything we request or has an unrequested coding."""
        taken: list[bytes] = []
        try:
            async with asyncio.timeout(self._read_seconds):
                await self._take(taken)
        except FAILURES as problem:
            if self.is_success or not isinstance(problem, Undecodable):
                raise failure(problem, self._host, responding=True) from None
        finally:
            await self.aclose()
        self.body = taken[0] if len(taken) == 1 else b"".join(taken)
        self._is_read = True
        return self.body

    async def _take(self, taken: list[bytes]) -> None:
        if len(self._codings) > 1 and self.is_success:
            raise ContractBroken(f"the response is compressed {len(self._codings)} times over")
        size = 0
        async for block in self._source():
            if not self.is_success and size + len(block) >= LARGEST_ERROR:
                taken.append(block[: LARGEST_ERROR - size])
                return
            taken.append(block)
            size += len(block)
            if size > LARGEST_REPLY:
                raise ContractBroken(f"the response is larger than {LARGEST_REPLY} bytes")

    async def blocks(self) -> AsyncGenerator[bytes, None]:
        """The body as received. Raises Transient if it breaks off or is too slow."""
        if self._is_read:
            yield self.body
            return
        rate = _ReadRate(self._host, self._read_seconds)
        source = self._raw()
        try:
            while (block := await rate.timed(anext(source, None))) is not None:
                yield block
        except FAILURES as problem:
            raise failure(problem, self._host, responding=True) from None

    def _source(self) -> AsyncIterator[bytes]:
        if not self._codings:
            return self._raw()
        return decoded(self._raw(), ", ".join(self._codings))

    def _raw(self) -> AsyncIterator[bytes]:
        return aiter(cast("httpx.AsyncByteStream", self.response.stream))

    async def aclose(self) -> None:
        """Release the connection; safe to repeat."""
        try:
            await self.response.aclose()
        except FAILURES:
            return  # it was broken already


class _ReadRate:
    """Measures how fast a body arrives while it is awaited."""

    def __init__(self, host: str, window: float) -> None:
        self._host = host
        self._window = window
        self._waited = 0.0
        self._received = 0

    async def timed(self, arriving: Awaitable[bytes | None]) -> bytes | None:
        """The next block. Raises Transient if too little arrived within the timeout."""
        clock = asyncio.get_running_loop().time
        began = clock()
        block = await arriving
        self._waited += clock() - began
        self._received += len(block or b"")
        if self._waited >= self._window:
            if block is not None and self._received < SLOWEST * self._window:
                raise Transient(
                    f"{self._host} sends too slowly: {self._received} bytes in {self._waited:.0f} s",
                    hint="the service is slow or the network drops packets; run the same command again",
                )
            self._waited, self._received = 0.0, 0
        return block


class RequestBody(httpx.AsyncByteStream):
    """A streamed body with its announced length enforced; remembers what its source raised. May be sent again. The
    deadline of the request is moved with every block, so that neither the source nor sending uses up the time for the
    response."""

    def __init__(self, source: Callable[[], AsyncIterator[bytes]], size: int) -> None:
        self._source = source
        self._size = size
        self._head_seconds = 0.0
        self.problem: Exception | None = None
        self.deadline: asyncio.Timeout | None = None

    def begin(self, deadline: asyncio.Timeout, head_seconds: float) -> None:
        """Send it within this deadline; after its last block, the head of the response has this many seconds."""
        self.problem, self.deadline, self._head_seconds = None, deadline, head_seconds

    async def __aiter__(self) -> AsyncIterator[bytes]:
        sent = 0
        blocks = self._source()
        try:
            self._within(None)
            async for block in blocks:
                sent += len(block)
                if sent > self._size:
                    raise ContractBroken(f"a body of {self._size} bytes was announced, its source returns more")
                self._within(WRITE_SECONDS)
                yield block
                self._within(None)
            if sent != self._size:
                raise ContractBroken(f"a body of {self._size} bytes was announced, its source returned {sent}")
            self._within(self._head_seconds)
        except Exception as problem:
            self.problem = problem
            raise
        finally:
            close = getattr(blocks, "aclose", None)
            if close is not None:
                await close()

    def _within(self, seconds: float | None) -> None:
        """Cancel the request unless it makes progress within this many seconds."""
        if self.deadline is not None and not self.deadline.expired():
            now = asyncio.get_running_loop().time()
            self.deadline.reschedule(None if seconds is None else now + seconds)


def _head_seconds(request: httpx.Request) -> float:
    """Seconds until the head of the response must be complete, however slowly its lines arrive."""
    timeout: Mapping[str, float] = request.extensions["timeout"]
    return timeout["connect"] + timeout["read"]
