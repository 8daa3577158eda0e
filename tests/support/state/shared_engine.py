"""State files that are opened again and again in one process: what SQLAlchemy compiled for one serves all, and what the
migrations made of one empty file is copied into the others."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Engine

from dam_sync.store.base import Storage
from dam_sync.store.file.database import connected, engine_of
from dam_sync.store.migrations import migrate


def shared_engine(path: Path, *, read_only: bool = False) -> Engine:
    """See `engine_of`. A commit is flushed to the disk as in the product."""
    if not read_only and path.exists() and not path.stat().st_size:
        path.write_bytes(empty_state())
    first, engine = _first(), engine_of(path, read_only=read_only)
    engine.dialect, engine._compiled_cache = first.dialect, first._compiled_cache
    engine.pool._dialect = engine.dialect
    return engine


SHARED = Storage(engine=shared_engine)


@cache
def _first() -> Engine:
    engine = engine_of(Path(":memory:"))
    engine.connect().close()  # tells the dialect what the driver can do
    engine.dispose()
    return engine


@cache
def empty_state() -> bytes:
    """A state file without a run; made once in a process and in those that are forked from it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "job.db"
        path.touch()
        with connected(engine_of(path)) as connection:
            migrate(connection)
        return path.read_bytes()
