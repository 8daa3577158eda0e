"""Deliveries of webhooks: stored before they are answered, once each, until a run has read the asset that they name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection, bindparam, delete, func, insert, select, text, update

from dam_sync.model.webhooks import Hint
from dam_sync.store.base import Repository, pieces
from dam_sync.store.statements import PreparedStatement
from dam_sync.store.tables import HINT, HINTED, stamp

_KNOWN = PreparedStatement(select(HINT.c.delivery).where(HINT.c.delivery == bindparam("of")))
_WAITS = PreparedStatement(
    select(HINT.c.delivery).where(text(HINTED), HINT.c.state == "waiting", HINT.c.asset == bindparam("of"))
)


@dataclass(frozen=True, slots=True)
class HintBounds:
    """waiting: assets that wait at most; more are refused, and found by the next listing. kept: deliveries, done ones
    included."""

    waiting: int = 10_000
    kept: int = 20_000


USUAL = HintBounds()


class Receipt(StrEnum):
    """What became of a delivery."""

    QUEUED = "queued"
    DUPLICATE = "duplicate"  # it arrived before
    IGNORED = "ignored"  # it names no asset
    FORGED = "forged"
    FULL = "full"  # too many wait


class HintRepository(Repository):
    """The queue of assets that webhooks named."""

    async def add_hints(self, hints: Sequence[Hint], bounds: HintBounds = USUAL) -> list[Receipt]:
        """What became of each, in one transaction. A second delivery for an asset that waits adds no work. Safe to
        repeat."""
        now = self._now()

        def job(c: Connection) -> list[Receipt]:
            room = bounds.waiting - _open(c)
            receipts = []
            for hint in hints:
                receipt = _add(c, hint, now, room)
                room -= receipt is Receipt.QUEUED
                receipts.append(receipt)
            _forget(c, bounds.kept)
            return receipts

        return await self._write(job)

    async def take_hints(self, at_most: int) -> list[str]:
        """Ids of the assets that wait longest, and of those that an earlier process took and did not finish. What is
        delivered from now on waits again."""

        def job(c: Connection) -> list[str]:
            first = func.min(HINT.c.at)
            chosen = select(HINT.c.asset).where(text(HINTED)).group_by(HINT.c.asset).order_by(first).limit(at_most)
            assets = [row.asset for row in c.execute(chosen)]
            for piece in pieces(assets):
                c.execute(update(HINT).where(text(HINTED), HINT.c.asset.in_(piece)).values(state="taken"))
            return assets

        return await self._write(job)

    async def hints_done(self, assets: Collection[str]) -> None:
        """These were read after they were taken; safe to repeat."""

        def job(c: Connection) -> None:
            for piece in pieces(assets):
                taken = (text(HINTED), HINT.c.state == "taken", HINT.c.asset.in_(piece))
                c.execute(update(HINT).where(*taken).values(state="done"))

        await self._write(job)

    async def deliveries_since(self, moment: datetime) -> int:
        """How many deliveries arrived since."""
        chosen = select(func.count()).where(HINT.c.at >= stamp(moment))
        return await self._read(lambda c: int(c.execute(chosen).scalar_one()))


def _open(c: Connection) -> int:
    return int(c.execute(select(func.count()).select_from(HINT).where(text(HINTED))).scalar_one())


def _add(c: Connection, hint: Hint, now: str, room: int) -> Receipt:
    if _KNOWN.first(c, of=hint.delivery) is not None:
        return Receipt.DUPLICATE
    covered = not hint.asset or _WAITS.first(c, of=hint.asset) is not None
    if not covered and room <= 0:
        return Receipt.FULL
    state = "done" if covered else "waiting"
    c.execute(insert(HINT).values(delivery=hint.delivery, asset=hint.asset, at=now, state=state))
    return Receipt.QUEUED if hint.asset else Receipt.IGNORED


def _forget(c: Connection, kept: int) -> None:
    """Keep the latest deliveries and all that wait."""
    many = int(c.execute(select(func.count()).select_from(HINT)).scalar_one()) - kept
    if many > 0:
        oldest = select(HINT.c.delivery).where(HINT.c.state == "done").order_by(HINT.c.at).limit(many)
        c.execute(delete(HINT).where(HINT.c.delivery.in_(oldest)))
