"""The network, but for requests and responses that a test alters or gives itself."""

from __future__ import annotations

import json

import httpx

from dam_sync.http.transport import NetworkTransport
from dam_sync.model.values import Json


class AlteredTransport(httpx.AsyncBaseTransport):
    """Derived from by a test; whoever connects with it closes it."""

    def __init__(self, network: httpx.AsyncBaseTransport | None = None) -> None:
        self._network = network or NetworkTransport()

    def sent(self, request: httpx.Request) -> httpx.Request:
        """A request, before it is sent."""
        return request

    def instead(self, request: httpx.Request) -> Json:
        """The body of a response without the network; None if the network responds."""
        return None

    def altered(self, request: httpx.Request, body: Json) -> Json:
        """The body of a response of the network, as JSON."""
        return body

    def received(self, request: httpx.Request, response: httpx.Response) -> None:
        """A response of the network; its headers may be changed."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The response of the network, altered where the test alters it."""
        request = self.sent(request)
        if (own := self.instead(request)) is not None:
            return httpx.Response(200, json=own)
        response = await self._network.handle_async_request(request)
        self.received(request, response)
        if "json" not in response.headers.get("content-type", ""):
            return response
        raw = await response.aread()
        await response.aclose()
        dropped = ("content-length", "content-encoding", "transfer-encoding")
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in dropped]
        body = json.dumps(self.altered(request, json.loads(raw))).encode() if raw.strip() else raw
        return httpx.Response(response.status_code, headers=headers, content=body)

    async def aclose(self) -> None:
        """Close the connections to the network."""
        await self._network.aclose()
