"""The pipeline of a run: claim in order, read ahead, draft in order, write concurrently, complete."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import structlog

from dam_sync.aio.polling import sleep_until_set
from dam_sync.aio.task_group import TaskGroup
from dam_sync.engine.context.asset_labels import labels_of, name_of
from dam_sync.engine.context.call_budget import RunBudget
from dam_sync.engine.context.error_policy import ParkAsset, ReleaseAsset, RestartAsset, RetryAsset, StopRun, react
from dam_sync.engine.context.run_context import LEASE, RunContext
from dam_sync.engine.context.stages import Concluded, DraftedAsset, Failed, ReadAsset, Written
from dam_sync.engine.guards.parking import ParkingMonitor
from dam_sync.engine.run.held_assets import HeldAssets
from dam_sync.engine.run.retrying import with_limit
from dam_sync.engine.run.worker import Worker
from dam_sync.engine.write.accounts import with_parked_account
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.errors import Disposition, StillFetching, StopKind, StopRequested, WorkerLost
from dam_sync.model.outcome import Outcome
from dam_sync.model.run_options import Progress
from dam_sync.model.waits import Wait, current_waits
from dam_sync.model.wording import counted
from dam_sync.store.rows import Work

log = structlog.get_logger(__name__)
READ_AHEAD = 3  # assets read ahead per concurrent write
MOST_AHEAD = 96  # of them, however many are written at once
POLL_SECONDS = 0.2  # between two looks for work; once all is listed, each that finds none doubles it
MOST_POLL_SECONDS = 2.0
Reading: TypeAlias = asyncio.Queue[tuple[Work, asyncio.Task[ReadAsset | Concluded | None]] | None]
"""Claimed items in order, each with the task that reads it; None ends it. A task returns None for an item that was put
back."""
Ready: TypeAlias = asyncio.Queue[DraftedAsset | Concluded | None]


@dataclass(slots=True)
class Pipeline:
    """Processes what the crawl records, until `crawled` is set and no row is open."""

    context: RunContext
    worker: Worker
    crawled: asyncio.Event = field(default_factory=asyncio.Event)
    failures: int = 0
    claimed: int = 0
    parking: ParkingMonitor = field(init=False)
    budget: RunBudget = field(init=False)
    in_hand: dict[AssetId, Work] = field(default_factory=dict)
    held: HeldAssets = field(default_factory=HeldAssets)
    moved: asyncio.Event = field(default_factory=asyncio.Event)  # set when work was put back, or none is in hand
    due: list[float] = field(default_factory=list)  # when what was put back can be claimed
    idle: Wait | None = None  # while nothing else is done

    def __post_init__(self) -> None:
        self.parking = ParkingMonitor(self.context.accepted)
        self.budget = RunBudget(self.context.task.options.max_calls, self.context.phases.progress)

    async def run(self) -> None:
        """Return when every item is complete; raise the first error that stops the run."""
        context = self.context
        self.budget.begin()
        reading: Reading = asyncio.Queue(context.source.readers + self._ahead)
        ready: Ready = asyncio.Queue(context.writers * 2)
        gate = asyncio.Semaphore(context.source.readers)
        async with TaskGroup() as group:
            keepers = [group.start(each) for each in (self._keep_leases, self._end_in_time)]
            async with TaskGroup() as belt:
                belt.start(self._claim, reading, gate, belt)
                belt.start(self._draft, reading, ready)
                for _ in range(context.writers):
                    belt.start(self._write, ready)
            self._note_idle(idle=False)
            for keeper in keepers:
                keeper.cancel()
        if context.stopping.used_up is not None:
            raise context.stopping.used_up

    async def _end_in_time(self) -> None:
        """Stop the run when its time is up, also if every writer waits for something."""
        context = self.context
        if (deadline := context.stopping.deadline) is not None:
            await context.clock.sleep(max(0.0, deadline.at - context.clock.monotonic()))
            context.stopping.token.stop(deadline.reason, deadline.kind, hurry=True)

    async def _keep_leases(self) -> None:
        """Renew leases, because a large file may take longer than one."""
        while True:
            await self.context.clock.sleep(LEASE.total_seconds() / 4)
            await self.context.state.store.extend(list(self.in_hand.values()), LEASE)

    async def _claim(self, reading: Reading, gate: asyncio.Semaphore, group: TaskGroup) -> None:
        context, pause = self.context, POLL_SECONDS / 2
        while not self._enough():
            crawled = self.crawled.is_set()
            works = await context.state.store.claim(context.state.run.id, self._room(), LEASE, self.in_hand)
            self.claimed += len(works)
            self._note_idle(idle=not works and not self.in_hand)
            await self.worker.read_ahead(works)
            for work in works:
                self.in_hand[work.asset] = work
                await reading.put((work, group.start(self._read, work, gate)))
            if not works:
                if crawled and await context.state.store.open_work(context.state.run.id) == 0:
                    break
                pause = await self._pause(min(2 * pause, MOST_POLL_SECONDS) if crawled else POLL_SECONDS)
            else:
                pause = POLL_SECONDS / 2
        await reading.put(None)

    def _note_idle(self, *, idle: bool) -> None:
        """Show that nothing is done before an asset that was put back is tried again."""
        if idle == (self.idle is not None):
            return
        if self.idle is not None:
            current_waits().end(self.idle)
            self.idle = None
        elif (latest := max(self.due, default=0.0)) > (now := self.context.clock.monotonic()):
            self.idle = current_waits().begin("another attempt of an asset", "", now, latest)

    async def _pause(self, seconds: float) -> float:
        """Wait so long before the next look for work, unless there may be some earlier. Returns how long the next one
        is to be at least."""
        clock = self.context.clock
        now = clock.monotonic()
        self.due = [due for due in self.due if due > now]
        until = min([now + seconds, *self.due])
        await sleep_until_set(clock, until - now, self.moved)
        return seconds if clock.monotonic() >= now + seconds else POLL_SECONDS / 2

    @property
    def _ahead(self) -> int:
        """Assets in hand: those that are written, and those read ahead for them."""
        writers = self.context.writers
        return writers + min(writers * READ_AHEAD, MOST_AHEAD)

    def _room(self) -> int:
        room = self.budget.room(self._ahead, len(self.in_hand))
        most = self.context.task.options.limit
        return room if most is None else min(room, most - self.claimed)

    def _enough(self) -> bool:
        """Whether to start nothing new; stops the run at a limit."""
        context, limit = self.context, self.context.task.options.limit
        if limit is not None and self.claimed >= limit:
            context.stopping.token.stop(f"stopped after {counted(self.claimed, 'asset')} (--limit)", StopKind.ASSETS)
        if (passed := context.stopping.passed_deadline) is not None:
            context.stopping.token.stop(passed.reason, passed.kind, hurry=True)
        return context.stopping.ends

    async def _read(self, work: Work, gate: asyncio.Semaphore) -> ReadAsset | Concluded | None:
        async with gate, self.held.reading():
            item = await self.worker.read(work)
            self.held.keep(work.asset, item.asset if isinstance(item, ReadAsset) else None)
            return await self._after_failure(item) if isinstance(item, Failed) else item

    async def _draft(self, reading: Reading, ready: Ready) -> None:
        while (item := await reading.get()) is not None:
            work, task = item
            read = await task
            if read is None:
                continue
            if self.context.stopping.hurries:
                await self._release(work)
                continue
            drafted: DraftedAsset | Concluded | Failed | None
            drafted = await self.worker.draft(read) if isinstance(read, ReadAsset) else read
            if isinstance(drafted, Failed):
                drafted = await self._after_failure(drafted)
            if drafted is not None:
                await ready.put(drafted)
        for _ in range(self.context.writers):
            await ready.put(None)

    async def _write(self, ready: Ready) -> None:
        while (item := await ready.get()) is not None:
            if self.context.stopping.hurries:
                await self._release(item.work)
                continue
            written: Written | Concluded | Failed | None = await self.worker.write(item)
            if isinstance(written, Failed):
                written = await self._after_failure(written, writing=True)
            if written is not None:
                self.failures = 0
                await self._complete(written.work, self._described(written.outcome, written.asset))
            self._let_go(item.work)

    async def _release(self, work: Work) -> None:
        """Release an item that this run will not start."""
        self._drop(work)
        await self.context.state.store.release([work])
        self.moved.set()

    def _let_go(self, work: Work) -> None:
        self._drop(work)
        if not self.in_hand:
            self.moved.set()

    def _drop(self, work: Work) -> None:
        self.in_hand.pop(work.asset, None)
        self.held.drop(work.asset)

    async def _complete(self, work: Work, outcome: Outcome) -> None:
        outcome = with_limit(work, outcome)
        if self.context.task.wave is not None:
            outcome = self.context.task.wave.stamped(work, outcome)
        await self.context.state.store.complete(work, outcome)
        _count(self.context.phases.progress, outcome)
        self.parking.watch(work, outcome, self.in_hand.values())

    def _described(self, outcome: Outcome, asset: Asset | None) -> Outcome:
        """With the name of the asset; a parked one with all by which people recognize it, and its account."""
        if asset is None:
            return outcome
        if outcome.action != "parked":
            return replace(outcome, named=name_of(asset))
        return with_parked_account(
            self.context.target,
            self.context.mapping.crosswalk,
            self.context.task.policy,
            replace(outcome, named=labels_of(asset)),
            asset,
        )

    async def _after_failure(self, failed: Failed, *, writing: bool = False) -> Concluded | None:
        """The asset as parked, or None if its work item was put back. Raises the error if it stops the run."""
        work, error = failed.work, failed.error.within(asset=failed.work.asset)
        self.failures += error.disposition is Disposition.RETRY and not isinstance(error, WorkerLost | StillFetching)
        match react(error, work, failures=self.failures, writing=writing):
            case StopRun() if isinstance(error, StopRequested):
                # other calls are under way: once they got their responses, none is in doubt
                self.context.stopping.used_up = self.context.stopping.used_up or error
                await self._release(work)
                return None
            case StopRun():
                raise error
            case RetryAsset(after_s):
                log.warning("asset.retry", asset=work.asset, attempt=work.attempt, message=error.message)
                await self._put_back(work, after_s)
                return None
            case RestartAsset():
                await self._put_back(work, 0.0)
                return None
            case ReleaseAsset():
                log.info("asset.still_fetched", asset=work.asset)
                await self._release(work)
                return None
            case ParkAsset(outcome, counts=True):
                log.warning("asset.parked", asset=work.asset, cause=str(error.cause), message=error.message)
                return Concluded(work, outcome, failed.asset)
            case ParkAsset(outcome):  # an outage must not park one asset after another: the failure count stays
                self._drop(work)
                await self._complete(work, self._described(outcome, work.payload))
                self.moved.set()
                return None

    async def _put_back(self, work: Work, after_s: float) -> None:
        self._drop(work)
        await self.context.state.store.retry(work, after_s)
        self.due.append(self.context.clock.monotonic() + after_s)
        self.moved.set()


def _count(progress: Progress, outcome: Outcome) -> None:
    match outcome.action:
        case "created":
            progress.created += 1
        case "updated":
            progress.updated += 1
        case "unchanged":
            progress.unchanged += 1
        case "parked":
            progress.parked += 1
        case "removed":
            progress.removed += 1
        case _:
            progress.skipped += 1
