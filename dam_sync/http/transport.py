"""One request over the network, with httpx on either transport; only this module and `failures` know them. A request
may go through a proxy: see `proxies`."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, Protocol, TypeAlias, cast
from urllib.parse import urlsplit

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport
from httpx_aiohttp.transport import AiohttpResponseStream
from yarl import URL

from dam_sync.http.bounds import (
    BLOCK,
    CONNECT_SECONDS,
    LARGEST_ERROR,
    LARGEST_REPLY,
    READ_SECONDS,
    SLOWEST,
    WRITE_SECONDS,
)
from dam_sync.http.decoding import Undecodable, codings_of, decoded
from dam_sync.http.failures import FAILURES, failure
from dam_sync.http.proxies import Proxy, proxy_to
from dam_sync.model.errors import ContractBroken, Transient

TransportName: TypeAlias = Literal["aiohttp", "plain"]

_POOL_SECONDS = 60.0
_KEEP_SECONDS = 4.0  # below what servers keep idle connections: a write on a closed one has an unknown outcome
_PLAIN_POOLS = 16  # a pool searches its connections one by one: many small ones are three times as fast


@dataclass(frozen=True, slots=True)
class RawRequest:
    """One request. address: may be signed; host: for messages. A factory as body yields `size` bytes."""

    method: str
    address: str = field(repr=False)
    host: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | Callable[[], AsyncIterator[bytes]] | None = field(default=None, repr=False)
    size: int | None = None
    read_seconds: float = READ_SECONDS


class RawResponse:
    """Status and headers; the body is not read yet. Must be closed."""

    def __init__(self, response: httpx.Response, outgoing: RawRequest) -> None:
        self._response = response
        self._outgoing = outgoing
        self.status = response.status_code
        self.body = b""
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
            async with asyncio.timeout(self._outgoing.read_seconds):
                await self._take(taken)
        except FAILURES as problem:
            if self.is_success or not isinstance(problem, Undecodable):
                raise failure(problem, self._outgoing.host, answering=True) from None
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
        rate = _ReadRate(self._outgoing)
        source = self._raw()
        try:
            while (block := await rate.timed(anext(source, None))) is not None:
                yield block
        except FAILURES as problem:
            raise failure(problem, self._outgoing.host, answering=True) from None

    def _source(self) -> AsyncIterator[bytes]:
        if not self._codings:
            return self._raw()
        return decoded(self._raw(), ", ".join(self._codings))

    def _raw(self) -> AsyncIterator[bytes]:
        return aiter(cast("httpx.AsyncByteStream", self._response.stream))

    async def aclose(self) -> None:
        """Release the connection; safe to repeat."""
        try:
            await self._response.aclose()
        except FAILURES:
            return  # it was broken already


class _ReadRate:
    """Measures how fast a body arrives while it is awaited."""

    def __init__(self, outgoing: RawRequest) -> None:
        self._outgoing = outgoing
        self._waited = 0.0
        self._came = 0

    async def timed(self, arriving: Awaitable[bytes | None]) -> bytes | None:
        """The next block. Raises Transient if too little arrived within the timeout."""
        clock, window = asyncio.get_running_loop().time, self._outgoing.read_seconds
        began = clock()
        block = await arriving
        self._waited += clock() - began
        self._came += len(block or b"")
        if self._waited >= window:
            if block is not None and self._came < SLOWEST * window:
                raise Transient(
                    f"{self._outgoing.host} sends too slowly: {self._came} bytes in {self._waited:.0f} s",
                    hint="the service is slow or the network drops packets; run the same command again",
                )
            self._waited, self._came = 0.0, 0
        return block


class Transport:
    """Connections of one client over the configured transport."""

    def __init__(self, name: TransportName) -> None:
        self._pools: ConnectionPools = _AiohttpPool() if name == "aiohttp" else _HttpxPools()
        self._proxies: dict[tuple[str, str], Proxy | None] = {}

    async def open(self, outgoing: RawRequest) -> RawResponse:
        """Send a request and read the head of the response. Raises NotSent, Transient, ConfigError (TLS, proxy), and
        what the body raises."""
        body = _RequestBody(outgoing) if callable(outgoing.body) else None
        proxy: Proxy | None = None
        try:
            proxy = self._proxy(outgoing.address)
            request = _request(outgoing, body)
            async with asyncio.timeout(_limit(outgoing)) as limit:
                if body is not None:
                    body.limit = limit
                response = await self._pools.exchange(request, proxy)
        except FAILURES as problem:
            if body is not None and body.problem is not None:
                raise body.problem from None
            raise failure(problem, outgoing.host, proxy=proxy.name if proxy else "") from None
        finally:
            if body is not None:
                body.limit = None  # an answer may begin before the last block is sent
        return RawResponse(response, outgoing)

    async def close(self) -> None:
        """Close every connection; safe to repeat."""
        await self._pools.close()

    def _proxy(self, address: str) -> Proxy | None:
        parts = urlsplit(address)
        origin = parts.scheme, parts.netloc
        if origin not in self._proxies:
            self._proxies[origin] = proxy_to(address)
        return self._proxies[origin]


class ConnectionPools(Protocol):
    """What both transports provide."""

    async def exchange(self, request: httpx.Request, proxy: Proxy | None) -> httpx.Response:
        """Send a request; the head of the response."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class _AiohttpPool:
    """One aiohttp session, created on first use inside the event loop."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._context: ssl.SSLContext | None = None
        self._transports: dict[Proxy | None, AiohttpTransport] = {}

    async def exchange(self, request: httpx.Request, proxy: Proxy | None) -> httpx.Response:
        response = await (self._transports.get(proxy) or self._made(proxy)).handle_async_request(request)
        if isinstance(response.stream, AiohttpResponseStream):
            response.stream.CHUNK_SIZE = BLOCK
        return response

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _made(self, proxy: Proxy | None) -> AiohttpTransport:
        if self._session is None or self._context is None:
            self._context = tls_context()
            self._session = _session(self._context)
        way = cast("Any", _ProxySession(self._session, proxy))
        self._transports[proxy] = AiohttpTransport(verify=self._context, client=way)
        return self._transports[proxy]


def tls_context() -> ssl.SSLContext:
    """The trusted certificates, read once per process because that takes longer than many requests."""
    return _tls_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _tls_context(file: str | None, folder: str | None) -> ssl.SSLContext:
    return httpx.create_ssl_context()


def _session(context: ssl.SSLContext) -> aiohttp.ClientSession:
    """Keeps no cookies, never retries, distinguishes a lost connection from one that was never made."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_SECONDS, ssl=context),
        cookie_jar=aiohttp.DummyCookieJar(),
        middlewares=(_once,),
        skip_auto_headers=("Content-Type",),
        read_bufsize=BLOCK,
        max_line_size=64 * 1024,  # headers with long links
        max_field_size=64 * 1024,
    )


