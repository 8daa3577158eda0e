"""The writer and the reader of a state on a server, without their threads: one job a commit, each a moment at which the
process may be gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, TypeVar, cast

from dam_sync.model.errors import DiskFull
from dam_sync.model.state_server import StateServer
from dam_sync.store.file.threads import Job, WriteRequest
from dam_sync.store.server.database import raw_of
from dam_sync.store.server.threads import ServerReader, ServerWriter
from tests.support.state.postgres import execute
from tests.support.virtual.fuse import AFTER, BEFORE, COMMIT, Crash, Fuse

T = TypeVar("T")
WITHIN: Final = "within"
CUTS: Final = (BEFORE, WITHIN, AFTER)  # a transaction: before it, before its COMMIT, before the response to that
_ENDS = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()"
_OTHERS = "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"


class VirtualServerWriter(ServerWriter):
    """See `ServerWriter`. A job is committed one turn after it was asked for; its caller learns of it a turn later."""

    def __init__(self, server: StateServer, patience: timedelta, fuse: Fuse, cuts: dict[int, str]) -> None:
        """cuts: see `Universe`."""
        super().__init__(server, patience)
        self.fuse, self.cuts = fuse, cuts
        self.is_full: Callable[[], bool] = lambda: False

    async def run(self, job: Job[T]) -> T:
        """See `GroupWriter.run`."""
        return await asyncio.shield(self.post(job))

    def post(self, job: Job[T]) -> asyncio.Future[T]:
        """See `GroupWriter.post`."""
        if self._closed:
            raise RuntimeError("the store was closed")
        return self._loop.create_task(self._awake(job))

    async def _awake(self, job: Job[T]) -> T:
        await self.fuse.awake()
        return cast("T", await self._loop.run_in_executor(None, self._alone, job))

    async def close(self) -> None:
        """See `GroupWriter.close`."""
        self._closed = True
        self.end()

    def end(self) -> None:
        """Its connection ends with its process, silently."""
        self._link.close()

    def _start(self) -> None:
        """No thread."""

    def _alone(self, job: Job[Any]) -> Any:
        if self.is_full():
            raise DiskFull("no room left for the state")
        number = self.fuse.enter(COMMIT)
        request = WriteRequest(job, self._loop.create_future())
        self._transact([request])
        self.commits += 1
        self.fuse.leave(COMMIT, number)
        return request.result

    def _attempt(self, group: list[WriteRequest]) -> None:
        self._cut(BEFORE)
        super()._attempt(group)
        if self._cut(AFTER):
            raw_of(self._link.connection).execute("SELECT")  # its COMMIT got no response

    def _run_group(self, group: list[WriteRequest]) -> None:
        super()._run_group(group)
        self._cut(WITHIN)

    def _cut(self, when: str) -> bool:
        """End every connection of this state, if it is time."""
        number = self.fuse.counts[COMMIT]
        if self.cuts.get(number) != when:
            return False
        del self.cuts[number]
        execute(self._server, f"{_ENDS} {_OTHERS}")
        return True


class VirtualServerReader(ServerReader):
    """See `ServerReader`."""

    def __init__(self, server: StateServer, patience: timedelta, fuse: Fuse) -> None:
        super().__init__(server, patience)
        self.fuse = fuse

    def end(self) -> None:
        """Its connection ends with its process."""
        self._link.close()

    def _read(self, job: Job[T]) -> T:
        if self.fuse.blown:
            raise Crash("a process that is gone reads nothing")
        return super()._read(job)
