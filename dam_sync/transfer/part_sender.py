"""Reading and sending at the same time, with bounded tasks and memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import copy_context
from functools import partial
from typing import TypeAlias

from dam_sync.model.errors import DamSyncError, Disposition, IntegrityError, InternalError
from dam_sync.model.limits import Part
from dam_sync.model.ports import Budget, Content

Blocks: TypeAlias = Callable[[], AsyncIterator[bytes]]
"""The bytes of a part in blocks, started again each time it is called."""
Put: TypeAlias = Callable[[Part, Blocks], Awaitable[None]]

_GRAVEST_FIRST = (Disposition.STOP, Disposition.RESTART, Disposition.PARK, Disposition.RETRY)


async def send_bounded(content: Content, parts: Iterable[Part], put: Put, budget: Budget | None, at_once: int) -> None:
    """Read the parts in order and send them, `at_once` in flight, while one more is read.

    With one in flight they arrive in order. A body is held from `budget` while it is in memory. The most severe error
    of several is raised; the others in flight are cancelled.
    """
    run = _Run(content, put, budget, at_once)
    try:
        async with asyncio.TaskGroup() as group:
            run.start_next(iter(parts), group)
    except BaseExceptionGroup as failed:
        error = _gravest(failed)
        raise error from error.__cause__
    if run.sending:
        raise InternalError(f"{content.name}: {run.sending} parts were cancelled by nobody, and are not sent")


class _Run:
    """A chain of tasks: each reads its part, lets the next one read, then waits for its turn to send."""

    def __init__(self, content: Content, put: Put, budget: Budget | None, at_once: int) -> None:
        self._content, self._put, self._budget = content, put, budget
        self._rooms = asyncio.Semaphore(at_once + 1)
        self._slots = asyncio.Semaphore(at_once)
        self._outside = copy_context()  # before any part holds memory
        self._failed = False
        self.sending = 0  # begun and not sent yet

    def start_next(self, parts: Iterator[Part], group: asyncio.TaskGroup) -> None:
        group.create_task(self._next(parts, group), context=self._outside.copy())

    async def _next(self, parts: Iterator[Part], group: asyncio.TaskGroup) -> None:
        async with self._rooms:
            part = next(parts, None)
            if part is None:
                return
            self.sending += 1
            async with self._held(part.size):
                body = [block async for block in self._content.blocks(part.start, part.stop)]
                if (size := sum(map(len, body))) != part.size:
                    raise IntegrityError(f"{self._content.name}: bytes are missing from {part.start + size} on")
                self.start_next(parts, group)
                async with self._slots:
                    await self._sent(part, partial(_again, body))
                self.sending -= 1

    async def _sent(self, part: Part, body: Blocks) -> None:
        """Send it, unless another has failed: a waiting task is woken before it is cancelled."""
        if self._failed:
            return
        try:
            await self._put(part, body)
        except BaseException:
            self._failed = True
            raise

    def _held(self, size: int) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self._budget is None else self._budget.hold(size)


async def _again(blocks: Sequence[bytes]) -> AsyncGenerator[bytes, None]:
    """Blocks as they were read: joining them would copy every byte."""
    for block in blocks:
        yield block


def _gravest(failed: BaseExceptionGroup[BaseException]) -> BaseException:
    return min(_leaves(failed), key=_gravity)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _gravity(error: BaseException) -> int:
    return _GRAVEST_FIRST.index(error.disposition) + 1 if isinstance(error, DamSyncError) else 0
