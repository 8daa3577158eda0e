"""Opening a state file: owner-only, write-ahead log, in the newest format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import DatabaseError

from dam_sync.model.errors import ConfigError
from dam_sync.store.migrations import migrate
from dam_sync.store.writer import told

BUSY_MILLISECONDS = 5000


def open_engine(path: Path, *, read_only: bool) -> Engine:
    """An engine on one connection. Raises ConfigError for a file that is damaged, too new or not ours."""
    path = local_path(path)
    if not read_only:
        _prepare(path)
    engine = create_engine(f"sqlite:///{path}", connect_args={"check_same_thread": False})
    event.listen(engine, "connect", _on_connect(read_only))
    event.listen(engine, "begin", _on_begin(read_only))
    try:
        if read_only:
            with engine.connect() as connection:
                connection.exec_driver_sql("SELECT count(*) FROM note")
        else:
            migrate(engine, path)
    except DatabaseError as error:
        engine.dispose()
        failure = told(error)
        raise failure from error
    return engine


def local_path(path: Path | str) -> Path:
    """The file of a path or a `sqlite:///` URL. Raises ConfigError for other databases."""
    text = str(path)
    if text.startswith("sqlite:///"):
        return Path(text.removeprefix("sqlite:///"))
    if "://" in text or ":/" in text:
        raise ConfigError(f"state is kept in SQLite in this release, not in {text.partition(':')[0]}")
    return Path(text)


def _prepare(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise ConfigError(
            f"the state {path} cannot be written: {error.strerror}",
            hint="give yourself the right to write it, or name another `state:` file",
        ) from error


def _on_connect(read_only: bool) -> Any:
    def on_connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # we begin transactions ourselves
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        if read_only:
            cursor.execute("PRAGMA query_only = ON")
        else:
            cursor.execute("PRAGMA journal_mode = WAL")
            cursor.execute("PRAGMA synchronous = FULL")
        cursor.close()

    return on_connect


def _on_begin(read_only: bool) -> Any:
    def on_begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return on_begin
