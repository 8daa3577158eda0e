"""What asyncio's own locks, groups and timeouts cost beside those of anyio: why the engine uses the former."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import anyio
import pytest

from tests.support.measuring.printed_table import show

pytestmark = pytest.mark.bench

ROUNDS = 5_000
DEARER = 1.3  # anyio may come that near before the choice is made again


async def nothing() -> None:
    """A task that does nothing."""


async def entered(context: Callable[[], AbstractAsyncContextManager[object]]) -> None:
    for _ in range(ROUNDS):
        async with context():
            pass


async def lock_of_asyncio() -> None:
    lock = asyncio.Lock()
    await entered(lambda: lock)


async def lock_of_anyio() -> None:
    lock = anyio.Lock()
    await entered(lambda: lock)


async def group_of_asyncio() -> None:
    for _ in range(ROUNDS):
        async with asyncio.TaskGroup() as group:
            group.create_task(nothing())


async def group_of_anyio() -> None:
    for _ in range(ROUNDS):
        async with anyio.create_task_group() as group:
            group.start_soon(nothing)


async def timeout_of_asyncio() -> None:
    for _ in range(ROUNDS):
        async with asyncio.timeout(60):
            await nothing()


async def timeout_of_anyio() -> None:
    for _ in range(ROUNDS):
        with anyio.fail_after(60):
            await nothing()


PAIRS = {
    "lock": (lock_of_asyncio, lock_of_anyio),
    "task group": (group_of_asyncio, group_of_anyio),
    "timeout": (timeout_of_asyncio, timeout_of_anyio),
}


def processor_time(work: Callable[[], Awaitable[None]]) -> float:
    """Microseconds a round, the least of three."""

    async def run() -> None:
        await work()

    spent = []
    for _ in range(3):
        before = time.process_time()
        asyncio.run(run())
        spent.append(time.process_time() - before)
    return min(spent) / ROUNDS * 1e6


@pytest.mark.parametrize("name", PAIRS)
def test_asyncio_is_cheaper(name: str) -> None:
    ours, theirs = map(processor_time, PAIRS[name])
    rows = [("asyncio, µs", ours), ("anyio, µs", theirs), ("ratio", theirs / ours)]
    show(f"Processor time of a {name}", ("", "measured"), rows)
    assert theirs > ours * DEARER
