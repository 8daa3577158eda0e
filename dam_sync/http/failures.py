"""Describes network failures, and whether the request can have arrived."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator

import aiohttp
import httpx

from dam_sync.http.connector import RefusedAddress
from dam_sync.http.reach import ASK, THIS_HOST, inside
from dam_sync.model.errors import ConfigError, ContractBroken, DamSyncError, Transient

FAILURES = (
    httpx.TransportError,
    httpx.DecodingError,
    httpx.StreamError,
    httpx.InvalidURL,
    aiohttp.ClientError,
    OSError,
    ValueError,
)


_NUMBER = re.compile(r"\b[1-5][0-9]{2}\b")
_DEEPEST = 24  # maximum number of causes examined


class NotSent(Transient):
    """The service certainly never received the request."""


class Untrusted(ConfigError):
    """No secure connection to a host; the request was not sent."""


class LeadsInside(ContractBroken):
    """A link leads to an address in a private network; the request was not sent."""


def failure(problem: BaseException, host: str, *, responding: bool = False, proxy: str = "") -> DamSyncError:
    """The error for a failure, from the chain of its causes, because the outer exception types are not reliable. proxy:
    name of the proxy on the way to `host`."""
    causes = list(_causes(problem))
    if (refusal := next((cause for cause in causes if isinstance(cause, RefusedAddress)), None)) is not None:
        return _elsewhere(refusal, host)
    if not responding:
        if proxy and (refused := _refused(causes, host, proxy)) is not None:
            return refused
        if (unreached := _unreached(causes, f"{host} through the proxy {proxy}" if proxy else host)) is not None:
            return unreached
    if isinstance(problem, TimeoutError | httpx.TimeoutException):
        return Transient(f"no response from {host} in time", hint="the service is slow or the network drops packets")
    unspoken = isinstance(problem, httpx.LocalProtocolError | httpx.UnsupportedProtocol)
    if unspoken or (isinstance(problem, ValueError) and not isinstance(problem, aiohttp.ClientError)):
        return ContractBroken(f"the request to {host} or its response is not valid HTTP ({type(problem).__name__})")
    doing = "while responding" if responding else "before responding"
    return Transient(f"the connection to {host} broke {doing} ({type(problem).__name__})")


def _elsewhere(refusal: RefusedAddress, host: str) -> DamSyncError:
    """The error for a name that leads to an address where no connection may lead."""
    if refusal.networks != THIS_HOST:
        return LeadsInside(inside(host), hint=ASK)
    return Untrusted(
        f"plain http to {host} is refused: the name leads to another host, so that the credential could be read on the "
        "way",
        hint="use https, or write the address 127.0.0.1",
    )


def _refused(causes: list[BaseException], host: str, proxy: str) -> DamSyncError | None:
    """The error if the proxy refused the connection or cannot be reached, otherwise None."""
    refusals = [cause for cause in causes if isinstance(cause, aiohttp.ClientHttpProxyError)]
    if refusals:
        status = next(
            (word for cause in refusals for word in _NUMBER.findall(f"{getattr(cause, 'status', '')} {cause}")), ""
        )
        text = f"the proxy {proxy} refuses the connection to {host} ({status or 'no status'})"
        if status == "407":
            return ConfigError(text, hint="add the user and password of the proxy to HTTPS_PROXY, before its host")
        return NotSent(text, hint="ask for access through the proxy, or add the host to NO_PROXY")
    if any(isinstance(cause, aiohttp.ClientProxyConnectionError) for cause in causes):
        return NotSent(f"the proxy {proxy} on the way to {host} cannot be reached", hint="check HTTPS_PROXY")
    return None


def _unreached(causes: list[BaseException], host: str) -> DamSyncError | None:
    """The error if the request cannot have arrived, otherwise None."""
    connecting = any(isinstance(c, aiohttp.ClientConnectorError) or type(c) is httpx.ConnectError for c in causes)
    late = any(isinstance(c, aiohttp.ConnectionTimeoutError | httpx.PoolTimeout) for c in causes)
    late = late or (type(causes[0]) is httpx.ConnectTimeout and not _of_aiohttp(causes))
    if late:
        return NotSent(f"{host} could not be reached in time", hint="check the network, the proxy and the URL")
    if not connecting:
        return None
    if any(isinstance(c, socket.gaierror | aiohttp.ClientConnectorDNSError) for c in causes):
        return NotSent(
            f"the host name {host} is not known", hint="check the URL in the job file and the name server (DNS)"
        )
    broken = next((c for c in causes if isinstance(c, ssl.SSLError | ssl.CertificateError)), None)
    if broken is not None and not isinstance(broken, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return _untrusted(causes, host)
    if any(isinstance(c, ConnectionRefusedError) for c in causes):
        return NotSent(
            f"{host} refused the connection", hint="check the port in the URL, and whether the service is running"
        )
    return NotSent(f"{host} cannot be reached", hint="check the network, the proxy and the URL")


def _untrusted(causes: list[BaseException], host: str) -> Untrusted:
    words = (getattr(cause, name, "") for name in ("verify_message", "reason") for cause in causes)
    reason = next((word for word in words if isinstance(word, str) and word), type(causes[0]).__name__)
    return Untrusted(
        f"no secure connection to {host}: {reason}",
        hint="check the URL and its port; for a certificate authority of your own set SSL_CERT_FILE to its certificate",
    )


def _of_aiohttp(causes: list[BaseException]) -> bool:
    return any(isinstance(cause, aiohttp.ClientError) for cause in causes)


def _causes(problem: BaseException) -> Iterator[BaseException]:
    """The error and its causes; not its context, which may belong to another request."""
    left = [problem]
    for _ in range(_DEEPEST):
        if not left:
            return
        cause = left.pop(0)
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            left.extend(cause.exceptions)
        inner = (cause.__cause__, getattr(cause, "os_error", None), getattr(cause, "certificate_error", None))
        left.extend(each for each in inner if isinstance(each, BaseException))
