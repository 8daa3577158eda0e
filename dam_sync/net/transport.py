"""The HTTP library behind the client, and what its failures mean: a one-line choice between two transports."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Literal

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from dam_sync.model.errors import ConfigError, DamSyncError, Transient

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
POOLS = 8
Which = Literal["aiohttp", "plain"]


def transports(which: Which, connections: int) -> list[httpx.AsyncBaseTransport]:
    """Small pools for the plain transport, whose pool searches linearly; one for the other."""
    context = httpx.create_ssl_context()
    if which == "aiohttp":
        return [AiohttpTransport(client=lambda: _session(context, connections))]
    limits = httpx.Limits(max_connections=max(2, -(-connections // POOLS)), max_keepalive_connections=4)
    return [httpx.AsyncHTTPTransport(verify=context, limits=limits) for _ in range(POOLS)]


def timeouts(read: float | None) -> httpx.Timeout:
    """On every phase."""
    return httpx.Timeout(read or READ_SECONDS, connect=CONNECT_SECONDS, pool=None)


def never_sent(error: httpx.HTTPError) -> bool:
    """Whether it is certain that the server saw nothing of the call."""
    causes = list(_causes(error))
    if any(isinstance(cause, aiohttp.ClientError) for cause in causes):
        return any(isinstance(cause, aiohttp.ClientConnectorError) for cause in causes)
    return isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)


def failure(error: httpx.HTTPError, where: str) -> DamSyncError:
    """A network failure in words. TLS trouble is the operator's to settle; everything else may pass by itself."""
    causes = list(_causes(error))
    if any(isinstance(cause, ssl.SSLError | aiohttp.ClientSSLError) for cause in causes):
        return ConfigError(
            f"no trusted TLS connection to {where}: {_told(causes)}",
            hint="check the host name in the job file, and that this machine knows the certificate's issuer",
        )
    if isinstance(error, httpx.TimeoutException) and not _refused(causes):
        return Transient(f"{where} did not answer in time")
    if never_sent(error):
        return Transient(
            f"{where} cannot be reached: {_told(causes)}",
            hint="check the address in the job file and the network; then run the same command again",
        )
    return Transient(f"the connection to {where} broke: {_told(causes)}")


def _session(context: ssl.SSLContext, connections: int) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(limit=connections, ssl=context, keepalive_timeout=50)
    session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=True)
    session._retry_connection = False  # retries happen in one place, and are counted
    return session


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _refused(causes: list[BaseException]) -> bool:
    return any(isinstance(cause, aiohttp.ClientConnectionError) for cause in causes) and not any(
        isinstance(cause, TimeoutError) for cause in causes
    )


def _told(causes: list[BaseException]) -> str:
    """The plainest of the causes, without addresses of our own making."""
    for cause in reversed(causes):
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
    text = str(causes[0]) or type(causes[0]).__name__
    return text.partition("://")[0][:120]
