"""The lock of the one `watch` of a state on a server: of a session, which the server ends with its connection."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg

from dam_sync.model.errors import StoreBusy
from dam_sync.model.state_server import StateServer
from dam_sync.model.watched_elsewhere import watched_elsewhere
from dam_sync.store.server.database import holder_of, holds, pooled, session, translated

WATCH_HOLDER = "watch"
TRIES = 2  # the holder may let it go between two statements


class ServerWatchLock:
    """An advisory lock, held by a connection of its own."""

    def __init__(self, server: StateServer) -> None:
        self._server, self._key = server, server.lock_key(WATCH_HOLDER)
        self._raw: psycopg.Connection[Any] | None = None

    def hold(self) -> None:
        """Take the lock, or prove that it is still held. Raises StoreBusy while another `watch` holds it,
        StoreUnreachable, ConfigError."""
        with translated(self._server):
            if self._raw is not None:
                with suppress(psycopg.OperationalError):
                    if holds(self._raw, self._key):
                        return
                self.release()
            self._raw = session(self._server)
            try:
                self._take(self._raw)
            except BaseException:
                self.release()
                raise

    def release(self) -> None:
        """Let it go; safe to repeat."""
        raw, self._raw = self._raw, None
        if raw is not None:
            with suppress(psycopg.Error):
                raw.close()

    def _take(self, raw: psycopg.Connection[Any]) -> None:
        for _ in range(TRIES):
            if raw.execute("SELECT pg_try_advisory_lock(%s)", (self._key,)).fetchone() == (True,):
                if not holds(raw, self._key):
                    raise pooled(self._server)
                return
            if by := holder_of(raw, self._key):
                raise self._busy(by)
        raise self._busy("")

    def _busy(self, by: str) -> StoreBusy:
        return watched_elsewhere(str(self._server), by)
