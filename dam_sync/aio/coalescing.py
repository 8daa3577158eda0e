"""Calls shared by assets that are written at the same time: one request in place of many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from dam_sync.model.clock import Clock
from dam_sync.model.errors import Transient
from dam_sync.model.journal import results_durable

T = TypeVar("T")
R = TypeVar("R")
TICK = 0.05  # seconds between looks whether a request is due
TIMEOUT = 3.0  # seconds after which those who wait go without the others


class CallParticipant:
    """One who takes part in shared calls."""


class _NotSent:
    """The first caller, who would have sent the call, was cancelled before."""


@dataclass(slots=True)
class RequestCoalescer(Generic[T, R]):
    """Sends the requests of several callers as one: once all participants have called and nobody joined within
    `join_seconds`, once `most` ask, or once nothing progressed for `timeout` seconds, so that a slow one holds up
    nobody for long. `send` gives the results in order, or fails for all. If the caller that would send is cancelled,
    another one sends; if it is cancelled during the call, the others get Transient, as after a lost response."""

    clock: Clock
    send: Callable[[Sequence[T]], Awaitable[Sequence[R]]]
    most: int
    join_seconds: float = TICK
    timeout: float = TIMEOUT
    _participants: set[CallParticipant] = field(default_factory=set)
    _waiting: list[tuple[T, asyncio.Future[R | _NotSent], CallParticipant]] = field(default_factory=list)
    _progressed_at: float = 0.0

    @contextmanager
    def participant(self) -> Iterator[CallParticipant]:
        """While a caller will request, or has requested and will soon be followed by another."""
        mine = CallParticipant()
        self._participants.add(mine)
        self._progressed_at = self.clock.monotonic()
        try:
            yield mine
        finally:
            self._participants.discard(mine)
            self._progressed_at = self.clock.monotonic()

    def progressed(self) -> None:
        """A participant is at work, so that those who wait for it continue to wait."""
        self._progressed_at = self.clock.monotonic()

    async def ask(self, item: T, participant: CallParticipant) -> R:
        """The result for this caller; an error of the call is raised for all who shared it. What the caller recorded
        before is durable then: the call may be made by the task of another one, which does not wait for it."""
        await results_durable()
        while True:
            answer: asyncio.Future[R | _NotSent] = asyncio.get_running_loop().create_future()
            first = not self._waiting
            self._waiting.append((item, answer, participant))
            self._progressed_at = self.clock.monotonic()
            if first:
                await self._sent_when_due()
            result = await answer
            if not isinstance(result, _NotSent):
                return result

    async def _sent_when_due(self) -> None:
        try:
            while not self._is_due():
                await self.clock.sleep(TICK)
        except BaseException:
            others, self._waiting = self._waiting[1:], []
            _answer(others, _NotSent())
            raise
        await self._sent()

    def _is_due(self) -> bool:
        quiet = self.clock.monotonic() - self._progressed_at
        all_ask = self._participants <= {participant for _, _, participant in self._waiting}
        return len(self._waiting) >= self.most or quiet >= self.timeout or (all_ask and quiet >= self.join_seconds)

    async def _sent(self) -> None:
        some, self._waiting = self._waiting, []
        try:
            results = await self.send([item for item, _, _ in some])
            if len(results) != len(some):
                raise ValueError(f"{len(results)} results for {len(some)} callers")
        except Exception as error:  # noqa: BLE001 - raised for each caller
            _fail(some, error)
        except BaseException:
            _fail(some[1:], Transient("the call was cancelled that several assets shared"))
            raise
        else:
            for waiting, result in zip(some, results, strict=True):
                _answer([waiting], result)


_Waiting: TypeAlias = Sequence[tuple[Any, asyncio.Future[Any], CallParticipant]]


def _answer(waiting: _Waiting, result: object) -> None:
    for _, answer, _ in waiting:
        if not answer.done():
            answer.set_result(result)


def _fail(waiting: _Waiting, error: Exception) -> None:
    for _, answer, _ in waiting:
        if not answer.done():
            answer.set_exception(copy(error))
