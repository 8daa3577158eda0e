"""Posting notifications to whoever listens, by the sockets of this host."""

from __future__ import annotations

import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from urllib.error import HTTPError


def status_of(url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> int | None:
    """The status of the response to a POST; None if there is none within that time. It blocks: call it in a thread."""
    try:
        request = urllib.request.Request(url, body, dict(headers), method="POST")
        with urllib.request.urlopen(request, timeout=seconds) as response:
            return int(response.status)
    except HTTPError as refused:
        with refused:
            return refused.code
    except (OSError, HTTPException, ValueError):
        return None
