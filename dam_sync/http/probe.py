"""Asks public links whether a file can be downloaded: without credentials, never in a private network.

A link comes from a service, and a redirect from anybody: each address is checked before it is connected to, also the
one that a name leads to. Nothing of a body is read but the beginning of a page, which may be that of a login.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp
import httpx
from aiohttp.abc import AbstractResolver, ResolveResult

from dam_sync.http.login_pages import MOST, InsteadOfFile, LinkAnswer, page_of
from dam_sync.http.transport import NetworkTransport
from dam_sync.http.urls import is_public
from dam_sync.model.clock import Clock
from dam_sync.model.hosts import is_loopback
from dam_sync.model.ports import Transport

HOPS = 5  # redirects that are followed
SECONDS = 15.0  # of one request
AT_ONCE = 4
PAUSE = 0.05  # seconds between the beginnings of two requests
REFUSED_METHODS = frozenset({*range(400, 500), 501}) - {429}  # responses to HEAD after which GET is tried
AGENT = "dam-sync"
PRIVATE = "private address, not asked"
NO_END, INVALID = "too many redirects", "redirects to an invalid URL"
SHUT = frozenset({InsteadOfFile.LOGIN.value, NO_END, INVALID})
UNSURE = frozenset({408, 425, 429, *range(500, 600)})  # responses that say nothing of the link


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
        """The same for a link that nobody but the right people must open: a page of which nothing is known may show
        the file."""
        return True if self.status == InsteadOfFile.OTHER else self.opens

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

    async def ask(self, link: str, *, page: bool = False) -> LinkResponse:
        """Follow a link to its end. page: whether it is to a page rather than to a file. Never raises for what a host
        does."""
        async with self._permits:
            url, hops, local = link, 0, self.loopback and is_loopback(_host(link))
            while True:
                if not self._is_allowed(url, local):
                    return LinkResponse(PRIVATE, url, hops)
                found = await self._asked(url)
                if isinstance(found, LinkAnswer):
                    shown = page_of(found, link, url, page=page) if found.is_page else None
                    return LinkResponse(found.status if shown is None else shown.value, url, hops)
                url, hops = found, hops + 1
                if hops > HOPS:
                    return LinkResponse(NO_END, url, hops)

    def _is_allowed(self, url: str, local: bool) -> bool:
        host = _host(url)
        return self.private or is_public(host) or (local and is_loopback(host))

    async def _asked(self, url: str) -> LinkAnswer | str:
        """The response, or where it redirects to."""
        answer = await self._sent("HEAD", url)
        if answer.status.isdigit() and int(answer.status) in REFUSED_METHODS:
            answer = await self._sent("GET", url, 1)
        if answer.is_page:
            answer = await self._sent("GET", url, MOST)
        location = answer.headers.get("location", "")
        if not location or not answer.status.startswith("3"):
            return answer
        try:
            there = urljoin(url, location)
            parts = urlsplit(there)
            usable = parts.scheme in ("http", "https") and parts.hostname and not parts.username
        except ValueError:
            usable = False
        return there if usable else LinkAnswer(INVALID)

    async def _sent(self, method: str, url: str, most: int = 0) -> LinkAnswer:
        """One response, with the beginning of a page; a reason instead of the status if there is none. most: bytes that
        are asked for."""
        await self._pause()
        headers = {"User-Agent": AGENT, "Accept": "*/*", "Accept-Encoding": "identity"}
        headers |= {"Range": f"bytes=0-{most - 1}"} if most else {}
        try:
            request = httpx.Request(method, url, headers=headers)
            request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), SECONDS)
            async with asyncio.timeout(2 * SECONDS):
                response = await self._transport(request.url).handle_async_request(request)
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


async def _beginning(response: httpx.Response) -> bytes:
    if response.is_stream_consumed:
        return response.content[:MOST]
    found = b""
    async for block in response.aiter_raw():
        found += block
        if len(found) >= MOST:
            break
    return found[:MOST]


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
