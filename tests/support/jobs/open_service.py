"""The source or the target of a job, opened as somebody who works there does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from dam_sync.api.bootstrap import connect
from dam_sync.api.job_file import job_of
from dam_sync.model.run_options import RunOptions
from dam_sync.model.service import Service
from dam_sync.transfer.budget import MemoryBudget

MEMORY = 1 << 24


@asynccontextmanager
async def opened_service(
    job: Path, role: str, options: RunOptions, *, read_only: bool = False
) -> AsyncIterator[Service]:
    """The service of this role, probed, and closed in the end."""
    service = await connect(job_of(job, options.connectors), role, options, MemoryBudget(MEMORY), read_only=read_only)
    try:
        await service.probe()
        yield service
    finally:
        await service.close()
