"""The writer and the reader of a state on PostgreSQL: as for a file, and reconnecting after a brief outage.

A transaction whose COMMIT was not sent is made again on a new connection: the server rolled the first one back. So that
one whose COMMIT had no response is made again only if it is not in the database, each leaves a token there. The number
that the server gave to it would not do: after a crash the server gives the numbers of lost transactions to others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, TypeVar

import psycopg
from sqlalchemy import Connection

from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import DamSyncError, StoreUnreachable
from dam_sync.model.outage import current_outage, is_outage_shown
from dam_sync.model.state_server import StateServer
from dam_sync.store.file.threads import GroupWriter, Job, WriteRequest
from dam_sync.store.server.database import (
    RUN_HOLDER,
    WRITER,
    application_name,
    begin,
    connect,
    pooled,
    raw_of,
    reading,
    roll_back,
    translated,
)
from dam_sync.store.server.schema import commit, committed

T = TypeVar("T")
PAUSE_SECONDS = 0.25
TOKEN_LETTERS = 16
LOSSES = 20  # of connections during one job: a server that fails at it again and again is not tried for ever


def reached(server: StateServer, patience: timedelta) -> Connection:
    """A connection for what is to be opened. An outage is bridged where somebody is shown that it is waited for.
    Raises StoreUnreachable, ConfigError."""
    try:
        return connect(server)
    except StoreUnreachable:
        if not is_outage_shown():
            raise
    with current_outage().waiting(SYSTEM_CLOCK.monotonic()) as began:
        return _connected_until(server, began + patience.total_seconds())


def _connected_until(server: StateServer, end: float) -> Connection:
    while True:
        try:
            return connect(server)
        except StoreUnreachable:
            if SYSTEM_CLOCK.monotonic() >= end:
                raise
        SYSTEM_CLOCK.block(PAUSE_SECONDS)


class ServerConnection:
    """A connection that is made again when it is lost. reconnects: not if what its session holds cannot be taken
    again."""

    def __init__(self, server: StateServer, patience: timedelta, *, reconnects: bool = True) -> None:
        self.server, self._patience, self._outage = server, patience.total_seconds(), current_outage()
        self._reconnects = reconnects
        self.lost: DamSyncError | None = None  # it stays lost: nothing is tried any more
        self.connection = reached(server, patience)
        self.session = _session(self.connection)
        self._former: list[int] = []  # sessions that may still hold their locks

    @property
    def is_lost(self) -> bool:
        """Whether the last statement found the connection closed."""
        raw = self.connection.connection.dbapi_connection if not self.connection.invalidated else None
        return not isinstance(raw, psycopg.Connection) or raw.closed

    def bridged(self, attempt: Callable[[], T]) -> T:
        """What `attempt` returns; on a new connection it is called again after a brief outage. Raises StoreUnreachable,
        and whatever it raises."""
        if self.lost is not None:
            raise self.lost
        for losses in range(LOSSES):
            try:
                with translated(self.server):
                    if self.is_lost:
                        self._again()
                    return attempt()
            except DamSyncError as error:
                if self.lost is not None or not self.is_lost:
                    raise
                if not self._reconnects or losses == LOSSES - 1:
                    self.lost = error
                    raise
            if losses:
                SYSTEM_CLOCK.block(PAUSE_SECONDS)
        raise AssertionError("the last loss was raised")

    def _again(self) -> None:
        """Connect again. Raises StoreUnreachable when it takes too long."""
        self.close()
        try:
            with self._outage.waiting(SYSTEM_CLOCK.monotonic()) as began:
                self.connection = _connected_until(self.server, began + self._patience)
        except DamSyncError as error:
            self.lost = error
            raise
        if self.session not in self._former:
            self._former.append(self.session)
        self.session = _session(self.connection)
        # a former session may not have noticed yet, and would hold its locks until it does
        ended = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid = ANY(%s)"
        raw_of(self.connection).execute(f"{ended} AND application_name = %s", (self._former, application_name()))
        self._former.clear()

    def close(self) -> None:
        """Release it; safe to repeat."""
        if not self.connection.closed and not self.connection.invalidated:
            self.connection.invalidate()
        self.connection.close()
        self.connection.engine.dispose()


def _session(connection: Connection) -> int:
    row = raw_of(connection).execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    return int(row[0])


class ServerWriter(GroupWriter):
    """See `GroupWriter`. A job may be called again if its transaction did not reach the server."""

    def __init__(self, server: StateServer, patience: timedelta, *, reconnects: bool = True) -> None:
        """reconnects: not for a worker process, whose place ends with its session."""
        self._server, self._reconnects = server, reconnects
        self._link = ServerConnection(server, patience, reconnects=reconnects)
        self._session = self._link.session  # that of the last transaction
        self._token = self._unanswered = ""  # of the current transaction; of one whose COMMIT had no response
        self._commit_sent = False
        super().__init__(server.schema)

    def _release(self) -> None:
        self._link.close()

    def _connected(self) -> Connection:
        return self._link.connection

    def _translated(self) -> Any:
        return translated(self._server)

    def _in_transaction(self) -> bool:
        return not self._link.is_lost

    def _transact(self, group: list[WriteRequest]) -> None:
        self._unanswered = ""
        try:
            self._link.bridged(lambda: self._tried(group))
        except DamSyncError as error:
            if self._unanswered and self._link.lost is None:
                self._link.lost = error  # nothing is written after a transaction of which the outcome is unknown
            raise

    def _tried(self, group: list[WriteRequest]) -> None:
        self._commit_sent = False
        try:
            self._attempt(group)
        except BaseException:
            if self._commit_sent and self._link.is_lost:
                self._unanswered = self._token
            raise

    def _attempt(self, group: list[WriteRequest]) -> None:
        raw = raw_of(self._link.connection)
        if self._session != self._link.session:
            self._hold_again(raw)
        self._token = SYSTEM_CLOCK.token()[:TOKEN_LETTERS]
        try:
            self._begin(raw)
            if self._was_committed(raw):
                raw.execute("ROLLBACK")
                return
            for request in group:
                request.error = request.result = None
            self._run_group(group)
            self._commit_sent = True
            raw.execute(commit(self._token) if self._reconnects else "COMMIT")
        except BaseException:
            roll_back(raw)
            raise

    def _begin(self, raw: psycopg.Connection[Any]) -> None:
        begin(raw, self._server)
        asked = "SELECT pg_advisory_xact_lock(%s), pg_backend_pid()"
        row = raw.execute(asked, (self._server.lock_key(WRITER),)).fetchone()
        assert row is not None
        if row[1] != self._link.session:
            raise pooled(self._server)

    def _was_committed(self, raw: psycopg.Connection[Any]) -> bool:
        """Whether the transaction whose COMMIT had no response, if there is one, is in the database."""
        if not self._unanswered:
            return False
        found = committed(raw, self._unanswered)
        self._unanswered = ""
        return found

    def _hold_again(self, raw: psycopg.Connection[Any]) -> None:
        """The lock of a run ended with the connection. Whether the run was taken over meanwhile, the guard finds."""
        if self.guard is not None:
            raw.execute("SELECT pg_try_advisory_lock(%s)", (self._server.lock_key(RUN_HOLDER),))
        self._session = self._link.session


class ServerReader:
    """Runs reading jobs one after another in its own thread; each sees one consistent state."""

    def __init__(self, server: StateServer, patience: timedelta) -> None:
        self._server = server
        self._link = ServerConnection(server, patience)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"store {server.schema} reader")

    async def run(self, job: Job[T]) -> T:
        """The job's result; it is called again after a brief outage. Raises what the job raised, or our error if the
        server cannot be read."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, job)

    async def close(self) -> None:
        """Finish pending jobs and end the thread; safe to repeat."""
        await asyncio.get_running_loop().run_in_executor(None, self._thread.shutdown)
        self._link.close()

    def _read(self, job: Job[T]) -> T:
        return self._link.bridged(lambda: self._once(job))

    def _once(self, job: Job[T]) -> T:
        with reading(self._link.connection, self._server):
            return job(self._link.connection)


