"""A journal in memory that behaves as the durable one, and a fuse that blows at the n-th moment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from dam_sync.model.errors import DamSyncError, Uncertain
from dam_sync.model.ports import Call
from dam_sync.model.values import Json
from dam_sync.store.journal import is_refusal


class Crash(Exception):
    """The process ended here."""


@dataclass
class MemoryJournal:
    """Records survive a Crash: clear `blow_at` and continue. Moments are counted over intents, calls and records."""

    blow_at: int | None = None
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    moments: int = 0
    open: set[str] = field(default_factory=set)
    done: dict[str, tuple[Json, datetime]] = field(default_factory=dict)
    others: list[MemoryJournal] = field(default_factory=list)  # of other assets

    async def run(
        self,
        name: str,
        call: Call,
        *,
        reconcile: Call | None = None,
        ttl: timedelta | None = None,
        idempotent: bool = False,
    ) -> Json:
        if name in self.done:
            result, at = self.done[name]
            if ttl is None or self.now - at < ttl:
                return result
            del self.done[name]
        if name in self.open and (known := await self._ask(name, reconcile, idempotent)) is not None:
            return self._record(name, known)
        self.open.add(name)
        self._moment()
        try:
            result = await call()
        except DamSyncError as error:
            if is_refusal(error):
                self.open.discard(name)
            raise
        self._moment()
        return self._record(name, result)

    async def discard(self, *names: str) -> None:
        for pattern in names:
            for name in [*self.done, *self.open]:
                if name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1])):
                    self.done.pop(name, None)
                    self.open.discard(name)

    async def get(self, name: str) -> Json:
        return self.done[name][0] if name in self.done else None

    async def begin(self, names: Sequence[str]) -> None:
        self._moment()
        self.open.update(name for name in names if name not in self.done)
        self._moment()

    async def begun(self, prefix: str) -> frozenset[str]:
        return frozenset(name for name in self.open if name.startswith(prefix))

    async def is_recorded(self, text: str) -> bool:
        return any(text in json.dumps(result) for each in (self, *self.others) for result, _ in each.done.values())

    async def _ask(self, name: str, reconcile: Call | None, idempotent: bool) -> Json:
        if reconcile is not None:
            return await reconcile()
        if not idempotent:
            raise Uncertain(f"nobody knows whether {name} was done")
        return None

    def _record(self, name: str, result: Json) -> Json:
        self.open.discard(name)
        self.done[name] = (result, self.now)
        self._moment()
        return result

    def _moment(self) -> None:
        self.moments += 1
        if self.moments == self.blow_at:
            raise Crash
