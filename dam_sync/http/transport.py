"""The network as an httpx transport: aiohttp connections, proxies of the environment, trusted certificates.

Requests are handed to a transport, not to `httpx.AsyncClient`: its `send` takes 250 µs more processor time per request
(560 instead of 310, over 2,000 GETs), logs URLs with their signatures, and parses redirects and cookies that are not
followed or kept here.
"""

from __future__ import annotations

import os
import ssl
from functools import cache
from typing import Any, cast

import aiohttp
import httpx
from aiohttp.abc import AbstractResolver
from httpx_aiohttp import AiohttpTransport
from httpx_aiohttp.transport import AiohttpResponseStream
from yarl import URL

from dam_sync.http.bounds import BLOCK
from dam_sync.http.proxies import Proxy, proxy_to

_KEEP_SECONDS = 4.0  # below what servers keep idle connections: a write on a closed one has an unknown outcome


class NetworkTransport(httpx.AsyncBaseTransport):
    """Connections of one client, made on first use inside the event loop. `tls` replaces the trusted certificates,
    `resolver` that of host names.

    The extension `proxy` of a request is set to the name of the proxy it goes through. Raises ConfigError for an
    unusable proxy in the environment, otherwise errors of httpx and aiohttp.
    """

    def __init__(self, tls: ssl.SSLContext | None = None, resolver: AbstractResolver | None = None) -> None:
        self._tls, self._resolver = tls, resolver
        self._session: aiohttp.ClientSession | None = None
        self._proxies: dict[bytes, Proxy | None] = {}
        self._transports: dict[Proxy | None, AiohttpTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        proxy = self._proxy(request.url)
        if proxy is not None:
            request.extensions["proxy"] = proxy.name
        response = await (self._transports.get(proxy) or self._made(proxy)).handle_async_request(request)
        if isinstance(response.stream, AiohttpResponseStream):
            response.stream.CHUNK_SIZE = BLOCK
        return response

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _proxy(self, url: httpx.URL) -> Proxy | None:
        origin = url.raw_scheme + b"://" + url.netloc
        if origin not in self._proxies:
            self._proxies[origin] = proxy_to(str(url))
        return self._proxies[origin]

    def _made(self, proxy: Proxy | None) -> AiohttpTransport:
        context = self._tls or tls_context()
        if self._session is None:
            self._session = _session(context, self._resolver)
        by_proxy = cast("Any", _ProxySession(self._session, proxy))
        self._transports[proxy] = AiohttpTransport(verify=context, client=by_proxy)
        return self._transports[proxy]


def tls_context() -> ssl.SSLContext:
    """The trusted certificates, read once per process because that takes longer than many requests."""
    return _tls_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _tls_context(file: str | None, folder: str | None) -> ssl.SSLContext:
    return httpx.create_ssl_context()


def _session(context: ssl.SSLContext, resolver: AbstractResolver | None) -> aiohttp.ClientSession:
    """Keeps no cookies, never retries, distinguishes a lost connection from one that was never made."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_SECONDS, ssl=context, resolver=resolver),
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
