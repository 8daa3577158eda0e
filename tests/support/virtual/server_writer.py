"""The writer and the reader of a state on a server, without their threads: one job a commit, each a moment at which the
process may be gone."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, TypeVar

from dam_sync.model.state_server import StateServer
from dam_sync.store.server_threads import ServerReader, ServerWriter
from dam_sync.store.writer import Job, WriteRequest
from tests.support.virtual.fuse import COMMIT, Crash, Fuse

T = TypeVar("T")


class VirtualServerWriter(ServerWriter):
    """See `ServerWriter`. A job is committed one turn after it was asked for; its caller learns of it a turn later."""

    def __init__(self, server: StateServer, patience: timedelta, fuse: Fuse) -> None:
        super().__init__(server, patience)
        self.fuse = fuse

    async def run(self, job: Job[T]) -> T:
        """See `GroupWriter.run`."""
        if self._closed:
            raise RuntimeError("the store was closed")
        await self.fuse.awake()
        return await asyncio.shield(self._loop.run_in_executor(None, self._alone, job))

    async def close(self) -> None:
        """See `GroupWriter.close`."""
        self._closed = True
        self.end()

    def end(self) -> None:
        """Its connection ends with its process, without another word."""
        self._link.close()

    def _start(self) -> None:
        """No thread."""

    def _alone(self, job: Job[Any]) -> Any:
        number = self.fuse.enter(COMMIT)
        request = WriteRequest(job, self._loop.create_future())
        self._transact([request])
        self.commits += 1
        self.fuse.leave(COMMIT, number)
        return request.result


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
