"""The bodies of requests."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect
from starlette.types import Receive


async def pieces_of(receive: Receive) -> AsyncIterator[bytes]:
    """The bytes of a request's body as they come. Raises ClientDisconnect if the connection breaks."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body"):
            return
