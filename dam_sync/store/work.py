"""Work: claimed under a lease in the order of the listing, settled for good or put back."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import timedelta

from sqlalchemy import Connection, and_, delete, func, or_, select, update

from dam_sync.model.asset import AssetId
from dam_sync.model.codec import asset_from_json
from dam_sync.store.links import put_link
from dam_sync.store.pending import queue_placements, queue_relations
from dam_sync.store.rows import Outcome, ParkedRow, Work
from dam_sync.store.tables import RUN, STEP, WORK

PARKED = "parked"


def claim(connection: Connection, run: int, at_most: int, lease: timedelta, now: float) -> list[Work]:
    """The next rows in order; `now` in seconds since the epoch. A lease that ran out is claimable again."""
    free = or_(
        and_(WORK.c.state == "pending", WORK.c.lease_until <= now),
        and_(WORK.c.state == "claimed", WORK.c.lease_until <= now),
    )
    rows = connection.execute(select(WORK).where(free).order_by(WORK.c.seq).limit(at_most)).all()
    ids = [row.asset for row in rows]
    if ids:
        until = now + lease.total_seconds()
        connection.execute(
            update(WORK)
            .where(WORK.c.asset.in_(ids))
            .values(state="claimed", run=run, lease_until=until, attempt=WORK.c.attempt + 1)
        )
    return [
        Work(
            row.seq,
            AssetId(row.asset),
            row.revision,
            asset_from_json(json.loads(row.payload)) if row.payload else None,
            row.deleted,
            row.attempt + 1,
        )
        for row in rows
    ]


def extend(connection: Connection, assets: Sequence[str], until: float) -> None:
    """Move the leases of work in hand."""
    connection.execute(
        update(WORK).where(WORK.c.asset.in_(assets), WORK.c.state == "claimed").values(lease_until=until)
    )


def release(connection: Connection, assets: Sequence[str]) -> None:
    """Give work back that was not begun."""
    connection.execute(
        update(WORK)
        .where(WORK.c.asset.in_(assets), WORK.c.state == "claimed")
        .values(state="pending", lease_until=0.0, attempt=WORK.c.attempt - 1)
    )


def retry_later(connection: Connection, asset: str, not_before: float) -> None:
    """Put work back until an instant (seconds since the epoch)."""
    connection.execute(update(WORK).where(WORK.c.asset == asset).values(state="pending", lease_until=not_before))


def settle(connection: Connection, work: Work, outcome: Outcome) -> None:
    """What became of it, the link, what is still to be placed and related: all at once. The steps of work that is done
    are forgotten; those of parked work are kept, so that a retry goes on where it stopped."""
    connection.execute(
        update(WORK)
        .where(WORK.c.asset == work.asset)
        .values(
            state="done",
            payload=None,
            action=outcome.action,
            cause=outcome.cause,
            operation=outcome.operation,
            message=outcome.message,
            hint=outcome.hint,
            losses=json.dumps(outcome.losses, ensure_ascii=False) if outcome.losses else None,
        )
    )
    if outcome.link is not None:
        seen = connection.execute(select(WORK.c.run).where(WORK.c.asset == work.asset)).scalar_one_or_none()
        put_link(connection, outcome.link, seen or 0)
    queue_placements(connection, outcome.placements)
    queue_relations(connection, [(work.asset, kind, other) for kind, other in outcome.relations])
    if outcome.action != PARKED:
        connection.execute(delete(STEP).where(STEP.c.scope == work.asset))


def unpark(connection: Connection, causes: Collection[str] | None) -> int:
    """Back into the queue; gives how many."""
    which = WORK.c.action == PARKED
    if causes:
        which = and_(which, WORK.c.cause.in_(list(causes)))
    changed = connection.execute(
        update(WORK).where(which).values(state="pending", lease_until=0.0, attempt=0, action="", cause="")
    )
    return changed.rowcount


def tally(connection: Connection, run: int) -> dict[str, int]:
    """Assets of a run by what happened to them; `listed` counts all of them."""
    rows = connection.execute(
        select(WORK.c.state, WORK.c.action, func.count()).where(WORK.c.run == run).group_by(WORK.c.state, WORK.c.action)
    )
    counts = {"listed": 0, "created": 0, "updated": 0, "unchanged": 0, "skipped": 0, "parked": 0, "open": 0}
    for state, action, number in rows:
        key = action if state == "done" else "open"
        counts[key] = counts.get(key, 0) + number
    totals = connection.execute(select(RUN.c.listed, RUN.c.unchanged).where(RUN.c.id == run)).first()
    if totals is not None:
        counts["listed"] += totals.listed
        counts["unchanged"] += totals.unchanged
    return counts


def parked(connection: Connection, limit: int, offset: int, cause: str | None) -> list[ParkedRow]:
    """Parked assets in order of their listing."""
    query = select(WORK).where(WORK.c.action == PARKED).order_by(WORK.c.seq).limit(limit).offset(offset)
    if cause is not None:
        query = query.where(WORK.c.cause == cause)
    rows = connection.execute(query).all()
    return [ParkedRow(row.asset, row.cause, row.operation, row.message, row.hint) for row in rows]


def parked_causes(connection: Connection) -> list[tuple[str, str, str, int, str]]:
    """(cause, operation, hint, how many, one example's message), most frequent first."""
    count = func.count().label("count")
    rows = connection.execute(
        select(
            WORK.c.cause,
            WORK.c.operation,
            func.min(WORK.c.hint),
            count,
            func.min(WORK.c.asset + ": " + WORK.c.message),
        )
        .where(WORK.c.action == PARKED)
        .group_by(WORK.c.cause, WORK.c.operation)
        .order_by(count.desc())
    )
    return [tuple(row) for row in rows]


def actions(connection: Connection, assets: Sequence[str]) -> dict[AssetId, str]:
    """What became of these assets the last time they were looked at."""
    rows = connection.execute(select(WORK.c.asset, WORK.c.action).where(WORK.c.asset.in_(assets)))
    return {AssetId(asset): action for asset, action in rows}


def open_work(connection: Connection) -> int:
    """Rows still to be settled."""
    query = select(func.count()).select_from(WORK).where(WORK.c.state.in_(("pending", "claimed")))
    return connection.execute(query).scalar_one()
