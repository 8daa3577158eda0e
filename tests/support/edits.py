"""Changes that somebody makes in a library, by the service's own calls."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dam_sync.app.connecting import MEMORY_FOR_FILES, connect, job_of
from dam_sync.app.wish import Wish
from dam_sync.model.asset import AssetId, Patch
from dam_sync.transfer.budget import MemoryBudget


def change_source(job: Path, asset: str, patch: Patch) -> None:
    """Somebody changes an asset of the job's source."""
    asyncio.run(_change(job, AssetId(asset), patch))


async def _change(job: Path, asset: AssetId, patch: Patch) -> None:
    service = connect(job_of(job), "source", Wish(), MemoryBudget(MEMORY_FOR_FILES), read_only=False)
    try:
        await service.probe()
        await service.schema()
        await service.update(asset, patch)
    finally:
        await service.close()
