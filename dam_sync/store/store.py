"""SqlStore: everything a job remembers, in one SQLite file or one schema of PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from sqlalchemy import Connection

from dam_sync.model.clock import Clock
from dam_sync.model.errors import ConfigError, StoreBusy
from dam_sync.model.extras import install_hint
from dam_sync.model.state_server import StateServer
from dam_sync.store.accounts import WorkRecords
from dam_sync.store.base import Database, Storage
from dam_sync.store.conflicts import ConflictRepository
from dam_sync.store.corrections import CorrectionRepository
from dam_sync.store.counterparts import CounterpartRepository
from dam_sync.store.deferred import MemberRepository, MembershipRepository, RelationRepository
from dam_sync.store.deletions import DeletionRepository
from dam_sync.store.file.database import (
    HELPERS,
    connected,
    make_file,
    path_of,
    raw_of,
    refuse_link,
    resting_connection,
    transaction,
    translate_errors,
)
from dam_sync.store.file.restored import forget_place, is_restored, note_place
from dam_sync.store.file.threads import ReaderThread
from dam_sync.store.former_names import FormerNames
from dam_sync.store.hints import HintRepository
from dam_sync.store.journal import JournalRepository
from dam_sync.store.ledger import Ledger
from dam_sync.store.links import FilenameRepository, LinkRepository
from dam_sync.store.listing import Shards
from dam_sync.store.meta import Meta
from dam_sync.store.migrations import VERSION, checked_version, migrate, version_of
from dam_sync.store.notes import note_import
from dam_sync.store.planned import PlannedRepository
from dam_sync.store.probation import ProbationRepository
from dam_sync.store.queue import WorkQueue
from dam_sync.store.refused import RefusedRepository
from dam_sync.store.reports import ReportRepository
from dam_sync.store.row_counts import RowCountRepository
from dam_sync.store.runs import Runs, let_go_of_runs, live_runs
from dam_sync.store.server.workers import STILL, WorkerRepository
from dam_sync.store.status_facts import ALIVE, OUTDATED, UNTIL_DONE
from dam_sync.store.story import StoryRepository
from dam_sync.store.tables import stamp
from dam_sync.store.undo import UndoRepository
from dam_sync.store.waves import WaveRepository

COPY = "the copy of the state"


class SqlStore(
    Runs,
    Shards,
    WorkQueue,
    WorkRecords,
    PlannedRepository,
    LinkRepository,
    FilenameRepository,
    ProbationRepository,
    DeletionRepository,
    MemberRepository,
    MembershipRepository,
    RelationRepository,
    RefusedRepository,
    HintRepository,
    ConflictRepository,
    CorrectionRepository,
    ReportRepository,
    StoryRepository,
    UndoRepository,
    CounterpartRepository,
    FormerNames,
    WaveRepository,
    RowCountRepository,
    WorkerRepository,
    Ledger,
    JournalRepository,
    Meta,
):
    """The state of one job. Every write is durable when its call returns.

    Several processes may open one state; a run is held by one at a time. Methods raise StoreBusy if another process
    holds the state, DiskFull if there is no space, ConfigError if it cannot be used, StoreUnreachable if its server is
    lost, and SafetyStop once another process has taken over the run of this one.
    """

    @classmethod
    async def open(
        cls,
        place: Path | str | StateServer,
        clock: Clock,
        *,
        read_only: bool = False,
        storage: Storage | None = None,
    ) -> Self:
        """Open the state, create it if missing, and migrate it. `place` may be a `sqlite:///` URL.

        Raises ConfigError if it is not ours, damaged, newer than this program, or cannot be read or written, and
        StoreUnreachable if its server does not respond.
        """
        storage = storage or Storage()
        if isinstance(place, StateServer):
            with server_extra(place):
                from dam_sync.store.server.store import open_server

            return cls(await open_server(place, clock, storage, read_only=read_only))
        where = path_of(place)
        await asyncio.to_thread(_prepare, where, clock, storage, read_only=read_only)
        with translate_errors(where):
            reader = ReaderThread(storage.engine(where, read_only=True), where)
            try:
                writer = None if read_only else storage.writer(storage.engine(where), where)
            except BaseException:
                await reader.close()
                raise
        return cls(Database(where, clock, reader, writer, clock.token(), storage))

    @classmethod
    async def join(
        cls, server: StateServer, clock: Clock, run: int, holder: str, places: int, storage: Storage | None = None
    ) -> tuple[Self, int]:
        """The state as a worker process of a run opens it, and its place: see `store.workers`. The run stays that of
        the coordinator. Raises as `open`, StoreUnreachable if all places are taken."""
        storage = replace(storage or Storage(), still=STILL)
        with server_extra(server):
            from dam_sync.store.server.store import join_server

        database, place = await join_server(server, clock, storage, run, holder, places)
        return cls(database), place

    async def close(self) -> None:
        """Finish pending writes, stop a run that is still held, and release the file; safe to repeat."""
        if self._database.run and self._database.tickets is None:
            await self.stop(self._database.run, "closed before it was finished")
        await self._database.reader.close()
        if self._database.writer is not None:  # last, so that SQLite can tidy up its helper files
            await self._database.writer.close()

    async def copy_to(self, path: Path, *, to_keep: bool = False) -> None:
        """Write a consistent snapshot to a new file, in which no run is held; for dry runs. to_keep: for a backup,
        which may be older than the last write once it is used. Raises ConfigError if there is a file already."""
        await asyncio.to_thread(_copy, self._database, path, to_keep=to_keep)

    @property
    def path(self) -> Path:
        """The file; only if the state is one."""
        return self._database.path

    @property
    def place(self) -> Path | StateServer:
        """The file, or the schema of a server."""
        return self._database.place

    @property
    def commits(self) -> int:
        """Transactions written so far; many calls share one."""
        return self._database.writer.commits if self._database.writer is not None else 0


@contextmanager
def server_extra(server: StateServer) -> Iterator[None]:
    """Raises ConfigError if the driver for a server is not installed."""
    try:
        yield
    except ImportError as error:
        message = f"the state {server} needs the extra `postgres` ({error})"
        raise ConfigError(message, hint=install_hint("postgres")) from error


def _prepare(path: Path, clock: Clock, storage: Storage, *, read_only: bool) -> None:
    """Migrate the file to this version, or raise why that is impossible."""
    refuse_link(path)
    if read_only:
        if not path.exists():
            raise ConfigError(f"there is no state at {path}", hint="run the job first, or correct `state:`")
        if _version(path, storage, read_only=True) == VERSION:
            return
    else:
        _refuse_others(path)
    make_file(path)
    outdated = _version(path, storage, read_only=False) < VERSION
    with translate_errors(path), connected(storage.engine(path)) as connection:
        if outdated:
            _refuse_while_running(connection, clock, storage)
            migrate(connection)
        note_place(connection, path)


def _refuse_others(path: Path) -> None:
    """Raises ConfigError for the file of another program, before its permissions or its kind of log are changed. A file
    with helper files is in use, or was when a process was killed: what it is shows once they are read."""
    at_rest = not any(path.with_name(path.name + name).exists() for name in HELPERS)
    if not (at_rest and path.is_file() and path.stat().st_size):
        return
    with translate_errors(path), closing(resting_connection(path)) as raw:
        checked_version(raw, path)


def _version(path: Path, storage: Storage, *, read_only: bool) -> int:
    """The version of a state. Raises ConfigError for a newer one and for another file."""
    with (
        translate_errors(path),
        connected(storage.engine(path, read_only=read_only)) as connection,
        transaction(connection, "DEFERRED"),  # another may migrate it right now
    ):
        return checked_version(connection, path)


def _refuse_while_running(connection: Connection, clock: Clock, storage: Storage) -> None:
    """Tables must not be migrated while an older program is using them."""
    if version_of(connection) == 0:
        return
    for row in live_runs(connection, stamp(clock.now() - ALIVE), storage.process_exists):
        raise StoreBusy(f"process {row.pid} on {row.host} is using this state, {OUTDATED}", hint=UNTIL_DONE)


def _copy(database: Database, target: Path, *, to_keep: bool) -> None:
    if os.path.lexists(target):
        raise ConfigError(f"the file {target} already exists", hint="name a new file")
    make_file(target, COPY, new=True)
    try:
        _copy_into(database, target, to_keep=to_keep)
    except BaseException:
        for ending in ("", *HELPERS):
            target.with_name(target.name + ending).unlink(missing_ok=True)
        raise


def _copy_into(database: Database, target: Path, *, to_keep: bool) -> None:
    storage = database.storage
    if database.server is not None:
        from dam_sync.store.server.store import copy_to_file

        restored = copy_to_file(database.server, target, storage)
        _detach(database, target, restored=restored or to_keep)
        return
    with (
        translate_errors(target, COPY),
        connected(storage.engine(database.path, read_only=True)) as connection,
        closing(sqlite3.connect(target)) as raw,
        transaction(connection, "DEFERRED"),
    ):
        version_of(connection)  # from here on a consistent state is read, whoever writes meanwhile
        raw_of(connection).backup(raw, pages=storage.copied_pages)
        restored = is_restored(connection, database.path)
    _detach(database, target, restored=restored or to_keep)


def _detach(database: Database, target: Path, *, restored: bool) -> None:
    """A copy holds no run and has no place yet. restored: it may be older than the last write."""
    with (
        translate_errors(target, COPY),
        connected(database.storage.engine(target)) as connection,
        transaction(connection),
    ):
        let_go_of_runs(connection, stamp(database.clock.now()))
        forget_place(connection)
        if restored:
            note_import(connection)
