"""What is to be written once all assets exist: bulk memberships and relations; and the ledger of what was written."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection, delete, func, insert, select
from sqlalchemy.dialects.sqlite import insert as upsert

from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.values import Json
from dam_sync.store.rows import LedgerRow, RelationRow
from dam_sync.store.tables import LEDGER, LINK, PLACEMENT, RELATION


def queue_placements(connection: Connection, rows: Sequence[tuple[Placement, AssetId, bool]]) -> None:
    """(container, target asset, add or remove); the last word on a pair counts."""
    values = [
        {"kind": p.kind, "path": json.dumps(p.path), "container": p.id, "asset": asset, "adds": adds}
        for p, asset, adds in rows
    ]
    if values:
        statement = upsert(PLACEMENT)
        changed = {"adds": statement.excluded.adds, "container": statement.excluded.container}
        connection.execute(
            statement.on_conflict_do_update(index_elements=["kind", "path", "asset"], set_=changed), values
        )


def next_placements(
    connection: Connection, at_most: int
) -> tuple[Placement, tuple[AssetId, ...], tuple[AssetId, ...]] | None:
    """(container, assets to add, assets to remove) of one container, at most `at_most` assets."""
    first = connection.execute(select(PLACEMENT).order_by(PLACEMENT.c.kind, PLACEMENT.c.path).limit(1)).first()
    if first is None:
        return None
    rows = connection.execute(
        select(PLACEMENT.c.asset, PLACEMENT.c.adds)
        .where(PLACEMENT.c.kind == first.kind, PLACEMENT.c.path == first.path)
        .order_by(PLACEMENT.c.asset)
        .limit(at_most)
    ).all()
    place = Placement(first.kind, tuple(json.loads(first.path)), first.container)
    add = tuple(AssetId(row.asset) for row in rows if row.adds)
    return place, add, tuple(AssetId(row.asset) for row in rows if not row.adds)


def placements_done(connection: Connection, placement: Placement, assets: Sequence[str]) -> None:
    """Forget what was written."""
    connection.execute(
        delete(PLACEMENT).where(
            PLACEMENT.c.kind == placement.kind,
            PLACEMENT.c.path == json.dumps(placement.path),
            PLACEMENT.c.asset.in_(assets),
        )
    )


def queue_relations(connection: Connection, rows: Sequence[tuple[str, str, str]]) -> None:
    """(owner's source id, kind, other's source id)."""
    if rows:
        values = [{"owner": owner, "kind": kind, "other": other} for owner, kind, other in rows]
        connection.execute(insert(RELATION), values)


def next_relations(connection: Connection, at_most: int, after: int) -> list[RelationRow]:
    """A page behind `after`, with the target ids of the ends that are linked."""
    owner, other = LINK.alias("owner"), LINK.alias("other")
    query = (
        select(RELATION, owner.c.target.label("owner_target"), other.c.target.label("other_target"))
        .outerjoin(owner, owner.c.source == RELATION.c.owner)
        .outerjoin(other, other.c.source == RELATION.c.other)
        .where(RELATION.c.seq > after)
        .order_by(RELATION.c.seq)
        .limit(at_most)
    )
    rows = connection.execute(query).all()
    return [
        RelationRow(row.seq, row.owner, row.kind, row.other, row.owner_target or "", row.other_target or "")
        for row in rows
    ]


def relations_done(connection: Connection, rows: Sequence[RelationRow]) -> None:
    """Forget what was written."""
    connection.execute(delete(RELATION).where(RELATION.c.seq.in_([row.seq for row in rows])))


def write_ledger(connection: Connection, row: dict[str, Json]) -> None:
    """One more line; never changed afterwards."""
    connection.execute(insert(LEDGER).values({**row, "detail": json.dumps(row["detail"], ensure_ascii=False)}))


def ledger(connection: Connection, after: int, at_most: int) -> list[LedgerRow]:
    """A page behind `after`."""
    query = select(LEDGER).where(LEDGER.c.seq > after).order_by(LEDGER.c.seq).limit(at_most)
    return [
        LedgerRow(r.seq, r.run, r.operation, r.asset, r.target, json.loads(r.detail), r.at)
        for r in connection.execute(query)
    ]


def ledger_count(connection: Connection) -> int:
    """The number of the last line."""
    number: int = connection.execute(select(func.coalesce(func.max(LEDGER.c.seq), 0))).scalar_one()
    return number
