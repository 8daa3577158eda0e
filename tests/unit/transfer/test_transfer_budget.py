"""Memory for file bytes is never exceeded, given back whatever happens, and served in turn."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.transfer.budget import MemoryBudget


@given(sizes=st.lists(st.integers(0, 15), max_size=30), cancelled=st.sets(st.integers(0, 29)))
async def test_the_memory_in_use_never_exceeds_the_total_and_all_of_it_is_released(
    sizes: list[int], cancelled: set[int]
) -> None:
    budget = MemoryBudget(10)
    served = []

    async def work(number: int, size: int) -> None:
        async with budget.hold(size):
            assert budget.held <= 10
            served.append(number)
            for _ in range(number % 3):
                await asyncio.sleep(0)

    tasks = [asyncio.create_task(work(number, size)) for number, size in enumerate(sizes)]
    await asyncio.sleep(0)
    for number in cancelled & set(range(len(tasks))):
        tasks[number].cancel()
        await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert budget.held == 0
    assert set(range(len(sizes))) - cancelled <= set(served)
    in_turn = [number for number in served if sizes[number]]
    assert in_turn == sorted(in_turn)


async def test_a_request_larger_than_the_budget_gets_all_of_it() -> None:
    budget = MemoryBudget(10)
    async with budget.hold(25):
        assert budget.held == 10
    assert budget.held == 0


async def test_a_large_request_is_not_starved() -> None:
    budget = MemoryBudget(10)
    order = []

    async def work(name: str, size: int) -> None:
        async with budget.hold(size):
            order.append(name)

    tasks = [asyncio.create_task(work("large", 8)), asyncio.create_task(work("small", 1))]
    async with budget.hold(5):
        await asyncio.sleep(0)
        assert order == []
    await asyncio.gather(*tasks)
    assert order == ["large", "small"]


async def test_a_permit_granted_and_cancelled_in_the_same_moment_is_returned() -> None:
    budget = MemoryBudget(10)

    async def work() -> None:
        async with budget.hold(10):
            pass

    task = asyncio.create_task(work())
    async with budget.hold(10):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert budget.held == 0


async def test_an_error_inside_returns_the_permit() -> None:
    budget = MemoryBudget(10)
    with pytest.raises(KeyError):
        async with budget.hold(4):
            raise KeyError
    assert budget.held == 0


def test_an_empty_budget_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one byte"):
        MemoryBudget(0)


async def test_the_same_bytes_are_not_held_twice() -> None:
    budget = MemoryBudget(20)

    async def send(size: int) -> None:
        async with budget.hold(size):
            await asyncio.sleep(0)

    async def work() -> None:
        async with budget.hold(10):
            await asyncio.sleep(0)
            async with budget.hold(10):
                await asyncio.sleep(0)
            await asyncio.gather(send(4), send(10))

    await asyncio.wait_for(asyncio.gather(*[work() for _ in range(5)]), 5)
    assert budget.held == 0


async def test_more_than_the_outer_hold_takes_the_rest() -> None:
    budget, other = MemoryBudget(20), MemoryBudget(20)
    async with budget.hold(5), budget.hold(8), other.hold(8):
        assert (budget.held, other.held) == (8, 8)
    async with budget.hold(8):
        assert budget.held == 8
