"""Target assets of which it is open whether they stay, and those that the service deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, delete, func, select, text, update

from dam_sync.model.asset import AssetId
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.store.base import Repository, pieces
from dam_sync.store.journal import drop_steps
from dam_sync.store.links import drop_link, link_of
from dam_sync.store.row_counts import recount_rows
from dam_sync.store.rows import OnProbation, Removal
from dam_sync.store.tables import LINK, ON_PROBATION, PLACEMENT, REMOVAL, WORK, instant, stamp
from dam_sync.store.upsert import upsert


class ProbationRepository(Repository):
    """Links whose target asset is on probation."""

    async def on_probation(self, made_before: datetime | None = None) -> OnProbation:
        """Their number, optionally of those made until then, and the span in which they were made."""
        made = LINK.c.made_at
        chosen = select(func.count(), func.min(made), func.max(made)).where(text(ON_PROBATION))
        if made_before is not None:
            chosen = chosen.where(made <= stamp(made_before))

        def job(c: Connection) -> OnProbation:
            number, first, last = c.execute(chosen).one()
            return OnProbation(number, instant(first), instant(last)) if number else OnProbation()

        return await self._read(job)

    async def iter_probation(self, after: str = "", at_most: int = 500) -> list[LinkRow]:
        """A page of them in the order of source ids, after the id `after`."""
        chosen = select(LINK).where(text(ON_PROBATION), LINK.c.source > after).order_by(LINK.c.source).limit(at_most)
        return await self._read(lambda c: [link_of(row) for row in c.execute(chosen)])

    async def end_probation(self, sources: Sequence[str]) -> None:
        """The target assets of these were seen and are safe; safe to repeat."""

        def job(c: Connection) -> None:
            for piece in pieces(sources):
                c.execute(update(LINK).where(LINK.c.source.in_(piece)).values(made_at=""))

        if sources:
            await self._write(job)

    async def removed(self, rows: Sequence[Removal], outcome: Outcome, run: int = 0) -> None:
        """The service removed these: their links end, and they are parked with the cause of `outcome`, a message each.

        Counted in `run`, if there is one. Assets that are already work stay so. Safe to repeat.
        """
        now = self._now()

        def job(c: Connection) -> None:
            for row in rows:
                _remove(c, row, now)
                _park(c, row.source, replace(outcome, message=row.message), run, now)

        if rows:
            await self._write(lambda c: recount_rows(c, lambda: job(c)))  # a verification does this between runs

    async def park_settled(self, source: str, outcome: Outcome, run: int = 0) -> bool:
        """Park an asset whose work is done; its link stays. Counted in `run`, if there is one. False if it is parked
        for that already, or is work. Safe to repeat."""
        now = self._now()

        def job(c: Connection) -> bool:
            parked = (WORK.c.asset == source, WORK.c.state == "settled", WORK.c.cause == str(outcome.cause or ""))
            counted = (WORK.c.run == run,) if run else ()
            if c.execute(select(WORK.c.asset).where(*parked, *counted)).first() is not None:
                return False
            return _park(c, source, outcome, run, now)

        return await self._write(job)

    async def removals(self, sources: Sequence[str]) -> dict[AssetId, Removal]:
        """Removals of these source assets that were not created again; the others are absent."""

        def job(c: Connection) -> dict[AssetId, Removal]:
            found = c.execute(select(REMOVAL).where(REMOVAL.c.source.in_(list(sources))))
            return {AssetId(row.source): Removal(row.source, row.target, row.file, row.message) for row in found}

        return await self._read(job)


def _park(c: Connection, source: str, outcome: Outcome, run: int, now: str) -> bool:
    parked = {"action": outcome.action, "cause": str(outcome.cause or ""), "hint": outcome.hint}
    rest = {
        "message": outcome.message,
        "operation": outcome.operation,
        "evidence": "",
        "losses": "null",
        "settled_at": now,
    }
    counted = {"run": run} if run else {}
    mine = (WORK.c.asset == source, WORK.c.state == "settled")
    return bool(c.execute(update(WORK).where(*mine).values(**parked, **rest, **counted)).rowcount)


def _remove(c: Connection, row: Removal, now: str) -> None:
    drop_link(c, row.source)
    drop_steps(c, row.source)
    c.execute(delete(PLACEMENT).where(PLACEMENT.c.asset == row.target))
    values = {"target": row.target, "file": row.file, "message": row.message, "at": now}
    kept = upsert(REMOVAL).values(source=row.source, **values)
    c.execute(kept.on_conflict_do_update(index_elements=["source"], set_=values))
