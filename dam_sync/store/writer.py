"""One thread that talks to the database; what is asked at the same time is committed together."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DatabaseError, OperationalError

from dam_sync.model.errors import ConfigError, DamSyncError, DiskFull, StoreBusy

T = TypeVar("T")
Job = Callable[[Connection], Any]
MOST_TOGETHER = 500
CORRUPT = ("malformed", "not a database", "corrupt")


@dataclass(slots=True)
class Writer:
    """Runs functions of a connection, up to MOST_TOGETHER in one transaction; a failing one takes back only its own.

    `commits` counts transactions.
    """

    engine: Engine
    commits: int = 0
    _queue: queue.SimpleQueue[tuple[Job, Future[Any]] | None] = field(default_factory=queue.SimpleQueue)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to serve."""
        self._thread = threading.Thread(target=self._serve, name="store", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish what was asked, then end; safe to repeat."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    async def do(self, job: Callable[[Connection], T]) -> T:
        """The job's result, once it is durable. Raises DiskFull, StoreBusy, ConfigError for a file that is broken."""
        if self._thread is None:
            raise DamSyncError("the checkpoint store is closed")
        done: Future[T] = Future()
        self._queue.put((job, done))
        return await asyncio.shield(asyncio.wrap_future(done))

    def _serve(self) -> None:
        ended = False
        while not ended:
            first = self._queue.get()
            if first is None:
                return
            batch = [first]
            while len(batch) < MOST_TOGETHER and not self._queue.empty():
                more = self._queue.get()
                if more is None:
                    ended = True
                    break
                batch.append(more)
            self._together(batch)

    def _together(self, batch: list[tuple[Job, Future[Any]]]) -> None:
        answers: list[tuple[Future[Any], Any, BaseException | None]] = []
        try:
            with self.engine.begin() as connection:
                for job, done in batch:
                    answers.append((done, *_attempt(connection, job)))
            self.commits += 1
        except Exception as error:  # noqa: BLE001 -- every waiting caller must hear of it
            for _, done in batch:
                done.set_exception(told(error))
            return
        for done, result, failure in answers:
            if failure is None:
                done.set_result(result)
            else:
                done.set_exception(told(failure))


def _attempt(connection: Connection, job: Job) -> tuple[Any, BaseException | None]:
    try:
        with connection.begin_nested():
            return job(connection), None
    except Exception as error:  # noqa: BLE001 -- belongs to the caller who asked
        return None, error


def told(error: BaseException) -> BaseException:
    """A database error in words for people."""
    if not isinstance(error, DatabaseError):
        return error
    text = str(error.orig)
    if "disk is full" in text or "disk I/O" in text:
        return DiskFull("there is no room left for the checkpoint store")
    if isinstance(error, OperationalError) and "locked" in text:
        return StoreBusy("another process holds the checkpoint store")
    if "readonly" in text:
        return ConfigError("the checkpoint store cannot be written", hint="give yourself the right to write the file")
    if any(word in text for word in CORRUPT):
        return ConfigError(
            f"the checkpoint store is damaged: {text}",
            hint="restore it from a copy; or rename it and run again: assets are then found by their marker",
        )
    return DamSyncError(f"the checkpoint store failed: {text}")
