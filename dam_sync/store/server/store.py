"""Opens, copies and restores a state on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Connection

from dam_sync.model.clock import Clock
from dam_sync.model.errors import ConfigError, StoreBusy, StoreUnreachable
from dam_sync.model.state_server import StateServer
from dam_sync.model.waits import sleep_for
from dam_sync.store import migrations
from dam_sync.store.base import Database, Storage
from dam_sync.store.file.database import connected, transaction, translate_errors
from dam_sync.store.row_copies import copy_rows
from dam_sync.store.runs import live_runs
from dam_sync.store.server import schema as server_schema
from dam_sync.store.server.database import connect, raw_of, reading, take_place, translated, writing
from dam_sync.store.server.definitions import refuse_strange_objects
from dam_sync.store.server.restored import is_restored, note_place
from dam_sync.store.server.rights import refuse_missing_rights
from dam_sync.store.server.threads import ServerReader, ServerWriter, reached
from dam_sync.store.server.workers import refuse_stranger
from dam_sync.store.status_facts import ALIVE, OUTDATED, UNTIL_DONE
from dam_sync.store.tables import stamp

PLACE_LOOKS, PLACE_SECONDS = 20, 0.1


async def open_server(server: StateServer, clock: Clock, storage: Storage, *, read_only: bool) -> Database:
    """The open state, created if missing, and migrated. Raises ConfigError, StoreBusy, StoreUnreachable."""
    await asyncio.to_thread(_prepare, server, clock, storage, read_only=read_only)
    reader = await asyncio.to_thread(storage.server_reader, server, storage.patience)
    writer = None if read_only else storage.server_writer(server, storage.patience)
    return Database(server, clock, reader, writer, clock.token(), storage)


async def join_server(
    server: StateServer, clock: Clock, storage: Storage, run: int, holder: str, places: int
) -> tuple[Database, int]:
    """The open state of a worker process, and its place among `places`. The run is held by the coordinator with the
    token `holder`. Raises StoreUnreachable if all places are taken or the server cannot be reached, SafetyStop if the
    run is not held by it."""
    reader = await asyncio.to_thread(ServerReader, server, storage.patience)
    writer = ServerWriter(server, storage.patience, reconnects=False)
    database = Database(server, clock, reader, writer, holder, storage, run, tickets={})

    def guard(c: Connection) -> None:
        refuse_stranger(c, database)

    try:
        place = await _placed(writer, server, places, clock)
        writer.guard = guard
        await writer.run(lambda c: None)
    except BaseException:
        await reader.close()
        await writer.close()
        raise
    return database, place


async def _placed(writer: ServerWriter, server: StateServer, places: int, clock: Clock) -> int:
    """A free place. The server may free that of a process which has just ended a little later."""
    for _ in range(PLACE_LOOKS):
        try:
            return await writer.run(lambda c: take_place(c, server, places))
        except StoreUnreachable:
            await sleep_for(clock, PLACE_SECONDS, "a free place among the processes of the state")
    return await writer.run(lambda c: take_place(c, server, places))


def exists(server: StateServer) -> bool:
    """Whether there is a state. Raises ConfigError, StoreUnreachable."""
    with _connected(server) as connection:
        refuse_missing_rights(connection, server, write=False)
        return server_schema.version_of(connection, server) > 0


def refuse_unwritable(server: StateServer, schemas: Sequence[str]) -> None:
    """Raises ConfigError for a server that cannot hold a state, or if the user lacks rights on one of these schemas;
    StoreUnreachable."""
    with _connected(server) as connection:
        server_schema.check_server(connection, server)
        refuse_missing_rights(connection, server, write=True, schemas=schemas)


def copy_to_file(server: StateServer, target: Path, storage: Storage) -> bool:
    """Write a consistent snapshot into a new file of SQLite, and compare both; whether it is of a restored state.
    Raises IntegrityError."""
    with (
        translate_errors(target),
        _connected(server) as source,
        reading(source, server),
        connected(storage.engine(target)) as copy,
    ):
        migrations.migrate(copy)
        with transaction(copy), _without_triggers(copy):
            copy_rows(source, copy)
        return is_restored(source, server)


def restore(server: StateServer, file: Path, clock: Clock, storage: Storage) -> None:
    """Replace the state with that of a file of this version, in one transaction, and compare both. Raises StoreBusy
    during a run, IntegrityError."""
    _prepare(server, clock, storage, read_only=False)
    with translate_errors(file), _connected(server) as connection, writing(connection, server):
        _refuse_while_running(connection, server, clock, storage)
        with (
            connected(storage.engine(file, read_only=True)) as source,
            transaction(source, "DEFERRED"),
            _without_triggers(connection),
        ):
            copy_rows(source, connection)


def vacuum(server: StateServer) -> None:
    """Make the space of removed rows free again."""
    with _connected(server) as connection:
        raw_of(connection).execute("VACUUM (ANALYZE) ledger, report, note")


def _prepare(server: StateServer, clock: Clock, storage: Storage, *, read_only: bool) -> None:
    """Migrate the schema to this version, or raise why that is impossible. Where it may be written, a brief outage is
    bridged; what only reads can be asked again."""
    with _connected(server, storage.patience if not read_only else None) as connection:
        server_schema.check_server(connection, server)
        refuse_missing_rights(connection, server, write=not read_only)
        version = server_schema.version_of(connection, server)
        if version > migrations.VERSION:
            hint = f"install the newer dam-sync; this one writes version {migrations.VERSION}"
            raise ConfigError(f"the state {server} was made by a newer dam-sync (version {version})", hint=hint)
        if version == migrations.VERSION:
            refuse_strange_objects(connection, server)
        if version == migrations.VERSION and (read_only or server_schema.has_commits(connection, server)):
            if not read_only:
                note_place(connection, server)
            return
        if read_only and version == 0:
            raise ConfigError(f"there is no state at {server}", hint="run the job first, or correct `state:`")
        with writing(connection, server):
            if server_schema.version_of(connection, server) > 0:
                _refuse_while_running(connection, server, clock, storage, f", {OUTDATED}")
            server_schema.migrate(connection, server)
            refuse_strange_objects(connection, server)
        if not read_only:
            note_place(connection, server)


def _refuse_while_running(
    connection: Connection, server: StateServer, clock: Clock, storage: Storage, why: str = ""
) -> None:
    for row in live_runs(connection, stamp(clock.now() - ALIVE), storage.process_exists):
        raise StoreBusy(f"process {row.pid} on {row.host} is using the state {server}{why}", hint=UNTIL_DONE)


@contextmanager
def _connected(server: StateServer, patience: timedelta | None = None) -> Iterator[Connection]:
    connection = connect(server) if patience is None else reached(server, patience)
    try:
        with translated(server):
            yield connection
    finally:
        connection.invalidate()
        connection.close()
        connection.engine.dispose()


@contextmanager
def _without_triggers(connection: Connection) -> Iterator[None]:
    """What triggers write is copied too."""
    if connection.dialect.name == "sqlite":
        made = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all()
        off, on = [f"DROP TRIGGER {name}" for name, _ in made], [text for _, text in made]
    else:
        tables = sorted({table for _, table in server_schema.triggers(connection)})
        off, on = ([f"ALTER TABLE {table} {how} TRIGGER USER" for table in tables] for how in ("DISABLE", "ENABLE"))
    for statement in off:
        connection.exec_driver_sql(statement)
    yield
    for statement in on:
        connection.exec_driver_sql(statement)
