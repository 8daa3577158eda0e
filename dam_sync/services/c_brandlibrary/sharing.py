"""Calls that assets being made at the same time share: field values of many, one look at many (wire C 6.7, 6.8)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from dam_sync.model.clock import Clock
from dam_sync.services.c_brandlibrary import facts

T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True, eq=False)
class Seat:
    """One who is on the way to ask."""

    taken: bool = True


@dataclass(slots=True)
class Shared(Generic[T, R]):
    """What several ask for is sent for all of them, once all who are on the way have come: a slow one is waited for a
    little while and then asks with the next. `send` gives the results in order, or fails for all."""

    clock: Clock
    send: Callable[[Sequence[T]], Awaitable[Sequence[R]]]
    _coming: set[Seat] = field(default_factory=set)
    _waiting: list[tuple[T, asyncio.Future[R]]] = field(default_factory=list)

    @contextmanager
    def seat(self) -> Iterator[Seat]:
        """Held from the start by one who will ask, or will end without."""
        mine = Seat()
        self._coming.add(mine)
        try:
            yield mine
        finally:
            self._coming.discard(mine)

    async def ask(self, item: T, seat: Seat) -> R:
        """The result for this one; an error of the call is raised for each who shared it."""
        self._coming.discard(seat)
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        first = not self._waiting
        self._waiting.append((item, answer))
        if first:
            until = self.clock.monotonic() + facts.SHARED_SECONDS
            while not answer.done() and self._coming and self.clock.monotonic() < until:
                await self.clock.sleep(facts.SHARED_TICK)
            if any(mine is answer for _, mine in self._waiting):
                await self._sent()
        return await answer

    async def _sent(self) -> None:
        some, self._waiting = self._waiting, []
        try:
            results = await self.send([item for item, _ in some])
        except Exception as error:  # noqa: BLE001 - told to each who asked
            for _, answer in some:
                if not answer.done():
                    answer.set_exception(copy(error))
            return
        except BaseException:
            for _, answer in some:
                answer.cancel()
            raise
        for (_, answer), result in zip(some, results, strict=True):
            if not answer.done():
                answer.set_result(result)
