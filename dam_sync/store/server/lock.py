"""A lock that one process of all those of a database holds at a time, while it calls a service.

Whoever waits for it is woken by the server, also when the process that held it is gone.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

import psycopg
from psycopg import errors

from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import Transient
from dam_sync.model.state_server import StateServer
from dam_sync.model.waits import waiting
from dam_sync.store.server.database import connect_async, explained

PAUSE_SECONDS = 0.25  # between two attempts to connect


class ServerLock:
    """An advisory lock of a session of its own, which is kept for the next time.

    name: what the message calls it when nobody lets it go for `longest`; patience: how long an outage may last.
    """

    def __init__(self, server: StateServer, purpose: str, name: str, longest: timedelta, patience: timedelta) -> None:
        self._server, self._key, self._name = server, server.lock_key(purpose), name
        self._longest, self._patience = longest, patience.total_seconds()
        self._raw: psycopg.AsyncConnection[Any] | None = None

    async def __aenter__(self) -> ServerLock:
        """Wait for it. Raises Transient, StoreUnreachable."""
        longest, what = self._longest.total_seconds(), f"another process, which {self._name}"
        with waiting(SYSTEM_CLOCK, longest, what):
            return await self._taken()

    async def _taken(self) -> ServerLock:
        until = SYSTEM_CLOCK.monotonic() + self._patience
        while True:
            try:
                return await self._locked()
            except errors.LockNotAvailable:
                raise Transient(f"another process {self._name}, and does not finish") from None
            except psycopg.Error as error:
                lost = self._raw is None or self._raw.closed
                await self.close()
                if not lost or SYSTEM_CLOCK.monotonic() >= until:
                    raise explained(error, self._server) from error
            except BaseException:
                await self.close()
                raise
            await SYSTEM_CLOCK.sleep(PAUSE_SECONDS)

    async def __aexit__(self, *_: object) -> None:
        try:
            if self._raw is not None and not self._raw.closed:
                await self._raw.execute("SELECT pg_advisory_unlock(%s)", (self._key,))
        except psycopg.Error:
            await self.close()  # which ends it
        except BaseException:
            await self.close()
            raise

    async def execute(self, statement: str, values: tuple[Any, ...]) -> None:
        """Execute a statement only if the lock is held. Raises Transient if it was lost meanwhile."""
        raw = self._raw
        assert raw is not None
        try:
            await raw.execute(statement.encode(), values)
        except psycopg.Error as error:
            if not raw.closed:
                raise explained(error, self._server) from error
            raise Transient("the connection to the state was lost; nothing was written") from error

    async def close(self) -> None:
        """Release the connection, and with it the lock; safe to repeat."""
        raw, self._raw = self._raw, None
        if raw is not None:
            with suppress(psycopg.Error):
                await raw.close()

    async def _locked(self) -> ServerLock:
        if self._raw is None or self._raw.closed:
            milliseconds = f"{int(self._longest.total_seconds() * 1000)}ms"
            self._raw = await connect_async(self._server, lock_timeout=milliseconds)
        await self._raw.execute("SELECT pg_advisory_lock(%s)", (self._key,))
        return self
