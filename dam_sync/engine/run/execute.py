"""A whole run: list the source, move its assets, then the second pass, and close the run."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog

from dam_sync.aio.task_group import TaskGroup
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.run_context import RunContext, Tallies
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.run_task import RunTask
from dam_sync.engine.context.sampling import is_sampled
from dam_sync.engine.context.writers import RemoteWriters
from dam_sync.engine.guards.copies import refuse_copies
from dam_sync.engine.guards.doubles import forget_reported
from dam_sync.engine.guards.exposure import retry_exposed
from dam_sync.engine.guards.lost_state import refuse_lost_state
from dam_sync.engine.guards.mass_deletion import (
    keep_disappearance,
    refuse_incredible_listing,
    refuse_mass_removal,
)
from dam_sync.engine.guards.probation import watch_probation
from dam_sync.engine.names.containers import CONTAINERS, TargetContainers
from dam_sync.engine.names.recalled_terms import keep_terms, terms_of
from dam_sync.engine.names.terms import TargetTerms
from dam_sync.engine.read.index import wait_for_index
from dam_sync.engine.read.members import TARGET, keep_members
from dam_sync.engine.run.pipeline import Pipeline
from dam_sync.engine.run.removals import find_deletions, remove_deleted
from dam_sync.engine.run.retrying import retry_parked
from dam_sync.engine.run.rotation import advance, rotation_of, with_rotation
from dam_sync.engine.run.second_pass import listed_all, write_memberships, write_relations
from dam_sync.engine.run.unlisted import read_unlisted, refuse_lost_memberships
from dam_sync.engine.run.worker import Worker
from dam_sync.engine.write.filenames import FilenameAllocator
from dam_sync.engine.write.partial_creates import abort_orphaned_uploads
from dam_sync.model.asset import AssetId, Entry, Revision
from dam_sync.model.capabilities import Operation
from dam_sync.model.clock import Clock
from dam_sync.model.errors import ConfigError, NotFound, StopRequested, TruncatedListing, first_cause
from dam_sync.model.parking import ParkReason
from dam_sync.model.policy import Policy
from dam_sync.model.run_options import ROTATION, RunOptions
from dam_sync.model.service import Batch, Cursor, Shard, Window
from dam_sync.model.values import Json, instant_text, parse_instant
from dam_sync.model.wording import counted
from dam_sync.store.note_keys import UNREAD_CONTAINERS, WATERMARK, listed_key, window_key
from dam_sync.store.runs import HEARTBEAT_SECONDS
from dam_sync.store.store import SqlStore
from dam_sync.store.waves import ELSEWHERE

log = structlog.get_logger(__name__)
T = TypeVar("T")


async def execute(context: RunContext, *beside: Coroutine[Any, Any, None]) -> None:
    """Run to the end, and `beside` until then. Raises the error that stopped it; the same call later resumes from
    there."""
    await under_lease(context.state.store, context.state.run.id, context.clock, _phases(context), *beside)


async def under_lease(
    store: SqlStore, run: int, clock: Clock, work: Coroutine[Any, Any, T], *beside: Coroutine[Any, Any, None]
) -> T:
    """The result of `work`; the lease of the run is renewed meanwhile, and `beside` goes on until then. Of several
    errors it raises the most informative one."""
    try:
        async with TaskGroup() as group:
            tasks = [group.start(_heartbeat, store, run, clock), *(group.start(_awaited, each) for each in beside)]
            await store.await_former_workers()
            result = await work
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as several:
        raise first_cause(several) from several
    finally:
        work.close()  # it was not begun if what comes before it failed
    return result


async def _phases(context: RunContext) -> None:
    journal, naming = context.state.store.run_journal(CONTAINERS), context.target.schema.naming
    containers = TargetContainers(
        context.target.service,
        journal,
        naming,
        shared=context.target.shared,
        go_on=context.stopping.refuse_hurried,
    )
    if not context.task.options.only:
        await window_of(context.source, context.state, context.task)
        await watch_probation(context.target, context.state.store, context.phases, run=context.state.run.id)
    context.task.rotation = await rotation_of(context.state)
    terms = await terms_of(context.target, context.mapping.crosswalk, context.state, context.task.options)
    terms.recovers = containers.recovers = True
    await retry_exposed(context.source, context.target, context.mapping.crosswalk, context.state.store, context.task)
    await retry_parked(context)
    if context.task.reads_target:
        await wait_for_index(context.target, context.state, context.stopping, context.phases)
    await context.phases.enter("reading the target")
    if context.task.planned is not None:
        terms.allowed = containers.allowed = context.task.planned.require_shared
    names = FilenameAllocator(
        context.source, context.target, context.mapping.crosswalk, context.state.store, context.accepted
    )
    await names.load()
    await refuse_lost_state(
        context.source, context.target, context.mapping.crosswalk, context.state.store, context.accepted
    )
    await refuse_copies(
        context.source, context.target, context.mapping.crosswalk, context.state.store, context.accepted
    )
    await _announce_interrupted(context.target, context.state, context.clock)
    await _begin_workers(context.workers)
    worker = await _moved(context, terms, containers, names)
    await end_shared(context.target, context.workers)
    if context.task.wave is not None and (passed := context.stopping.passed_deadline) is not None:
        context.stopping.token.stop(passed.reason, passed.kind)
    context.stopping.refuse_stopped()
    await context.phases.enter("writing memberships and relations")
    await keep_terms(context.mapping.crosswalk, context.state.store, context.task, terms)
    await write_memberships(context)
    await write_relations(context.target, context.state, context.stopping)
    await remove_deleted(context, worker)
    await context.phases.enter("closing")
    await abort_orphaned_uploads(
        context.target, context.state.store, context.task.options, context.tallies, context.workers
    )


async def _moved(
    context: RunContext, terms: TargetTerms, containers: TargetContainers, names: FilenameAllocator
) -> Worker:
    """Move the assets; returns what did."""
    worker = Worker(context, terms, containers, names)
    pipeline = Pipeline(context, worker)
    try:
        await move(context, pipeline)
    finally:  # assets parked before the cause turned out to be systematic
        if worker.missing.tripped:
            await context.state.store.unpark([ParkReason.GONE])
        if pipeline.parking.tripped is not None:
            await context.state.store.retry_causes([pipeline.parking.tripped])
    return worker


async def _announce_interrupted(target: Target, state: RunState, clock: Clock) -> None:
    """Say what a resumed run looks for: whether creates were made is known once the index cannot be behind any more.
    The wait for it is shown by who waits."""
    number = await state.store.interrupted_creates() if state.run.resumed else 0
    lag = target.service.limits.lag.total_seconds()
    if not number or not lag:
        return
    until, created = clock.now() + timedelta(seconds=lag), counted(number, "create")
    message = f"looking for {created} that the stopped run had begun, each for up to {lag:.0f} s"
    log.warning(
        "creates.looked_for",
        assets=number,
        seconds=round(lag),
        until=instant_text(until.replace(microsecond=0)),
        message=f"{message}, because the search index of the target may be behind; one that is not found is made again",
    )


async def _begin_workers(workers: RemoteWriters | None) -> None:
    if workers is not None:
        await workers.begin()


async def end_shared(target: Target, workers: RemoteWriters | None) -> None:
    """End what several assets share, in every process that writes. Safe to repeat."""
    await target.service.end_shared()
    if workers is not None:
        await workers.end_shared()


async def move(context: RunContext, pipeline: Pipeline) -> None:
    """List, read and write; assets are moved during the listing, unless something needs all of it first."""
    members_last, planned = await _members_last(context), context.task.planned
    if members_last or (planned is not None and planned.whole):
        if not members_last:
            await _read_members(context)
        await context.phases.enter("listing the source")
        complete = await _crawl(context)
        if members_last:
            await _read_members(context)
        await _end_listing(context, pipeline.crawled, complete=complete)
        if complete and planned is not None:
            await planned.refuse_changed_listing()
        await context.phases.enter(context.phases.moving)
        await pipeline.run()
    else:
        await _read_members(context)
        await context.phases.enter(context.phases.moving)
        async with TaskGroup() as group:
            group.start(_listed, context, pipeline.crawled)
            group.start(pipeline.run)


async def _listed(context: RunContext, crawled: asyncio.Event) -> None:
    """List the source, with what a listing does not show. Where no call is left for it, writes are completed."""
    try:
        await _end_listing(context, crawled, complete=await _crawl(context))
    except StopRequested as error:
        context.stopping.used_up = context.stopping.used_up or error


async def _end_listing(context: RunContext, crawled: asyncio.Event, *, complete: bool) -> None:
    if complete and not context.task.options.sample:
        await read_unlisted(context)
    if not context.stopping.ends:
        context.phases.progress.total = (
            await context.state.store.open_work(context.state.run.id) + context.phases.progress.done
        )
    crawled.set()


async def _crawl(context: RunContext) -> bool:
    """List the source into the store; False if the run is asked to stop. A listing that lacks rows is read again,
    because assets may have been deleted while it was read."""
    complete = True
    if context.task.options.only:
        await _record_only(context.source, context.state, context.task.options)
    else:
        try:
            complete = await _crawl_all(context)
        except TruncatedListing as error:
            log.warning("listing.again", message=error.message)
            await context.state.store.forget_shards(context.state.run.id)
            complete = await _crawl_again(context)
        if complete and not context.task.options.sample:  # a sample says nothing about what is gone
            await _refuse_listing(context)
            await find_deletions(context)
    return complete


async def _crawl_all(context: RunContext) -> bool:
    """Every shard to its end; False if the run is asked to stop."""
    store, run = context.state.store, context.state.run
    begins = not await store.shards_complete(run.id)
    if begins:
        await _note_listing(context.state, context.task.policy, whole=False)
        window = await _window(context.source, context.state, context.task)
        await store.set_shards(run.id, [shard async for shard in context.source.service.shards(window)], complete=True)
    for row in await store.shards(run.id):
        if not row.done:
            await _crawl_shard(context, row.shard, row.cursor)
        if context.stopping.ends:
            return False
    if begins:
        await _note_listing(context.state, context.task.policy, whole=True)
    return True


async def _note_listing(state: RunState, policy: Policy, *, whole: bool) -> None:
    """Remember whether this process listed everything: a listing that is resumed proves no deletion."""
    if policy.deletions is not None:
        await state.store.set_meta(listed_key(state.run.id), whole)


async def _crawl_again(context: RunContext) -> bool:
    """List again from the start. If rows are missing again, the listing is discarded, so that the next run starts
    over."""
    try:
        return await _crawl_all(context)
    except TruncatedListing:
        await context.state.store.forget_shards(context.state.run.id)
        raise


async def _refuse_listing(context: RunContext) -> None:
    """Raises SafetyStop if the listing is not credible, or far too many linked assets are gone."""
    whole = await listed_all(context.source, context.state, context.task.options)
    if whole:
        tally = await context.state.store.tally(context.state.run.id)
        await refuse_incredible_listing(
            context.source, context.state, context.accepted, tally.get("listed", 0) + tally.get(ELSEWHERE, 0)
        )
    await refuse_mass_removal(context.state, context.accepted, whole=whole)


async def _crawl_shard(context: RunContext, shard: Shard, cursor: Cursor | None) -> None:
    async for listed in context.source.service.crawl(shard, cursor):
        context.tallies.listed += len(listed.entries)
        batch = _sampled(context.task.options, listed)
        full = (await window_of(context.source, context.state, context.task))["full"]
        others = await _of_other_waves(context.state.store, context.task, batch, full=full)
        skip = (
            frozenset()
            if full
            else await _unchanged(context.state.store, context.task, context.tallies, batch) - others
        )
        await context.state.store.record(context.state.run.id, shard, batch, skip, elsewhere=others)
        context.phases.progress.listed += len(batch.entries)
        context.phases.progress.unchanged += len(skip)
        if context.stopping.ends:
            return


def _sampled(options: RunOptions, batch: Batch) -> Batch:
    """The rows that are in the sample of a plan: chosen by their ids, so that the same share is always the same."""
    share = options.share
    if share >= 1:
        return batch
    return replace(batch, entries=tuple(entry for entry in batch.entries if is_sampled(entry.id, share)))


async def _of_other_waves(store: SqlStore, task: RunTask, batch: Batch, *, full: bool) -> frozenset[AssetId]:
    if task.wave is None:
        return frozenset()
    return await task.wave.elsewhere(store, batch.entries, full=full)


async def _record_only(source: Source, state: RunState, options: RunOptions) -> None:
    """List only the named assets, as a shard of their own."""
    shard, names = Shard("only"), options.only
    assets = await source.service.hinted(sorted(names)) if options.hinted else map(AssetId, names)
    await state.store.set_shards(state.run.id, [shard], complete=True)
    left = await state.store.leave_due(wanted := sorted(assets))
    entries = tuple(Entry(asset, Revision("")) for asset in wanted if asset not in left)
    await state.store.record(state.run.id, shard, Batch(entries, None), ())


async def refuse_unknown(source: Source, store: SqlStore, task: RunTask) -> None:
    """Raises ConfigError for a requested asset that was never moved and does not exist at the source."""
    if task.options.hinted:
        return
    if task.wave is not None:
        await task.wave.refuse_others(store, task.options.only)
    links = await store.links([AssetId(name) for name in task.options.only])
    for name in sorted(task.options.only - links.keys()):
        try:
            await source.service.fetch(AssetId(name))
        except NotFound as error:
            raise ConfigError(f"the source has no asset {name}", hint="check the id after --only") from error


async def _unchanged(store: SqlStore, task: RunTask, tallies: Tallies, batch: Batch) -> frozenset[AssetId]:
    """Rows that a run which is not full skips: linked, at the revision that was written. A rotation skips those that it
    does not compare."""
    written = await store.revisions([entry.id for entry in batch.entries])
    same = frozenset(
        entry.id
        for entry in batch.entries
        if not entry.deleted and entry.revision and written.get(entry.id) == entry.revision
    )
    rotation = task.rotation
    if task.wave is not None:  # what was moved before there were waves is still to be sorted
        same = await task.wave.own_of(store, sorted(same))
    due = frozenset(asset for asset in same if rotation is not None and rotation.is_due(asset))
    tallies.read_again[ROTATION] += len(due)
    return same - due


async def _window(source: Source, state: RunState, task: RunTask) -> Window:
    """The window to list: decided once per run, so that a resumed run lists the same."""
    since = (await window_of(source, state, task))["since"]
    return Window(since=parse_instant(since) if since else None)


async def window_of(source: Source, state: RunState, task: RunTask) -> Json:
    """Since when changes are listed (`since`), whether every asset is read (`full`), and whether the target is
    repaired (`repair`): decided once per run, safe to repeat. A run that becomes a full one, or a repair, only now
    starts over: what it did before is read again. An interrupted repair is resumed as one."""
    repair, key = task.repair, window_key(state.run.id)
    full, known = task.options.full or repair, await state.store.get_meta(key)
    if known is None:
        known = {
            "since": None if full else await state.store.get_meta(task.note_key(WATERMARK)),
            "full": full,
            "repair": repair,
        }
        known = await with_rotation(source, state.store, task, known)
        await state.store.set_meta(key, known)
    elif (full and not known.get("full")) or (repair and not known.get("repair")):
        await state.store.restart_listing(state.run.id)
        known = {"since": None, "full": True, "repair": repair}
        await state.store.set_meta(key, known)
    task.repair = bool(known.get("repair"))
    return {"full": full, **known}


async def list_everything(state: RunState) -> None:
    """Make a run that has not started listing list the whole source; linked and unchanged assets are skipped."""
    await state.store.set_meta(window_key(state.run.id), {"since": None, "full": False})


async def _members_last(context: RunContext) -> bool:
    """Whether memberships are read last: the whole library is listed, and the source's listing makes them cheaper."""
    options = context.task.options
    bounded = bool(options.only) or options.limit is not None or context.stopping.deadline is not None
    if bounded or not context.source.service.limits.members_after_crawl:
        return False
    return (await _window(context.source, context.state, context.task)).since is None


