"""Shards and what they list: rows and cursor of a batch commit together."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from dam_sync.model.asset import AssetId, Entry
from dam_sync.model.codec import asset_to_json
from dam_sync.model.service import Batch, Shard
from dam_sync.model.values import instant_text
from dam_sync.store.rows import ShardRow
from dam_sync.store.tables import LINK, RUN, SHARD, WORK


def set_shards(connection: Connection, run: int, shards: Sequence[Shard], complete: bool) -> None:
    """The shards of a run, in order; those of earlier runs are forgotten."""
    connection.execute(delete(SHARD).where(SHARD.c.run != run))
    start = connection.execute(select(func.count()).select_from(SHARD).where(SHARD.c.run == run)).scalar_one()
    rows = [
        {"run": run, "seq": start + n, "id": s.id, "params": json.dumps(dict(s.params)), "expected": s.expected}
        for n, s in enumerate(shards)
    ]
    if rows:
        connection.execute(insert(SHARD), [{**row, "done": False} for row in rows])
    connection.execute(update(RUN).where(RUN.c.id == run).values(shards_complete=complete))


def shards_of(connection: Connection, run: int) -> list[ShardRow]:
    """In the order they were given."""
    rows = connection.execute(select(SHARD).where(SHARD.c.run == run).order_by(SHARD.c.seq)).all()
    return [
        ShardRow(
            Shard(row.id, json.loads(row.params), row.expected),
            json.loads(row.cursor) if row.cursor else None,
            row.done,
        )
        for row in rows
    ]


def shards_complete(connection: Connection, run: int) -> bool:
    """Whether `set_shards` was told that these are all."""
    found = connection.execute(select(RUN.c.shards_complete).where(RUN.c.id == run)).scalar_one_or_none()
    return bool(found)


def record(connection: Connection, run: int, shard: Shard, batch: Batch, skip: Collection[AssetId]) -> None:
    """Rows and cursor of one batch. Rows in `skip` are counted as unchanged; the others become open work."""
    cursor = None if batch.cursor is None else json.dumps(dict(batch.cursor))
    values = {"cursor": cursor, "done": batch.cursor is None}
    connection.execute(update(SHARD).where(SHARD.c.run == run, SHARD.c.id == shard.id).values(**values))
    entries = list({entry.id: entry for entry in batch.entries}.values())
    if not entries:
        return
    ids = [entry.id for entry in entries]
    seen = set(connection.execute(select(WORK.c.asset).where(WORK.c.asset.in_(ids), WORK.c.run == run)).scalars())
    known = connection.execute(select(LINK.c.source).where(LINK.c.source.in_(ids), LINK.c.seen_run == run))
    seen |= set(known.scalars())
    connection.execute(update(LINK).where(LINK.c.source.in_(ids)).values(seen_run=run))
    fresh = [entry for entry in entries if entry.id not in seen]
    skipped = [entry for entry in fresh if entry.id in skip]
    connection.execute(
        update(RUN)
        .where(RUN.c.id == run)
        .values(listed=RUN.c.listed + len(fresh), unchanged=RUN.c.unchanged + len(skipped))
    )
    _open_work(connection, run, [entry for entry in fresh if entry.id not in skip])


def _open_work(connection: Connection, run: int, entries: Sequence[Entry]) -> None:
    if not entries:
        return
    last = connection.execute(select(func.coalesce(func.max(WORK.c.seq), 0))).scalar_one()
    rows = [
        {
            "asset": entry.id,
            "seq": last + n,
            "run": run,
            "revision": entry.revision,
            "changed_at": instant_text(entry.changed_at) if entry.changed_at else None,
            "deleted": entry.deleted,
            "payload": json.dumps(asset_to_json(entry.asset), ensure_ascii=False) if entry.asset else None,
            "state": "pending",
            "lease_until": 0.0,
            "attempt": 0,
            "action": "",
            "cause": "",
            "operation": "",
            "message": "",
            "hint": "",
            "losses": None,
        }
        for n, entry in enumerate(entries, 1)
    ]
    statement = upsert(WORK)
    changed = {column: statement.excluded[column] for column in rows[0] if column != "asset"}
    connection.execute(statement.on_conflict_do_update(index_elements=["asset"], set_=changed), rows)
