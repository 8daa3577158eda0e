"""The network: aiohttp connections, proxies of the environment, trusted certificates.

Requests go to aiohttp as they are. A request of httpx of each, and its conversion, take twice the processor time of
the connection itself; `httpx.AsyncClient` twice as much again, and it logs URLs with their signatures.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

import aiohttp
import httpx
from aiohttp.abc import AbstractResolver
from aiohttp.connector import Connection
from yarl import URL

from dam_sync.http.bounds import BLOCK, INTERIM
from dam_sync.http.connector import HostNames, connector_into
from dam_sync.http.outgoing import DirectTransport, OutgoingRequest, ResponseSource, outgoing_of
from dam_sync.http.proxies import Proxy, proxy_to
from dam_sync.http.reach import ANYWHERE, Networks, Origin, Reach, reach_of
from dam_sync.model.errors import ConfigError
from dam_sync.model.url_forms import number_of

_KEEP_SECONDS = 4.0  # below what servers keep idle connections: a write on a closed one has an unknown outcome


class NetworkTransport(DirectTransport):
    """Connections of one client, made on first use inside the event loop. `tls` replaces the trusted certificates,
    `resolver` that of host names.

    A request that may lead only into some networks has connections of its own, whose addresses are judged; not where it
    goes through a proxy, which looks the name up and has to refuse what it must not reach.

    The extension `proxy` of a request of httpx is set to the name of the proxy it goes through. Raises ConfigError for
    an unusable proxy in the environment, otherwise errors of aiohttp.
    """

    def __init__(self, tls: ssl.SSLContext | None = None, resolver: AbstractResolver | None = None) -> None:
        self._tls, self._resolver = tls, resolver
        self._sessions: dict[Networks, aiohttp.ClientSession] = {}
        self._names_of: HostNames | None = None
        self._proxies: dict[Origin, Proxy | None] = {}

    async def send(self, outgoing: OutgoingRequest) -> ResponseSource:
        proxy = self._proxy(outgoing.origin, outgoing.url)
        networks = outgoing.networks if proxy is None else ANYWHERE
        by: dict[str, Any] = {}
        if proxy is not None:
            outgoing.proxy = proxy.name
            by = {"proxy": proxy.url, "proxy_headers": proxy.headers}
        if (session := self._sessions.get(networks)) is None:
            session = _session(self._tls or tls_context(), networks, self._names)
            self._sessions[networks] = session
        response = await session.request(
            outgoing.method,
            URL(outgoing.url, encoded=True),  # unchanged, because signed ones break when they are quoted again
            headers=outgoing.headers,
            data=outgoing.body,
            allow_redirects=False,
            timeout=_timeout(outgoing.connect_seconds, outgoing.read_seconds),
            **by,
        )
        return _NetworkResponse(response)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        outgoing = outgoing_of(request)
        try:
            source = await self.send(outgoing)
        finally:
            if outgoing.proxy:
                request.extensions["proxy"] = outgoing.proxy
        return httpx.Response(source.status, headers=list(source.raw_headers), stream=_Stream(source))

    async def farthest(self, url: str, origin: Origin) -> Reach:
        host = origin[1]
        if host not in self._names.farthest and self._is_looked_up(url, origin):
            with suppress(OSError):
                await self._names.look_up(host, origin[2])
        return max(reach_of(host), self._names.farthest.get(host, Reach.PUBLIC))

    async def nearest(self, url: str, origin: Origin) -> Reach:
        found = [reach_of(origin[1])]
        if self._is_looked_up(url, origin):
            found += [reach_of(each["host"]) for each in await self._names.look_up(origin[1], origin[2])]
        return max(found)

    async def aclose(self) -> None:
        for session in self._sessions.values():
            await session.close()
        if self._names_of is not None:
            await self._names_of.inner.close()

    @property
    def _names(self) -> HostNames:
        if self._names_of is None:
            self._names_of = HostNames(self._resolver or aiohttp.DefaultResolver())
        return self._names_of

    def _is_looked_up(self, url: str, origin: Origin) -> bool:
        """Whether the host is a name that is looked up here, not by a proxy."""
        return number_of(origin[1]) is None and self._proxy(origin, url) is None

    def _proxy(self, origin: Origin, url: str) -> Proxy | None:
        if origin not in self._proxies:
            self._proxies[origin] = proxy_to(url)
        return self._proxies[origin]


class _NetworkResponse:
    """A response of aiohttp."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.raw_headers: Iterable[tuple[bytes, bytes]] = response.raw_headers

    def arrived(self) -> bytes | None:
        content = self._response.content
        return content.read_nowait() if content.is_eof() and content.exception() is None else None

    def blocks(self) -> AsyncIterator[bytes]:
        return self._response.content.iter_chunked(BLOCK)

    async def aclose(self) -> None:
        self._response.release()
        await self._response.wait_for_close()


