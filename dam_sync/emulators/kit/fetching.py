"""Fetching a file from a URL, as services do that import from other places."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import AsyncIterator
from http.client import HTTPException, HTTPResponse
from typing import Protocol
from urllib.error import HTTPError

SECONDS = 60
_STEP = 1 << 18
UNREACHABLE = (OSError, HTTPException, ValueError)  # what a fetch raises if there is nothing to be had


class Fetch(Protocol):
    """The bytes behind a URL, in blocks. Raises one of UNREACHABLE."""

    def __call__(self, url: str) -> AsyncIterator[bytes]: ...


async def fetched(url: str) -> AsyncIterator[bytes]:
    """By the machine's own sockets; redirects are followed, without any credential."""
    response = await asyncio.to_thread(_opened, url)
    left = response.length
    try:
        while piece := await asyncio.to_thread(response.read, _STEP):
            left = None if left is None else left - len(piece)
            yield piece
    finally:
        response.close()
    if left:
        raise ConnectionError("the file ended early")


def _opened(url: str) -> HTTPResponse:
    request = urllib.request.Request(url, headers={"User-Agent": "library-fetcher"})
    try:
        response = urllib.request.urlopen(request, timeout=SECONDS)
    except HTTPError as refused:
        refused.close()
        raise
    if not isinstance(response, HTTPResponse):
        raise ValueError("not an HTTP address")
    return response
