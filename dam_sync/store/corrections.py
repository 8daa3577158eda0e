"""Values for which an asset is parked, and what people gave in their place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, text

from dam_sync.model.correction import Corrections, FailedValue
from dam_sync.model.journal_names import correction
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.parking import ParkCause, stored_texts
from dam_sync.store.base import Repository, from_text, pieces, to_text
from dam_sync.store.ledger import append
from dam_sync.store.rows import CorrectionRow
from dam_sync.store.statements import PreparedStatement
from dam_sync.store.tables import CORRECTION, LINK, PARKED, WORK
from dam_sync.store.upsert import upsert

NONE = "null"  # no person gave anything yet
_OPEN = CORRECTION.c.corrected == NONE
_GIVEN = CORRECTION.c.corrected != NONE
_DROP = PreparedStatement(delete(CORRECTION).where(CORRECTION.c.asset == bindparam("of"), _OPEN))
_COLUMNS = ("asset", "path", "failed", "rule", "corrected", "at")
_ADD = PreparedStatement(upsert(CORRECTION).on_conflict_do_nothing(), _COLUMNS)
_OF = PreparedStatement(select(CORRECTION).where(CORRECTION.c.asset == bindparam("of"), _GIVEN))


class CorrectionRepository(Repository):
    """Corrections by asset, line of the mapping and failed value."""

    async def corrections_of(self, asset: str) -> Corrections:
        """What people gave for an asset."""

        def job(c: Connection) -> Corrections:
            found: dict[str, dict[str, tuple[str, ...]]] = {}
            for row in _OF.all(c, of=asset):
                found.setdefault(row.path, {})[row.failed] = tuple(from_text(row.corrected))
            return Corrections(found)

        return await self._read(job)

    async def correction_count(self) -> tuple[int, int]:
        """How many values people gave, for how many assets."""
        counts = select(func.count(), func.count(CORRECTION.c.asset.distinct())).where(_GIVEN)

        def job(c: Connection) -> tuple[int, int]:
            values, assets = c.execute(counts).one()
            return values, assets

        return await self._read(job)

    async def correction_rows(self, assets: Collection[str] | None = None) -> list[CorrectionRow]:
        """Failed and given values of these assets; of all, those that were given."""
        ordered = select(CORRECTION).order_by(CORRECTION.c.asset, CORRECTION.c.path, CORRECTION.c.failed)

        def job(c: Connection) -> list[CorrectionRow]:
            if assets is None:
                return [_row(row) for row in c.execute(ordered.where(_GIVEN))]
            chosen = (ordered.where(CORRECTION.c.asset.in_(piece)) for piece in pieces(assets))
            return [_row(row) for some in chosen for row in c.execute(some)]

        return await self._read(job)

    async def any_failed(self, causes: Collection[ParkCause] = ()) -> bool:
        """Whether an asset is parked for values, and for one of these causes if there are any."""
        parked = select(WORK.c.asset).where(text(PARKED))
        parked = (
            parked.where(WORK.c.cause.in_([text for cause in causes for text in stored_texts(cause)]))
            if causes
            else parked
        )
        chosen = select(CORRECTION.c.asset).where(CORRECTION.c.asset.in_(parked)).limit(1)
        return await self._read(lambda c: c.execute(chosen).first() is not None)

    async def known_assets(self, assets: Collection[str]) -> frozenset[str]:
        """Those of these ids that the state knows at the source."""

        def job(c: Connection) -> frozenset[str]:
            columns = (WORK.c.asset, LINK.c.source)
            return frozenset(
                found
                for piece in pieces(assets)
                for column in columns
                for found in c.execute(select(column).where(column.in_(piece))).scalars()
            )

        return await self._read(job)

    async def put_corrections(self, rows: Sequence[CorrectionRow], *, keys_only: bool = False) -> None:
        """Store what people gave, each with a row of the ledger. Safe to repeat: what is stored already is left out.
        keys_only: the ledger gets no values."""
        now = self._now()

        def job(c: Connection) -> None:
            for row in rows:
                same = (
                    CORRECTION.c.asset == row.asset,
                    CORRECTION.c.path == row.path,
                    CORRECTION.c.failed == row.failed,
                )
                before = from_text(c.execute(select(CORRECTION.c.corrected).where(*same)).scalar() or NONE)
                if before == list(row.corrected):
                    continue
                c.execute(delete(CORRECTION).where(*same))
                c.execute(insert(CORRECTION).values(_values(row, now)))
                append(c, _ledger(row, before, list(row.corrected), now, keys_only))

        await self._write(job)

    async def forget_corrections(self, assets: Collection[str], *, keys_only: bool = False) -> int:
        """Remove what people gave for these assets, each with a row of the ledger; returns how many values."""
        now = self._now()

        def job(c: Connection) -> int:
            chosen = [
                _row(row)
                for piece in pieces(assets)
                for row in c.execute(select(CORRECTION).where(CORRECTION.c.asset.in_(piece), _GIVEN))
            ]
            for row in chosen:
                append(c, _ledger(row, list(row.corrected), None, now, keys_only))
            for piece in pieces(assets):
                c.execute(delete(CORRECTION).where(CORRECTION.c.asset.in_(piece), _GIVEN))
            return len(chosen)

        return await self._write(job)


def put_failed(c: Connection, asset: str, failed: Iterable[FailedValue], now: str) -> None:
    """Replace the failed values of an asset for which nobody gave anything."""
    _DROP.run(c, of=asset)
    for one in failed:
        _ADD.run(c, asset=asset, path=one.path, failed=one.value, rule=one.rule, corrected=NONE, at=now)


def _ledger(row: CorrectionRow, before: Any, after: Any, now: str, keys_only: bool) -> LedgerRow:
    changes: Mapping[str, Any] = {row.path: None if keys_only else [before, after]}
    return LedgerRow(0, 0, correction(row.path), row.asset, "", None, now, changes)


def _values(row: CorrectionRow, now: str) -> dict[str, Any]:
    return {
        **{"asset": row.asset, "path": row.path, "failed": row.failed, "rule": row.rule, "at": now},
        "corrected": to_text(list(row.corrected)),
    }


def _row(row: Any) -> CorrectionRow:
    given = from_text(row.corrected)
    return CorrectionRow(row.asset, row.path, row.failed, row.rule, tuple(given or ()), row.at)
