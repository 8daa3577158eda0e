"""What goes on beside a run: its lease, and a look at its workers."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from dam_sync.engine.run.execute import under_lease
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import InternalError, SafetyStop
from dam_sync.store.store import SqlStore


class Held:
    """A run whose lease is kept."""

    async def beat(self, run: int) -> None:
        """It is."""

    async def await_former_workers(self) -> None:
        """There are none."""


async def test_a_run_fails_if_a_background_task_is_cancelled_by_nobody() -> None:
    async def beside() -> None:
        raise asyncio.CancelledError  # of a task of a library

    async def work() -> str:
        await asyncio.sleep(0.2)
        return "done"

    store: SqlStore = Held()  # type: ignore[assignment]
    with pytest.raises(InternalError, match="cancelled by nobody"):
        await under_lease(store, 1, SystemClock(), work(), beside())
    assert await under_lease(store, 1, SystemClock(), work()) == "done"


async def test_work_that_is_never_begun_is_closed() -> None:
    class Taken(Held):
        async def await_former_workers(self) -> None:
            raise SafetyStop("another process has taken this run over")

    async def work() -> None:
        raise AssertionError

    store: SqlStore = Taken()  # type: ignore[assignment]
    begun = work()
    with pytest.raises(SafetyStop):
        await under_lease(store, 1, SystemClock(), begun)
    assert inspect.getcoroutinestate(begun) == inspect.CORO_CLOSED
