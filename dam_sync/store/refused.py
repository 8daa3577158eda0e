"""Memberships and relations that the target refused: whose they are, why, and when they are tried again."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, func, select, union_all, update
from sqlalchemy.sql.expression import literal

from dam_sync.store.base import Repository
from dam_sync.store.rows import ParkedRow
from dam_sync.store.tables import LINK, PLACEMENT, RELATION

MEMBERSHIP, RELATED = "membership refused", "relation refused"
HINT = "grant the user of the job the permission, or correct the mapping; the next run tries again"
CIRCLE = "one more would close a circle, which the target refuses; take one out of the circle at the source"


class RefusedRepository(Repository):
    """Refused memberships and relations of moved assets."""

    async def refused_causes(self) -> list[tuple[str, str, str, int, str]]:
        """(cause, operation, hint, count, one example with its message), like `parked_causes`."""
        rows = _rows().subquery()
        example = func.min(rows.c.asset + ": " + rows.c.message)
        chosen = select(rows.c.cause, func.count(), example).group_by(rows.c.cause).order_by(rows.c.cause)

        def job(c: Connection) -> list[tuple[str, str, str, int, str]]:
            return [(cause, "", HINT, int(many), text) for cause, many, text in c.execute(chosen)]

        return await self._read(job)

    async def refused(self, *, limit: int, offset: int = 0) -> list[ParkedRow]:
        """Each of them, by the id of its asset at the source."""
        rows = _rows().subquery()
        chosen = select(rows, LINK.c.filename).outerjoin(LINK, LINK.c.source == rows.c.asset)
        chosen = chosen.order_by(rows.c.cause, rows.c.asset, rows.c.message).limit(limit).offset(offset)

        def job(c: Connection) -> list[ParkedRow]:
            return [
                ParkedRow(row.asset, row.cause, "", row.message, HINT, {"filename": row.filename or ""})
                for row in c.execute(chosen)
            ]

        return await self._read(job)

    async def retry_refused(self) -> None:
        """Let everything that was refused be tried again; safe to repeat."""

        def job(c: Connection) -> None:
            for table in (PLACEMENT, RELATION):
                c.execute(update(table).where(table.c.refused != "").values(refused=""))

        await self._write(job)


def _rows() -> Any:
    """Asset, cause and message of all of them, except relations that would close a cycle, which no run can write."""
    owner = func.coalesce(LINK.c.source, PLACEMENT.c.asset).label("asset")
    joined = PLACEMENT.outerjoin(LINK, LINK.c.target == PLACEMENT.c.asset)
    members: Select[Any] = select(owner, literal(MEMBERSHIP).label("cause"), PLACEMENT.c.refused.label("message"))
    members = members.select_from(joined).where(PLACEMENT.c.refused != "")
    related: Select[Any] = select(RELATION.c.owner, literal(RELATED), RELATION.c.refused)
    related = related.where(RELATION.c.refused != "", RELATION.c.refused.not_like(f"%{CIRCLE}"))
    return union_all(members, related)
