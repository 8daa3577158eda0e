"""The schema of a database that all jobs share whose states are in it: its tables, and its migrations.

It has a version of its own, because jobs of several releases may use one database: a release refuses a schema that a
newer one made, and migrates an older one while no process is at work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, TypeAlias

from psycopg import errors, sql
from sqlalchemy import BigInteger, Column, Double, Identity, Index, MetaData, Table, Text

from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import ConfigError, StoreBusy
from dam_sync.model.state_server import StateServer
from dam_sync.store.server.database import raw_of, reading, translated, writing
from dam_sync.store.server.rights import hint_of, missing_rights, named
from dam_sync.store.server.threads import ServerConnection

SCHEMA: Final = "dam_sync"  # of no job: theirs have a suffix
KEY_TABLE: Final = "digest_key"
VERSION_TABLE: Final = "shared_version"
ALIVE_SECONDS: Final = 60.0  # since the last sign of life of a process that may be at work
SHARED = MetaData()
PERMIT = Table(
    "permit",
    SHARED,
    Column("credential", Text, primary_key=True),
    Column("free", Double, nullable=False, server_default="0"),
    Column("issued", BigInteger, nullable=False, server_default="0"),
    Column("granted", BigInteger, nullable=False, server_default="0"),
    Column("spacing", Double, nullable=False, server_default="0"),
    Column("spaced_until", Double, nullable=False, server_default="0"),
    Column("paused_until", Double, nullable=False, server_default="0"),
    Column("version", BigInteger, nullable=False, server_default="0"),
    Column("learned", Text, nullable=False, server_default="{}"),
)
PARTICIPANT = Table(
    "participant",
    SHARED,
    Column("credential", Text, primary_key=True),
    Column("process", Text, primary_key=True),
    Column("seen", Double, nullable=False),
    Column("held", BigInteger, nullable=False),
)
CALLS = Table(  # API calls by slice of time, of each process of a job
    "call_count",
    SHARED,
    Column("credential", Text, primary_key=True),
    Column("slice", BigInteger, primary_key=True),
    Column("job", Text, primary_key=True),
    Column("process", Text, primary_key=True),
    Column("calls", BigInteger, nullable=False),
)
PART = Table(  # terms and containers of targets that jobs created, or began to
    "target_part",
    SHARED,
    Column("target", Text, primary_key=True),
    Column("scope", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("seq", BigInteger, Identity(), nullable=False),
    Column("place", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("value", Text),
    Column("before", Text, nullable=False, server_default="[]"),
    Column("job", Text, nullable=False),
    Column("process", Text, nullable=False),
    Column("at", Double, nullable=False),
    Index("target_part_seq", "target", "scope", "seq"),
)
UNIQUE_NAME = Table(  # file names of targets that source assets of jobs have
    "target_name",
    SHARED,
    Column("target", Text, primary_key=True),
    Column("folded", Text, primary_key=True),
    Column("job", Text, nullable=False),
    Column("owner", Text, nullable=False),
)
WRITER_JOB = Table(  # jobs that write into a target, by the schemas of their states
    "target_job",
    SHARED,
    Column("target", Text, primary_key=True),
    Column("job", Text, primary_key=True),
)
SECRET = Table(
    "secret",
    SHARED,
    Column("scope", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)


Migrations: TypeAlias = Mapping[int, Sequence[str]]
MIGRATIONS: Migrations = {
    1: (  # a schema of a release without versions may have some of it
        "CREATE TABLE IF NOT EXISTS participant (credential TEXT NOT NULL, process TEXT NOT NULL,"
        " seen DOUBLE PRECISION NOT NULL, held BIGINT NOT NULL, PRIMARY KEY (credential, process))",
        "CREATE TABLE IF NOT EXISTS permit (credential TEXT NOT NULL, free DOUBLE PRECISION DEFAULT '0' NOT NULL,"
        " issued BIGINT DEFAULT '0' NOT NULL, granted BIGINT DEFAULT '0' NOT NULL,"
        " spacing DOUBLE PRECISION DEFAULT '0' NOT NULL, spaced_until DOUBLE PRECISION DEFAULT '0' NOT NULL,"
        " paused_until DOUBLE PRECISION DEFAULT '0' NOT NULL, version BIGINT DEFAULT '0' NOT NULL,"
        " learned TEXT DEFAULT '{}' NOT NULL, PRIMARY KEY (credential))",
        "ALTER TABLE permit SET (fillfactor = 50)",  # its rows are changed all the time
        "CREATE TABLE IF NOT EXISTS secret (scope TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,"
        " PRIMARY KEY (scope, name))",
        "CREATE TABLE IF NOT EXISTS target_job (target TEXT NOT NULL, job TEXT NOT NULL, PRIMARY KEY (target, job))",
        "CREATE TABLE IF NOT EXISTS target_name (target TEXT NOT NULL, folded TEXT NOT NULL, job TEXT NOT NULL,"
        " owner TEXT NOT NULL, PRIMARY KEY (target, folded))",
        "CREATE TABLE IF NOT EXISTS target_part (target TEXT NOT NULL, scope TEXT NOT NULL, key TEXT NOT NULL,"
        " seq BIGINT GENERATED BY DEFAULT AS IDENTITY, place TEXT NOT NULL, path TEXT NOT NULL, value TEXT,"
        " before TEXT DEFAULT '[]' NOT NULL, job TEXT NOT NULL, process TEXT NOT NULL, at DOUBLE PRECISION NOT NULL,"
        " PRIMARY KEY (target, scope, key))",
        "CREATE INDEX IF NOT EXISTS target_part_seq ON target_part (target, scope, seq)",
        f"CREATE TABLE IF NOT EXISTS {KEY_TABLE} (one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one), key TEXT NOT NULL)",
    ),
    2: (
        "CREATE TABLE IF NOT EXISTS call_count (credential TEXT NOT NULL, slice BIGINT NOT NULL, job TEXT NOT NULL,"
        " process TEXT NOT NULL, calls BIGINT NOT NULL, PRIMARY KEY (credential, slice, job, process))",
    ),
}
"""By version; each is made in the transaction that brings the schema up to date."""


def open_shared(
    server: StateServer, patience: timedelta, migrations: Migrations = MIGRATIONS
) -> tuple[ServerConnection, bytes]:
    """A connection to the schema that all jobs of a database share, which is brought up to date, and the key of its
    digests. Raises ConfigError, StoreUnreachable, and StoreBusy while processes are at work that need an older one."""
    link = ServerConnection(server, patience)
    try:
        with translated(server):
            return link, made_by(link, server, migrations)
    except BaseException:
        link.close()
        raise


def made_by(link: ServerConnection, server: StateServer, migrations: Migrations = MIGRATIONS) -> bytes:
    """Migrate the schema; returns the key of the digests. Raises ConfigError for a newer one, and without the right,
    SafetyStop if the connection has the session of another process."""
    raw = raw_of(link.connection)
    try:
        with reading(link.connection, server):
            found = _version(raw, server, migrations)
        if found < max(migrations):
            with writing(link.connection, server):
                _migrate(raw, server, migrations)
        with reading(link.connection, server):
            row = raw.execute(f"SELECT key FROM {KEY_TABLE}").fetchone()
    except errors.InsufficientPrivilege as error:
        missing = missing_rights(link.connection, (SCHEMA,), write=True)
        why = f"the user lacks {named(missing)}" if missing else " ".join(str(error).split())
        otherwise = "let the user who made the schema run first: it has to be brought up to date"
        raise ConfigError(
            f"the schema {SCHEMA}, in which jobs share rate limits and targets, cannot be used at {server}: {why}",
            hint=hint_of(missing) if missing else otherwise,
        ) from None
    assert row is not None
    return bytes.fromhex(row[0])


def _version(raw: Any, server: StateServer, migrations: Migrations) -> int:
    """That of the schema; 0 if it is missing, or of a release without versions. Raises ConfigError for a newer one.

    A table that another process created since this transaction began is found by its name, and has no row yet."""
    if raw.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.{VERSION_TABLE}",)).fetchone() == (None,):
        return 0
    row = raw.execute(f"SELECT version FROM {VERSION_TABLE}").fetchone()
    found = row[0] if row else 0
    if found > max(migrations):
        raise ConfigError(
            f"the schema {SCHEMA}, which jobs share at {server}, was made by a newer dam-sync (version {found})",
            hint=f"install the newer dam-sync wherever jobs use this database; this one writes version"
            f" {max(migrations)}",
        )
    return int(found)


def _migrate(raw: Any, server: StateServer, migrations: Migrations) -> None:
    """Bring the schema up to date, within a writing transaction."""
    now = _version(raw, server, migrations)
    if now == 0:
        raw.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(SCHEMA)))
        raw.execute(
            f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE}"
            " (one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one), version BIGINT NOT NULL)"
        )
        raw.execute(f"INSERT INTO {VERSION_TABLE} (version) VALUES (0) ON CONFLICT DO NOTHING")
    elif now < max(migrations):
        _refuse_at_work(raw, server)
    for number in range(now + 1, max(migrations) + 1):
        for statement in migrations[number]:
            raw.execute(statement)
        raw.execute(f"UPDATE {VERSION_TABLE} SET version = %s", (number,))
    raw.execute(
        f"INSERT INTO {KEY_TABLE} (key) VALUES (%s) ON CONFLICT DO NOTHING",
        (SYSTEM_CLOCK.token() + SYSTEM_CLOCK.token(),),
    )


def _refuse_at_work(raw: Any, server: StateServer) -> None:
    """Raises StoreBusy while processes use the schema as it is."""
    alive = "SELECT 1 FROM participant WHERE seen >= extract(epoch FROM clock_timestamp()) - %s LIMIT 1"
    if raw.execute(alive, (ALIVE_SECONDS,)).fetchone() is not None:
        raise StoreBusy(
            f"jobs of an older dam-sync use the schema {SCHEMA} at {server}",
            hint="wait until they are done, and run again",
        )
