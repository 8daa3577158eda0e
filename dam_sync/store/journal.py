"""The journal: a write that was made is not made again, even after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, exists, func, select, update

from dam_sync.model.errors import (
    ConfigError,
    DamSyncError,
    Denied,
    Rejected,
    StopRequested,
    Throttled,
    Uncertain,
    WorkerLost,
)
from dam_sync.model.journal import ResultsUnderWay, are_current, begin_results
from dam_sync.model.journal_names import CREATE, is_silent
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.ports import Call
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, current_record
from dam_sync.store.base import Database, Repository, from_text, pieces, to_text
from dam_sync.store.file.threads import Job
from dam_sync.store.ledger import append
from dam_sync.store.rows import CompletedWork, Memory, Work
from dam_sync.store.runs import RUN_SCOPE
from dam_sync.store.statements import PreparedStatement
from dam_sync.store.tables import JOURNAL, WORK, instant
from dam_sync.store.upsert import upsert

ASSET_SCOPE = "asset:"
REFUSED = (Rejected, Denied, Throttled, ConfigError, StopRequested)
"""After these errors certainly nothing was written: the response was a refusal, or nothing was sent."""

_ONE = (JOURNAL.c.scope == bindparam("scope"), JOURNAL.c.name == bindparam("name"))
_KEPT = PreparedStatement(select(JOURNAL.c.state, JOURNAL.c.at, JOURNAL.c.result).where(*_ONE))
_ADDED = upsert(JOURNAL)
_NEW = {name: _ADDED.excluded[name] for name in ("at", "state", "result")}
_TICKET = PreparedStatement(select(WORK.c.holder).where(WORK.c.asset == bindparam("of"), WORK.c.state == "claimed"))
_PUT = PreparedStatement(
    _ADDED.on_conflict_do_update(index_elements=["scope", "name"], set_=_NEW),
    ("scope", "name", "at", "state", "result"),
)
_BEGIN = PreparedStatement(
    upsert(JOURNAL).on_conflict_do_nothing(index_elements=["scope", "name"]),
    ("scope", "name", "at", "state", "result"),
)
_DROP = PreparedStatement(delete(JOURNAL).where(JOURNAL.c.scope == bindparam("scope")))


class StoredJournal(Repository):
    """The journal of one work item, or of a run. Implements `model.ports.Journal`."""

    def __init__(self, database: Database, scope: str, asset: str, run: int, memory: Memory | None = None) -> None:
        super().__init__(database)
        self._scope, self._asset, self._run = scope, asset, run
        self._memory = memory or Memory(certain=False)
        self._completion: Job[None] | None = None

    def completing(self, completion: Job[None]) -> StoredJournal:
        """The same journal for one entry: `completion` is durable with the result, in one commit."""
        other = StoredJournal(self._database, self._scope, self._asset, self._run, self._memory)
        other._completion = completion
        return other

    async def run(
        self,
        name: str,
        call: Call,
        *,
        reconcile: Call | None = None,
        ttl: timedelta | None = None,
        idempotent: bool = False,
    ) -> Json:
        """Two tasks that run the same entry share one call; entries may be nested."""
        key = self._scope, name
        while (other := self._database.flights.get(key)) is not None:
            await other.wait()
        flight = self._database.flights[key] = asyncio.Event()
        try:
            kept = await self._kept(name, ttl)
            if kept is not None and kept.state == "done":
                if self._completion is not None:
                    await self._change(self._completion)
                return from_text(kept.result)
            return await self._take(name, call, reconcile, kept, idempotent)
        finally:
            del self._database.flights[key]
            flight.set()

    async def discard(self, *names: str) -> None:
        def job(c: Connection) -> None:
            for name in names:
                if name.endswith("*"):
                    matching = JOURNAL.c.name.startswith(name[:-1], autoescape=True)
                else:
                    matching = JOURNAL.c.name == name
                c.execute(delete(JOURNAL).where(JOURNAL.c.scope == self._scope, matching))

        await self._change(job)
        journal = self._memory.journal
        for kept in [kept for kept in journal if any(_matches(kept, name) for name in names)]:
            del journal[kept]

    async def get(self, name: str) -> Json:
        kept = await self._kept(name, None)
        return from_text(kept.result) if kept is not None and kept.state == "done" else None

    async def begin(self, names: Sequence[str]) -> None:
        intent = CompletedWork("intent", self._now(), to_text(None))

        def job(c: Connection) -> None:
            for name in names:
                _BEGIN.run(c, scope=self._scope, name=name, at=intent.at, state=intent.state, result=intent.result)

        await self._change(job)
        for name in names:
            self._memory.journal.setdefault(name, intent)

    async def begun(self, prefix: str) -> frozenset[str]:
        await self._durable()
        matching = JOURNAL.c.name.startswith(prefix, autoescape=True)
        chosen = select(JOURNAL.c.name).where(JOURNAL.c.scope == self._scope, JOURNAL.c.state == "intent", matching)
        return await self._read(lambda c: frozenset(c.execute(chosen).scalars()))

    async def is_recorded(self, text: str) -> bool:
        """See `Journal.is_recorded`; of other work of this process, what is in the file already."""
        await self._durable()
        return await self._read(lambda c: _contains(c, text))

    async def is_begun(self, name: str) -> bool:
        """Whether this write was made, or started."""
        return await self._kept(name, None) is not None

    async def names(self, prefix: str) -> frozenset[str]:
        """The entries whose names begin so, made or started."""
        await self._durable()
        matching = JOURNAL.c.name.startswith(prefix, autoescape=True)
        chosen = select(JOURNAL.c.name).where(JOURNAL.c.scope == self._scope, matching)
        return await self._read(lambda c: frozenset(c.execute(chosen).scalars()))

    async def has_entries(self, prefix: str) -> bool:
        """Whether a write whose name begins so was made, or started."""
        if self._memory.certain:
            return any(name.startswith(prefix) for name in self._memory.journal)
        matching = JOURNAL.c.name.startswith(prefix, autoescape=True)
        chosen = select(exists().where(JOURNAL.c.scope == self._scope, matching))
        return bool(await self._read(lambda c: c.execute(chosen).scalar()))

    async def _take(
        self, name: str, call: Call, reconcile: Call | None, kept: CompletedWork | None, idempotent: bool
    ) -> Json:
        """Run an entry that is not recorded yet."""
        record = self._written(name)
        if kept is not None and reconcile is not None and (result := await reconcile()) is not None:
            return await self._record(name, result, record)
        if kept is not None and kept.state == "intent" and reconcile is None and not idempotent:
            raise Uncertain(
                f"the write “{name}” was started at {kept.at} and its outcome is unknown",
                asset=self._asset,
                operation=name,
            )
        began = self._database.clock.monotonic()
        if not idempotent or reconcile is not None:  # a call that may be repeated blindly needs no intent
            await self._intend(name)
        else:
            await self._durable()
        try:
            result = await call()
        except DamSyncError as error:
            if is_refusal(error):
                await self._withdraw(name)
            raise
        return await self._record(name, result, record, self._database.clock.monotonic() - began)

    async def _kept(self, name: str, ttl: timedelta | None) -> CompletedWork | None:
        if self._memory.certain:
            kept = self._memory.journal.get(name)
        else:
            await self._durable()
            row = await self._read(lambda c: _KEPT.first(c, scope=self._scope, name=name))
            kept = None if row is None else CompletedWork(row.state, row.at, row.result)
        if kept is None:
            return None
        if ttl is not None and kept.state == "done" and instant(kept.at) + ttl <= self._database.clock.now():
            return None
        return kept

    async def _intend(self, name: str) -> None:
        intent = CompletedWork("intent", self._now(), to_text(None))
        await self._change(lambda c: self._put(c, name, intent))
        self._memory.journal[name] = intent

    async def _withdraw(self, name: str) -> None:
        gone = delete(JOURNAL).where(JOURNAL.c.scope == self._scope, JOURNAL.c.name == name, JOURNAL.c.state != "done")

        def job(c: Connection) -> None:
            c.execute(gone)

        await self._change(job)
        self._memory.journal.pop(name, None)

    def _written(self, name: str) -> WriteRecord | None:
        """The current write record, if this entry is its write."""
        record = current_record()
        return record if record is not None and record.claimed_by(name) else None

    async def _record(
        self, name: str, result: Json, record: WriteRecord | None = None, seconds: float | None = None
    ) -> Json:
        now = self._now()
        row = None if is_silent(name) else self._ledger_row(name, result, now, record, seconds)
        done = CompletedWork("done", now, to_text(result))

        def job(c: Connection) -> None:
            self._put(c, name, done)
            if row is not None:
                append(c, row)
            if self._completion is not None:
                self._completion(c)

        results = self._memory.results
        if results is None or not self._memory.certain or not are_current(results):  # who shares a call for several
            await self._change(job)
        else:
            results.stored.append(self._post(job))
        self._memory.journal[name] = done
        return result

    def _ledger_row(
        self, name: str, result: Json, now: str, record: WriteRecord | None, seconds: float | None
    ) -> LedgerRow:
        target, detail = (result, None) if isinstance(result, str) else ("", result)
        run = self._run or self._database.run
        if record is None:
            return LedgerRow(0, run, name, self._asset, target, detail, now)
        return LedgerRow(
            0,
            run,
            name,
            self._asset,
            target or record.target,
            detail,
            now,
            changes=record.changes,
            calls=record.calls,
            digest=record.digest,
            size=record.size,
            version=record.version,
            seconds=None if seconds is None else round(seconds, 3),
        )

    def _put(self, c: Connection, name: str, step: CompletedWork) -> None:
        _PUT.run(c, scope=self._scope, name=name, at=step.at, state=step.state, result=step.result)

    async def _change(self, job: Job[None]) -> None:
        """Durable on return; on an error, only the file knows the result. A worker process that does not hold the asset
        any more is refused."""
        tickets = self._database.tickets
        if tickets is not None and self._scope.startswith(ASSET_SCOPE):
            job = _fenced(job, self._asset, tickets.get(self._asset))
        try:
            await self._write(job)
            await self._durable()
        except BaseException:
            self._memory.certain = False
            raise

    async def _durable(self) -> None:
        """Returns once every result recorded so far is durable."""
        if self._memory.results is not None:
            await self._memory.results.durable()


class JournalRepository(Repository):
    """Provides journals."""

    def journal(self, work: Work, run: int) -> StoredJournal:
        """The journal of one asset; it outlives the process and ends when the work is complete."""
        memory = None if work.begun else work.journal  # new work has nothing to read
        return StoredJournal(self._database, ASSET_SCOPE + work.asset, work.asset, run, memory)

    def record_ahead(self, work: Work) -> ResultsUnderWay:
        """From now on the journal of this asset records results without waiting for the disk: each is durable before
        the next entry is begun or called, before the next request to the target, and before the asset is complete. What
        the task of another asset records is durable at once, because its requests do not wait for these. The caller
        waits for them if the work ends otherwise. Not of a worker process, which others complete the asset of.
        """
        results = begin_results()
        if self._database.tickets is None:
            work.journal.results = results
        return results

    async def is_recorded(self, text: str) -> bool:
        """Whether the journal of an unfinished asset contains this text; see `model.ports.IsReferenced`."""
        return await self._read(lambda c: _contains(c, text))

    async def interrupted_creates(self) -> int:
        """How many assets have a create that was begun, with an unknown outcome."""
        begun = (JOURNAL.c.name == CREATE, JOURNAL.c.state == "intent")
        asset = JOURNAL.c.scope.startswith(ASSET_SCOPE, autoescape=True)
        chosen = select(func.count()).select_from(JOURNAL).where(*begun, asset)
        return await self._read(lambda c: int(c.execute(chosen).scalar_one()))

    def run_journal(self, scope: str) -> StoredJournal:
        """The journal of a run; it ends when the run is finished."""
        return StoredJournal(self._database, RUN_SCOPE + scope, scope, 0)


def _fenced(job: Job[None], asset: str, ticket: str | None) -> Job[None]:
    """The job; it raises WorkerLost unless the asset is held with this ticket."""

    def fenced(c: Connection) -> None:
        if ticket is None or _TICKET.value(c, of=asset) != ticket:
            raise WorkerLost("this worker was taken for lost, and the asset was taken back from it", asset=asset)
        job(c)

    return fenced


def _contains(c: Connection, text: str) -> bool:
    said = select(JOURNAL.c.name).where(JOURNAL.c.result.contains(text, autoescape=True)).limit(1)
    return c.execute(said).first() is not None


def _matches(kept: str, name: str) -> bool:
    return kept.startswith(name[:-1]) if name.endswith("*") else kept == name


def is_refusal(error: DamSyncError) -> bool:
    """Whether this error of an entry's call means that nothing was written."""
    return isinstance(error, REFUSED) and not isinstance(error, Uncertain) and not error.after_write