class _BoundedResponse(aiohttp.ClientResponse):
    """Gives up after INTERIM responses of 1xx: they cost processor time, and end no timeout."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        protocol: Any = connection.protocol
        read, seen = protocol.read, 0

        async def counted() -> Any:
            nonlocal seen
            seen += 1
            if seen > INTERIM:
                raise aiohttp.ClientPayloadError(f"more than {INTERIM} interim responses")
            return await read()

        protocol.read = counted
        try:
            return await super().start(connection)
        finally:
            del protocol.read


class _Stream(httpx.AsyncByteStream):
    def __init__(self, source: ResponseSource) -> None:
        self._source = source

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._source.blocks()

    async def aclose(self) -> None:
        await self._source.aclose()


@lru_cache(maxsize=64)
def _timeout(connect: float | None, read: float | None) -> aiohttp.ClientTimeout:
    """Those that the connection keeps; read: between two blocks."""
    return aiohttp.ClientTimeout(sock_connect=connect, sock_read=read)


def tls_context() -> ssl.SSLContext:
    """The trusted certificates, read once per process because that takes longer than many requests. Raises ConfigError
    where the environment names some that cannot be read."""
    return _tls_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _tls_context(file: str | None, folder: str | None) -> ssl.SSLContext:
    name, path = ("SSL_CERT_FILE", file) if file else ("SSL_CERT_DIR", folder)
    try:
        if path and not file:
            os.listdir(path)  # a missing folder would be no error, and no certificate be trusted
        return httpx.create_ssl_context()
    except OSError as problem:  # errors of ssl are among them
        if not path:
            raise
        reason = "holds no certificate" if isinstance(problem, ssl.SSLError) else problem.strerror
        raise ConfigError(
            f"{name} in the environment names {path!r}, which cannot be read: {reason}",
            hint=f"correct the path in {name}, or remove the variable to trust the usual certificate authorities",
        ) from problem


def _session(context: ssl.SSLContext, networks: Networks, names: HostNames) -> aiohttp.ClientSession:
    """Keeps no cookies, never retries, distinguishes a lost connection from one that was never made."""
    return aiohttp.ClientSession(
        connector=connector_into(networks, names, limit=0, keepalive_timeout=_KEEP_SECONDS, ssl=context),
        cookie_jar=aiohttp.DummyCookieJar(),
        middlewares=(_once,),
        auto_decompress=False,
        response_class=_BoundedResponse,
        skip_auto_headers=("Content-Type",),
        read_bufsize=BLOCK,
        max_line_size=64 * 1024,  # headers with long links
        max_field_size=64 * 1024,
    )


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """aiohttp silently retries PUT, DELETE and GET when a kept connection was closed. That is prevented here, because
    the request may have had an effect."""
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError):
        raise
    except aiohttp.ClientConnectionError as problem:
        raise aiohttp.ClientPayloadError(str(problem)) from problem
