"""A whole run: list the source, work the assets off, then what needs all of them, and close the books."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import structlog

from dam_sync.engine.afterwards import place, relate
from dam_sync.engine.guards import refuse_emptied_source, refuse_unknown_marks
from dam_sync.engine.pipeline import Pipeline
from dam_sync.engine.session import Session
from dam_sync.engine.taxonomy import Containers, Terms
from dam_sync.engine.worker import Worker
from dam_sync.mapping.compile import is_mark_of
from dam_sync.model.asset import AssetId, Entry, Revision
from dam_sync.model.errors import DamSyncError, StopRequested
from dam_sync.model.service import Batch, Cursor, Operation, Shard, Window
from dam_sync.model.values import Json, instant_text, parse_instant

log = structlog.get_logger(__name__)
HEARTBEAT_SECONDS = 5.0


async def execute(session: Session) -> None:
    """Run to the end. Raises the error that stopped it; whatever happened, the same call later goes on from there."""
    try:
        async with asyncio.TaskGroup() as group:
            beat = group.create_task(_heartbeat(session))
            await _phases(session)
            beat.cancel()
    except BaseExceptionGroup as several:
        raise first_cause(several) from several


def first_cause(several: BaseException) -> BaseException:
    """The error worth telling out of a group: one of ours if there is one."""
    flat = list(_flatten(several))
    ours = [error for error in flat if isinstance(error, DamSyncError)]
    return (ours or flat)[0]


async def _phases(session: Session) -> None:
    terms = Terms(session.target, session.store.run_steps("terms"), tuple(session.crosswalk.vocabularies))
    containers = Containers(session.target, session.store.run_steps("containers"))
    session.progress.phase = "reading the target"
    await _take_names(session)
    pipeline = Pipeline(session, Worker(session, terms, containers))
    if await _members_last(session):
        session.progress.phase = "listing the source"
        await _crawl(session, pipeline.crawled)
        await _read_members(session)
        session.progress.phase = "moving assets"
        await pipeline.run()
    else:
        await _read_members(session)
        session.progress.phase = "moving assets"
        async with asyncio.TaskGroup() as group:
            group.create_task(_crawl(session, pipeline.crawled))
            group.create_task(pipeline.run())
    if session.ask.stopped:
        raise StopRequested(session.ask.stopped, hint="run the same command again to go on")
    session.progress.phase = "placing and relating"
    await place(session)
    await relate(session)
    session.progress.phase = "closing"


async def _crawl(session: Session, crawled: asyncio.Event) -> None:
    """List the source into the store, then say so."""
    store, run = session.store, session.run
    window = await _window(session)
    if session.ask.only:
        await _record_only(session)
    else:
        if not await store.shards_complete(run.id):
            await store.set_shards(run.id, [shard async for shard in session.source.shards(window)], complete=True)
        for row in await store.shards(run.id):
            if not row.done:
                await _crawl_shard(session, row.shard, row.cursor)
            if session.ask.stopped:
                break
        else:
            if window.since is None:
                await refuse_emptied_source(session, (await store.tally(run.id)).get("listed", 0))
    crawled.set()


async def _crawl_shard(session: Session, shard: Shard, cursor: Cursor | None) -> None:
    async for batch in session.source.crawl(shard, cursor):
        skip = await _unchanged(session, batch)
        await session.store.record(session.run.id, shard, batch, skip)
        session.progress.listed += len(batch.entries)
        session.progress.unchanged += len(skip)
        if session.ask.stopped:
            return


async def _record_only(session: Session) -> None:
    """The named assets alone, as a shard of their own."""
    shard = Shard("only")
    await session.store.set_shards(session.run.id, [shard], complete=True)
    entries = tuple(Entry(AssetId(name), Revision("")) for name in sorted(session.ask.only))
    await session.store.record(session.run.id, shard, Batch(entries, None), ())


async def _unchanged(session: Session, batch: Batch) -> frozenset[AssetId]:
    """The rows that need no look: linked, at the revision we wrote. A full run looks at every one."""
    if session.ask.full:
        return frozenset()
    links = await session.store.links([entry.id for entry in batch.entries])
    return frozenset(
        entry.id
        for entry in batch.entries
        if not entry.deleted and entry.revision and entry.id in links
        if links[entry.id].source_revision == entry.revision
    )


async def _window(session: Session) -> Window:
    """What to list: decided once a run, so that a resumed run lists the same."""
    key = f"window:{session.run.id}"
    known = await session.store.noted(key)
    if known is None:
        watermark = None if session.ask.full else await session.store.noted("watermark")
        known = {"since": watermark}
        await session.store.note(key, known)
    since = known["since"]
    return Window(since=parse_instant(since) if since else None)


async def _take_names(session: Session) -> None:
    """File names the target has already, where an upload under one of them would not be a new asset. The state is new
    then: marks of ours that are there already are those of a state that was lost."""
    if not session.target.limits.names_identify or await session.store.noted("names"):
        return
    marked = 0
    async for shard in session.target.shards(Window()):
        async for batch in session.target.crawl(shard, None):
            named = [(entry.asset.filename, entry.id) for entry in batch.entries if entry.asset is not None]
            await session.store.take_names([(name.casefold(), f"target:{asset}") for name, asset in named])
            marked += sum(_is_ours(session, entry) for entry in batch.entries)
    refuse_unknown_marks(marked, session.ask)
    await session.store.note("names", True)


def _is_ours(session: Session, entry: Entry) -> bool:
    """Whether a living asset of the target carries the mark of an asset of this source."""
    if entry.asset is None or entry.deleted or session.crosswalk.marker is None:
        return False
    return is_mark_of(session.source_account.tenant, entry.asset.fields.get(session.crosswalk.marker))


async def _members_last(session: Session) -> bool:
    """Whether the whole library is listed, to no bound, by a source whose listing tells what its members need."""
    ask = session.ask
    if not session.source.limits.members_last or ask.only or ask.assets is not None or ask.deadline is not None:
        return False
    return (await _window(session)).since is None


async def _read_members(session: Session) -> None:
    if Operation.MEMBERS not in session.source.operations:
        return
    await session.store.begin_members(session.run.id)
    async for membership in session.source.members():
        await session.store.add_members(session.run.id, membership)


async def close_books(session: Session, outcome: Json) -> None:
    """Move the watermark and close the run; only after everything else succeeded."""
    account, run = session.source_account, session.run
    if not session.ask.only:
        watermark: datetime = run.started_at + account.clock_skew - session.source.limits.lag - timedelta(seconds=1)
        await session.store.note("watermark", instant_text(watermark))
    await session.store.finish(run.id, outcome)


async def _heartbeat(session: Session) -> None:
    while True:
        await session.store.beat(session.run.id)
        await session.clock.sleep(HEARTBEAT_SECONDS)


def _flatten(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in _flatten(part)]
    return [error]
