"""Memberships and relations that the target refused: whose they are, why, and when they are tried again."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, func, select, union_all, update
from sqlalchemy.sql.expression import literal

from dam_sync.model.parking import ParkReason
from dam_sync.store.base import Repository
from dam_sync.store.rows import CauseRow, ParkedRow, UnwrittenRelations
from dam_sync.store.tables import LINK, PLACEMENT, RELATION

_REASONS = {str(reason): reason for reason in (ParkReason.MEMBERSHIP_REFUSED, ParkReason.RELATION_REFUSED)}
_CIRCLE = "one more would close a circle, which the target refuses; take one out of the circle at the source"
"""The end of the reason of a relation that no run can write: the only mark of it in its row."""


def circle_of(kind: str) -> str:
    """The reason why a relation of this kind is not written."""
    return f"{kind}: {_CIRCLE}"


def unwritten(reason: str, number: int) -> UnwrittenRelations:
    """Relations whose row has this reason."""
    return UnwrittenRelations(reason, number, closes_circle=reason.endswith(f": {_CIRCLE}"))


class RefusedRepository(Repository):
    """Refused memberships and relations of moved assets."""

    async def refused_causes(self) -> list[CauseRow]:
        """Why memberships and relations are refused."""
        rows, again = _rows().subquery(), _rows().subquery()
        first = func.min(rows.c.asset).label("asset")
        group = select(rows.c.cause, func.count().label("many"), first).group_by(rows.c.cause).subquery()
        chosen = select(*group.c, func.min(again.c.message).label("message")).join(
            again, (again.c.cause == group.c.cause) & (again.c.asset == group.c.asset)
        )
        chosen = chosen.group_by(*group.c).order_by(group.c.cause)

        def job(c: Connection) -> list[CauseRow]:
            return [
                CauseRow(cause, "", cause.to_do, int(row.many), row.asset, row.message)
                for row in c.execute(chosen)
                for cause in (_REASONS[row.cause],)
            ]

        return await self._read(job)

    async def refused(self, *, limit: int, offset: int = 0) -> list[ParkedRow]:
        """Each of them, by the id of its asset at the source."""
        rows = _rows().subquery()
        chosen = select(rows, LINK.c.filename).outerjoin(LINK, LINK.c.source == rows.c.asset)
        chosen = chosen.order_by(rows.c.cause, rows.c.asset, rows.c.message).limit(limit).offset(offset)

        def job(c: Connection) -> list[ParkedRow]:
            return [
                ParkedRow(row.asset, cause, "", row.message, cause.to_do, {"filename": row.filename or ""})
                for row in c.execute(chosen)
                for cause in (_REASONS[row.cause],)
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
    members: Select[Any] = select(
        owner, literal(str(ParkReason.MEMBERSHIP_REFUSED)).label("cause"), PLACEMENT.c.refused.label("message")
    )
    members = members.select_from(joined).where(PLACEMENT.c.refused != "")
    related: Select[Any] = select(RELATION.c.owner, literal(str(ParkReason.RELATION_REFUSED)), RELATION.c.refused)
    related = related.where(RELATION.c.refused != "", RELATION.c.refused.not_like(f"%: {_CIRCLE}"))
    return union_all(members, related)
