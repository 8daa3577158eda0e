"""What is done with a journal, whoever provides it."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import timedelta

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
        """See `Journal.run`."""
        return await self.journal.run(self.prefix + name, call, reconcile=reconcile, ttl=ttl, idempotent=idempotent)

    async def discard(self, *names: str) -> None:
        """See `Journal.discard`."""
        await self.journal.discard(*(self.prefix + name for name in names))

    async def get(self, name: str) -> Json:
        """See `Journal.get`."""
        return await self.journal.get(self.prefix + name)

    async def is_recorded(self, text: str) -> bool:
        """See `Journal.is_recorded`."""
        return await self.journal.is_recorded(text)


async def completed(call: Awaitable[None]) -> Json:
    """The result of a call that returns nothing, for the journal: that it was made."""
    await call
    return True


async def note_fact(journal: Journal, name: str, fact: Json = True) -> Json:
    """Record what a later attempt has to know; the fact that an earlier one recorded stays, and is returned."""

    async def give() -> Json:
        return fact

    return await journal.run(name, give, idempotent=True)
