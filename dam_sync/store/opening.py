"""The SQLite file itself: where it is, who may read it, how it is opened, and what its errors mean to people."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from dam_sync.model.errors import ConfigError, DamSyncError, DiskFull, StoreBusy

BUSY_SECONDS = 10.0  # how long a statement waits for another process to let the file go
ALMOST_FULL_BYTES = 1024 * 1024
OWNER_FILE, OWNER_FOLDER = 0o600, 0o700
CACHE_KIB = 4 * 1024
WAL_PAGES = 2_000  # pages after which SQLite moves the log back into the file

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_REFUSED = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}


def path_of(where: Path | str) -> Path:
    """The file meant by a path or a `sqlite:///` address. Raises ConfigError on the address of another database."""
    text = str(where)
    scheme, colon, rest = text.partition(":/")
    if not colon or len(scheme) < 2 or not scheme.replace("+", "").isalnum():
        return Path(text)
    if scheme != "sqlite":
        hint = "name a file in `state:`"
        raise ConfigError(f"the state is kept in SQLite in this release, not in {scheme}", hint=hint)
    return Path("/" + rest.lstrip("/")) if rest.startswith("///") else Path(rest.lstrip("/"))


def make_file(path: Path) -> None:
    """An empty file only its owner may read, in a folder only its owner may enter where we make one; safe to repeat."""
    with told(path):
        missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=OWNER_FOLDER, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), OWNER_FILE))
        if path.stat().st_mode & 0o077:
            path.chmod(OWNER_FILE)


def engine_of(path: Path, *, read_only: bool = False) -> Engine:
    """An engine of one connection, without transactions of its own: `transaction` makes them.

    A file on a medium that takes no writes, not even SQLite's own helper files, is opened as it lies there.
    """

    def connect() -> sqlite3.Connection:
        connection = _connect_reader(path) if read_only else _connect_writer(path)
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        return connection

    return create_engine("sqlite://", creator=connect, poolclass=StaticPool, isolation_level="AUTOCOMMIT")


@contextmanager
def transaction(connection: Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """All or nothing; IMMEDIATE takes the file at once, DEFERRED only reads a consistent state."""
    raw = raw_of(connection)
    raw.execute(f"BEGIN {kind}")
    try:
        yield
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise


def raw_of(connection: Connection) -> sqlite3.Connection:
    """The driver's own connection, for what costs too much through the layers."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turns errors of SQLite and of the file system into ours."""
    try:
        yield
    except DBAPIError as error:
        raise meaning_of(error.orig or error, path) from error
    except (sqlite3.Error, OSError) as error:
        raise meaning_of(error, path) from error


def meaning_of(error: BaseException, path: Path) -> DamSyncError:
    """What an error of SQLite or of the file system means to the operator."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _BUSY:
        return StoreBusy(f"another process holds the state {path}", hint="wait until it is done and run again")
    if code == sqlite3.SQLITE_FULL or _is_full(error, path):
        return DiskFull(f"no room left to write the state {path}")
    if code in _BROKEN:
        hint = "restore it from a backup; without one the assets that were moved are not known any more"
        return ConfigError(f"the state {path} is damaged or not a state of dam-sync ({error})", hint=hint)
    if code in _REFUSED or isinstance(error, PermissionError):
        hint = "check that the file and its folder exist and that this user may read and write both"
        return ConfigError(f"the state {path} cannot be opened or cannot be written ({_plain(error)})", hint=hint)
    hint = "check the disk and the `state:` line of the job file"
    return ConfigError(f"the state {path} cannot be opened or cannot be written ({_plain(error)})", hint=hint)


def _plain(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _is_full(error: BaseException, path: Path) -> bool:
    """SQLite says "disk I/O error" for several kinds of full disk."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_IOERR:
        return False
    try:
        return shutil.disk_usage(path.parent).free < ALMOST_FULL_BYTES
    except OSError:
        return False


def _connect_writer(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False, timeout=BUSY_SECONDS)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
    return connection


def _connect_reader(path: Path) -> sqlite3.Connection:
    address = path.absolute().as_uri()
    try:
        connection = sqlite3.connect(f"{address}?mode=ro", uri=True, check_same_thread=False, timeout=BUSY_SECONDS)
        connection.execute("PRAGMA schema_version")
    except sqlite3.OperationalError:
        if path.with_name(path.name + "-wal").exists() or not path.exists():
            raise
        connection = sqlite3.connect(f"{address}?immutable=1", uri=True, check_same_thread=False)
    return connection
