"""The checkpoint store of one job: queue, links, durable steps, history and ledger in one SQLite file.

Safe against a kill at any instant: `synchronous=FULL` makes every answered call durable, also against power loss; what
was asked and not answered is either whole or not there.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlmodel import SQLModel

from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.clock import Clock
from dam_sync.model.service import Batch, Membership, Shard, Steps
from dam_sync.model.values import Json, instant_text
from dam_sync.store import links, listing, pending, work
from dam_sync.store.migrations import MIGRATIONS
from dam_sync.store.opening import local_path, open_engine
from dam_sync.store.rows import (
    LedgerRow,
    LinkRow,
    Outcome,
    ParkedRow,
    RelationRow,
    Run,
    RunRow,
    ShardRow,
    Work,
)
from dam_sync.store.runs import Runs
from dam_sync.store.steps import StoredSteps
from dam_sync.store.tables import NOTE
from dam_sync.store.writer import Writer


class SqlStore:
    """One open state file. Every method returns when its effect is durable."""

    def __init__(self, path: Path, clock: Clock, writer: Writer) -> None:
        self.path = path
        self._clock = clock
        self._writer = writer
        self._do = writer.do
        self._runs = Runs(clock)
        self._owner = ""
        self._run = 0

    @classmethod
    async def open(cls, path: Path, clock: Clock, *, read_only: bool = False) -> Self:
        """Open or make the file. Raises ConfigError when it is damaged, newer than us, or not ours to write."""
        engine = await asyncio.to_thread(partial(open_engine, path, read_only=read_only))
        writer = Writer(engine)
        writer.start()
        return cls(local_path(path), clock, writer)

    async def close(self) -> None:
        """Finish what was asked; safe to repeat."""
        await asyncio.to_thread(self._writer.stop)
        self._writer.engine.dispose()

    @property
    def commits(self) -> int:
        """Transactions so far."""
        return self._writer.commits

    async def copy_to(self, path: Path) -> None:
        """A consistent copy of the whole file, for dry runs."""

        def copy(connection: Connection) -> None:
            raw: Any = connection.connection.driver_connection
            target = sqlite3.connect(path)
            try:
                raw.backup(target) if not raw.in_transaction else target.executescript("\n".join(raw.iterdump()))
            finally:
                target.close()

        await self._do(copy)

    # -- notes ----------------------------------------------------------------------------------------------------

    async def note(self, key: str, value: Json) -> None:
        """Keep a small fact about the job."""
        row = {"key": key, "value": json.dumps(value)}
        statement = upsert(NOTE).values(row).on_conflict_do_update(index_elements=["key"], set_=row)
        await self._do(lambda connection: connection.execute(statement) and None)

    async def noted(self, key: str) -> Json:
        """The fact, or None."""
        query = select(NOTE.c.value).where(NOTE.c.key == key)
        found = await self._do(lambda connection: connection.execute(query).scalar_one_or_none())
        return None if found is None else json.loads(found)

    # -- runs -----------------------------------------------------------------------------------------------------

    async def begin(self, job: str, command: str) -> Run:
        """A new run, or the unfinished one resumed. Raises StoreBusy naming another process that is at it."""
        run = await self._do(lambda connection: self._runs.begin(connection, job, command))
        self._owner, self._run = run.owner, run.id
        return run

    async def beat(self, run: int) -> None:
        """Say that the run is alive. Raises SafetyStop when another process has taken it over."""
        await self._do(lambda connection: self._runs.beat(connection, run, self._owner))

    async def finish(self, run: int, outcome: Json) -> None:
        """Close the run. Raises SafetyStop while anything is open."""
        await self._do(lambda connection: self._runs.finish(connection, run, outcome))

    async def stop(self, run: int, reason: str) -> None:
        """Leave the run to be resumed by the next command."""
        await self._do(lambda connection: self._runs.stop(connection, run, reason))

    async def runs(self) -> list[RunRow]:
        """History, newest first."""
        return await self._do(self._runs.history)

    # -- listing --------------------------------------------------------------------------------------------------

    async def set_shards(self, run: int, shards: Sequence[Shard], complete: bool) -> None:
        """The shards a run is to read; `complete` when these are all."""
        await self._do(lambda connection: listing.set_shards(connection, run, shards, complete))

    async def shards(self, run: int) -> list[ShardRow]:
        """Shards with their cursors, in order."""
        return await self._do(lambda connection: listing.shards_of(connection, run))

    async def shards_complete(self, run: int) -> bool:
        """Whether all shards of the run are known."""
        return await self._do(lambda connection: listing.shards_complete(connection, run))

    async def record(self, run: int, shard: Shard, batch: Batch, skip: Collection[AssetId]) -> None:
        """Rows and cursor of a batch together; rows in `skip` count as unchanged. Recording twice changes nothing."""
        await self._do(lambda connection: listing.record(connection, run, shard, batch, skip))

    # -- work -----------------------------------------------------------------------------------------------------

    async def claim(self, run: int, at_most: int, lease: timedelta) -> list[Work]:
        """The next open rows in order of their listing."""
        now = self._clock.now().timestamp()
        return await self._do(lambda connection: work.claim(connection, run, at_most, lease, now))

    async def extend(self, works: Sequence[Work], lease: timedelta) -> None:
        """Keep work in hand for longer."""
        until = self._clock.now().timestamp() + lease.total_seconds()
        await self._do(lambda connection: work.extend(connection, [each.asset for each in works], until))

    async def release(self, works: Sequence[Work]) -> None:
        """Give back work that was not begun."""
        await self._do(lambda connection: work.release(connection, [each.asset for each in works]))

    async def retry_later(self, each: Work, after_s: float) -> None:
        """Put work back for some seconds."""
        until = self._clock.now().timestamp() + after_s
        await self._do(lambda connection: work.retry_later(connection, each.asset, until))

    async def settle(self, each: Work, outcome: Outcome) -> None:
        """How the work ended, with all that follows from it, in one transaction."""
        await self._do(lambda connection: work.settle(connection, each, outcome))

    async def unpark(self, causes: Collection[str] | None) -> int:
        """Parked assets back into the queue; None means all. Gives how many."""
        return await self._do(lambda connection: work.unpark(connection, causes))

    async def tally(self, run: int) -> Mapping[str, int]:
        """Assets of a run by what happened to them."""
        return await self._do(lambda connection: work.tally(connection, run))

    async def parked(self, *, limit: int, offset: int = 0, cause: str | None = None) -> list[ParkedRow]:
        """A page of parked assets."""
        return await self._do(lambda connection: work.parked(connection, limit, offset, cause))

    async def parked_causes(self) -> list[tuple[str, str, str, int, str]]:
        """(cause, operation, hint, how many, an example), most frequent first."""
        return await self._do(work.parked_causes)

    async def actions(self, assets: Sequence[str]) -> dict[AssetId, str]:
        """What became of these assets the last time they were looked at."""
        return await self._do(lambda connection: work.actions(connection, assets))

    async def open_work(self, run: int) -> int:
        """Rows not yet settled."""
        return await self._do(work.open_work)

    def steps(self, each: Work, run: int) -> Steps:
        """The durable steps of one piece of work."""
        return StoredSteps(self._do, self._clock, each.asset, run)

    def run_steps(self, scope: str) -> Steps:
        """Durable steps that belong to the job rather than to an asset."""
        return StoredSteps(self._do, self._clock, f"#{scope}", self._run)

    # -- links, names, members ------------------------------------------------------------------------------------

    async def links(self, sources: Sequence[str]) -> dict[AssetId, LinkRow]:
        """By source id."""
        return await self._do(lambda connection: links.links(connection, sources))

    async def links_by_target(self, targets: Sequence[str]) -> dict[AssetId, LinkRow]:
        """By target id."""
        return await self._do(lambda connection: links.links_by_target(connection, targets))

    async def put_link(self, link: LinkRow) -> None:
        """Add or replace a link."""
        await self._do(lambda connection: links.put_link(connection, link))

    async def iter_links(self, after: str = "", at_most: int = 500) -> list[LinkRow]:
        """A page of links in order of source id."""
        return await self._do(lambda connection: links.iter_links(connection, after, at_most))

    async def link_count(self) -> int:
        """How many assets are linked."""
        return await self._do(links.link_count)

    async def unseen_links(self, run: int, limit: int) -> list[LinkRow]:
        """Links whose asset a full listing did not show."""
        return await self._do(lambda connection: links.unseen_links(connection, run, limit))

    async def reserve_name(self, folded: str, owner: str) -> str | None:
        """None when the file name is the owner's now; else who has it."""
        return await self._do(lambda connection: links.reserve_name(connection, folded, owner))

    async def take_names(self, rows: Sequence[tuple[str, str]]) -> None:
        """(folded name, owner) of names that are taken already."""
        await self._do(lambda connection: links.take_names(connection, rows))

    async def release_name(self, folded: str, owner: str) -> None:
        """Give a name back."""
        await self._do(lambda connection: links.release_name(connection, folded, owner))

    async def begin_members(self, run: int) -> None:
        """Forget the memberships of an earlier run."""
        await self._do(links.clear_members)

    async def add_members(self, run: int, membership: Membership) -> None:
        """Some members of one container."""
        await self._do(lambda connection: links.add_members(connection, membership))

    async def members_of(self, assets: Sequence[str]) -> dict[AssetId, frozenset[Placement]]:
        """Placements by asset."""
        return await self._do(lambda connection: links.members_of(connection, assets))

    # -- pending writes, ledger -----------------------------------------------------------------------------------

    async def next_placements(self, at_most: int) -> tuple[Placement, tuple[AssetId, ...], tuple[AssetId, ...]] | None:
        """(container, add, remove) of one container; None when nothing is left."""
        return await self._do(lambda connection: pending.next_placements(connection, at_most))

    async def placements_done(self, placement: Placement, assets: Sequence[str]) -> None:
        """These are written."""
        await self._do(lambda connection: pending.placements_done(connection, placement, assets))

    async def next_relations(self, at_most: int, after_seq: int = 0) -> list[RelationRow]:
        """A page of relations to be written."""
        return await self._do(lambda connection: pending.next_relations(connection, at_most, after_seq))

    async def relations_done(self, rows: Sequence[RelationRow]) -> None:
        """These are written."""
        await self._do(lambda connection: pending.relations_done(connection, rows))

    async def write_ledger(self, run: int, operation: str, asset: str, target: str, detail: Json) -> None:
        """One more write that was made."""
        at = instant_text(self._clock.now())
        row = {"run": run, "operation": operation, "asset": asset, "target": target, "detail": detail, "at": at}
        await self._do(lambda connection: pending.write_ledger(connection, row))

    async def ledger(self, after_seq: int, at_most: int) -> list[LedgerRow]:
        """A page of the ledger."""
        return await self._do(lambda connection: pending.ledger(connection, after_seq, at_most))

    async def ledger_count(self) -> int:
        """The number of the last ledger row."""
        return await self._do(pending.ledger_count)

    async def show(self) -> dict[str, Json]:
        """Rows by table, size on disk in bytes, format, runs and watermark."""

        def count(connection: Connection) -> dict[str, int]:
            tables = SQLModel.metadata.sorted_tables
            return {t.name: connection.execute(select(func.count()).select_from(t)).scalar_one() for t in tables}

        rows = await self._do(count)
        size = sum(path.stat().st_size for path in self.path.parent.glob(self.path.name + "*"))
        watermark = await self.noted("watermark")
        return {"file": str(self.path), "bytes": size, "format": len(MIGRATIONS), "watermark": watermark, "rows": rows}
