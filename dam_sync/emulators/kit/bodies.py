"""Headers, queries and bodies of requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope


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


def header_of(scope: Scope, name: bytes) -> str:
    """A request header by its lower-case name; empty without one."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value.decode("latin-1"))
    return ""


def query_of(scope: Scope) -> dict[str, str]:
    """The query string, decoded; of repeated names the last one wins."""
    return dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
