"""A whole run: list the source, work the assets off, then what needs all of them, and close the books."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog

from dam_sync.engine.filenames import FilenameAllocator
from dam_sync.engine.guards.exposure import retry_exposed
from dam_sync.engine.guards.lost_state import refuse_lost_state
from dam_sync.engine.guards.mass_deletion import (
    keep_disappearance,
    refuse_incredible_listing,
    refuse_mass_removal,
)
from dam_sync.engine.guards.missing import CAUSE
from dam_sync.engine.known_terms import keep_terms, terms_of
from dam_sync.engine.lag import lag_left
from dam_sync.engine.orphaned_uploads import abort_orphaned_uploads
from dam_sync.engine.pipeline import Pipeline
from dam_sync.engine.probation import watch_probation
from dam_sync.engine.repair import TARGET
from dam_sync.engine.retrying import retry_parked
from dam_sync.engine.run_context import RunContext
from dam_sync.engine.second_pass import listed_all, place, relate
from dam_sync.engine.taxonomy import TargetContainers
from dam_sync.engine.worker import Worker
from dam_sync.model.asset import AssetId, Entry, Revision
from dam_sync.model.clock import Clock
from dam_sync.model.errors import ConfigError, DamSyncError, NotFound, StopRequested, TruncatedListing
from dam_sync.model.service import Batch, Cursor, Operation, Shard, Window
from dam_sync.model.values import Json, instant_text, parse_instant
from dam_sync.store.runs import HEARTBEAT_SECONDS
from dam_sync.store.store import SqlStore

log = structlog.get_logger(__name__)
T = TypeVar("T")


async def execute(session: RunContext) -> None:
    """Run to the end. Raises the error that stopped it; whatever happened, the same call later goes on from there."""
    await under_lease(session.store, session.run.id, session.clock, _phases(session))


async def under_lease(store: SqlStore, run: int, clock: Clock, work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives; the lease of a run is renewed meanwhile. Of several errors it raises the most telling one."""
    try:
        async with asyncio.TaskGroup() as group:
            beat = group.create_task(_heartbeat(store, run, clock))
            result = await work
            beat.cancel()
    except BaseExceptionGroup as several:
        raise first_cause(several) from several
    return result


def first_cause(several: BaseException) -> BaseException:
    """The error worth telling out of a group: one of ours if there is one."""
    flat = list(_flatten(several))
    ours = [error for error in flat if isinstance(error, DamSyncError)]
    return (ours or flat)[0]


async def _phases(session: RunContext) -> None:
    containers = TargetContainers(session.target, session.store.run_journal("containers"), session.target_schema.naming)
    if not session.ask.only:
        await window_of(session)
        await watch_probation(session, run=session.run.id)
    terms = await terms_of(session)
    await retry_exposed(session)
    await retry_parked(session)
    if session.ask.repair:
        session.progress.phase = "waiting for the target's index"
        await session.clock.sleep(await lag_left(session))
    session.progress.phase = "reading the target"
    names = FilenameAllocator(session)
    await names.take()
    await refuse_lost_state(session)
    worker = Worker(session, terms, containers, names)
    pipeline = Pipeline(session, worker)
    try:
        await move(session, pipeline)
    finally:  # what was set aside before it was clear that it is not the assets
        if worker.missing.tripped:
            await session.store.unpark([CAUSE])
        if pipeline.parking.tripped:
            await session.store.retry_causes([pipeline.parking.tripped])
    if session.ask.stopped:
        raise StopRequested(session.ask.stopped, hint="run the same command again to go on")
    session.progress.phase = "placing and relating"
    await keep_terms(session, terms)
    await place(session)
    await relate(session)
    session.progress.phase = "closing"
    await abort_orphaned_uploads(session)


async def move(session: RunContext, pipeline: Pipeline) -> None:
    """List, read and write; assets are moved while the listing goes on where nothing has to be known of all first."""
    if await _members_last(session):
        session.progress.phase = "listing the source"
        await _crawl(session, pipeline.crawled)
        await _read_members(session)
        session.progress.phase = session.moving
        await pipeline.run()
    else:
        await _read_members(session)
        session.progress.phase = session.moving
        async with asyncio.TaskGroup() as group:
            group.create_task(_crawl(session, pipeline.crawled))
            group.create_task(pipeline.run())


async def _crawl(session: RunContext, crawled: asyncio.Event) -> None:
    """List the source into the store, then say so. A listing that turns out to lack rows is read once more, for assets
    may have gone away while it was read."""
    if session.ask.only:
        await _record_only(session)
    else:
        try:
            complete = await _crawl_all(session)
        except TruncatedListing as error:
            log.warning("listing.again", message=error.message)
            await session.store.forget_shards(session.run.id)
            complete = await _crawl_again(session)
        if complete:
            await _refuse_listing(session)
    crawled.set()


async def _crawl_all(session: RunContext) -> bool:
    """Every shard to its end; False when the run is asked to stop."""
    store, run = session.store, session.run
    if not await store.shards_complete(run.id):
        window = await _window(session)
        await store.set_shards(run.id, [shard async for shard in session.source.shards(window)], complete=True)
    for row in await store.shards(run.id):
        if not row.done:
            await _crawl_shard(session, row.shard, row.cursor)
        if session.ask.stopped:
            return False
    return True


