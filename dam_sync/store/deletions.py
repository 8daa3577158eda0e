"""Linked assets that are gone from the source, and those that were moved to the trash of the target."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, false, func, insert, or_, select, update

from dam_sync.model.asset import AssetId
from dam_sync.model.parking import ParkCause, stored_texts
from dam_sync.store.base import Repository, from_text, pieces, to_text
from dam_sync.store.links import link_of, write_link
from dam_sync.store.rows import Deletion, DeletionReason, Sighting, TrashedLink
from dam_sync.store.statements import PreparedStatement
from dam_sync.store.tables import (
    DELETION,
    LINK,
    LISTED_DELETED,
    PLACEMENT,
    RELATION,
    SEEN,
    TRASHED,
    WORK,
    instant,
    stamp,
)
from dam_sync.store.upsert import upsert

_GONE: Select[Any] = select(DELETION, LINK.c.target).join(LINK, LINK.c.source == DELETION.c.source)
_PUT = upsert(DELETION)
_KEEP = _PUT.on_conflict_do_update(
    index_elements=["source"],
    set_={name: _PUT.excluded[name] for name in ("reason", "since", "listings", "run", "scope")},
)
_DROP = PreparedStatement(delete(TRASHED).where(TRASHED.c.source == bindparam("of")))
_REQUEUED: dict[str, Any] = {
    **{"state": "pending", "action": "", "deleted": True, "due": "", "holder": "", "attempt": 0, "again": False},
    **{"cause": "", "operation": "", "message": "", "hint": "", "losses": "null", "evidence": "", "payload": None},
}


class DeletionRepository(Repository):
    """From the first listing that lacks an asset to its removal, and back."""

    async def sightings(self, after: str, at_most: int, run: int | None) -> list[Sighting]:
        """A page of linked assets that may be deleted, in the order of source ids: known as such, listed in the trash,
        or, given a `run`, not listed by it."""
        in_trash = SEEN.c.source.in_(select(WORK.c.asset).where(LISTED_DELETED))
        known = [DELETION.c[name].label(f"known_{name}") for name in ("reason", "since", "listings", "run", "scope")]
        missed = SEEN.c.run < run if run is not None else false()
        chosen = (
            select(SEEN.c.source, LINK.c.target, SEEN.c.run, in_trash.label("in_trash"), *known)
            .select_from(SEEN)
            .join(DELETION, DELETION.c.source == SEEN.c.source, isouter=True)
            .join(LINK, LINK.c.source == SEEN.c.source)
            .where(SEEN.c.source > after, or_(in_trash, missed, DELETION.c.source.is_not(None)))
            .order_by(SEEN.c.source)
            .limit(at_most)
        )
        return await self._read(lambda c: [_sighting(row) for row in c.execute(chosen)])

    async def keep_deletions(self, found: Sequence[Deletion], gone: Collection[str]) -> None:
        """Store what was found, and forget others, which exist; safe to repeat."""

        def job(c: Connection) -> None:
            if found:
                c.execute(_KEEP, [_values(row) for row in found])
            for piece in pieces(list(gone)):
                c.execute(delete(DELETION).where(DELETION.c.source.in_(piece)))

        if found or gone:
            await self._write(job)

    async def keep_existing(self, sources: Sequence[str]) -> None:
        """These exist, whatever a listing said: they are neither gone nor in the trash; safe to repeat."""

        def job(c: Connection) -> None:
            for piece in pieces(sources):
                c.execute(delete(DELETION).where(DELETION.c.source.in_(piece)))
                c.execute(update(WORK).where(WORK.c.asset.in_(piece)).values(deleted=False))

        await self._write(job)

    async def forget_deletions(self) -> None:
        """Forget all of them, for a policy that removes nothing; safe to repeat."""
        if await self._read(lambda c: c.execute(select(DELETION.c.source).limit(1)).first()) is not None:
            await self._write(lambda c: c.execute(delete(DELETION)) and None)

    async def deletions(self, after: str = "", at_most: int = 500, without: ParkCause | None = None) -> list[Deletion]:
        """A page of them in the order of source ids, without those that are parked for the cause `without`."""
        chosen = _GONE.where(DELETION.c.source > after)
        if without is not None:
            named = WORK.c.cause.in_(stored_texts(without))
            parked = select(WORK.c.asset).where(WORK.c.action == "parked", named)
            chosen = chosen.where(DELETION.c.source.not_in(parked))
        chosen = chosen.order_by(DELETION.c.source).limit(at_most)
        return await self._read(lambda c: [_deletion(row) for row in c.execute(chosen)])

    async def sample_existing(self, at_most: int) -> tuple[AssetId, ...]:
        """Some linked source assets that are not gone, spread over the library; the same ones while nothing changes."""
        there = select(LINK.c.source).where(LINK.c.source.not_in(select(DELETION.c.source))).order_by(LINK.c.source)
        number = select(func.count()).select_from(there.subquery())

        def job(c: Connection) -> tuple[AssetId, ...]:
            many = int(c.execute(number).scalar_one())
            spots = sorted({many * spot // at_most for spot in range(at_most)}) if many else []
            return tuple(AssetId(c.execute(there.limit(1).offset(at)).scalar_one()) for at in spots)

        return await self._read(job)

    async def queue_removals(self, run: int, sources: Sequence[str]) -> None:
        """Make these assets work again, as deleted ones; safe to repeat."""

        def job(c: Connection) -> None:
            last = int(c.execute(select(func.max(WORK.c.seq))).scalar() or 0)
            for seq, source in enumerate(sources, last + 1):
                given = update(WORK).where(WORK.c.asset == source).values(**_REQUEUED, run=run)
                if not c.execute(given).rowcount:
                    new = {"seq": seq, "asset": source, "run": run, "listed_run": 0, "revision": "", **_REQUEUED}
                    c.execute(insert(WORK).values(new))

        if sources:
            await self._write(job)

    async def trashed(self, sources: Sequence[str]) -> dict[AssetId, TrashedLink]:
        """Those of these source assets that a run removed, with their links; the others are absent."""
        return await self._trashed(TRASHED.c.source, sources)

    async def trashed_at(self, targets: Sequence[str]) -> dict[AssetId, TrashedLink]:
        """Those of these target assets that a run moved to the trash, by target."""
        found = await self._trashed(TRASHED.c.target, targets)
        return {AssetId(each.link.target): each for each in found.values()}

    async def trashed_count(self) -> int:
        """How many assets are in the trash of the target by policy."""
        return await self._read(lambda c: int(c.execute(select(func.count()).select_from(TRASHED)).scalar_one()))

    async def anything_moved(self) -> bool:
        """Whether the target has an asset that this job put there, be it in its trash by policy."""
        return await self._read(
            lambda c: any(c.execute(select(table.c.source).limit(1)).first() is not None for table in (LINK, TRASHED))
        )

    async def put_back(self, source: AssetId) -> None:
        """The target asset is out of the trash: link it again as before; safe to repeat."""

        def job(c: Connection) -> None:
            row = c.execute(select(TRASHED).where(TRASHED.c.source == source)).first()
            if row is not None:
                listed = c.execute(select(WORK.c.listed_run).where(WORK.c.asset == source)).scalar()
                write_link(c, _trashed(row).link, listed or 0)
                drop_trashed(c, source)

        await self._write(job)

    async def _trashed(self, column: Any, ids: Sequence[str]) -> dict[AssetId, TrashedLink]:
        def job(c: Connection) -> dict[AssetId, TrashedLink]:
            rows = (row for piece in pieces(ids) for row in c.execute(select(TRASHED).where(column.in_(piece))))
            return {AssetId(row.source): _trashed(row) for row in rows}

        return await self._read(job) if ids else {}


def move_to_trashed(c: Connection, source: str, run: int, at: str) -> None:
    """The target asset is in the trash: the link ends, is kept aside, and nothing waits for the asset any more."""
    row = c.execute(select(LINK).where(LINK.c.source == source)).first()
    c.execute(delete(DELETION).where(DELETION.c.source == source))
    if row is None:
        return
    values = {"target": row.target, "run": run, "at": at, "link": to_text(dict(row._mapping)), "retried": False}
    kept = upsert(TRASHED).values(source=source, **values)
    c.execute(kept.on_conflict_do_update(index_elements=["source"], set_=values))
    c.execute(delete(LINK).where(LINK.c.source == source))
    c.execute(delete(PLACEMENT).where(PLACEMENT.c.asset == row.target))
    c.execute(delete(RELATION).where(RELATION.c.owner == source))


def drop_trashed(c: Connection, source: str) -> None:
    """Forget what was kept of a removed asset."""
    _DROP.run(c, of=source)


def retry_trashed(c: Connection, sources: Select[Any]) -> None:
    """The operator retries these: one that cannot be taken out of the trash may be created again."""
    c.execute(update(TRASHED).where(TRASHED.c.source.in_(sources)).values(retried=True))


def _sighting(row: Row[Any]) -> Sighting:
    known = None
    if row.known_reason is not None:
        known = Deletion(
            row.source,
            row.target,
            DeletionReason(row.known_reason),
            instant(row.known_since),
            row.known_listings,
            row.known_run,
            row.known_scope,
        )
    return Sighting(row.source, row.target, row.run, bool(row.in_trash), known)


def _values(row: Deletion) -> dict[str, Any]:
    return {
        "source": row.source,
        "reason": row.reason,
        "since": stamp(row.since),
        "listings": row.listings,
        "run": row.run,
        "scope": row.scope,
    }


def _deletion(row: Row[Any]) -> Deletion:
    return Deletion(
        row.source, row.target, DeletionReason(row.reason), instant(row.since), row.listings, row.run, row.scope
    )


def _trashed(row: Row[Any]) -> TrashedLink:
    return TrashedLink(link_of(SimpleNamespace(**from_text(row.link))), row.run, row.at, bool(row.retried))
