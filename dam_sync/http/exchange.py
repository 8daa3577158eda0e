"""One request over a transport: a body of the announced length, a response read within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping

import httpx

from dam_sync.http.bounds import KIB, LARGEST_ERROR, LARGEST_REPLY, SLOWEST
from dam_sync.http.decoding import Undecodable, codings_of, decoded
from dam_sync.http.failures import FAILURES, failure
from dam_sync.http.outgoing import DirectTransport, OutgoingRequest, ResponseSource
from dam_sync.http.request_body import RequestBody
from dam_sync.model.errors import ContractBroken, OversizedResponse, Transient
from dam_sync.model.values import Json

_CODED = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})
SMALL_BODY = 64 * KIB  # is read before it is sent, in one piece with the head


async def open_response(transport: DirectTransport, outgoing: OutgoingRequest) -> RawResponse:
    """Send a request and read the head of the response. Raises NotSent, Transient, ConfigError (TLS, proxy), and what
    the body raises."""
    body = outgoing.body
    seconds = outgoing.connect_seconds + outgoing.read_seconds  # for the head, however slowly its lines arrive
    try:
        if isinstance(body, RequestBody):
            return RawResponse(await _streamed(transport, outgoing, body, seconds), outgoing)
        async with asyncio.timeout(seconds):
            return RawResponse(await transport.send(outgoing), outgoing)
    except FAILURES as problem:
        if isinstance(body, RequestBody) and body.problem is not None:
            raise body.problem from None
        raise failure(problem, outgoing.host, proxy=outgoing.proxy) from None


async def _streamed(
    transport: DirectTransport, outgoing: OutgoingRequest, body: RequestBody, seconds: float
) -> ResponseSource:
    """Send a request whose body has a source: a small body is sent as a whole, any other block by block."""
    if body.size <= SMALL_BODY:
        outgoing.body = await body.joined()
        async with asyncio.timeout(seconds):
            return await transport.send(outgoing)
    try:
        async with asyncio.timeout(seconds) as deadline:
            body.begin(deadline, seconds)
            return await transport.send(outgoing)
    finally:
        body.deadline = None  # a response may begin before the last block is sent


class RawResponse:
    """Status and headers; the body is not read yet. Must be closed."""

    def __init__(self, source: ResponseSource, outgoing: OutgoingRequest) -> None:
        self._response = source
        self._host = outgoing.host
        self._read_seconds = outgoing.read_seconds
        self.status = source.status
        self.body = b""
        self.parsed: list[Json] = []  # the body, if it was parsed to see whether it can be
        self._is_read = False
        self.headers: Mapping[str, str] = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in source.raw_headers
        }
        self.codings = codings_of(self.headers.get("content-encoding", ""))

    def as_httpx(self, request: httpx.Request) -> httpx.Response:
        """Status, headers and what was read of the body, for authentication methods."""
        kept = [(name, text) for name, text in self._response.raw_headers if name.lower() not in _CODED]
        return httpx.Response(self.status, headers=kept, content=self.body, request=request)

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    async def read(self) -> bytes:
        """The whole body, decoded; only its beginning unless the status is a success. Raises Transient if it breaks off
        or is too slow, ContractBroken if it is larger than anything we request or has an unrequested coding."""
        taken: list[bytes] = []
        try:
            if not self.codings and (body := self._response.arrived()) is not None:
                self._is_read = True
                self.body = body if self.is_success else body[:LARGEST_ERROR]
                return self.body
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
        if len(self.codings) > 1 and self.is_success:
            raise ContractBroken(f"the response is compressed {len(self.codings)} times over")
        size = 0
        async for block in self._source():
            if not self.is_success and size + len(block) >= LARGEST_ERROR:
                taken.append(block[: LARGEST_ERROR - size])
                return
            taken.append(block)
            size += len(block)
            if size > LARGEST_REPLY:
                raise OversizedResponse(f"the response is larger than {LARGEST_REPLY:,} bytes")

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
        if not self.codings:
            return self._raw()
        return decoded(self._raw(), ", ".join(self.codings))

    def _raw(self) -> AsyncIterator[bytes]:
        return self._response.blocks()

    async def aclose(self) -> None:
        """Release the connection; safe to repeat."""
        try:
            await self._response.aclose()
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
        async with asyncio.timeout(self._window):  # what frames a body may arrive for ever, without a byte of it
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
