"""The ledger: one row per write made to a target, append-only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select

from dam_sync.model.journal_names import writes
from dam_sync.model.ledger import LedgerRow
from dam_sync.store.base import Repository, from_text, pieces, to_text
from dam_sync.store.migrations import KEPT_ROWS
from dam_sync.store.note_keys import keys_of_run
from dam_sync.store.row_counts import recount_rows
from dam_sync.store.statements import PreparedStatement
from dam_sync.store.tables import LEDGER, META, RUN, instant

_COLUMNS = ("run", "operation", "asset", "target", "detail", "at", "changes", "calls", "digest", "size", "version")
RUNS_AT_ONCE = 100
UNLOCK = [f"DROP TRIGGER IF EXISTS {name}" for name, _ in KEPT_ROWS]
LOCK = [statement for _, statement in KEPT_ROWS]
UNLOCK_ON_SERVER = [f"ALTER TABLE ledger DISABLE TRIGGER {name}" for name, _ in KEPT_ROWS]
LOCK_ON_SERVER = [f"ALTER TABLE ledger ENABLE TRIGGER {name}" for name, _ in KEPT_ROWS]
_ADD = PreparedStatement(insert(LEDGER).inline(), (*_COLUMNS, "seconds"))


class Ledger(Repository):
    """What was written, for reports and explanations."""

    async def ledger(self, after_seq: int, at_most: int) -> list[LedgerRow]:
        """A page after `after_seq`, in the order of writing."""
        chosen = select(LEDGER).where(LEDGER.c.seq > after_seq).order_by(LEDGER.c.seq).limit(at_most)

        def job(c: Connection) -> list[LedgerRow]:
            return [ledger_row(row) for row in c.execute(chosen)]

        return await self._read(job)

    async def ledger_count(self) -> int:
        """The number of rows, which is also the number of the last one."""
        return await self._read(lambda c: int(c.execute(select(func.max(LEDGER.c.seq))).scalar() or 0))

    async def writes_of(self, run: int) -> int:
        """How many rows of a run count as writes in its report."""
        chosen = select(LEDGER.c.operation).where(LEDGER.c.run == run)
        return await self._read(lambda c: sum(writes(name) for name in c.execute(chosen).scalars()))

    async def last_written(self, assets: Sequence[str]) -> dict[str, datetime]:
        """When the last write to each of these assets was recorded; one without a row is left out. Reads the whole
        table."""
        latest = select(LEDGER.c.asset, LEDGER.c.operation, func.max(LEDGER.c.at))
        latest = latest.group_by(LEDGER.c.asset, LEDGER.c.operation)

        def job(c: Connection) -> dict[str, datetime]:
            found: dict[str, str] = {}
            for piece in pieces(assets):
                for asset, operation, at in c.execute(latest.where(LEDGER.c.asset.in_(piece))):
                    if writes(operation):
                        found[asset] = max(at, found.get(asset, ""))
            return {asset: instant(at) for asset, at in found.items()}

        return await self._read(job)

    async def has_written(self, run: int, *operations: str) -> bool:
        """Whether a run did one of these."""
        chosen = select(LEDGER.c.seq).where(LEDGER.c.run == run, LEDGER.c.operation.in_(operations)).limit(1)
        return await self._read(lambda c: c.execute(chosen).scalar() is not None)

    async def gc(self, before: str) -> int:
        """Remove the rows of finished runs that were written before a time (`stamp`), and what was noted of runs that
        finished before it; returns how many rows. Links, and therefore later runs, are not affected."""

        def job(c: Connection) -> int:
            finished = select(RUN.c.id).where(RUN.c.state == "done")
            past = c.execute(finished.where(RUN.c.ended_at < before)).scalars().all()
            for some in pieces(past, RUNS_AT_ONCE):
                keys = [key for run in some for key in keys_of_run(run)]
                c.execute(delete(META).where(META.c.key.in_(keys)))
            on_server = c.dialect.name != "sqlite"
            for statement in UNLOCK_ON_SERVER if on_server else UNLOCK:
                c.exec_driver_sql(statement)
            old = (LEDGER.c.at < before, (LEDGER.c.run == 0) | LEDGER.c.run.in_(finished))
            gone = recount_rows(c, lambda: c.execute(delete(LEDGER).where(*old)).rowcount)
            for statement in LOCK_ON_SERVER if on_server else LOCK:
                c.exec_driver_sql(statement)
            return gone

        return await self._write(job)


def append(c: Connection, row: LedgerRow) -> None:
    """Add a row; the table assigns its `seq`."""
    _ADD.run(
        c,
        run=row.run,
        operation=row.operation,
        asset=row.asset,
        target=row.target,
        detail=to_text(row.detail),
        at=row.at,
        changes=to_text(dict(row.changes)) if row.changes else "{}",
        calls=to_text(dict(row.calls)) if row.calls else "{}",
        digest=row.digest,
        size=row.size,
        version=row.version,
        seconds=row.seconds,
    )


def ledger_row(row: Row[Any]) -> LedgerRow:
    """A row from its table row."""
    return LedgerRow(
        row.seq,
        row.run,
        row.operation,
        row.asset,
        row.target,
        from_text(row.detail),
        row.at,
        from_text(row.changes),
        from_text(row.calls),
        row.digest,
        row.size,
        row.version,
        row.seconds,
    )
