"""Terms and containers of the source, and which one of the target stands for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, select

from dam_sync.model.counterpart import Counterpart
from dam_sync.store.base import Repository, from_text, to_text
from dam_sync.store.tables import COUNTERPART
from dam_sync.store.upsert import upsert

_KEY = ("part", "scope", "source")
_LISTS = ("origin", "wanted", "name", "former")


class CounterpartRepository(Repository):
    """Counterparts of terms and containers."""

    async def counterparts(self) -> list[Counterpart]:
        """All of them."""
        chosen = select(COUNTERPART).order_by(*(COUNTERPART.c[name] for name in _KEY))
        return await self._read(lambda c: [_row(row) for row in c.execute(chosen)])

    async def keep_counterparts(self, rows: Sequence[Counterpart]) -> None:
        """Store some, replacing what was known of them. Safe to repeat."""
        if rows:
            await self._write(lambda c: write_counterparts(c, rows))


def write_counterparts(c: Connection, rows: Sequence[Counterpart]) -> None:
    """Store some, within a transaction."""
    values = [asdict(row) | {name: to_text(list(getattr(row, name))) for name in _LISTS} for row in rows]
    if values:
        added = upsert(COUNTERPART)
        new = {name: added.excluded[name] for name in values[0] if name not in _KEY}
        c.execute(added.on_conflict_do_update(index_elements=_KEY, set_=new), values)


def _row(row: Any) -> Counterpart:
    values = dict(row._mapping)
    return Counterpart(**{**values, **{name: tuple(from_text(values[name])) for name in _LISTS}})
