"""The store's writer without its thread: one job a commit, each a moment at which the process may be gone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine

from dam_sync.store.file.database import transaction, translate_errors
from dam_sync.store.file.threads import Job, WriterThread
from tests.support.virtual.fuse import COMMIT, Fuse

T = TypeVar("T")


class VirtualWriter(WriterThread):
    """See `WriterThread`. A job is committed one turn after it was asked for; its caller learns of it a turn later."""

    def __init__(self, engine: Engine, path: Path, fuse: Fuse) -> None:
        self.guard: Job[None] | None = None
        self.commits = 0
        self._closed = False
        self._path, self._fuse = path, fuse
        self._connection: Connection = engine.connect()
        self._loop = asyncio.get_running_loop()

    async def run(self, job: Job[T]) -> T:
        """See `WriterThread.run`."""
        return await asyncio.shield(self.post(job))

    def post(self, job: Job[T]) -> asyncio.Future[T]:
        """See `WriterThread.post`."""
        if self._closed:
            raise RuntimeError("the store was closed")
        return self._loop.create_task(self._awake(job))

    async def _awake(self, job: Job[T]) -> T:
        await self._fuse.awake()
        return cast("T", await self._loop.run_in_executor(None, self._alone, job))

    async def close(self) -> None:
        """See `WriterThread.close`."""
        self._closed = True
        self._connection.engine.dispose()

    def _alone(self, job: Job[Any]) -> Any:
        number = self._fuse.enter(COMMIT)
        with translate_errors(self._path), transaction(self._connection):
            if self.guard is not None:
                self.guard(self._connection)
            result = job(self._connection)
        self.commits += 1
        self._fuse.leave(COMMIT, number)
        return result
