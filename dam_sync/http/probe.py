"""Asks public links whether a file can be downloaded: without credentials, never in a private network.

A link comes from a service, and a redirect from anybody: each connection is judged by its address. Nothing of a body is
read but the beginning of a page, which may be that of a login.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

import httpx
from aiohttp.abc import AbstractResolver

from dam_sync.http.connector import RefusedAddress
from dam_sync.http.login_pages import MOST, InsteadOfFile, LinkAnswer, page_of
from dam_sync.http.outgoing import NETWORKS
from dam_sync.http.reach import ANYWHERE, INTERNET, THIS_HOST, Networks, Origin, reach_of
from dam_sync.http.transport import NetworkTransport
from dam_sync.http.urls import InvalidUrl, canonical_url
from dam_sync.model.clock import Clock
from dam_sync.model.ports import Transport
from dam_sync.model.url_forms import is_loopback
from dam_sync.model.waits import sleep_for

HOPS = 5  # redirects that are followed
SECONDS = 15.0  # of one request
AT_ONCE = 4
PAUSE = 0.05  # seconds between the beginnings of two requests
REFUSED_METHODS = frozenset({*range(400, 500), 501}) - {429}  # responses to HEAD after which GET is tried
AGENT = "dam-sync"
PRIVATE = "private address, not asked"
NO_END, INVALID, UNUSABLE = "too many redirects", "redirects to an invalid URL", "an invalid URL"
SHUT = frozenset({InsteadOfFile.LOGIN.value, NO_END, INVALID})
ASKS = frozenset({"401", "407", InsteadOfFile.LOGIN.value})
UNSURE = frozenset({408, 425, 429, *range(500, 600)})  # responses that say nothing of the link


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
    def opens(self) -> bool | None:
        """Whether anybody was seen to get the file; None if that is not known, because the host was not asked or said
        nothing of the link. One that sends its visitors to a login, or into a private network, opens for nobody."""
        if self.status == InsteadOfFile.OTHER:
            return False
        if self.status.isdigit():
            return None if int(self.status) in UNSURE else self.good
        return False if self.status in SHUT or (self.status == PRIVATE and self.hops) else None

    @property
    def may_open(self) -> bool | None:
        """Whether somebody may open it who must not, now or later; None if that is not known. Only one that asks for a
        login is known to keep people out: what is not found may be released tomorrow, and a page of which nothing is
        known may show the file."""
        if self.status in ASKS:
            return False
        return True if self.good or self.status == InsteadOfFile.OTHER else None

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

    async def ask(self, link: str, *, page: bool = False) -> LinkResponse:
        """Follow a link to its end. page: whether it is to a page rather than to a file. Never raises for what a host
        does."""
        async with self._permits:
            hops, local = 0, self.loopback
            try:
                asked, (_, host, _) = canonical_url(link)
            except InvalidUrl:
                return LinkResponse(UNUSABLE, link)
            url = asked
            while True:
                local = local and is_loopback(host)
                networks = ANYWHERE if self.private else THIS_HOST if local else INTERNET
                if not networks.has(reach_of(host)):
                    return LinkResponse(PRIVATE, url, hops)
                found = await self._asked(url, networks)
                if isinstance(found, LinkAnswer):
                    shown = page_of(found, asked, url, page=page) if found.is_page else None
                    return LinkResponse(found.status if shown is None else shown.value, url, hops)
                (url, (_, host, _)), hops = found, hops + 1
                if hops > HOPS:
                    return LinkResponse(NO_END, url, hops)

    async def _asked(self, url: str, networks: Networks) -> LinkAnswer | tuple[str, Origin]:
        """The response, or where it redirects to."""
        answer = await self._sent("HEAD", url, networks)
        if answer.status.isdigit() and int(answer.status) in REFUSED_METHODS:
            answer = await self._sent("GET", url, networks, 1)
        if answer.is_page:
            answer = await self._sent("GET", url, networks, MOST)
        location = answer.headers.get("location", "")
        if not location or not answer.status.startswith("3"):
            return answer
        try:
            return canonical_url(urljoin(url, location))
        except ValueError:
            return LinkAnswer(INVALID)

    async def _sent(self, method: str, url: str, networks: Networks, most: int = 0) -> LinkAnswer:
        """One response, with the beginning of a page; a reason instead of the status if there is none. most: bytes that
        are asked for."""
        await self._pause()
        headers = {"User-Agent": AGENT, "Accept": "*/*", "Accept-Encoding": "identity"}
        headers |= {"Range": f"bytes=0-{most - 1}"} if most else {}
        try:
            request = httpx.Request(method, url, headers=headers, extensions={NETWORKS: networks})
            request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), SECONDS)
            async with asyncio.timeout(2 * SECONDS):
                response = await self._transport().handle_async_request(request)
                try:
                    answer = LinkAnswer(str(response.status_code), dict(response.headers.items()))
                    body = await _beginning(response) if most > 1 and answer.is_page else b""
                finally:
                    await response.aclose()
        except Exception as error:  # noqa: BLE001 -- whatever a host does, the others are asked
            return LinkAnswer(_reason(error))
        return LinkAnswer(answer.status, answer.headers, body)

    async def _pause(self) -> None:
        now = self.clock.monotonic()
        self._next = max(self._next, now) + PAUSE
        await sleep_for(self.clock, self._next - PAUSE - now, "the next link")

    def _transport(self) -> Any:
        if self.transport is not None:
            return self.transport
        if self._network is None:
            self._network = NetworkTransport(resolver=self.names)
        return self._network


async def _beginning(response: httpx.Response) -> bytes:
    if response.is_stream_consumed:
        return response.content[:MOST]
    found = b""
    async for block in response.aiter_raw():
        found += block
        if len(found) >= MOST:
            break
    return found[:MOST]


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
        return UNUSABLE
    return "no connection"
