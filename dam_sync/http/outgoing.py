"""What transports carry: a request as it is sent, and where its response comes from."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol, cast

import httpx

from dam_sync.http.bounds import PORTS, WRITE_SECONDS
from dam_sync.http.reach import ANYWHERE, Networks, Origin, Reach, reach_of
from dam_sync.http.request_body import RequestBody

NETWORKS = "networks"  # the extension of a request of httpx that says where the address of its host may be
_POOL_SECONDS = 60.0
_PLAIN_URL = re.compile(
    r"https?://[a-z0-9.-]+(?::[0-9]+)?(?:/[\w.~%!$&'()*+,;=:@/-]*)?(?:\?[\w.~%!$&'()*+,;=:@/?-]*)?", re.ASCII
)


@dataclass(slots=True, repr=False)
class OutgoingRequest:
    """Headers, with names in lower case, are completed by the authentication method. networks: where the address of the
    host may be. proxy: name of the proxy it went through, set by the transport."""

    method: str
    url: str
    origin: Origin
    headers: dict[str, str]
    body: bytes | RequestBody | None
    connect_seconds: float
    read_seconds: float
    networks: Networks = ANYWHERE
    proxy: str = field(default="", init=False)

    @property
    def host(self) -> str:
        """The host, for messages."""
        return self.origin[1]

    @property
    def as_httpx(self) -> httpx.Request:
        """The same for interfaces of httpx. Raises what httpx does for one that cannot be sent."""
        seconds = {"connect": self.connect_seconds, "read": self.read_seconds}
        timeouts = {**seconds, "write": WRITE_SECONDS, "pool": _POOL_SECONDS}
        body = self.body
        extensions = {"timeout": timeouts, NETWORKS: self.networks}
        request = httpx.Request(self.method, self.url, headers=self.headers, content=body, extensions=extensions)
        if isinstance(body, RequestBody):
            request.stream = _AsBytes(body)  # httpx has wrapped it
        return request


class _AsBytes(httpx.AsyncByteStream):
    """A body for transports of others, which expect bytes where ours takes views."""

    def __init__(self, body: RequestBody) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        async with aclosing(aiter(self._body)) as blocks:
            async for block in blocks:
                yield bytes(block)


def outgoing_of(request: httpx.Request) -> OutgoingRequest:
    """A request of httpx, with its timeouts as extension `timeout`."""
    url, timeout = request.url, request.extensions.get("timeout", {})
    origin = url.scheme, url.host, url.port or PORTS.get(url.scheme, 0)
    headers = dict(request.headers.items())
    body: bytes | RequestBody | None
    try:
        body = request.content or None
    except httpx.RequestNotRead:
        headers.pop("transfer-encoding", None)  # the connection sets it
        body = cast("RequestBody", request.stream)
    seconds = timeout.get("connect"), timeout.get("read")
    networks = request.extensions.get(NETWORKS, ANYWHERE)
    return OutgoingRequest(request.method, str(url), origin, headers, body, *seconds, networks)


class ResponseSource(Protocol):
    """Status and headers of a response; its body is not read yet. Must be closed."""

    @property
    def status(self) -> int:
        """The status."""
        ...

    @property
    def raw_headers(self) -> Iterable[tuple[bytes, bytes]]:
        """Names and values as they came."""
        ...

    def arrived(self) -> bytes | None:
        """The whole body, if it has arrived already and nothing was read of it; can be called once."""
        ...

    def blocks(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        ...

    async def aclose(self) -> None:
        """Release the connection; safe to repeat."""
        ...


class DirectTransport(httpx.AsyncBaseTransport):
    """A transport that carries our own requests, which costs less than to make one of httpx of each. Raises errors of
    httpx and aiohttp."""

    @abstractmethod
    async def send(self, outgoing: OutgoingRequest) -> ResponseSource:
        """Send a request and read the head of its response."""

    async def farthest(self, url: str, origin: Origin) -> Reach:
        """The network that a host is in by the farthest address that its name was seen to have; by the name alone where
        it is not known here."""
        return reach_of(origin[1])

    async def nearest(self, url: str, origin: Origin) -> Reach:
        """The network that a host is in by the nearest address that its name has now; by the name alone where it is not
        looked up here. Raises OSError for a name that is not known."""
        return reach_of(origin[1])


class HttpxTransport(DirectTransport):
    """Carries requests by any other transport of httpx."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def send(self, outgoing: OutgoingRequest) -> ResponseSource:
        request = outgoing.as_httpx
        try:
            return _HttpxResponse(await self._transport.handle_async_request(request))
        finally:
            outgoing.proxy = request.extensions.get("proxy", "")

    async def aclose(self) -> None:
        await self._transport.aclose()


class _HttpxResponse:
    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.raw_headers = response.headers.raw

    def arrived(self) -> bytes | None:
        return None

    def blocks(self) -> AsyncIterator[bytes]:
        return aiter(cast("httpx.AsyncByteStream", self._response.stream))

    async def aclose(self) -> None:
        await self._response.aclose()


def direct(transport: httpx.AsyncBaseTransport) -> DirectTransport:
    """The same transport for our own requests."""
    return transport if isinstance(transport, DirectTransport) else HttpxTransport(transport)


def sendable(url: str, headers: Mapping[str, str]) -> str:
    """The URL with what has to be quoted quoted, nothing else changed. Raises httpx.InvalidURL, and UnicodeEncodeError
    for a header that cannot be sent."""
    for text in headers.values():
        if not text.isascii():
            text.encode("ascii")
    if _PLAIN_URL.fullmatch(url) and "/." not in url:  # httpx resolves dots
        return url
    return str(httpx.URL(url))
