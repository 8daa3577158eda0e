"""What processes of a database tell each other at once, by LISTEN and NOTIFY.

A notification says that something changed, not what: whoever hears it looks. It is lost while the connection is down,
so that everything is heard again when it is back, and everybody looks from time to time besides.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import psycopg
import structlog

from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.state_server import StateServer
from dam_sync.store.server.database import connect_async

log = structlog.get_logger(__name__)
CHANNEL: Final = "dam_sync"
AGAIN_SECONDS: Final = 1.0  # between two attempts to listen


class ServerNotices:
    """Listens on a connection of its own from `start` to `close`. It outlives every call, so that no task group could
    hold it."""

    def __init__(self, server: StateServer) -> None:
        self._server = server
        self._heard: defaultdict[str, list[tuple[str, Callable[[], None]]]] = defaultdict(list)
        self._listening: asyncio.Task[None] | None = None
        self.is_listening = False

    def on(self, topic: str, me: str, heard: Callable[[], None]) -> None:
        """Call this when somebody else than `me` tells this topic, and whenever something may have been missed."""
        self._heard[topic].append((me, heard))

    def start(self) -> None:
        """Begin to listen; safe to repeat."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())

    async def close(self) -> None:
        """End it; safe to repeat."""
        if self._listening is not None and not self._listening.done():
            self._listening.cancel()
            await asyncio.wait([self._listening])

    async def _listen(self) -> None:
        while True:
            try:
                async with await connect_async(self._server) as raw:
                    await raw.execute(f"LISTEN {CHANNEL}")
                    self.is_listening = True
                    self._tell(*self._heard)
                    async for notice in raw.notifies():
                        topic, _, sender = notice.payload.rpartition(" ")
                        self._tell(topic, sender=sender)
            except psycopg.Error as error:
                log.debug("notices.lost", message=" ".join(str(error).split()))
            finally:
                self.is_listening = False
            self._tell(*self._heard)
            await SYSTEM_CLOCK.sleep(AGAIN_SECONDS)

    def _tell(self, *topics: str, sender: str = "") -> None:
        for topic in topics:
            for me, heard in self._heard.get(topic, ()):
                if me != sender:
                    heard()


def tell(raw: Any, topic: str, sender: str) -> None:
    """Tell all processes, once the transaction is committed. sender: a name without whitespace."""
    with suppress(psycopg.errors.ProgramLimitExceeded):  # the queue of the server is full
        raw.execute("SELECT pg_notify(%s, %s)", (CHANNEL, f"{topic} {sender}"))
