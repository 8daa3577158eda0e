"""The network, but for a word that is as long as a test wants in every response of JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx

from dam_sync.http.transport import NetworkTransport

WORD = "Qlongq"
_BLOCK = 1 << 16


class LongTexts(httpx.AsyncBaseTransport):
    """`WORD` in a response is a text of so many characters, which no memory holds. letter: each of them; hits: how
    often it was there."""

    def __init__(self, characters: int, network: httpx.AsyncBaseTransport | None = None, letter: str = "y") -> None:
        self._network = network or NetworkTransport()
        self._characters, self._letter = characters, letter.encode()
        self.hits = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The response of the network with the long text."""
        response = await self._network.handle_async_request(request)
        if "json" not in response.headers.get("content-type", ""):
            return response
        parts = (await response.aread()).split(WORD.encode())
        await response.aclose()
        self.hits += len(parts) - 1
        dropped = ("content-length", "content-encoding", "transfer-encoding")
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in dropped]
        return httpx.Response(response.status_code, headers=headers, content=self._blocks(parts))

    async def _blocks(self, parts: list[bytes]) -> AsyncIterator[bytes]:
        whole, rest = divmod(self._characters, _BLOCK)
        for number, part in enumerate(parts):
            for _ in range(whole if number else 0):
                yield self._letter * _BLOCK
            yield self._letter * rest + part if number else part

    async def aclose(self) -> None:
        """Close the connections to the network."""
        await self._network.aclose()