class _ProxySession:
    """The session of a transport: sends URLs unchanged, because signed ones break when they are quoted again, and sets
    the proxy per request."""

    def __init__(self, session: aiohttp.ClientSession, proxy: Proxy | None) -> None:
        self._session = session
        self._by = {"proxy": proxy.url, "proxy_headers": proxy.headers} if proxy else {}

    def __call__(self) -> _ProxySession:
        return self

    def request(self, method: str, url: str, **options: Any) -> Any:
        return self._session.request(method, URL(url, encoded=True), **{**options, **self._by})


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """aiohttp silently retries PUT, DELETE and GET when a kept connection was closed, and httpx-aiohttp reports such a
    loss as a connection that was never made. Both are prevented here, because the request may have had an effect."""
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError):
        raise
    except aiohttp.ClientConnectionError as problem:
        raise aiohttp.ClientPayloadError(str(problem)) from problem


class _HttpxPools:
    """Many small pools per proxy, and for direct connections."""

    def __init__(self) -> None:
        self._groups: dict[Proxy | None, _PoolGroup] = {}

    async def exchange(self, request: httpx.Request, proxy: Proxy | None) -> httpx.Response:
        if proxy not in self._groups:
            self._groups[proxy] = _PoolGroup(proxy)
        return await self._groups[proxy].exchange(request)

    async def close(self) -> None:
        for group in self._groups.values():
            await group.close()


