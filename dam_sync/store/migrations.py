"""Numbered migrations of the state file, each in one transaction; `user_version` says how far a file is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, Engine
from sqlmodel import SQLModel

from dam_sync.model.errors import ConfigError
from dam_sync.store.tables import TABLES


def _first(connection: Connection) -> None:
    """Every table of the first release."""
    SQLModel.metadata.create_all(connection, tables=list(TABLES))


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_first,)


def migrate(engine: Engine, path: Path) -> None:
    """Bring the file up to date. Raises ConfigError when it was made by a newer dam-sync."""
    with engine.connect() as connection:
        version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    if version > len(MIGRATIONS):
        raise ConfigError(
            f"the state {path} was made by a newer dam-sync (format {version}, this one knows {len(MIGRATIONS)})",
            hint="update dam-sync, or give the job another `state:` file",
        )
    for number in range(version, len(MIGRATIONS)):
        with engine.begin() as connection:
            MIGRATIONS[number](connection)
            connection.exec_driver_sql(f"PRAGMA user_version = {number + 1}")
