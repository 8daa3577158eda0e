"""The moving belt of a run: claim in order, read ahead, draft in order, write at once, settle."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import structlog

from dam_sync.engine.apply import Prepared
from dam_sync.engine.asset_labels import named
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

    session: RunContext
    worker: Worker
    crawled: asyncio.Event = field(default_factory=asyncio.Event)
    failures: int = 0
    claimed: int = 0
    parking: ParkingMonitor = field(init=False)
    in_hand: dict[AssetId, Work] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parking = ParkingMonitor(self.session)

    async def run(self) -> None:
        """Returns when everything is settled; raises the first error that stops the run."""
        session = self.session
        reading: asyncio.Queue[tuple[Work, asyncio.Task[Prepared]] | None] = asyncio.Queue(
            session.readers + session.writers * READ_AHEAD
        )
        ready: asyncio.Queue[Prepared | None] = asyncio.Queue(session.writers * 2)
        gate = asyncio.Semaphore(session.readers)
        async with asyncio.TaskGroup() as group:
            keeper = group.create_task(self._keep_leases())
            async with asyncio.TaskGroup() as belt:
                belt.create_task(self._claim(reading, gate, belt))
                belt.create_task(self._draft(reading, ready))
                for _ in range(session.writers):
                    belt.create_task(self._write(ready))
            keeper.cancel()

    async def _keep_leases(self) -> None:
        """A large file may take longer than a lease."""
        while True:
            await self.session.clock.sleep(LEASE.total_seconds() / 4)
            await self.session.store.extend(list(self.in_hand.values()), LEASE)

    async def _claim(
        self,
        reading: asyncio.Queue[tuple[Work, asyncio.Task[Prepared]] | None],
        gate: asyncio.Semaphore,
        group: asyncio.TaskGroup,
    ) -> None:
        session = self.session
        while not self._enough():
            crawled = self.crawled.is_set()
            works = await session.store.claim(session.run.id, self._room(), LEASE, self.in_hand)
            self.claimed += len(works)
            for work in works:
                self.in_hand[work.asset] = work
                await reading.put((work, group.create_task(self._read(work, gate))))
            if not works:
                if crawled and await session.store.open_work(session.run.id) == 0:
                    break
                await session.clock.sleep(POLL_SECONDS)
        await reading.put(None)

    def _room(self) -> int:
        room = self.session.writers * READ_AHEAD
        most = self.session.ask.assets
        return room if most is None else min(room, most - self.claimed)

    def _enough(self) -> bool:
        """Whether nothing new should be begun; asks the run to stop where a limit says so."""
        ask = self.session.ask
        if ask.assets is not None and self.claimed >= ask.assets:
            ask.stop(f"stopped after {self.claimed} assets, as asked")
        if ask.deadline is not None and self.session.clock.monotonic() >= ask.deadline:
            ask.stop("stopped at the time limit, as asked", hurry=True)
        return bool(ask.stopped)

    async def _read(self, work: Work, gate: asyncio.Semaphore) -> Prepared:
        async with gate:
            try:
                return await self.worker.read(work)
            except Transient as error:
                return await self._later(work, error)

    async def _draft(
        self, reading: asyncio.Queue[tuple[Work, asyncio.Task[Prepared]] | None], ready: asyncio.Queue[Prepared | None]
    ) -> None:
        while (item := await reading.get()) is not None:
            work, task = item
            prepared = await task
            if prepared.work.attempt < 0:  # put back for later
                continue
            if self.session.ask.hurry:
                await self._give_back(work)
                continue
            try:
                await ready.put(await self.worker.draft(prepared))
            except Transient as error:
                await self._later(work, error)
        for _ in range(self.session.writers):
            await ready.put(None)

    async def _write(self, ready: asyncio.Queue[Prepared | None]) -> None:
        while (prepared := await ready.get()) is not None:
            if self.session.ask.hurry:
                await self._give_back(prepared.work)
                continue
            try:
                outcome = await self.worker.write(prepared)
            except Transient as error:
                await self._later(prepared.work, error)
                continue
            if outcome is not None:
                await self._settle(prepared.work, _named(outcome, prepared.asset))
            self.in_hand.pop(prepared.work.asset, None)

    async def _give_back(self, work: Work) -> None:
        """Not begun, and not to be begun by this run any more."""
        self.in_hand.pop(work.asset, None)
        await self.session.store.release([work])

    async def _settle(self, work: Work, outcome: Outcome) -> None:
        self.failures = 0
        await self._close(work, outcome)

    async def _close(self, work: Work, outcome: Outcome) -> None:
        outcome = with_limit(work, outcome)
        await self.session.store.settle(work, outcome)
        _count(self.session, outcome)
        self.parking.watch(work, outcome, self.in_hand.values())

    async def _later(self, work: Work, error: Transient) -> Prepared:
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
            await self.session.store.retry_later(work, error.retry_after or float(2**work.attempt))
        return Prepared(replace(work, attempt=-1))


def _named(outcome: Outcome, asset: Asset | None) -> Outcome:
    """With what people know a parked asset by."""
    return replace(outcome, named=named(asset)) if outcome.action == "parked" and asset is not None else outcome


def _count(session: RunContext, outcome: Outcome) -> None:
    progress = session.progress
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
