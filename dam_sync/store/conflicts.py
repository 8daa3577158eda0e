"""Open conflicts: values of parked assets that changed at both services, and what people decided about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select, bindparam, case, delete, func, insert, select, true, tuple_, update

from dam_sync.model.outcome import ConflictRow
from dam_sync.store.base import Repository, from_text, pieces, to_text
from dam_sync.store.statements import PreparedStatement
from dam_sync.store.tables import CONFLICTS

_SIDES = ("written", "source", "target")
_REST = ("asset", "path", "state", "why", "decision", "filename")
_DROP = PreparedStatement(delete(CONFLICTS).where(CONFLICTS.c.asset == bindparam("of")))
_ADD = PreparedStatement(insert(CONFLICTS).inline(), (*_REST, *_SIDES))


class ConflictRepository(Repository):
    """Conflicts of parked assets."""

    async def conflicts(self, after: tuple[str, str] = ("", ""), at_most: int = 500) -> list[ConflictRow]:
        """A page of all of them, by asset and path, behind this one."""
        where = tuple_(CONFLICTS.c.asset, CONFLICTS.c.path) > after
        chosen = select(CONFLICTS).where(where).order_by(CONFLICTS.c.asset, CONFLICTS.c.path).limit(at_most)
        return await self._read(lambda c: _rows(c, chosen))

    async def conflict_counts(self, assets: Collection[str] = ()) -> tuple[int, int, int]:
        """How many there are, in how many assets, and how many of them are decided; of these assets, or of all."""
        decided = func.sum(case((CONFLICTS.c.decision == "", 0), else_=1))
        chosen = select(func.count(), func.count(CONFLICTS.c.asset.distinct()), decided)
        parts = [CONFLICTS.c.asset.in_(piece) for piece in pieces(assets)] if assets else [true()]

        def job(c: Connection) -> tuple[int, int, int]:
            found = [[number or 0 for number in c.execute(chosen.where(part)).one()] for part in parts]
            many, of, done = (sum(each) for each in zip(*found, strict=True))
            return many, of, done

        return await self._read(job)

    async def conflicts_of(self, assets: Sequence[str]) -> list[ConflictRow]:
        """Those of some assets."""
        ordered = select(CONFLICTS).order_by(CONFLICTS.c.asset, CONFLICTS.c.path)
        return await self._read(
            lambda c: [row for piece in pieces(assets) for row in _rows(c, ordered.where(CONFLICTS.c.asset.in_(piece)))]
        )

    async def decide_conflicts(self, decisions: Mapping[tuple[str, str, str], str]) -> int:
        """Store decisions (`source`, `target`, or empty to withdraw one) by asset, path and state; returns how many
        are about an open conflict. Safe to repeat."""
        columns = (CONFLICTS.c.asset, CONFLICTS.c.path, CONFLICTS.c.state)
        same = tuple_(*columns) == tuple_(bindparam("of"), bindparam("at"), bindparam("as"))
        changed = update(CONFLICTS).where(same).values(decision=bindparam("now"))
        rows = [{"of": asset, "at": path, "as": state, "now": now} for (asset, path, state), now in decisions.items()]
        return await self._write(lambda c: sum(c.execute(changed, row).rowcount for row in rows))


def put_conflicts(c: Connection, asset: str, rows: Iterable[ConflictRow]) -> None:
    """Replace the conflicts of an asset."""
    _DROP.run(c, of=asset)
    for row in rows:
        values: dict[str, Any] = {name: getattr(row, name) for name in _REST}
        _ADD.run(c, **values, **{name: to_text(getattr(row, name)) for name in _SIDES})


def _rows(c: Connection, chosen: Select[Any]) -> list[ConflictRow]:
    return [
        ConflictRow(**{name: getattr(row, name) for name in _REST}, **{n: from_text(getattr(row, n)) for n in _SIDES})
        for row in c.execute(chosen)
    ]
