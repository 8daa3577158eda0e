"""The pipeline of a run: claim in order, read ahead, draft in order, write concurrently, complete."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import structlog

from dam_sync.engine.apply import Prepared
from dam_sync.engine.asset_labels import labels_of
from dam_sync.engine.guards.parking import ParkingMonitor
from dam_sync.engine.retrying import with_limit
from dam_sync.engine.run_context import LEASE, RunContext
from dam_sync.engine.worker import MAX_ATTEMPTS, Worker
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.errors import Transient
from dam_sync.store.rows import Outcome, Work

log = structlog.get_logger(__name__)
READ_AHEAD = 4  # assets read ahead for each one written at once
FRUITLESS = 12  # transient failures in a row, over all assets, before the run gives up for now
POLL_SECONDS = 0.2


@dataclass(slots=True)
class Pipeline:
    """Works off what the crawl records, until `crawled` is set and no row is open."""

    context: RunContext
    worker: Worker
    crawled: asyncio.Event = field(default_factory=asyncio.Event)
    failures: int = 0
    claimed: int = 0
    parking: ParkingMonitor = field(init=False)
    in_hand: dict[AssetId, Work] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parking = ParkingMonitor(self.context)

    async def run(self) -> None:
        """Returns when every item is complete; raises the first error that stops the run."""
        context = self.context
        reading: asyncio.Queue[tuple[Work, asyncio.Task[Prepared]] | None] = asyncio.Queue(
            context.readers + context.writers * READ_AHEAD
        )
        ready: asyncio.Queue[Prepared | None] = asyncio.Queue(context.writers * 2)
        gate = asyncio.Semaphore(context.readers)
        async with asyncio.TaskGroup() as group:
            keeper = group.create_task(self._keep_leases())
            async with asyncio.TaskGroup() as belt:
                belt.create_task(self._claim(reading, gate, belt))
                belt.create_task(self._draft(reading, ready))
                for _ in range(context.writers):
                    belt.create_task(self._write(ready))
            keeper.cancel()

    async def _keep_leases(self) -> None:
        """A large file may take longer than a lease."""
        while True:
            await self.context.clock.sleep(LEASE.total_seconds() / 4)
            await self.context.store.extend(list(self.in_hand.values()), LEASE)

    async def _claim(
        self,
        reading: asyncio.Queue[tuple[Work, asyncio.Task[Prepared]] | None],
        gate: asyncio.Semaphore,
        group: asyncio.TaskGroup,
    ) -> None:
        context = self.context
        while not self._enough():
            crawled = self.crawled.is_set()
            works = await context.store.claim(context.run.id, self._room(), LEASE, self.in_hand)
            self.claimed += len(works)
            for work in works:
                self.in_hand[work.asset] = work
                await reading.put((work, group.create_task(self._read(work, gate))))
            if not works:
                if crawled and await context.store.open_work(context.run.id) == 0:
                    break
                await context.clock.sleep(POLL_SECONDS)
        await reading.put(None)

    def _room(self) -> int:
        room = self.context.writers * READ_AHEAD
        most = self.context.control.assets
        return room if most is None else min(room, most - self.claimed)

    def _enough(self) -> bool:
        """Whether nothing new should be begun; asks the run to stop where a limit says so."""
        control = self.context.control
        if control.assets is not None and self.claimed >= control.assets:
            control.stop(f"stopped after {self.claimed} assets, as asked")
        if control.deadline is not None and self.context.clock.monotonic() >= control.deadline:
            control.stop("stopped at the time limit, as asked", hurry=True)
        return bool(control.stopped)

    async def _read(self, work: Work, gate: asyncio.Semaphore) -> Prepared:
        async with gate:
            try:
                return await self.worker.read(work)
            except Transient as error:
                return await self._retry(work, error)

    async def _draft(
        self, reading: asyncio.Queue[tuple[Work, asyncio.Task[Prepared]] | None], ready: asyncio.Queue[Prepared | None]
    ) -> None:
        while (item := await reading.get()) is not None:
            work, task = item
            prepared = await task
            if prepared.work.attempt < 0:  # put back for later
                continue
            if self.context.control.hurry:
                await self._release(work)
                continue
            try:
                await ready.put(await self.worker.draft(prepared))
            except Transient as error:
                await self._retry(work, error)
        for _ in range(self.context.writers):
            await ready.put(None)

    async def _write(self, ready: asyncio.Queue[Prepared | None]) -> None:
        while (prepared := await ready.get()) is not None:
            if self.context.control.hurry:
                await self._release(prepared.work)
                continue
            try:
                outcome = await self.worker.write(prepared)
            except Transient as error:
                await self._retry(prepared.work, error)
                continue
            if outcome is not None:
                await self._complete(prepared.work, _named(outcome, prepared.asset))
            self.in_hand.pop(prepared.work.asset, None)

    async def _release(self, work: Work) -> None:
        """Not begun, and not to be begun by this run any more."""
        self.in_hand.pop(work.asset, None)
        await self.context.store.release([work])

    async def _complete(self, work: Work, outcome: Outcome) -> None:
        self.failures = 0
        await self._close(work, outcome)

    async def _close(self, work: Work, outcome: Outcome) -> None:
        outcome = with_limit(work, outcome)
        await self.context.store.complete(work, outcome)
        _count(self.context, outcome)
        self.parking.watch(work, outcome, self.in_hand.values())

    async def _retry(self, work: Work, error: Transient) -> Prepared:
        """Put back; give up the run when nothing gets through, or park the one asset that never does."""
        self.failures += 1
        self.in_hand.pop(work.asset, None)
        error.within(asset=work.asset)
        if self.failures >= FRUITLESS:
            raise error
        if work.attempt >= MAX_ATTEMPTS:
            outcome = Outcome(
                action="parked",
                cause=f"keeps failing: {error.cause}",
                message=error.message,
                operation=error.operation,
                passing=True,
            )
            outcome = _named(outcome, work.payload)
            await self._close(work, outcome)  # nothing got through by this: an outage must not park one after the other
        else:
            log.warning("asset.later", asset=work.asset, attempt=work.attempt, message=error.message)
            await self.context.store.retry(work, error.retry_after or float(2**work.attempt))
        return Prepared(replace(work, attempt=-1))


def _named(outcome: Outcome, asset: Asset | None) -> Outcome:
    """With what people know a parked asset by."""
    return replace(outcome, named=labels_of(asset)) if outcome.action == "parked" and asset is not None else outcome


def _count(context: RunContext, outcome: Outcome) -> None:
    progress = context.progress
    match outcome.action:
        case "created":
            progress.created += 1
        case "updated":
            progress.updated += 1
        case "unchanged":
            progress.unchanged += 1
        case "parked":
            progress.parked += 1
        case _:
            progress.skipped += 1