def begun_among(c: Connection, assets: Sequence[str]) -> frozenset[str]:
    """Returns the given assets that have journal entries."""
    found: set[str] = set()
    for piece in pieces(assets):
        chosen = select(JOURNAL.c.scope).where(JOURNAL.c.scope.in_([ASSET_SCOPE + asset for asset in piece])).distinct()
        found.update(scope.removeprefix(ASSET_SCOPE) for scope in c.execute(chosen).scalars())
    return frozenset(found)


def drop_steps(c: Connection, asset: str) -> None:
    """Discard the journal of a completed asset."""
    _DROP.run(c, scope=ASSET_SCOPE + asset)


def keep_steps(c: Connection, asset: str, kept: Mapping[str, Json]) -> None:
    """Discard the journal of an asset but these entries, which get these results."""
    mine = JOURNAL.c.scope == ASSET_SCOPE + asset
    c.execute(delete(JOURNAL).where(mine, JOURNAL.c.name.not_in(list(kept))))
    for name, result in kept.items():
        c.execute(update(JOURNAL).where(mine, JOURNAL.c.name == name).values(result=to_text(result)))


def vouch_for(c: Connection, assets: Select[Any]) -> None:
    """A person checked these assets at the target: calls that were started may be made again."""
    chosen = select((ASSET_SCOPE + assets.subquery().c.asset).label("scope"))
    c.execute(update(JOURNAL).where(JOURNAL.c.scope.in_(chosen), JOURNAL.c.state == "intent").values(state="vouched"))
