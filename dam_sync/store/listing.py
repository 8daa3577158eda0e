"""The listing of a run: its shards, how far each was read, and its rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, exists, func, or_, select, update

from dam_sync.model.asset import AssetId, Entry, Revision
from dam_sync.model.codec import asset_to_json
from dam_sync.model.outcome import MADE
from dam_sync.model.parking import SkipReason, cause_of_row
from dam_sync.model.service import Batch, Shard
from dam_sync.model.weights import LISTED_BYTES
from dam_sync.store.base import Repository, from_text, pieces, to_text
from dam_sync.store.rows import READ_AGAIN, ShardRow
from dam_sync.store.statements import PreparedStatement, listed_statement
from dam_sync.store.tables import LINK, RUN, SEEN, SHARD, WORK, stamp
from dam_sync.store.upsert import upsert
from dam_sync.store.waves import count_elsewhere, forget_elsewhere, leave_to_others

_ANEW = ("seq", "run", "listed_run", "revision", "changed_at", "deleted", "payload", "state", "action")
_CLEARED = {
    "due": "",
    "holder": "",
    "attempt": 0,
    "again": False,
    "operation": "",
    "message": "",
    "hint": "",
}
_LISTED = listed_statement("ids")
_LINKED = PreparedStatement(select(SEEN.c.source, SEEN.c.run).where(SEEN.c.source.in_(_LISTED)))
_KNOWN = PreparedStatement(  # what settled in an earlier run, and was not deleted, is like what is not known
    select(WORK.c.asset, WORK.c.listed_run, WORK.c.revision, WORK.c.deleted, WORK.c.state)
    .where(WORK.c.asset.in_(_LISTED))
    .where((WORK.c.listed_run == bindparam("now")) | WORK.c.deleted | (WORK.c.state != "settled"))
)


def _list_statement() -> PreparedStatement:
    added = upsert(WORK)
    anew: dict[str, Any] = {name: added.excluded[name] for name in _ANEW}
    made = (WORK.c.run == added.excluded.run) & or_(*(WORK.c.action == action for action in MADE))
    anew["action"] = case((made, WORK.c.action), else_=added.excluded.action)
    finished = (WORK.c.state == "settled") & (WORK.c.action != "parked")
    anew["cause"] = case((finished, ""), else_=WORK.c.cause)  # `Work.parked_for`
    changed = added.on_conflict_do_update(index_elements=["asset"], set_={**anew, **_CLEARED})
    return PreparedStatement(changed, (*_ANEW, "asset"))


_LIST = _list_statement()  # makes an asset work
_SEEN = PreparedStatement(update(SEEN).where(SEEN.c.source.in_(_LISTED)).values(run=bindparam("now")))


class Shards(Repository):
    """The shards of a run."""

    async def set_shards(self, run: int, shards: Sequence[Shard], complete: bool) -> None:
        """Add shards, `complete` if these are the last. A shard with a known id keeps its cursor."""

        def job(c: Connection) -> None:
            for piece in pieces(shards):
                c.execute(upsert(SHARD).on_conflict_do_nothing(), [_shard_values(run, shard) for shard in piece])
            if complete:
                c.execute(update(RUN).where(RUN.c.id == run).values(shards_complete=True))

        await self._write(job)

    async def forget_shards(self, run: int) -> None:
        """Let this run list again; listed assets stay in the queue. Safe to repeat."""

        def job(c: Connection) -> None:
            c.execute(delete(SHARD).where(SHARD.c.run == run))
            c.execute(update(RUN).where(RUN.c.id == run).values(shards_complete=False))

        await self._write(job)

    async def discard_listing(self, run: int) -> None:
        """Let this run, which listed everything, list it again as if it had seen nothing, so that what is gone since
        counts as such; listed assets stay in the queue. Safe to repeat."""

        def job(c: Connection) -> None:
            c.execute(delete(SHARD).where(SHARD.c.run == run))
            c.execute(update(SEEN).where(SEEN.c.run == run).values(run=0))
            again = {"listed": RUN.c.listed - RUN.c.unchanged, "unchanged": 0}  # what is not queued is counted again
            c.execute(update(RUN).where(RUN.c.id == run).values(shards_complete=False, **again))
            forget_elsewhere(c, run)

        await self._write(job)

    async def restart_listing(self, run: int) -> None:
        """Let this run list again from the start: completed assets become work again. Safe to
        repeat."""

        def job(c: Connection) -> None:
            c.execute(delete(SHARD).where(SHARD.c.run == run))
            c.execute(update(WORK).where(WORK.c.listed_run == run).values(listed_run=0))
            c.execute(update(SEEN).where(SEEN.c.run == run).values(run=0))
            c.execute(update(RUN).where(RUN.c.id == run).values(shards_complete=False, listed=0, unchanged=0))
            forget_elsewhere(c, run)

        await self._write(job)

    async def shards(self, run: int) -> list[ShardRow]:
        """The shards of a run, in the order in which they were set."""

        def job(c: Connection) -> list[ShardRow]:
            rows = c.execute(select(SHARD).where(SHARD.c.run == run).order_by(SHARD.c.seq))
            return [
                ShardRow(Shard(row.id, from_text(row.params), row.expected), from_text(row.cursor), bool(row.done))
                for row in rows
            ]

        return await self._read(job)

    async def shards_complete(self, run: int) -> bool:
        """Whether the last shard of the run was set; not if all are gone, as earlier programs left an interrupted run
        when another command ended."""
        kept = exists().where(SHARD.c.run == RUN.c.id)
        chosen = select(RUN.c.shards_complete).where(RUN.c.id == run, kept)
        return await self._read(lambda c: bool(c.execute(chosen).scalar()))

    async def record(
        self,
        run: int,
        shard: Shard,
        batch: Batch,
        skip: Collection[AssetId],
        payloads: bool = True,
        elsewhere: Collection[AssetId] = (),
    ) -> None:
        """Rows and cursor in one transaction; safe to repeat.

        Entries in `skip` count as unchanged, those in `elsewhere` belong to other waves and are left as they are; the
        others become work, once per run and revision, and a large asset is read again then. An entry that was listed
        before in the same run (overlapping windows) is one row and counted once.
        """
        entries = {entry.id: entry for entry in batch.entries if entry.id not in elsewhere}
        texts = {
            entry.id: text
            for entry in entries.values()
            if payloads
            and entry.asset is not None
            and entry.id not in skip
            and len(text := to_text(asset_to_json(entry.asset))) <= LISTED_BYTES
        }

        def job(c: Connection) -> None:
            listing = _Listing(c, run, frozenset(skip))
            for piece in pieces(list(entries.values())):
                listing.add(piece, texts)
            for others in pieces(list(elsewhere)):
                listing.see(others)
            counted = {"listed": RUN.c.listed + listing.listed, "unchanged": RUN.c.unchanged + listing.unchanged}
            c.execute(update(RUN).where(RUN.c.id == run).values(counted))
            values = {**_shard_values(run, shard), "cursor": to_text(batch.cursor), "done": batch.cursor is None}
            moved = {"cursor": values["cursor"], "done": values["done"]}
            c.execute(upsert(SHARD).values(values).on_conflict_do_update(index_elements=["run", "id"], set_=moved))

        await self._write(job)

    async def read_again(
        self, run: int, assets: Collection[str], *, unlisted: bool = True, deleted: bool = False
    ) -> int:
        """Make assets work that were moved before, or not selected, to be read by their ids; returns how many. Not
        those that this run made work already; those of other waves are left to these. unlisted: those too that this run
        did not list; deleted: those too that were found to be deleted. Safe to repeat."""

        def job(c: Connection) -> int:
            listing = _Listing(c, run, frozenset())
            for piece in pieces(assets):
                left = leave_to_others(c, piece, self._database.wave)
                own = [asset for asset in piece if asset not in left]
                listing.add_again(own, unlisted=unlisted, deleted=deleted)
            counted = {"listed": RUN.c.listed + listing.listed, "unchanged": RUN.c.unchanged + listing.unchanged}
            c.execute(update(RUN).where(RUN.c.id == run).values(counted))
            return listing.listed - listing.unchanged

        return await self._write(job) if assets else 0

    async def linked_assets(self, after: str, at_most: int) -> list[AssetId]:
        """A page of the linked assets, in the order of their ids."""
        chosen = select(LINK.c.source).where(LINK.c.source > after).order_by(LINK.c.source).limit(at_most)
        return await self._read(lambda c: [AssetId(asset) for asset in c.execute(chosen).scalars()])

    async def left_out_assets(self, after: str, at_most: int) -> list[tuple[AssetId, bool]]:
        """A page of the assets that were not selected, or found to be deleted (then with True), in the order of their
        ids."""
        left = or_(WORK.c.cause == str(SkipReason.NOT_SELECTED), WORK.c.deleted)
        chosen = select(WORK.c.asset, WORK.c.deleted).where(WORK.c.asset > after, left)
        chosen = chosen.order_by(WORK.c.asset).limit(at_most)
        return await self._read(lambda c: [(AssetId(row.asset), bool(row.deleted)) for row in c.execute(chosen)])


class _Listing:
    """Entries on their way into the tables, in one transaction."""

    def __init__(self, c: Connection, run: int, skip: frozenset[AssetId]) -> None:
        self.listed = self.unchanged = 0
        self._c, self._run, self._skip = c, run, skip
        self._seq = int(c.execute(select(func.max(WORK.c.seq))).scalar() or 0)

    def add(self, entries: Sequence[Entry], texts: Mapping[AssetId, str]) -> None:
        ids = to_text([entry.id for entry in entries])
        linked: dict[str, int] = dict(_LINKED.tuples(self._c, ids=ids))
        known = {row.asset: row for row in _KNOWN.all(self._c, ids=ids, now=self._run)}
        rows: list[dict[str, Any]] = []
        again: list[dict[str, Any]] = []
        restored: list[str] = []
        for entry in entries:
            row = known.get(entry.id)
            skipped = entry.id in self._skip and (row is None or row.state == "settled")
            new = linked.get(entry.id) != self._run and (row is None or row.listed_run != self._run)
            self.listed += new
            if entry.id in self._skip and entry.id in linked:
                self.unchanged += new and (row is None or row.state not in ("pending", "claimed"))  # counts as work
                if row is not None and row.deleted:
                    restored.append(entry.id)
            elif not (row is not None and row.listed_run == self._run and _same(row, entry)):
                values = self._values(entry, texts.get(entry.id), skipped)
                (again if row is not None and row.state == "claimed" else rows).append(values)
        if restored:
            self._c.execute(update(WORK).where(WORK.c.asset.in_(restored)).values(deleted=False))
        self._write(rows, again, [source for source, run in linked.items() if run != self._run])

    def see(self, ids: Sequence[str]) -> None:
        """Entries of other waves: they exist, which is all that is kept."""
        new = [source for source, run in _LINKED.tuples(self._c, ids=to_text(list(ids))) if run != self._run]
        self._write([], [], new)
        count_elsewhere(self._c, self._run, len(ids))

    def add_again(self, ids: Sequence[str], *, unlisted: bool, deleted: bool) -> None:
        linked: dict[str, int] = dict(_LINKED.tuples(self._c, ids=to_text(list(ids))))
        columns = (WORK.c.asset, WORK.c.listed_run, WORK.c.deleted, WORK.c.cause, WORK.c.state)
        known = {row.asset: row for row in self._c.execute(select(*columns).where(WORK.c.asset.in_(ids)))}
        rows: list[dict[str, Any]] = []
        again: list[dict[str, Any]] = []
        for asset in ids:
            row, listed = known.get(asset), linked.get(asset) == self._run
            if not (listed or unlisted) or not _may_return(row, linked=asset in linked, deleted=deleted):
                continue
            if row is None or row.listed_run != self._run:
                self.listed, self.unchanged = self.listed + (not listed), self.unchanged - listed
                values = self._values(Entry(AssetId(asset), Revision(READ_AGAIN)), None, False)
                (again if row is not None and row.state == "claimed" else rows).append(values)
        self._write(rows, again, [])

    def _values(self, entry: Entry, payload: str | None, skipped: bool) -> dict[str, Any]:
        self._seq += 1
        return {
            "seq": self._seq,
            "asset": entry.id,
            "run": self._run,
            "listed_run": self._run,
            "revision": entry.revision,
            "changed_at": stamp(entry.changed_at) if entry.changed_at else None,
            "deleted": entry.deleted,
            "payload": payload,
            "state": "settled" if skipped else "pending",
            "action": "unchanged" if skipped else "",
        }

    def _write(self, rows: list[dict[str, Any]], again: list[dict[str, Any]], seen: list[str]) -> None:
        if rows:
            _LIST.run_all(self._c, rows)
        if again:  # claimed by a worker: it becomes work again once that is complete
            kept = ("listed_run", "revision", "changed_at", "deleted", "payload")
            changed = update(WORK).where(WORK.c.asset == bindparam("of"))
            changed = changed.values(again=True, **{name: bindparam(f"new_{name}") for name in kept})
            self._c.execute(
                changed, [{"of": row["asset"], **{f"new_{name}": row[name] for name in kept}} for row in again]
            )
        if seen:
            _SEEN.run(self._c, ids=to_text(seen), now=self._run)


def _may_return(row: Any, *, linked: bool, deleted: bool) -> bool:
    """Whether an asset may be read again."""
    if row is not None and row.deleted:
        return deleted
    return linked or (row is not None and cause_of_row(row.cause, parked=False) is SkipReason.NOT_SELECTED)


def _same(row: Any, entry: Entry) -> bool:
    return bool(row.revision == entry.revision and bool(row.deleted) == entry.deleted)


def _shard_values(run: int, shard: Shard) -> dict[str, Any]:
    return {"run": run, "id": shard.id, "params": to_text(dict(shard.params)), "expected": shard.expected}
