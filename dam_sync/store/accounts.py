"""Accounts of completed work items: stored as pairs of numbers, read back with their paths and rules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, select

from dam_sync.model.account import AccountKey
from dam_sync.model.errors import ConfigError
from dam_sync.model.parking import cause_of_row
from dam_sync.store.base import Database, Repository, from_text
from dam_sync.store.rows import WorkRecord
from dam_sync.store.tables import ACCOUNT_KEY, LINK, WORK
from dam_sync.store.upsert import upsert

PAGE = 500
_COLUMNS = (WORK.c.seq, WORK.c.asset, WORK.c.revision, WORK.c.action, WORK.c.cause, WORK.c.message, WORK.c.losses)
_MORE = (WORK.c.account, WORK.c.digest, WORK.c.named, LINK.c.filename, LINK.c.target)


async def account_pairs(database: Database, account: Mapping[AccountKey, int]) -> list[int]:
    """An account as it is stored. Adds the keys that are not known yet, durably; safe to repeat."""
    new = [key for key in account if key not in database.account_ids]
    if new:
        if database.writer is None:
            raise ConfigError(f"the state {database.place} cannot be written: it was opened for reading only")
        database.account_ids.update(await database.writer.run(lambda c: _add(c, new)))
    return [each for key, number in account.items() for each in (database.account_ids[key], number)]


def _add(c: Connection, keys: Sequence[AccountKey]) -> dict[AccountKey, int]:
    c.execute(upsert(ACCOUNT_KEY).on_conflict_do_nothing(), [key._asdict() for key in keys])
    return {key: number for number, key in _known(c).items() if key in set(keys)}


def _known(c: Connection) -> dict[int, AccountKey]:
    return {row.id: AccountKey(row.path, row.outcome, row.rule) for row in c.execute(select(ACCOUNT_KEY))}


class WorkRecords(Repository):
    """What became of the assets of a run, read in pages."""

    async def work_records(self, run: int) -> AsyncIterator[WorkRecord]:
        """The completed work items of a run, in the order of its listing."""
        keys = await self._read(_known)
        after = 0
        while rows := await self._read(partial(_page, run=run, after=after)):
            after = rows[-1].seq
            for row in rows:
                yield _record(row, keys)


def _page(c: Connection, *, run: int, after: int) -> list[Any]:
    chosen = select(*_COLUMNS, *_MORE).outerjoin(LINK, LINK.c.source == WORK.c.asset)
    done = (WORK.c.run == run, WORK.c.state == "settled", WORK.c.seq > after)
    return list(c.execute(chosen.where(*done).order_by(WORK.c.seq).limit(PAGE)))


def _record(row: Row[Any], keys: Mapping[int, AccountKey]) -> WorkRecord:
    pairs = from_text(row.account)
    return WorkRecord(
        row.seq,
        row.asset,
        row.revision,
        row.action,
        cause_of_row(row.cause, parked=row.action == "parked"),
        row.message,
        from_text(row.losses) or (),
        {keys[pairs[at]]: pairs[at + 1] for at in range(0, len(pairs), 2)},
        row.digest,
        from_text(row.named),
        row.filename or "",
        row.target or "",
    )