async def _crawl_again(session: RunContext) -> bool:
    """The same, from the start. One that lacks rows once more is forgotten, so that the next run begins anew."""
    try:
        return await _crawl_all(session)
    except TruncatedListing:
        await session.store.forget_shards(session.run.id)
        raise


async def _refuse_listing(session: RunContext) -> None:
    """Raises SafetyStop when what was listed cannot be, or far too much of what is linked is gone."""
    whole = await listed_all(session)
    if whole:
        await refuse_incredible_listing(session, (await session.store.tally(session.run.id)).get("listed", 0))
    await refuse_mass_removal(session, whole=whole)


async def _crawl_shard(session: RunContext, shard: Shard, cursor: Cursor | None) -> None:
    async for batch in session.source.crawl(shard, cursor):
        skip = await _unchanged(session, batch)
        await session.store.record(session.run.id, shard, batch, skip)
        session.progress.listed += len(batch.entries)
        session.progress.unchanged += len(skip)
        if session.ask.stopped:
            return


async def _record_only(session: RunContext) -> None:
    """The named assets alone, as a shard of their own."""
    shard = Shard("only")
    await session.store.set_shards(session.run.id, [shard], complete=True)
    entries = tuple(Entry(AssetId(name), Revision("")) for name in sorted(session.ask.only))
    await session.store.record(session.run.id, shard, Batch(entries, None), ())


async def refuse_unknown(session: RunContext) -> None:
    """Raises ConfigError for an asset asked for by id that was never moved and is not in the source."""
    links = await session.store.links([AssetId(name) for name in session.ask.only])
    for name in sorted(session.ask.only - links.keys()):
        try:
            await session.source.fetch(AssetId(name))
        except NotFound as error:
            raise ConfigError(f"the source has no asset {name}", hint="check the id behind --only") from error


async def _unchanged(session: RunContext, batch: Batch) -> frozenset[AssetId]:
    """The rows that need no look: linked, at the revision we wrote. A full run looks at every one."""
    if (await window_of(session))["full"]:
        return frozenset()
    links = await session.store.links([entry.id for entry in batch.entries])
    return frozenset(
        entry.id
        for entry in batch.entries
        if not entry.deleted and entry.revision and entry.id in links
        if links[entry.id].source_revision == entry.revision
    )


async def _window(session: RunContext) -> Window:
    """What to list: decided once a run, so that a resumed run lists the same."""
    since = (await window_of(session))["since"]
    return Window(since=parse_instant(since) if since else None)


async def window_of(session: RunContext) -> Json:
    """From when on changes are listed (`since`), whether each asset is looked at (`full`), and whether the target is
    repaired (`repair`): decided once a run, safe to repeat. A run that is to be a full one, or a repair, only now
    begins again: what it did before is looked at once more. A repair that was stopped is resumed as one."""
    ask, key = session.ask, f"window:{session.run.id}"
    full, known = ask.full or ask.repair, await session.store.noted(key)
    if known is None:
        known = {"since": None if full else await session.store.noted("watermark"), "full": full, "repair": ask.repair}
        await session.store.note(key, known)
    elif (full and not known.get("full")) or (ask.repair and not known.get("repair")):
        await session.store.begin_anew(session.run.id)
        known = {"since": None, "full": True, "repair": ask.repair}
        await session.store.note(key, known)
    ask.repair = bool(known.get("repair"))
    return {"full": full, **known}


async def list_everything(session: RunContext) -> None:
    """Let a run that has not begun to list list the whole source, without a look at what is linked and unchanged."""
    await session.store.note(f"window:{session.run.id}", {"since": None, "full": False})


async def _members_last(session: RunContext) -> bool:
    """Whether the whole library is listed, to no bound, by a source whose listing tells what its members need."""
    ask = session.ask
    if not session.source.limits.members_after_crawl or ask.only or ask.assets is not None or ask.deadline is not None:
        return False
    return (await _window(session)).since is None


async def _read_members(session: RunContext) -> None:
    """Memberships of the source, and those of the target where it is to be repaired."""
    sides = [(session.source, ""), *([(session.target, TARGET)] if session.ask.repair else [])]
    await session.store.begin_members(session.run.id)
    for service, prefix in sides:
        if Operation.MEMBERS in service.operations:
            async for membership in service.members():
                named = tuple(AssetId(f"{prefix}{asset}") for asset in membership.assets)
                await session.store.add_members(session.run.id, replace(membership, assets=named))


async def close_books(session: RunContext, outcome: Json) -> None:
    """Move the watermark and close the run; only after everything else succeeded."""
    account, run = session.source_account, session.run
    if not session.ask.only:
        watermark: datetime = run.started_at + account.clock_skew - session.source.limits.lag - timedelta(seconds=1)
        await session.store.note("watermark", instant_text(watermark))
        await keep_disappearance(session, whole=await listed_all(session))
    await session.store.finish(run.id, outcome)


async def _heartbeat(store: SqlStore, run: int, clock: Clock) -> None:
    while True:
        await store.beat(run)
        await clock.sleep(HEARTBEAT_SECONDS)


def _flatten(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in _flatten(part)]
    return [error]
