"""Posting webhook messages to whoever listens, next to the service."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Callable, Mapping

ACK_SECONDS = 30


def post(url: str, headers: Mapping[str, str], body: bytes, done: Callable[[bool], None]) -> None:
    """Send in a thread of its own; `done` is called with whether it was answered with 200 in time."""

    def run() -> None:
        request = urllib.request.Request(url, body, dict(headers), method="POST")
        try:
            with urllib.request.urlopen(request, timeout=ACK_SECONDS) as reply:
                taken = reply.status == 200
        except (OSError, ValueError):
            taken = False
        done(taken)

    threading.Thread(target=run, daemon=True, name="webhook").start()
