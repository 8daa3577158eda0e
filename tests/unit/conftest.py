"""Fixtures that several modules share. A module that serves tenants names their service: `KIND`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from dam_sync.store.store import SqlStore
from tests.conformance.tenant import Start, Tenant, starting
from tests.support.state.clock_and_rows import SetClock
from tests.support.state.shared_engine import SHARED


@pytest.fixture
def clock() -> SetClock:
    """Time that stands still."""
    return SetClock()


@pytest.fixture
async def store(tmp_path: Path, clock: SetClock) -> AsyncIterator[SqlStore]:
    """An empty state."""
    opened = await SqlStore.open(tmp_path / "job.db", clock, storage=SHARED)
    yield opened
    await opened.close()


@pytest.fixture
async def start(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Start]:
    """Serves tenants of the module's kind."""
    async with starting(request.module.KIND, tmp_path) as begin:
        yield begin


@pytest.fixture
def tenant(start: Start) -> Tenant:
    """One with the usual library."""
    return start()


@pytest.fixture
async def raw(tenant: Tenant) -> AsyncIterator[httpx.AsyncClient]:
    """The administrator of a tenant of service B, by plain HTTP."""
    client = httpx.AsyncClient(
        base_url=f"{tenant.served.url}/api/v1",
        auth=("Administrator", "secret-b"),
        headers={"Accept": "application/json"},
        verify=False,
    )
    async with client:
        yield client
