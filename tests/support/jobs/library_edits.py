"""Changes that somebody makes in a library, by the service's own calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import httpx

from dam_sync.model.asset import AssetId, Patch
from dam_sync.model.capabilities import Feature
from dam_sync.model.service import Service
from tests.support.jobs import small_jobs
from tests.support.jobs.open_service import opened_service
from tests.support.jobs.small_jobs import TOKEN, Small

T = TypeVar("T")


def closes(job: Path) -> bool:
    """Whether the job's source can hide an asset of its own."""

    async def ask(service: Service) -> bool:
        return (await service.schema()).capabilities.writes(Feature.CLOSED)

    return asyncio.run(_with_side(job, "source", ask))


def change_source(job: Path, asset: str, patch: Patch) -> None:
    """Somebody changes an asset of the job's source."""

    async def change(service: Service) -> None:
        await service.schema()
        await service.update(AssetId(asset), patch)

    asyncio.run(_with_side(job, "source", change))


def change_target(job: Path, asset: str, patch: Patch) -> None:
    """Somebody changes an asset of the job's target."""

    async def change(service: Service) -> None:
        await service.schema()
        await service.update(AssetId(asset), patch)

    asyncio.run(_with_side(job, "target", change))


async def _with_side(job: Path, role: str, act: Callable[[Service], Awaitable[T]]) -> T:
    async with opened_service(job, role, small_jobs.options()) as service:
        return await act(service)


def retitle_at_target(job: Small, number: int, title: str) -> None:
    """Somebody, or the service itself, writes another title of a `photo` at the target."""
    (there,) = [row["id"] for row in job.pair.target.assets if row["filename"] == f"photo-{number}.jpg"]
    address = f"{job.pair.target.url}/v2/assets/{there}/metadata?patch=title"
    done = httpx.put(
        address, json={"fields": {"title": [title]}}, headers={"Authorization": f"Bearer {TOKEN}"}, verify=False
    )
    assert done.status_code < 300, done.text
