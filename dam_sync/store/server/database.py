"""A schema of PostgreSQL that holds a state: how it is opened, its transactions, and what its errors mean.

As with the file, one process writes at a time: a writing transaction begins with an advisory lock, so the repositories
may read, decide and write without another in between. A second advisory lock, held by the session of the process that
holds the run, lets a process that takes over a run end the connection of the one before.

Every commit waits until it is on disk, whatever the server does for others (`synchronous_commit`).
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors
from psycopg.types.string import StrDumper, TextLoader
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from dam_sync.model.errors import ConfigError, DamSyncError, DiskFull, SafetyStop, StoreBusy, StoreUnreachable
from dam_sync.model.state_server import StateServer
from dam_sync.store.server.workers import no_place

BUSY_SECONDS = 10  # how long a statement waits for another process
CONNECT_SECONDS = 10
WRITER, RUN_HOLDER = "writer", "run"
# PostgreSQL has no NUL in a text. In its place is a code point that Unicode reserves for internal use; a text that
# has this one itself, or the one that marks it, has a pair instead, so that every text comes back as it was.
_KEPT_AS: Mapping[str, str] = {"\0": "\ufdd0", "\ufdd0": "\ufdd1\ufdd2", "\ufdd1": "\ufdd1\ufdd3"}
_READ_AS: Mapping[str, str] = {kept: text for text, kept in _KEPT_AS.items()}
_TO_KEEP, _KEPT = re.compile("[\0\ufdd0\ufdd1]"), re.compile("\ufdd0|\ufdd1[\ufdd2\ufdd3]")
_LIBPQ: Mapping[str, Any] = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
}
_SESSION: Mapping[str, str] = {
    "lock_timeout": f"{BUSY_SECONDS}s",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "idle_session_timeout": "0",  # locks of a run and of `watch` end with their session
    "standard_conforming_strings": "on",
    "bytea_output": "hex",
    "tcp_keepalives_idle": "15",  # a process that is gone silently must not hold a run for hours
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
_UNREACHABLE = (
    *(errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.TooManyConnections),
    errors.ProtocolViolation,  # the code of everything that PgBouncer says itself
)
_OF_ANOTHER_SESSION = (errors.DuplicatePreparedStatement, errors.InvalidSqlStatementName)
_REFUSED = (
    errors.InvalidPassword,
    errors.InvalidAuthorizationSpecification,
    errors.InsufficientPrivilege,
    errors.InvalidCatalogName,
    errors.ReadOnlySqlTransaction,
)
_REFUSALS = (
    *("authentication failed", "no password supplied", "does not exist", "no pg_hba.conf entry"),
    *("pg_hba.conf rejects", "permission denied", "is not permitted to log in"),
)
_CHECK = "check `state:` in the job file, its password and certificates, and the rights of the user: `check JOB`"
_HINTS: Mapping[str, str] = {
    "permission denied for database": "let the owner of the database execute: GRANT CONNECT ON DATABASE "
    '"{database}" TO "{user}";',
    "is not permitted to log in": 'let the administrator of the server execute: ALTER ROLE "{user}" LOGIN;',
    "password authentication failed": "correct the user or the password in `state:` of the job file, or the secret "
    "that it names",
    "no password supplied": "add the password to `state:` in the job file, for example postgresql+psycopg://"
    "{user}:${{env:STATE_PASSWORD}}@HOST/{database}",
    'database "': 'correct the name of the database in `state:`, or create it: CREATE DATABASE "{database}" '
    "ENCODING 'UTF8' TEMPLATE template0;",
    'role "': 'correct the user in `state:`, or create it: CREATE ROLE "{user}" LOGIN;',
    "no pg_hba.conf entry": "let the administrator of the server admit this host, user and database in pg_hba.conf, or "
    "add `?sslmode=require` to `state:` if the server wants TLS",
    'relation "': "if the schema is still there, name the server itself in `state:`, or a pooler in session mode: one "
    "in transaction mode gives the sessions of other processes",
    "read-only transaction": "name the primary server in `state:`; for several hosts, "
    "`?target_session_attrs=read-write` finds it",
}
_TLS: Mapping[str, str] = {  # libpq says so in English, and gives no code
    "server does not support SSL": "let the administrator of the server switch TLS on (`ssl = on`), or end "
    "`state:` with `?sslmode=disable` if nobody else reads the network on the way",
    "does not match host name": "write the host in `state:` as the certificate of the server names it",
    "certificate verify failed": "end `state:` with `?sslmode=verify-full&sslrootcert=FILE`, the certificate of the "
    "authority of the server, or let the administrator of the server renew its certificate",
}
_STARTING = ("starting up", "shutting down", "not yet accepting connections", "recovery mode")
_RESPONDED = re.compile(r" failed: (?!SSL)[^\s:]+: ")  # the severity, in the language of the server
_READ_WHY = (
    "the server responded: read why it refused. Correct user, password and database in `state:` of the job file, or "
    "let its administrator admit them; if it was about to start or full, run the same command again; it resumes where "
    "it stopped"
)
_FULL_SERVER = (
    "end other connections, or let the administrator of the server allow more (`max_connections`, or CONNECTION LIMIT "
    "of the role or database): a run needs about five; then run the same command again; it resumes where it stopped"
)
_BUSY = (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected)


class _Texts(StrDumper):
    """Texts with NUL, which services may send."""

    def dump(self, obj: str) -> Any:
        return super().dump(_TO_KEEP.sub(_kept, obj) if "\0" in obj or "\ufdd0" in obj or "\ufdd1" in obj else obj)


class _Loader(TextLoader):
    """The inverse of `_Texts`."""

    def load(self, data: Any) -> str | bytes:
        text = super().load(data)
        if isinstance(text, str) and ("\ufdd0" in text or "\ufdd1" in text):
            return _KEPT.sub(_read, text)
        return text


def _kept(found: re.Match[str]) -> str:
    return _KEPT_AS[found[0]]


def _read(found: re.Match[str]) -> str:
    return _READ_AS[found[0]]


def connect(server: StateServer) -> Connection:
    """A connection without transactions of its own. Raises StoreUnreachable, ConfigError."""
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: session(server), poolclass=NullPool, isolation_level="AUTOCOMMIT"
    )
    with translated(server):
        return engine.connect()


def session(server: StateServer) -> psycopg.Connection[Any]:
    """A connection of the driver. Raises its errors."""
    raw = psycopg.connect(autocommit=True, **_parameters(server))
    raw.adapters.register_dumper(str, _Texts)
    for name in ("text", "varchar"):
        raw.adapters.register_loader(name, _Loader)
    raw.execute(*_settings(server, **_newer(raw)))
    durable = "SELECT set_config('synchronous_commit', 'on', false)"
    raw.execute(f"{durable} WHERE current_setting('synchronous_commit') <> 'remote_apply'")
    return raw


async def connect_async(server: StateServer, **settings: str) -> psycopg.AsyncConnection[Any]:
    """A connection of the event loop, which waits there for locks and notifications. settings: of its session, besides
    those that every connection has. Raises errors of the driver."""
    raw = await psycopg.AsyncConnection.connect(autocommit=True, **_parameters(server))
    try:
        await raw.execute(*_settings(server, **_newer(raw), **settings))
    except BaseException:
        await raw.close()
        raise
    return raw


def _parameters(server: StateServer) -> dict[str, Any]:
    given: dict[str, Any] = {**_LIBPQ, **server.options, "dbname": server.database}
    given |= {"host": server.host, "port": server.port, "user": server.user, "password": server.password}
    given["application_name"] = application_name()
    return {key: value for key, value in given.items() if value not in ("", None)}


def _settings(server: StateServer, **more: str) -> tuple[str, list[str]]:
    """The statement that sets up a session. Names are looked for in the catalog of the server first, because who made
    the schema may have made functions there, which would run with the rights of this user."""
    settings = {"search_path": _search_path(server), **_SESSION, **more}
    calls = ", ".join(["pg_catalog.set_config(%s, %s, false)"] * len(settings))
    return f"SELECT {calls}", [each for pair in settings.items() for each in pair]


def _newer(raw: psycopg.BaseConnection[Any]) -> Mapping[str, str]:
    """Settings that older servers do not know."""
    return {"transaction_timeout": "0"} if raw.info.server_version >= 170_000 else {}


def application_name() -> str:
    """How the server names the connections of this process."""
    return f"dam-sync {os.getpid()} {socket.gethostname()}"[:63]


def raw_of(connection: Connection) -> psycopg.Connection[Any]:
    """The connection of the driver."""
    raw = connection.connection.dbapi_connection
    assert isinstance(raw, psycopg.Connection)
    return raw


@contextmanager
def reading(connection: Connection, server: StateServer) -> Iterator[None]:
    """A transaction that reads one consistent state."""
    with _transaction(connection, server, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"):
        yield


@contextmanager
def writing(connection: Connection, server: StateServer) -> Iterator[None]:
    """A transaction of the only writer."""
    with _transaction(connection, server):
        raw_of(connection).execute("SELECT pg_advisory_xact_lock(%s)", (server.lock_key(WRITER),))
        yield


@contextmanager
def _transaction(connection: Connection, server: StateServer, how: str = "BEGIN") -> Iterator[None]:
    raw = raw_of(connection)
    try:
        begin(raw, server, how)
        yield
        raw.execute("COMMIT")
    except BaseException:
        roll_back(raw)
        raise


def begin(raw: psycopg.Connection[Any], server: StateServer, how: str = "BEGIN") -> None:
    """Begin a transaction. Raises SafetyStop in a session that was set up for another schema, whose tables have the
    same names: a pooler may give one."""
    cursor = raw.execute(f"{how}; SELECT current_setting('search_path')".encode())
    cursor.nextset()
    if cursor.fetchone() != (_search_path(server),):
        raise pooled(server)


def _search_path(server: StateServer) -> str:
    return f'"{server.schema}"'  # names of jobs have no quotation marks


def roll_back(raw: psycopg.Connection[Any]) -> None:
    """End a transaction without its changes; a connection that is lost has ended it."""
    if not raw.closed and raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        raw.execute("ROLLBACK")


@contextmanager
def translated(server: StateServer) -> Iterator[None]:
    """Translate errors of the server into ours."""
    try:
        yield
    except DBAPIError as error:
        raise explained(error.orig or error, server) from error
    except psycopg.Error as error:
        raise explained(error, server) from error


def explained(error: BaseException, server: StateServer) -> DamSyncError:
    """The error to raise for an error of the driver."""
    why = _plain(error, server)
    if isinstance(error, _BUSY):
        return StoreBusy(f"another process holds the state {server}", hint="wait until it is done and run again")
    if isinstance(error, errors.DiskFull):
        return DiskFull(f"the server has no space left for the state {server}", hint="free some space on the server")
    if isinstance(error, _OF_ANOTHER_SESSION) or "bind message" in why:
        return pooled(server)
    if isinstance(error, _UNREACHABLE) or _is_lost(error):
        if _is_refusal(why):
            return _refused(server, why)
        return StoreUnreachable(f"the state {server} cannot be reached ({why})", hint=_hint_of_outage(why))
    return _refused(server, why)


def _hint_of_outage(why: str) -> str:
    if "too many" in why or "connection slots" in why:
        return _FULL_SERVER
    return _READ_WHY if _RESPONDED.search(why) and not any(mark in why for mark in _STARTING) else ""


def _is_lost(error: BaseException) -> bool:
    """Without a code it is an error of the connection, not of a statement."""
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and error.sqlstate is None


def _is_refusal(why: str) -> bool:
    """libpq gives no code for errors while connecting."""
    client = ("root certificate file", "certificate file", "private key file", *_TLS)
    return ("FATAL" in why and any(mark in why for mark in _REFUSALS)) or any(mark in why for mark in client)


def _refused(server: StateServer, why: str) -> ConfigError:
    hint = next((text for mark, text in (*_HINTS.items(), *_TLS.items()) if mark in why), _CHECK)
    hint = hint.format(user=server.user or "USER", database=server.database)
    return ConfigError(f"the state {server} cannot be opened or cannot be written ({why})", hint=hint)


def _plain(error: BaseException, server: StateServer) -> str:
    words = " ".join(str(error).split())
    return words.replace(server.password, "***") if server.password else words


def hold_run(connection: Connection, server: StateServer) -> None:
    """Called within a writing transaction that has found the run free, or its holder dead: from now on the session
    of this connection holds it. A connection that still does is ended. Raises StoreBusy if it cannot be."""
    raw, key = raw_of(connection), server.lock_key(RUN_HOLDER)
    if holds(raw, key):
        return
    for attempt in range(2):
        if raw.execute("SELECT pg_try_advisory_lock(%s)", (key,)).fetchone() == (True,):
            return
        if attempt == 0:
            raw.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE " + _OF_KEY, _halves(key))
    raise StoreBusy(
        f"a connection that cannot be ended holds the run of the state {server}",
        hint="end it on the server, then run again",
    )


def release_run(connection: Connection, server: StateServer) -> None:
    """Let the run go; safe to repeat."""
    raw, key = raw_of(connection), server.lock_key(RUN_HOLDER)
    if holds(raw, key):
        raw.execute("SELECT pg_advisory_unlock(%s)", (key,))


_OF_KEY = (
    "locktype = 'advisory' AND granted AND objsubid = 1 AND classid::bigint = %s AND objid::bigint = %s"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def take_place(connection: Connection, server: StateServer, places: int) -> int:
    """The first free place of a run, held by the session of this connection from now on. Raises StoreUnreachable if
    all are taken."""
    raw = raw_of(connection)
    for place in range(places):
        if raw.execute("SELECT pg_try_advisory_lock(%s, %s)", (server.place_key, place)).fetchone() == (True,):
            return place
    raise no_place(places)


def end_sessions(connection: Connection, server: StateServer, places: Sequence[int]) -> bool:
    """End the sessions that hold these places; returns whether there were any."""
    held = (
        "locktype = 'advisory' AND granted AND objsubid = 2 AND classid::bigint = %s AND objid::bigint = ANY(%s)"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    given = (server.place_key, list(places))
    return bool(
        raw_of(connection)
        .execute(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE {held}", given)
        .fetchall()
    )


def holds(raw: psycopg.Connection[Any], key: int) -> bool:
    """Whether the session of this connection holds this advisory lock."""
    chosen = f"SELECT 1 FROM pg_locks WHERE pid = pg_backend_pid() AND {_OF_KEY}"
    return raw.execute(chosen, _halves(key)).fetchone() is not None


def holder_of(raw: psycopg.Connection[Any], key: int) -> str:
    """`process 4711 on HOST` for the process whose session holds this advisory lock; empty if none does, or if it is
    not ours."""
    chosen = f"SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE {_OF_KEY}"
    found = raw.execute(chosen, _halves(key)).fetchone()
    words = str(found[0]).split(" ", 2) if found is not None else []
    return f"process {words[1]} on {words[2]}" if len(words) == 3 and words[1].isdigit() else ""


def _halves(key: int) -> tuple[int, int]:
    """How `pg_locks` shows a key of 64 bits."""
    whole = key & 0xFFFFFFFFFFFFFFFF
    return whole >> 32, whole & 0xFFFFFFFF


def pooled(server: StateServer) -> SafetyStop:
    """The error for a connection whose session is another one from transaction to transaction."""
    return SafetyStop(
        f"the connection to {server} goes through a pooler that shares sessions: locks of a run do not hold there",
        hint="connect to the server itself, or to a pooler in session mode",
    )
