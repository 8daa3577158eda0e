"""Asks public links whether a file can be downloaded: without credentials, never in a private network.

A link comes from a service, and a redirect from anybody: each connection is judged by its address. Nothing of a body is
read.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

import httpx
from aiohttp.abc import AbstractResolver

from dam_sync.http.connector import RefusedAddress
from dam_sync.http.hosts import ANYWHERE, INTERNET, THIS_HOST, Networks, reach_of
from dam_sync.http.outgoing import NETWORKS
from dam_sync.http.transport import NetworkTransport
from dam_sync.http.urls import InvalidUrl, canonical_url
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
INVALID = "an invalid URL"


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
    _permits: asyncio.Semaphore = field(init=False, default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _next: float = field(init=False, default=0.0)

    async def close(self) -> None:
        """Close the connections; safe to repeat."""
        if self._network is not None and self.transport is None:
            await self._network.aclose()

    async def ask(self, url: str) -> LinkResponse:
        """Follow a link to its end. Never raises for what a host does."""
        async with self._permits:
            hops, local = 0, self.loopback
            while True:
                try:
                    url, (_, host, _) = canonical_url(url)
                except InvalidUrl:
                    return LinkResponse(f"redirects to {INVALID}" if hops else INVALID, url, hops)
                local = local and is_loopback(host)
                networks = ANYWHERE if self.private else THIS_HOST if local else INTERNET
                if not networks.has(reach_of(host)):
                    return LinkResponse(PRIVATE, url, hops)
                status, location = await self._asked(url, networks)
                if not location or not status.startswith("3"):
                    return LinkResponse(status, url, hops)
                url, hops = _joined(url, location), hops + 1
                if hops > HOPS:
                    return LinkResponse("too many redirects", url, hops)

    async def _asked(self, url: str, networks: Networks) -> tuple[str, str]:
        """The status and the Location of the response; a reason instead of the status if there is none."""
        status, location = await self._sent("HEAD", url, networks)
        if status.isdigit() and int(status) in REFUSED_METHODS:
            status, location = await self._sent("GET", url, networks)
        return status, location

    async def _sent(self, method: str, url: str, networks: Networks) -> tuple[str, str]:
        """The same of one request."""
        await self._pause()
        headers = {"User-Agent": AGENT, "Accept": "*/*", **({"Range": "bytes=0-0"} if method == "GET" else {})}
        try:
            request = httpx.Request(method, url, headers=headers, extensions={NETWORKS: networks})
            request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), SECONDS)
            async with asyncio.timeout(2 * SECONDS):
                response = await self._transport().handle_async_request(request)
                await response.aclose()
        except Exception as error:  # noqa: BLE001 -- whatever a host does, the others are asked
            return _reason(error), ""
        return str(response.status_code), response.headers.get("location", "")

    async def _pause(self) -> None:
        now = self.clock.monotonic()
        self._next = max(self._next, now) + PAUSE
        await self.clock.sleep(max(0.0, self._next - PAUSE - now))

    def _transport(self) -> Any:
        if self.transport is not None:
            return self.transport
        if self._network is None:
            self._network = NetworkTransport(resolver=self.names)
        return self._network


def _joined(url: str, location: str) -> str:
    """Where a redirect leads; empty for nowhere."""
    try:
        return urljoin(url, location)
    except ValueError:
        return ""


def _reason(error: BaseException) -> str:
    """Why there is no response, in few words."""
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, RefusedAddress):
            return PRIVATE
        chain = chain.__cause__ or chain.__context__
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return "no response in time"
    if isinstance(error, httpx.InvalidURL):
        return INVALID
    return "no connection"
