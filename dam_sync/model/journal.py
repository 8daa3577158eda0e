"""Helpers that work on any journal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta

from dam_sync.model.errors import DamSyncError
from dam_sync.model.ports import Call, Journal
from dam_sync.model.values import Json


@dataclass(frozen=True, slots=True)
class NamespacedJournal(Journal):
    """A journal whose entries have a prefix, so that the same upload can be recorded for several versions."""

    journal: Journal
    prefix: str

    async def run(
        self,
        name: str,
        call: Call,
        *,
        reconcile: Call | None = None,
        ttl: timedelta | None = None,
        idempotent: bool = False,
    ) -> Json:
        return await self.journal.run(self.prefix + name, call, reconcile=reconcile, ttl=ttl, idempotent=idempotent)

    async def discard(self, *names: str) -> None:
        await self.journal.discard(*(self.prefix + name for name in names))

    async def get(self, name: str) -> Json:
        return await self.journal.get(self.prefix + name)

    async def begin(self, names: Sequence[str]) -> None:
        await self.journal.begin([self.prefix + name for name in names])

    async def begun(self, prefix: str) -> frozenset[str]:
        found = await self.journal.begun(self.prefix + prefix)
        return frozenset(name.removeprefix(self.prefix) for name in found)

    async def is_recorded(self, text: str) -> bool:
        return await self.journal.is_recorded(text)


@dataclass(slots=True)
class ResultsUnderWay:
    """Results that the journal of one asset recorded, on their way to the disk in the order of `stored`."""

    stored: list[asyncio.Future[None]] = field(default_factory=list)

    async def durable(self) -> None:
        """Returns once all of them are durable. Raises what keeps one from it, each time again; safe to repeat."""
        while self.stored:
            first = self.stored[0]
            if not first.done():
                await asyncio.wait([first])  # of several that wait, one may be cancelled
            if (error := first.exception()) is not None:
                raise error
            if first in self.stored:
                self.stored.remove(first)


_UNDER_WAY: ContextVar[ResultsUnderWay | None] = ContextVar("results_under_way", default=None)


def begin_results() -> ResultsUnderWay:
    """Those of the asset that this task works on from now on, and the tasks that it starts."""
    results = ResultsUnderWay()
    _UNDER_WAY.set(results)
    return results


def are_current(results: ResultsUnderWay) -> bool:
    """Whether this task works on their asset, so that its requests wait for them."""
    return _UNDER_WAY.get() is results


async def results_durable() -> None:
    """Returns once everything that the journal recorded of the asset in progress is durable; to be called before each
    request to a service that is written to. Raises what keeps a result from it."""
    results = _UNDER_WAY.get()
    if results is not None and results.stored:
        await results.durable()


@contextmanager
def after_write() -> Iterator[None]:
    """For what the call of an entry does after its write was sent: a refusal then says nothing about the write, so that
    the intent stays, and the next attempt looks for what was written."""
    try:
        yield
    except DamSyncError as error:
        error.after_write = True
        raise


async def completed(call: Awaitable[None]) -> Json:
    """The result of a call that returns nothing, for the journal: that it was made."""
    await call
    return True


async def call_again() -> Json:
    """For `reconcile` of a call that is safe to repeat: a killed process may have made a part of it only, so it is made
    again, and until then its intent tells that it was begun."""
    return None


async def note_fact(journal: Journal, name: str, fact: Json = True) -> Json:
    """Record what a later attempt has to know; the fact that an earlier one recorded stays, and is returned."""

    async def give() -> Json:
        return fact

    return await journal.run(name, give, idempotent=True)