class ServerSession:
    """Runs jobs one after another on a connection and a thread of its own; none of them begins a transaction that it
    does not end."""

    def __init__(self, link: ServerConnection, name: str) -> None:
        self.link = link
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._closed = False

    async def run(self, job: Callable[[psycopg.Connection[Any]], T]) -> T:
        """The result of a job; it is called again after a brief outage. Raises StoreUnreachable."""
        if self._closed:
            raise RuntimeError("the session was closed")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._bridged, job)

    async def close(self, last: Callable[[psycopg.Connection[Any]], object] = lambda raw: None) -> None:
        """End it, after a last job that need not succeed; safe to repeat."""
        if not self._closed:
            self._closed = True
            await asyncio.get_running_loop().run_in_executor(self._thread, self._leave, last)
            await asyncio.to_thread(self._thread.shutdown)

    def _bridged(self, job: Callable[[psycopg.Connection[Any]], T]) -> T:
        return self.link.bridged(lambda: job(raw_of(self.link.connection)))

    def _leave(self, last: Callable[[psycopg.Connection[Any]], object]) -> None:
        try:
            if self.link.lost is None and not self.link.is_lost:
                with translated(self.link.server):
                    last(raw_of(self.link.connection))
        except DamSyncError:
            pass  # what it would have given back expires
        finally:
            self.link.close()
