"""Two threads access the file: a writer that commits the jobs of many callers at once, and a reader."""

from __future__ import annotations

import asyncio
import copy
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine

from dam_sync.model.errors import SafetyStop
from dam_sync.store.file.database import raw_of, transaction, translate_errors
from dam_sync.store.file.identity import FileIdentity

T = TypeVar("T")
Job = Callable[[Connection], T]
GROUP = 500  # jobs in one transaction at most
WAITING = 4_000  # jobs that may wait for the writer


@dataclass(slots=True)
class WriteRequest:
    """A job, and what became of it."""

    job: Job[Any]
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None
    decided: bool = False
    cancelled: asyncio.Future[None] | None = None  # awaited by a cancelled caller until the outcome is decided


class GroupWriter(ABC):
    """Runs jobs one after another in its own thread; waiting jobs share one durable commit.

    A job sees the effects of the jobs before it. One that raises is rolled back alone, not the others of its group.
    A job is atomic; a cancelled caller returns once its outcome is decided.
    """

    def __init__(self, name: str) -> None:
        self.guard: Job[None] | None = None  # called first in every transaction; an error refuses the whole group
        self.commits = 0
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._requests: queue.SimpleQueue[WriteRequest | None] = queue.SimpleQueue()
        self._room = asyncio.Semaphore(WAITING)
        self._thread = threading.Thread(target=self._work, name=f"store {name}", daemon=True)
        self._start()

    async def run(self, job: Job[T]) -> T:
        """The job's result, once it is durable. Raises what the job raised, or our error if the file cannot be
        written."""
        async with self._room:
            if self._closed:
                raise RuntimeError("the store was closed")
            request = self._submit(job)
            try:
                return cast("T", await request.future)
            except asyncio.CancelledError:
                if not request.decided:
                    request.cancelled = self._loop.create_future()
                    await asyncio.wait([request.cancelled])  # the next reader finds it done or not, never in progress
                raise

    def post(self, job: Job[T]) -> asyncio.Future[T]:
        """Hand a job over without waiting for it; it is durable once its future has a result. Jobs become durable in
        the order in which they were handed over. The future must be looked at, unless the caller is stopped by another
        error, and must not be cancelled."""
        if self._closed:
            raise RuntimeError("the store was closed")
        future = self._submit(job).future
        future.add_done_callback(_looked_at)
        return future

    async def close(self) -> None:
        """Finish pending jobs and end the thread; safe to repeat."""
        self._closed = True
        self._requests.put(None)
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)
        self._release()

    def _start(self) -> None:
        self._thread.start()

    def _submit(self, job: Job[Any]) -> WriteRequest:
        request = WriteRequest(job, self._loop.create_future())
        self._requests.put(request)
        return request

    def _work(self) -> None:
        while group := self._next_group():
            self._commit(group)
            try:
                self._loop.call_soon_threadsafe(_answer, group)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return

    def _next_group(self) -> list[WriteRequest]:
        """All waiting jobs, up to GROUP; empty when closed."""
        group: list[WriteRequest] = []
        while len(group) < GROUP:
            try:
                request = self._requests.get(block=not group)
            except queue.Empty:
                break
            if request is None:
                self._requests.put(None)  # seen again once this group is committed
                break
            group.append(request)
        return group

    def _commit(self, group: list[WriteRequest]) -> None:
        try:
            self._transact(group)
            self.commits += 1
        except BaseException as error:  # noqa: BLE001 -- carried to everybody who waits
            for request in group:
                request.error = copy.copy(error)  # each caller adds its own context

    def _run_group(self, group: list[WriteRequest]) -> None:
        """All jobs, within a transaction."""
        if self.guard is not None:
            self.guard(self._connected())
        for request in group:
            self._run_one(request, alone=len(group) == 1)

    def _run_one(self, request: WriteRequest, *, alone: bool) -> None:
        """Within the group's transaction; an error that does not end the transaction concerns only this job."""
        connection = self._connected()
        if alone:  # and the transaction belongs only to this job
            with self._translated():
                request.result = request.job(connection)
            return
        raw: Any = connection.connection.dbapi_connection
        raw.execute("SAVEPOINT job")
        try:
            with self._translated():
                request.result = request.job(connection)
        except BaseException as error:
            if not self._in_transaction():
                raise
            raw.execute("ROLLBACK TO job")
            request.error = error
        raw.execute("RELEASE job")

    @abstractmethod
    def _transact(self, group: list[WriteRequest]) -> None:
        """Commit a group. Raises what refuses all of it."""

    @abstractmethod
    def _connected(self) -> Connection: ...

    @abstractmethod
    def _translated(self) -> AbstractContextManager[None]:
        """Translates errors of the database into ours."""

    @abstractmethod
    def _in_transaction(self) -> bool:
        """Whether the transaction survived an error."""

    @abstractmethod
    def _release(self) -> None: ...


class WriterThread(GroupWriter):
    """The writer of a file; see `GroupWriter`. What was committed while the file was removed is saved."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._connection = engine.connect()
        self._path = path
        self._place = FileIdentity(path)
        self._lost: SafetyStop | None = None
        super().__init__(path.name)

    def _transact(self, group: list[WriteRequest]) -> None:
        if self._lost is not None:
            raise self._lost
        with translate_errors(self._path), transaction(self._connection):
            self._run_group(group)
        self._place.remember()
        if self._place.is_lost:
            self._lost = self._place.rescued(self._connection)
            raise self._lost

    def _connected(self) -> Connection:
        return self._connection

    def _translated(self) -> AbstractContextManager[None]:
        return translate_errors(self._path)

    def _in_transaction(self) -> bool:
        return raw_of(self._connection).in_transaction

    def _release(self) -> None:
        self._connection.engine.dispose()


class ReaderThread:
    """Runs reading jobs one after another in its own thread; each sees one consistent state."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._connection = engine.connect()
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"store {path.name} reader")

    async def run(self, job: Job[T]) -> T:
        """The job's result. Raises what the job raised, or our error if the file cannot be read."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, job)

    async def close(self) -> None:
        """Finish pending jobs and end the thread; safe to repeat."""
        await asyncio.get_running_loop().run_in_executor(None, self._thread.shutdown)
        self._connection.engine.dispose()

    def _read(self, job: Job[T]) -> T:
        with translate_errors(self._path), transaction(self._connection, "DEFERRED"):
            return job(self._connection)


def _looked_at(future: asyncio.Future[Any]) -> None:
    """Keeps asyncio from logging the error of a job whose caller was stopped meanwhile, for example by a full disk."""
    if not future.cancelled():
        future.exception()


def _answer(group: list[WriteRequest]) -> None:
    for request in group:
        request.decided = True
        if request.future.done():  # cancelled
            if request.cancelled is not None:
                request.cancelled.set_result(None)
        elif request.error is not None:
            request.future.set_exception(request.error)
        else:
            request.future.set_result(request.result)
