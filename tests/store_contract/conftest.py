"""The contract of the store, for a file of SQLite and a schema of PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.state_server import StateServer
from dam_sync.store.store import SqlStore
from tests.support.state.clock_and_rows import SetClock
from tests.support.state.postgres import emptied, execute, started
from tests.support.state.shared_engine import SHARED

STORES = ("sqlite", "postgres")


@pytest.fixture
def clock() -> SetClock:
    """Time that stands still."""
    return SetClock()


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | StateServer:
    """Where an empty state is kept."""
    if request.param == "sqlite":
        return tmp_path / "job.db"
    return emptied("dam_sync_contract")


@pytest.fixture
def database() -> Iterator[StateServer]:
    """A database of the test alone, for what all jobs of a database share."""
    name = f"alone_{SYSTEM_CLOCK.token()}"
    execute(started(), f"CREATE DATABASE {name}")
    yield replace(started(), database=name)
    execute(started(), f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
async def store(place: Path | StateServer, clock: SetClock) -> AsyncIterator[SqlStore]:
    """An empty state."""
    opened = await SqlStore.open(place, clock, storage=SHARED)
    yield opened
    await opened.close()
