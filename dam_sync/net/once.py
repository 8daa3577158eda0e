"""Things to be done by one for all who ask at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """Something to be learnt by calls, once, however many ask at the same time; a failure is not remembered."""

    def __init__(self, load: Callable[[], Awaitable[T]]) -> None:
        self._load = load
        self._known: tuple[T] | None = None
        self._turns = Turns()

    async def get(self) -> T:
        """The value, loaded by the first who asks."""
        if self._known is None:
            async with self._turns.of(""):
                if self._known is None:
                    self._known = (await self._load(),)
        return self._known[0]

    async def again(self) -> T:
        """The value as it is now."""
        self._known = None
        return await self.get()

    @property
    def now(self) -> T | None:
        """The value where it is known already; no call."""
        return self._known[0] if self._known else None

    async def renewed(self, stale: T) -> T:
        """A value newer than `stale`; loads at most once however many hold the same stale one."""
        if self._known is not None and self._known[0] is stale:
            self._known = None
        return await self.get()

    def put(self, value: T) -> None:
        """What is known from now on."""
        self._known = (value,)

    def forget(self) -> None:
        """Learn it anew when it is asked for next."""
        self._known = None


class Turns:
    """One writer at a time for each name; the others come when it is done and look first."""

    def __init__(self) -> None:
        self._busy: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        """Waits until nobody has the turn."""
        while name in self._busy:
            await self._busy[name].wait()
        done = self._busy[name] = asyncio.Event()
        try:
            yield
        finally:
            del self._busy[name]
            done.set()


async def together(calls: Sequence[Coroutine[None, None, T]]) -> list[T]:
    """The results of a few calls made at the same time, in their order; the first error alone, not a group of them."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]
