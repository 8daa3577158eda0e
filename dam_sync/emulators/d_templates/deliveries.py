"""Posting webhook messages to whoever listens, next to the service."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from dam_sync.emulators.kit.posting import status_of

ACK_SECONDS = 30


def post(url: str, headers: Mapping[str, str], body: bytes, done: Callable[[bool], None]) -> None:
    """Send in a thread of its own; `done` is called with whether it was answered with 200 in time."""

    def run() -> None:
        done(status_of(url, headers, body, ACK_SECONDS) == 200)

    threading.Thread(target=run, daemon=True, name="webhook").start()
