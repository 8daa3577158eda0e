"""The key of a page: other users of this host reach its address as well, and have not been given the key."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

from aiohttp import web

from dam_sync.watch.connections import Handler

PARAMETER = "key"
UNKNOWN = "this page needs its key: open the whole URL that the command printed\n"


@dataclass(frozen=True, slots=True)
class PageKey:
    """A random text in the URL that is printed. A browser that opened it keeps it in a cookie, which no script reads
    and no page of another site makes it send."""

    text: str = field(repr=False)

    def address(self, url: str) -> str:
        """What to open in a browser."""
        return f"{url}/?{PARAMETER}={self.text}"

    def guarding(self, handler: Handler) -> Handler:
        """Answer only requests with the key, in the URL or in the cookie."""

        async def answer(request: web.Request) -> web.StreamResponse:
            given = request.query.get(PARAMETER, "")
            if not self._is(given) and not self._is(request.cookies.get(_cookie(request), "")):
                raise web.HTTPUnauthorized(text=UNKNOWN)
            response = await handler(request)
            if self._is(given) and not response.prepared:
                response.set_cookie(_cookie(request), self.text, httponly=True, samesite="Strict")
            return response

        return answer

    def _is(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self.text.encode())


def _cookie(request: web.Request) -> str:
    """Browsers send the cookies of a host to all of its ports: each has its own name."""
    address = request.get_extra_info("sockname")
    return f"dam-sync-{address[1]}" if address else "dam-sync"
