"""State files that are opened again and again in one process: what SQLAlchemy compiled for one serves all."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sqlalchemy import Engine

from dam_sync.store.file.database import engine_of


def shared_engine(path: Path, *, read_only: bool = False) -> Engine:
    """See `engine_of`."""
    first, engine = _first(), engine_of(path, read_only=read_only)
    engine.dialect, engine._compiled_cache = first.dialect, first._compiled_cache
    engine.pool._dialect = engine.dialect
    return engine


@cache
def _first() -> Engine:
    engine = engine_of(Path(":memory:"))
    engine.connect().close()  # tells the dialect what the driver can do
    engine.dispose()
    return engine