class _PoolGroup:
    """Uses the pool with the fewest requests in progress."""

    def __init__(self, proxy: Proxy | None) -> None:
        context = tls_context()
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=2, keepalive_expiry=_KEEP_SECONDS)
        secure = context if proxy and proxy.url.startswith("https:") else None
        by = httpx.Proxy(proxy.url, auth=proxy.auth, ssl_context=secure) if proxy else None
        self._pools = [httpx.AsyncHTTPTransport(verify=context, limits=limits, proxy=by) for _ in range(_PLAIN_POOLS)]
        self._busy = [0] * _PLAIN_POOLS

    async def exchange(self, request: httpx.Request) -> httpx.Response:
        number = self._busy.index(min(self._busy))
        self._busy[number] += 1
        try:
            response = await self._pools[number].handle_async_request(request)
        except BaseException:
            self._busy[number] -= 1
            raise
        response.stream = _CountedStream(cast("httpx.AsyncByteStream", response.stream), self._busy, number)
        return response

    async def close(self) -> None:
        for pool in self._pools:
            await pool.aclose()


class _CountedStream(httpx.AsyncByteStream):
    """A body that reports to its pool when it is done."""

    def __init__(self, stream: httpx.AsyncByteStream, busy: list[int], number: int) -> None:
        self._stream, self._busy, self._number = stream, busy, number
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for block in self._stream:
            yield block

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            self._busy[self._number] -= 1
        await self._stream.aclose()


class _RequestBody(httpx.AsyncByteStream):
    """A streamed body with its announced length enforced; remembers what its source raised. `limit` is moved with every
    block, so that neither the source nor sending uses up the time for the response."""

    def __init__(self, outgoing: RawRequest) -> None:
        self._outgoing = outgoing
        self.problem: Exception | None = None
        self.limit: asyncio.Timeout | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert callable(self._outgoing.body)
        sent, size = 0, self._outgoing.size or 0
        blocks = self._outgoing.body()
        try:
            self._within(None)
            async for block in blocks:
                sent += len(block)
                if sent > size:
                    raise ContractBroken(f"a body of {size} bytes was announced, its source gives more")
                self._within(WRITE_SECONDS)
                yield block
                self._within(None)
            if sent != size:
                raise ContractBroken(f"a body of {size} bytes was announced, its source gave {sent}")
            self._within(_limit(self._outgoing))
        except Exception as problem:
            self.problem = problem
            raise
        finally:
            close = getattr(blocks, "aclose", None)
            if close is not None:
                await close()

    def _within(self, seconds: float | None) -> None:
        """Cancel the request unless it makes progress within this many seconds."""
        if self.limit is not None and not self.limit.expired():
            now = asyncio.get_running_loop().time()
            self.limit.reschedule(None if seconds is None else now + seconds)


def _limit(outgoing: RawRequest) -> float:
    """Seconds until the head of the response must be complete, however slowly its lines arrive."""
    return CONNECT_SECONDS + outgoing.read_seconds


def _request(outgoing: RawRequest, body: httpx.AsyncByteStream | None) -> httpx.Request:
    return httpx.Request(
        outgoing.method,
        outgoing.address,
        headers=dict(outgoing.headers),
        content=body or (outgoing.body if isinstance(outgoing.body, bytes) else None),
        extensions={"timeout": _timeouts(outgoing.read_seconds)},
    )


def _timeouts(read_seconds: float) -> dict[str, float]:
    return {"connect": CONNECT_SECONDS, "read": read_seconds, "write": WRITE_SECONDS, "pool": _POOL_SECONDS}
