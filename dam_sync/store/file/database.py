"""The SQLite file itself: where it is, who may read it, how it is opened, and what its errors mean.

What a commit survives, by the level of `synchronous` under a write-ahead log; ours is FULL:

- OFF: a killed process loses nothing; a power failure may damage the file.
- NORMAL: a power failure may lose the last commits; the file stays consistent.
- FULL: a power failure loses nothing, unless the disk confirms flushes that it has not made.
- EXTRA: as FULL; it differs only without a write-ahead log.

A commit is a promise to the services: an intent must be on disk before its call is sent, or the call is sent twice
after a power failure. NORMAL may lose just these. If a disk or a virtual machine confirms a flush before it has
happened, no level helps: the state is then restored from a copy, and what was done since is found at the target by its
marker or parked.

A copy of the file alone, without `-wal` next to it, lacks the newest commits, and one made during a write may be
inconsistent. `state JOB export FILE` writes a complete one, even during a run.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dam_sync.model.errors import NO_ROOM, ConfigError, DamSyncError, DiskFull, StoreBusy
from dam_sync.store.file.lock_holder import holder_of

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

BUSY_SECONDS = 10.0  # how long a statement waits for another process to release the file
ALMOST_FULL_BYTES = 1024 * 1024
PROBE_BYTES = 64 * 1024
STATE = "the state"
OWNER_FILE, OWNER_FOLDER = 0o600, 0o700
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
CACHE_KIB = 4 * 1024
WAL_PAGES = 2_000  # pages after which SQLite moves the log back into the file
LARGEST_LOG = 2 * WAL_PAGES * 4096  # bytes that it practically never exceeds

HELPERS = ("-wal", "-shm", "-journal")  # files that SQLite keeps next to a state

_TRIES = 20
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_NOT_ALLOWED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_REFUSED = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}


def path_of(where: Path | str) -> Path:
    """The file of a path or a `sqlite:///` URL. Raises ConfigError for the URL of another database."""
    text = str(where)
    scheme, colon, rest = text.partition(":/")
    if not colon or len(scheme) < 2 or not scheme.replace("+", "").isalnum():
        return Path(text)
    if scheme != "sqlite":
        hint = "name a file in `state:`"
        raise ConfigError(f"the state must be an SQLite file, not {scheme}", hint=hint)
    return Path("/" + rest.lstrip("/")) if rest.startswith("///") else Path(rest.lstrip("/"))


def make_file(path: Path, what: str = STATE, *, new: bool = False) -> None:
    """Create an empty owner-only file, in an owner-only folder if that is missing; safe to repeat
    unless it must be `new`.

    Both survive a power failure. Raises ConfigError for a symbolic link, wherever it leads.
    """
    refuse_link(path, what)
    with translate_errors(path, what):
        missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=OWNER_FOLDER, exist_ok=True)
        made = not path.exists()
        handle = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK | (os.O_EXCL if new else 0), OWNER_FILE)
        try:
            if os.fstat(handle).st_mode & 0o077:
                os.fchmod(handle, OWNER_FILE)
        finally:
            os.close(handle)
        for folder in (path.parent, *(each.parent for each in missing)) if made else ():
            flush_folder(folder)


def refuse_link(path: Path, what: str = STATE) -> None:
    """Raises ConfigError for a folder, and for a symbolic link: in a folder that others can write to, it may lead to
    any file of this user."""
    if path.is_symlink():
        hint = "name the file itself, in a folder that only you can write"
        raise ConfigError(f"{what} {path} is a symbolic link, which is not followed", hint=hint)
    if path.is_dir():
        raise ConfigError(f"{what} {path} is a folder, not a file", hint=f"name a file, for example {path / 'job.db'}")


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to disk. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def engine_of(
    path: Path, *, read_only: bool = False, busy_seconds: float = BUSY_SECONDS, wal_pages: int = WAL_PAGES
) -> Engine:
    """An engine of one connection, without transactions of its own: `transaction` begins them.

    A file on a read-only medium, which allows not even helper files of SQLite, is opened as immutable.
    """
    from sqlalchemy import create_engine  # takes longer to import than `status` has
    from sqlalchemy.pool import StaticPool

    def connect() -> sqlite3.Connection:
        return _prepared(
            _connect_reader(path, busy_seconds) if read_only else _connect_writer(path, busy_seconds, wal_pages)
        )

    return create_engine("sqlite://", creator=connect, poolclass=StaticPool, isolation_level="AUTOCOMMIT")


def read_connection(path: Path) -> sqlite3.Connection:
    """A connection that only reads, as those of engines, for what needs none. Must be closed."""
    return _prepared(_connect_reader(path, BUSY_SECONDS))


def resting_connection(path: Path) -> sqlite3.Connection:
    """The same for a file without helper files, of which it makes none. Must be closed."""
    return _prepared(_connect_immutable(path))


@contextmanager
def connected(engine: Engine) -> Iterator[Connection]:
    """The connection of an engine that is needed only here; both are released."""
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    with _closed_on_error(connection):
        connection.isolation_level = None
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute("PRAGMA trusted_schema = OFF")
    return connection


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def vacuum(path: Path) -> None:
    """Shrink the file after rows were removed. Nobody else may have it open."""
    with translate_errors(path), connected(engine_of(path)) as connection:
        raw = raw_of(connection)
        raw.execute("VACUUM")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class transaction:  # noqa: N801 -- reads as a word, like those of contextlib
    """A transaction; IMMEDIATE locks the file at once, DEFERRED only reads a consistent state."""

    __slots__ = ("_begin", "_raw")

    def __init__(self, connection: Connection | sqlite3.Connection, kind: str = "IMMEDIATE") -> None:
        self._raw, self._begin = raw_of(connection), f"BEGIN {kind}"

    def __enter__(self) -> None:
        self._raw.execute(self._begin)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._raw.execute("COMMIT")
        finally:
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")


def raw_of(connection: Connection | sqlite3.Connection) -> sqlite3.Connection:
    """The connection of the driver, for what is too slow through SQLAlchemy."""
    if isinstance(connection, sqlite3.Connection):
        return connection
    raw = connection.connection.dbapi_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


class translate_errors:  # noqa: N801 -- reads as a word, like those of contextlib
    """Translate errors of SQLite and of the file system into ours. what: the name of the file in messages."""

    __slots__ = ("_path", "_what")

    def __init__(self, path: Path, what: str = STATE) -> None:
        self._path, self._what = path, what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(original := getattr(error, "orig", None), sqlite3.Error):  # of SQLAlchemy
            raise explain_error(original, self._path, self._what) from error
        if isinstance(error, UnicodeDecodeError):
            raise _damaged(self._path, self._what, error) from error
        if isinstance(error, sqlite3.Error | OSError):
            raise explain_error(error, self._path, self._what) from error


def explain_error(error: BaseException, path: Path, what: str = STATE) -> DamSyncError:
    """The error to raise for an error of SQLite or of the file system."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if _is_busy(error):
        holder = holder_of(path) or "another process"
        return StoreBusy(f"{holder} holds {what} {path}", hint="wait until it is done and run again")
    if (limit := _limit_reached(error, path)) is not None:
        hint = (
            "raise this limit (`ulimit -f`, or `LimitFSIZE=` of a systemd unit), or free some space in "
            f"{path.parent} if its disk has a quota, and run the same command again; it resumes where it stopped"
        )
        bound = f"a file of this process may have at most {limit:,} bytes"
        return DiskFull(f"no space left to write {what} {path}: {bound}", path=path, hint=hint)
    if code == sqlite3.SQLITE_FULL or _is_full(error, path):
        hint = f"free some space in {path.parent} and run the same command again; it resumes where it stopped"
        return DiskFull(f"no space left to write {what} {path}", path=path, hint=hint)
    if code in _BROKEN:
        return _damaged(path, what, error)
    if code in _REFUSED or (isinstance(error, OSError) and error.errno in _NOT_ALLOWED):
        hint = (
            "check that the file and its folder exist, that this user may read and write both,"
            " and that the disk is not mounted read-only"
        )
        return ConfigError(f"{what} {path} cannot be opened or cannot be written ({_plain(error)})", hint=hint)
    hint = "check the disk and the `state:` line of the job file"
    if isinstance(error, OSError) and error.errno == errno.EBUSY:
        hint = f"mount the folder {path.parent} instead of the file alone, which cannot be replaced then"
    return ConfigError(f"{what} {path} cannot be opened or cannot be written ({_plain(error)})", hint=hint)


