"""Temporary databases of one command."""

from __future__ import annotations

import sqlite3
from pathlib import Path


class ScratchDatabase:
    """A file in a temporary folder; nothing in it outlives the command, so nothing is synced to disk."""

    def __init__(self, path: Path, schema: str, *, any_thread: bool = False) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=not any_thread)
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.executescript(schema)

    def close(self) -> None:
        """Release the file; safe to repeat."""
        self._db.close()
