"""Detects that the state file was deleted or replaced during a run, and saves its contents."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path

from sqlalchemy import Connection

from dam_sync.model.errors import DamSyncError, SafetyStop
from dam_sync.store.file.database import make_file, raw_of, translate_errors

RESCUED = ".rescued"


class FileIdentity:
    """The file that was opened, and whether its path still refers to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _identity(path)
        self._helpers = [path.with_name(path.name + suffix) for suffix in ("-wal", "-shm")]
        self._ours: list[tuple[int, int] | None] = []

    def remember(self) -> None:
        """Called after a commit: remember which helper files belong to this file."""
        if not self._ours:
            self._ours = [_identity(helper) for helper in self._helpers]

    @property
    def is_lost(self) -> bool:
        """Whether the file was removed, or replaced by another: what is written now would be lost."""
        return _identity(self._path) != self._file

    def rescued(self, connection: Connection) -> SafetyStop:
        """The error to stop with, after saving a copy of everything committed next to the lost file.

        The log of the lost file is removed too: SQLite would apply it to the next file of that name.
        """
        what = "replaced by another file" if self._path.exists() else "removed"
        message = f"the state {self._path} was {what} while this process used it"
        try:
            kept = _copy(connection, self._path)
        except DamSyncError as error:
            hint = f"restore it from a backup before the next run; its contents could not be saved ({error.message})"
            return SafetyStop(message, hint=hint)
        for helper, ours in zip(self._helpers, self._ours, strict=False):
            if ours is not None and _identity(helper) == ours:
                helper.unlink()
        hint = f"its contents are saved in {kept}: move that file to {self._path}, and run the same command again"
        return SafetyStop(message, hint=hint)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _copy(connection: Connection, path: Path) -> Path:
    names = (path.with_name(f"{path.name}{RESCUED}{f'-{number}' if number > 1 else ''}") for number in count(1))
    kept = next(name for name in names if not os.path.lexists(name))
    make_file(kept, new=True)
    with translate_errors(kept), closing(sqlite3.connect(kept)) as copy:
        raw_of(connection).backup(copy)
    return kept
