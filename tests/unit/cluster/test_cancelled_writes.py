"""A worker whose write is cancelled by itself: the coordinator learns that the worker lost the asset."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Generator
from typing import Any

import pytest

from dam_sync.cluster import tasks
from dam_sync.cluster.messages import Joining, Order, Spent, WorkerResult, program
from dam_sync.cluster.workers import result_of
from dam_sync.engine.context.stages import Concluded
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import WorkerLost
from dam_sync.model.outcome import Outcome
from dam_sync.store.rows import Work
from dam_sync.store.server.workers import WorkerProcess


class Cancelled:
    """What Dask hands out for a task that ended with a CancelledError."""

    def __await__(self) -> Generator[Any, None, None]:
        yield from asyncio.sleep(0).__await__()
        raise asyncio.CancelledError


class Leaving:
    """A worker that loses the run while it writes."""

    process, has_left = WorkerProcess("host", 7, 0), True

    def spent(self) -> Spent:
        return Spent()

    async def write(self, order: Order) -> Outcome:
        raise asyncio.CancelledError

    async def close(self) -> None:
        """Nothing to leave."""


async def leaving(_: Any) -> Leaving:
    return Leaving()


async def test_a_write_that_is_cancelled_within_a_worker_is_reported() -> None:
    run = "a run of this test"
    await tasks.join(pickle.dumps(Joining(run, leaving, None, program())))  # type: ignore[arg-type]
    work = Work(1, AssetId("a"), 1)
    reply: WorkerResult = pickle.loads(
        await tasks.write(pickle.dumps(Order(run, Concluded(work, Outcome("skipped")), "t")))
    )
    assert isinstance(reply.error, WorkerLost)
    assert reply.left
    await tasks.leave(run)


async def test_a_cancelled_task_of_a_worker_is_a_lost_reply() -> None:
    assert await result_of(Cancelled()) is None


async def test_the_cancellation_of_the_coordinator_goes_on() -> None:
    waiting = asyncio.ensure_future(result_of(asyncio.get_running_loop().create_future()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
