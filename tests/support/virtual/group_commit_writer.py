"""The store's own writer in virtual time: what is asked for in one turn of the loop shares a commit, as it does where
the writer has a thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from dam_sync.store.file import threads as writer
from dam_sync.store.file.database import raw_of
from dam_sync.store.file.threads import Job, WriteRequest, WriterThread


class GroupedWriter(WriterThread):
    """See `WriterThread`. Its thread has nothing to do, and nobody waits for the disk."""

    def __init__(self, engine: Engine, path: Path) -> None:
        super().__init__(engine, path)
        raw_of(self._connection).execute("PRAGMA synchronous = OFF")  # power is never lost in here
        self._due = False

    def _submit(self, job: Job[Any]) -> WriteRequest:
        if not self._due:
            self._due = True
            self._loop.call_soon(self._commit_all)
        return super()._submit(job)

    def _work(self) -> None:
        """The thread's."""

    def _commit_all(self) -> None:
        self._due = False
        while not self._requests.empty() and (group := self._next_group()):
            self._commit(group)
            writer._answer(group)
