"""Durable steps: an intent before, a result after; after a crash in between, look before you leap."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from dam_sync.model.clock import Clock
from dam_sync.model.errors import Uncertain
from dam_sync.model.service import Call
from dam_sync.model.values import Json, instant_text, parse_instant
from dam_sync.store.pending import write_ledger
from dam_sync.store.tables import STEP

Do = Callable[[Callable[[Connection], Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class StoredSteps:
    """See `model.service.Steps`. scope: a source asset's id, or what else the steps belong to."""

    do: Do
    clock: Clock
    scope: str
    run: int

    async def once(
        self,
        name: str,
        call: Call,
        *,
        found: Call | None = None,
        keep: timedelta | None = None,
        harmless: bool = False,
    ) -> Json:
        """See `Steps.once`."""
        known = await self.do(lambda connection: self._begin(connection, name, keep))
        if known is not None and known["done"]:
            return known["result"]
        result: Json = None
        if known is not None and found is not None:
            result = await found()
        elif known is not None and not harmless:
            raise Uncertain(f"the step “{name}” was begun and its outcome is not known", asset=self.scope)
        if result is None:
            result = await call()
        await self.do(lambda connection: self._record(connection, name, result))
        return result

    async def forget(self, *names: str) -> None:
        """See `Steps.forget`."""

        def job(connection: Connection) -> None:
            for name in names:
                same = STEP.c.name == name
                if name.endswith("*"):
                    same = STEP.c.name.startswith(name[:-1], autoescape=True)
                connection.execute(delete(STEP).where(STEP.c.scope == self.scope, same))

        await self.do(job)

    async def recall(self, name: str) -> Json:
        """See `Steps.recall`."""
        known = await self.do(lambda connection: self._known(connection, name))
        return known["result"] if known is not None and known["done"] else None

    def _begin(self, connection: Connection, name: str, keep: timedelta | None) -> dict[str, Json] | None:
        """What is known of the step; when nothing is, its intent is written."""
        known = self._known(connection, name)
        if known is not None and known["done"] and keep is not None and self._older(known, keep):
            known = None
        if known is None:
            row = {
                "scope": self.scope,
                "name": name,
                "at": instant_text(self.clock.now()),
                "done": False,
                "result": None,
            }
            statement = upsert(STEP).values(row)
            changed = {key: row[key] for key in ("at", "done", "result")}
            connection.execute(statement.on_conflict_do_update(index_elements=["scope", "name"], set_=changed))
        return known

    def _older(self, known: dict[str, Json], keep: timedelta) -> bool:
        return self.clock.now() - parse_instant(known["at"]) > keep

    def _known(self, connection: Connection, name: str) -> dict[str, Json] | None:
        row = connection.execute(select(STEP).where(STEP.c.scope == self.scope, STEP.c.name == name)).first()
        if row is None:
            return None
        return {"done": row.done, "at": row.at, "result": json.loads(row.result) if row.result else None}

    def _record(self, connection: Connection, name: str, result: Json) -> None:
        at = instant_text(self.clock.now())
        values = {"done": True, "at": at, "result": json.dumps(result, ensure_ascii=False)}
        connection.execute(update(STEP).where(STEP.c.scope == self.scope, STEP.c.name == name).values(**values))
        target = result if isinstance(result, str) else ""
        row = {"run": self.run, "operation": name, "asset": self.scope, "target": target, "detail": result, "at": at}
        write_ledger(connection, row)