def _is_busy(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY


_OTHER = "name another file, if this one was never a state or an export of one"


def _damaged(path: Path, what: str, error: BaseException) -> ConfigError:
    hint = "restore it from a backup; without one, rebuild the links with `adopt`"
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_NOTADB:
        return ConfigError(
            f"{what} {path} is damaged or not a state of dam-sync ({error})", hint=f"{_OTHER}; or {hint}"
        )
    return ConfigError(f"{what} {path} is damaged or not a state of dam-sync ({error})", hint=hint)


def _plain(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _limit_reached(error: BaseException, path: Path) -> int | None:
    """The size that files of this process may have, if one of the state may have reached it, which SQLite reports as
    "disk I/O error". None otherwise."""
    too_large = isinstance(error, OSError) and error.errno == errno.EFBIG
    if not too_large and getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_IOERR:
        return None
    try:
        import resource  # not on every system
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    files = (path.with_name(path.name + ending) for ending in ("", *HELPERS))
    largest = max((file.stat().st_size for file in files if file.exists()), default=0)
    reached = too_large or largest + LARGEST_LOG > limit  # the log may have reached it, and be removed by now
    return limit if limit != resource.RLIM_INFINITY and reached else None


def _is_full(error: BaseException, path: Path) -> bool:
    """SQLite reports "disk I/O error" for several kinds of full disk, and for a quota."""
    if isinstance(error, OSError):
        return error.errno in NO_ROOM
    if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_IOERR:
        return False
    try:
        if shutil.disk_usage(path.parent).free < ALMOST_FULL_BYTES:
            return True
        with tempfile.TemporaryFile(dir=path.parent, buffering=0) as probe:
            return probe.write(bytes(PROBE_BYTES)) < PROBE_BYTES
    except OSError as found:
        return found.errno in NO_ROOM


def _connect_writer(path: Path, busy_seconds: float, wal_pages: int) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False, timeout=busy_seconds)
    with _closed_on_error(connection):
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {wal_pages}")
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Of two that make this change in a new file SQLite refuses one at once, whatever its timeout; a transaction
    waits until the other has done it."""
    for _ in range(_TRIES):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as refused:
            if not _is_busy(refused):
                raise
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        else:
            return
    connection.execute("PRAGMA journal_mode = WAL")


def _connect_reader(path: Path, busy_seconds: float) -> sqlite3.Connection:
    address = path.absolute().as_uri()
    try:
        connection = sqlite3.connect(f"{address}?mode=ro", uri=True, check_same_thread=False, timeout=busy_seconds)
        with _closed_on_error(connection):
            connection.execute("PRAGMA schema_version")
    except sqlite3.OperationalError:
        if path.with_name(path.name + "-wal").exists() or not path.exists():
            raise
        connection = _connect_immutable(path)
    return connection


def _connect_immutable(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, check_same_thread=False)
