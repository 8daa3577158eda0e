"""The schema of a database that all jobs share whose states are in it: its tables, and how it is created."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from psycopg import errors, sql
from sqlalchemy import BigInteger, Column, Double, Identity, Index, MetaData, Table, Text
from sqlalchemy.dialects.postgresql import psycopg as postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import ConfigError
from dam_sync.model.state_server import StateServer
from dam_sync.store.server.database import raw_of, translated, writing
from dam_sync.store.server.threads import ServerConnection

SCHEMA: Final = "dam_sync"  # of no job: theirs have a suffix
KEY_TABLE: Final = "digest_key"
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
CALLS = (
    Table(  # API calls by slice of time, of each process; those of a slice -1 name jobs whose earlier ones are added
        "call_count",
        SHARED,
        Column("credential", Text, primary_key=True),
        Column("slice", BigInteger, primary_key=True),
        Column("process", Text, primary_key=True),
        Column("calls", BigInteger, nullable=False),
    )
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


def open_shared(server: StateServer, patience: timedelta) -> tuple[ServerConnection, bytes]:
    """A connection to the schema that all jobs of a database share, which is created if it is missing, and the key of
    its digests. Raises ConfigError, StoreUnreachable."""
    link = ServerConnection(server, patience)
    try:
        with translated(server):
            return link, _made(link, server)
    except BaseException:
        link.close()
        raise


def _made(link: ServerConnection, server: StateServer) -> bytes:
    """Create the tables if they are missing; returns the key of the digests. Raises ConfigError without the right."""
    raw = raw_of(link.connection)
    try:
        names = [f"{SCHEMA}.{name}" for name in (*SHARED.tables, KEY_TABLE)]
        known = raw.execute("SELECT bool_and(to_regclass(name) IS NOT NULL) FROM unnest(%s::text[]) name", (names,))
        if known.fetchone() != (True,):  # also after an update that brings new ones
            with writing(link.connection, server):
                _create(raw)
        row = raw.execute(f"SELECT key FROM {KEY_TABLE}").fetchone()
    except errors.InsufficientPrivilege as error:
        words = " ".join(str(error).split())
        raise ConfigError(
            f"the schema {SCHEMA}, in which jobs share rate limits and targets, cannot be used at {server} ({words})",
            hint=f"let the user create a schema in the database, or use {SCHEMA} and all of its tables if another user"
            " created it",
        ) from None
    assert row is not None
    return bytes.fromhex(row[0])


def _create(raw: Any) -> None:
    dialect: Any = postgresql.dialect()  # type: ignore[no-untyped-call]
    raw.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(SCHEMA)))
    for table in SHARED.sorted_tables:
        raw.execute(str(CreateTable(table, if_not_exists=True).compile(dialect=dialect)))
        for index in table.indexes:
            raw.execute(str(CreateIndex(index, if_not_exists=True).compile(dialect=dialect)))
    raw.execute("ALTER TABLE permit SET (fillfactor = 50)")  # its rows are changed all the time
    raw.execute(
        f"CREATE TABLE IF NOT EXISTS {KEY_TABLE} (one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one), key TEXT NOT NULL)"
    )
    raw.execute(
        f"INSERT INTO {KEY_TABLE} (key) VALUES (%s) ON CONFLICT DO NOTHING",
        (SYSTEM_CLOCK.token() + SYSTEM_CLOCK.token(),),
    )