async def _read_members(context: RunContext) -> None:
    """Read the memberships of the source, and those of the target if it is to be compared. Assets named by
    webhooks keep those that the last run listed. Raises SafetyStop if most are gone."""
    if context.task.options.hinted:
        return
    sides = [
        (context.source.service, ""),
        *([(context.target.service, TARGET)] if context.task.reads_target else []),
    ]
    await context.state.store.begin_members(context.state.run.id)
    unread: list[str] = []
    for service, prefix in sides:
        if Operation.MEMBERS in service.capabilities:
            unread += await keep_members(context.state.store, service.members(), prefix)
    await context.state.store.end_members()
    await context.state.store.set_meta(UNREAD_CONTAINERS, unread)
    await refuse_lost_memberships(context.state, context.accepted)


async def close_run(source: Source, state: RunState, task: RunTask, outcome: Json) -> None:
    """Move the watermark and close the run; only after everything else succeeded."""
    account, run = source.account, state.run
    if not task.options.only:
        watermark: datetime = run.started_at + account.clock_skew - source.service.limits.lag - timedelta(seconds=1)
        await state.store.set_meta(task.note_key(WATERMARK), instant_text(watermark))
        await keep_disappearance(state, whole=await listed_all(source, state, task.options))
        await state.store.keep_members(without=TARGET)
        await advance(state, task)
        await forget_reported(state.store)
        if task.wave is not None:
            await task.wave.note_run(state.store, state.run.id)
    await state.store.finish(run.id, outcome)


async def _awaited(call: Coroutine[Any, Any, None]) -> None:
    await call


async def _heartbeat(store: SqlStore, run: int, clock: Clock) -> None:
    while True:
        await store.beat(run)
        await clock.sleep(HEARTBEAT_SECONDS)
