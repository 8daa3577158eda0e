"""Tests of the state: a clock that is set, rows of a listing, and changes behind its back."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dam_sync.model.asset import AssetId, Entry, Revision
from dam_sync.store.store import SqlStore
from tests.support.state.postgres import execute

_PROCESSES = itertools.count(1)
LATER_RUNS = """
INSERT INTO run (job, command, state, started_at, ended_at, beat_at, owner, host, pid, listed, unchanged,
                 shards_complete, outcome)
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
SELECT job, command, state, started_at, ended_at, beat_at, owner, host, pid, listed, unchanged, shards_complete, outcome
FROM run, n WHERE id = 1
"""  # as many copies of the first run as a listing shows


class SetClock:
    """Time stands still until a test moves it with `skip`; no two give the same token."""

    def __init__(self, start: datetime = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)) -> None:
        self._now, self._monotonic = start, 0.0

    def now(self) -> datetime:
        """See `Clock.now`."""
        return self._now

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`: it passes at once."""
        self.skip(seconds)

    def chance(self) -> float:
        """See `Clock.chance`."""
        return 0.5

    def token(self) -> str:
        """See `Clock.token`."""
        return f"{next(_PROCESSES):032x}"

    def skip(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds


def entries(*names: str, revision: str = "r1") -> tuple[Entry, ...]:
    """Thin rows of a listing."""
    return tuple(Entry(AssetId(name), Revision(revision)) for name in names)


async def changed(store: SqlStore, statement: str) -> None:
    """Change the tables of a state behind its back."""
    if isinstance(store.place, Path):
        with closing(sqlite3.connect(store.place)) as raw, raw:
            raw.execute(statement)
    else:
        await asyncio.to_thread(execute, store.place, statement)
