"""Removes at the target, to its trash only, what is gone from the source, if the policy says so.

Found by the listing, kept for the grace period, confirmed twice by id at the source, then compared with what was last
written: an asset that somebody changed at the target is parked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from dam_sync.aio.polling import sleep_looking
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.run_task import RunTask
from dam_sync.engine.read.members import read_members
from dam_sync.engine.run.deletions import Listing, deletion_of, is_due
from dam_sync.engine.run.pipeline import Pipeline
from dam_sync.engine.run.second_pass import listed_all
from dam_sync.engine.run.worker import Worker
from dam_sync.model.asset import AssetId, digest_of
from dam_sync.model.capabilities import Operation
from dam_sync.model.deletion_policy import DeletionPolicy
from dam_sync.model.errors import SafetyStop
from dam_sync.model.outcome import REMOVED
from dam_sync.model.parking import ParkReason
from dam_sync.model.run_options import RunOptions
from dam_sync.model.wording import counted
from dam_sync.store.note_keys import listed_key
from dam_sync.store.rows import Deletion

log = structlog.get_logger(__name__)
PAGE = 500
CONTROL = 10  # existing assets that the source must still return while others are confirmed as gone
LIMIT_HINT = (
    "`status JOB` lists them; if all of them are to be removed, raise `policy: {max_deletes: …}` in the job and run it "
    "again"
)
SCOPE_HINT = "check the rights of the credential at the source, then run again; the next run lists the source again"


async def find_deletions(context: RunContext) -> None:
    """Called after a listing: keep what it proves about deleted assets. Raises SafetyStop, before anything is removed,
    if more are due than one run may remove; the listing is then discarded. Safe to repeat."""
    policy, store = context.task.policy.deletions, context.state.store
    if policy is None:
        await store.forget_deletions()
        return
    time = context.target.time
    listing = Listing(
        context.state.run.id,
        time.latest(),
        await _is_complete(context.source, context.state, context.task.options),
        _scope(context.source),
    )
    after = ""
    while page := await store.sightings(after, PAGE, listing.run if listing.complete else None):
        after = page[-1].source
        found = [(seen, deletion_of(seen, listing)) for seen in page]
        changed = [each for seen, each in found if each is not None and each != seen.known]
        await store.keep_deletions(changed, [seen.source for seen, each in found if each is None and seen.known])
    context.task.due_by = time.earliest()
    if _removes(context.target, context.task.options):
        await _refuse_too_many(context.source, context.state, context.task, policy, context.task.due_by)


async def remove_deleted(context: RunContext, worker: Worker) -> None:
    """Remove what was due when `find_deletions` counted it, and is confirmed. Raises SafetyStop if the source does not
    return assets that exist, and what stops a run; safe to repeat."""
    policy, counted = context.task.policy.deletions, context.task.due_by
    if (
        policy is None
        or counted is None
        or not _removes(context.target, context.task.options)
        or not await _is_any_due(context.state, context.task, policy, counted)
    ):
        return
    confirmation = await Confirmation.of(context)
    if not confirmation.control:
        return  # nothing shows that the credential still sees the library
    pending = set[AssetId]()  # at the target
    async for due in _due(context.state, context.task, policy, counted):
        await context.phases.enter("confirming deletions")
        pending.update(AssetId(each.target) for each in await confirmation.confirmed(due))
    if not pending:
        return
    lag = context.source.service.limits.lag.total_seconds()
    await sleep_looking(
        context.clock, lag, context.stopping.refuse_stopped, "its search index to show what is gone", "source"
    )
    await read_members(
        context.target, context.mapping.crosswalk, context.state.store, context.task, context.phases, pending
    )
    async for due in _due(context.state, context.task, policy, counted):
        gone = await confirmation.confirmed(due)
        await _remove(context, worker, [AssetId(each.source) for each in gone])
        context.stopping.refuse_stopped()


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Asks the source by id. control: linked assets that are not gone; while the source does not return them, nothing
    counts as gone. strict: this run listed all of them."""

    context: RunContext
    control: tuple[AssetId, ...]
    strict: bool

    @classmethod
    async def of(cls, context: RunContext) -> Confirmation:
        """With control assets that are spread over the library."""
        return cls(
            context,
            await context.state.store.sample_existing(CONTROL),
            await _is_complete(context.source, context.state, context.task.options),
        )

    async def confirmed(self, due: Sequence[Deletion]) -> list[Deletion]:
        """Those that are gone; the others are forgotten. Raises SafetyStop."""
        context = self.context
        gone = await context.source.service.missing([AssetId(each.source) for each in due], context.clock.now())
        await self._prove_scope()
        there = [each.source for each in due if each.source not in gone]
        if there:
            log.info("deletion.exists", assets=there[:PAGE])
            await context.state.store.keep_existing(there)
        return [each for each in due if each.source in gone]

    async def _prove_scope(self) -> None:
        """Raises SafetyStop unless the credential is that of the listing, and still sees the library."""
        context, known = self.context, self.context.source.account
        account = await context.source.service.probe()
        lost = await context.source.service.missing(self.control, context.clock.now())
        if (account.tenant, account.user) != (known.tenant, known.user):
            raise await _stop(
                context.source,
                context.state,
                context.task.options,
                "the source is another tenant or another user than at the start of this run",
            )
        if len(lost) > (0 if self.strict else len(self.control) // 2):
            found = f"{len(lost)} of {len(self.control)} assets that exist at the source cannot be found there by id"
            raise await _stop(context.source, context.state, context.task.options, f"{found}: nothing is removed")


async def _refuse_too_many(
    source: Source, state: RunState, task: RunTask, policy: DeletionPolicy, now: datetime
) -> None:
    removed = (await state.store.tally(state.run.id)).get(REMOVED, 0)
    due = sum([len(page) async for page in _due(state, task, policy, now)])
    linked = await state.store.link_count() + removed
    if due and not policy.allows(removed + due, linked):
        found = f"{removed + due:,} of {counted(linked, 'asset')} would be removed from the target"
        raise await _stop(
            source,
            state,
            task.options,
            f"{found}, more than `max_deletes: {policy.limit}` allows in one run",
            LIMIT_HINT,
        )


async def _stop(
    source: Source, state: RunState, options: RunOptions, message: str, hint: str = SCOPE_HINT
) -> SafetyStop:
    """The error, once the listing is discarded. What a listing of everything saw may be gone by now."""
    if await _is_complete(source, state, options):
        await state.store.discard_listing(state.run.id)
    else:
        await state.store.forget_shards(state.run.id)
    return SafetyStop(message, hint=hint)


async def _due(state: RunState, task: RunTask, policy: DeletionPolicy, now: datetime) -> AsyncIterator[list[Deletion]]:
    """Pages of what is due, without what is parked because it was changed at the target."""
    after = ""
    while page := await state.store.deletions(after, PAGE, without=ParkReason.CHANGED_AT_TARGET):
        after = page[-1].source
        due = [each for each in page if is_due(each, policy, now, state.run.id)]
        if task.wave is not None:
            own = await task.wave.own_of(state.store, [AssetId(each.source) for each in due])
            due = [each for each in due if each.source in own]
        if due:
            yield due


async def _is_any_due(state: RunState, task: RunTask, policy: DeletionPolicy, now: datetime) -> bool:
    async for _ in _due(state, task, policy, now):
        return True
    return False


async def _remove(context: RunContext, worker: Worker, gone: Sequence[AssetId]) -> None:
    """Process them like other work, one pipeline for each page."""
    if not gone:
        return
    await context.phases.enter(context.phases.moving)
    worker.confirmed = frozenset(gone)
    await context.state.store.queue_removals(context.state.run.id, gone)
    pipeline = Pipeline(context, worker)
    pipeline.crawled.set()
    pipeline.parking.over = True  # edits of many assets are no reason to stop
    await pipeline.run()
    worker.confirmed = frozenset()


def _removes(target: Target, options: RunOptions) -> bool:
    """Whether this run may remove anything: a run of some assets does not."""
    return Operation.REMOVE in target.service.capabilities and not options.only and options.limit is None


async def _is_complete(source: Source, state: RunState, options: RunOptions) -> bool:
    """Whether the listing of this run has every asset, and was read in one go."""
    if options.limit is not None or not await listed_all(source, state, options):
        return False
    return bool(await state.store.get_meta(listed_key(state.run.id)))


def _scope(source: Source) -> str:
    """What was listed, and by whom: listings of different scopes are not compared."""
    account = source.account
    return digest_of([source.scope, account.tenant, account.user])
