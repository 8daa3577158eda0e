"""Asks public links whether a file can be downloaded: without credentials, never in a private network.

A link comes from a service, and a redirect from anybody: each address is checked before it is connected to, also the
one that a name leads to. Nothing of a body is read.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp
import httpx
from aiohttp.abc import AbstractResolver, ResolveResult

from dam_sync.http.transport import NetworkTransport
from dam_sync.http.urls import is_public
from dam_sync.model.clock import Clock
from dam_sync.model.hosts import is_loopback
from dam_sync.model.ports import Transport

HOPS = 5  # redirects that are followed
SECONDS = 15.0  # of one request
AT_ONCE = 4
PAUSE = 0.05  # seconds between the beginnings of two requests
REFUSED_METHODS = frozenset({403, 405, 501})  # responses to HEAD after which GET is tried
AGENT = "dam-sync"
PRIVATE = "private address, not asked"


class PrivateAddress(OSError):
    """A name leads into a private network."""


class PublicResolver(AbstractResolver):
    """Refuses guarded names that lead into a private network. A proxy may have such a name."""

    def __init__(self, inner: AbstractResolver) -> None:
        self._inner = inner
        self.guarded: set[str] = set()

    async def resolve(self, host: str, *args: Any, **options: Any) -> list[ResolveResult]:
        """The addresses of a name. Raises PrivateAddress if one of them is not public."""
        found = await self._inner.resolve(host, *args, **options)
        if host in self.guarded and not all(is_public(each["host"]) for each in found):
            raise PrivateAddress(f"{host} leads into a private network")
        return found

    async def close(self) -> None:
        await self._inner.close()


@dataclass(frozen=True, slots=True)
class LinkResponse:
    """What a link returned: the status of the last response, or why there is none; the URL it came from, and over how
    many redirects."""

    status: str
    url: str = field(repr=False, default="")
    hops: int = 0

    @property
    def good(self) -> bool:
        """Whether something can be downloaded there."""
        return self.status.startswith("2")

    @property
    def text(self) -> str:
        """For a list."""
        return f"{self.status} after {self.hops} redirects" if self.hops else self.status


@dataclass(slots=True)
class LinkProbe:
    """Asks links, a few at a time. private: also in private networks; loopback: on this computer, if the link itself
    leads there, as those of emulated services do. transport: instead of the network; names: what resolves names."""

    clock: Clock
    private: bool = False
    loopback: bool = True
    transport: Transport | None = None
    names: AbstractResolver | None = None
    _network: Any = field(init=False, default=None)
    _resolver: PublicResolver | None = field(init=False, default=None)
    _permits: asyncio.Semaphore = field(init=False, default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _next: float = field(init=False, default=0.0)

    async def close(self) -> None:
        """Close the connections; safe to repeat."""
        if self._network is not None and self.transport is None:
            await self._network.aclose()

    async def ask(self, url: str) -> LinkResponse:
        """Follow a link to its end. Never raises for what a host does."""
        async with self._permits:
            hops, local = 0, self.loopback and is_loopback(_host(url))
            while True:
                if not self._is_allowed(url, local):
                    return LinkResponse(PRIVATE, url, hops)
                found = await self._asked(url)
                if isinstance(found, LinkResponse):
                    return LinkResponse(found.status, url, hops)
                url, hops = found, hops + 1
                if hops > HOPS:
                    return LinkResponse("too many redirects", url, hops)

    def _is_allowed(self, url: str, local: bool) -> bool:
        host = _host(url)
        return self.private or is_public(host) or (local and is_loopback(host))

    async def _asked(self, url: str) -> LinkResponse | str:
        """The response, or where it redirects to."""
        status, location = await self._sent("HEAD", url)
        if status.isdigit() and int(status) in REFUSED_METHODS:
            status, location = await self._sent("GET", url)
        if not location or not status.startswith("3"):
            return LinkResponse(status)
        try:
            there = urljoin(url, location)
            parts = urlsplit(there)
            usable = parts.scheme in ("http", "https") and parts.hostname and not parts.username
        except ValueError:
            usable = False
        return there if usable else LinkResponse("redirects to an invalid URL")

    async def _sent(self, method: str, url: str) -> tuple[str, str]:
        """The status and the Location of one response; a reason instead of the status if there is none."""
        await self._pause()
        headers = {"User-Agent": AGENT, "Accept": "*/*", **({"Range": "bytes=0-0"} if method == "GET" else {})}
        try:
            request = httpx.Request(method, url, headers=headers)
            request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), SECONDS)
            async with asyncio.timeout(2 * SECONDS):
                response = await self._transport(request.url).handle_async_request(request)
                await response.aclose()
        except Exception as error:  # noqa: BLE001 -- whatever a host does, the others are asked
            return _reason(error), ""
        return str(response.status_code), response.headers.get("location", "")

    async def _pause(self) -> None:
        now = self.clock.monotonic()
        self._next = max(self._next, now) + PAUSE
        await self.clock.sleep(max(0.0, self._next - PAUSE - now))

    def _transport(self, url: httpx.URL) -> Any:
        if self.transport is not None:
            return self.transport
        if self._network is None:
            self._resolver = PublicResolver(self.names or aiohttp.ThreadedResolver())
            self._network = NetworkTransport(resolver=self._resolver)
        if self._resolver is not None and not (self.private or is_loopback(url.host)):
            self._resolver.guarded.add(url.raw_host.decode("ascii"))  # as it is resolved; `host` is decoded (IDNA)
        return self._network


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").lower()


def _reason(error: BaseException) -> str:
    """Why there is no response, in few words."""
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, PrivateAddress):
            return PRIVATE
        chain = chain.__cause__ or chain.__context__
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return "no response in time"
    if isinstance(error, httpx.InvalidURL):
        return "an invalid URL"
    return "no connection"
