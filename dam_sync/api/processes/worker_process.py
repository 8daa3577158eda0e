"""What a worker process has of a run: its own connections to both services, and the state of the coordinator's run."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import structlog

from dam_sync.api.bootstrap import connected, run_context_of, source_secret
from dam_sync.api.job_file import job_of
from dam_sync.api.logs import set_up_logs
from dam_sync.api.reports.run_record import counting
from dam_sync.cluster.links import LinkSeal
from dam_sync.cluster.messages import Order, Spent
from dam_sync.engine.context.planned import PlannedWork
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.stages import DraftedAsset
from dam_sync.engine.write.writers import OwnWriter
from dam_sync.model.asset import Draft
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import ConfigError, StoreUnreachable, WorkerLost, WrongClock
from dam_sync.model.outcome import Outcome
from dam_sync.model.rotation import Rotation
from dam_sync.model.run_options import RunOptions
from dam_sync.model.state_server import StateServer
from dam_sync.model.values import Term
from dam_sync.store.rows import Run
from dam_sync.store.server.workers import STILL, WorkerProcess
from dam_sync.store.store import SqlStore

log = structlog.get_logger(__name__)
T = TypeVar("T")
LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a worker needs to know of a run besides its job file, which it reads itself, with its secrets.

    path: of the job file; mapping: the digest of the mapping; places: the number of workers; processes: that share the
    limits of the services; the others as in `RunOptions` and `RunTask`.
    """

    path: str
    run: Run
    mapping: str
    places: int
    processes: int
    max_calls: int | None = None
    full: bool = False
    only: frozenset[str] = frozenset()
    repair: bool = False
    rotation: Rotation | None = None
    planned: PlannedWork | None = None
    accept_changes: bool = False


async def open_worker(settings: RunSettings) -> WorkerOfRun:
    """Take part in a run. Raises ConfigError if the job file or the mapping is not that of the coordinator, or a secret
    does not resolve here, and what connecting raises."""
    if not structlog.is_configured():
        set_up_logs(0, "console")
    job = job_of(Path(settings.path))
    server = job.state_place
    if not isinstance(server, StateServer):
        raise ConfigError("the job file of a worker does not name the state of the run", hint="copy the job file to it")
    async with AsyncExitStack() as stack:
        store, place = await SqlStore.join(server, SYSTEM_CLOCK, settings.run.id, settings.run.owner, settings.places)
        stack.push_async_callback(store.close)
        seen = await store.look("")
        options = RunOptions(
            full=settings.full,
            only=settings.only,
            repair=settings.repair,
            max_calls=settings.max_calls,
            processes=settings.processes,
        )
        options = await counting(store, options)
        opened = await stack.enter_async_context(connected(job, options, may_write=store.prove_held))
        if not settings.accept_changes and (fault := opened.time.fault) is not None:
            raise WrongClock(f"on {socket.gethostname()}, {fault.message}", hint=fault.hint)
        opened.time.accept()
        if opened.crosswalk.digest != settings.mapping:
            hint = "the job file, its mapping and its tables must be the same on every host"
            raise ConfigError("the mapping of a worker is not that of the coordinator", hint=hint)
        context = await run_context_of(opened, store, settings.run, options, stores_names=False)
        context.task.repair, context.task.rotation = settings.repair, settings.rotation
        context.task.planned = settings.planned and replace(settings.planned, store=store)
        seal = LinkSeal(await source_secret(job, options), settings.run.owner)
        process = WorkerProcess(socket.gethostname(), os.getpid(), place)
        return WorkerOfRun(context, seal, process, stack.pop_all(), seen)


class WorkerOfRun:
    """Implements `cluster.messages.Participant`."""

    def __init__(
        self, context: RunContext, seal: LinkSeal, process: WorkerProcess, stack: AsyncExitStack, seen: str
    ) -> None:
        self._context, self._seal, self.process, self._stack = context, seal, process, stack
        self.has_left = False
        self._known = -1
        self._active: set[asyncio.Task[Any]] = set()
        self._closing: asyncio.Future[None] | None = None
        self._keeper = asyncio.ensure_future(self._keep(seen))

    def spent(self) -> Spent:
        return Spent(self._context.calls, self._context.phases.progress.bytes, self._context.pulls.fetched)

    async def write(self, order: Order) -> Outcome:
        if self.has_left:
            raise WorkerLost("this worker lost the run")
        self._learn(order)
        try:
            return await self._cancellable(self._written(order))
        except StoreUnreachable as error:  # the place of this worker ended with its session
            await self.close()
            raise WorkerLost(f"this worker lost the run: {error.message}") from error

    async def _written(self, order: Order) -> Outcome:
        store, work = self._context.state.store, order.item.work
        await store.take_over(work, order.ticket)
        try:
            return await OwnWriter(self._context).outcome(self._seal.opened(order.item))
        finally:
            store.let_go(work)

    async def end_shared(self) -> None:
        await self._cancellable(self._context.target.service.end_shared())

    async def sweep(self) -> int:
        return await self._cancellable(self._context.target.service.sweep(self._context.state.store.is_recorded))

    async def hurry(self) -> None:
        self._context.stopping.token.stop("the run is to end soon", hurry=True)

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._released())
        await asyncio.shield(self._closing)

    async def _released(self) -> None:
        await self._give_back()
        self._keeper.cancel()

    async def _give_back(self) -> None:
        """Give back the connections, and with them the place of this worker, which another one may wait for."""
        await self._leave()
        with suppress(Exception):
            await self._stack.aclose()

    def _learn(self, order: Order) -> None:
        """Take over the counterparts that this worker does not know yet, and whether there are links; orders may
        overtake each other."""
        self._context.pulls.reported = order.no_links
        known = order.known if self._known < 0 else self._known
        self._context.target.counterparts.learn(order.counterparts[max(0, known - order.known) :])
        self._known = max(known, order.known + len(order.counterparts))
        if isinstance(order.item, DraftedAsset):
            self._learn_terms(order.item.drafted.draft)

    def _learn_terms(self, draft: Draft) -> None:
        """Terms of a draft exist, though this worker may have read their vocabularies before."""
        fields = self._context.target.schema.fields
        for key, value in draft.fields.items():
            vocabulary = fields[key].vocabulary if key in fields else ""
            for one in value if vocabulary and isinstance(value, tuple) else (value,):
                if vocabulary and isinstance(one, Term) and one.id:
                    self._context.target.service.learn_term(vocabulary, one)

    async def _cancellable(self, work: Coroutine[Any, Any, T]) -> T:
        """The result, unless this worker loses the run. Raises WorkerLost then."""
        task = asyncio.ensure_future(work)
        self._active.add(task)
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            self._active.discard(task)
        if task.cancelled():
            raise WorkerLost("this worker lost the run")
        return task.result()

    async def _keep(self, seen: str) -> None:
        """Look once a second whether the coordinator still holds the run: see `store.workers`."""
        clock, store = self._context.clock, self._context.state.store
        changed = clock.monotonic()
        try:
            while clock.monotonic() - changed < STILL.total_seconds():
                await clock.sleep(LOOK_SECONDS)
                found = await store.look(seen)
                if found != seen:
                    seen, changed = found, clock.monotonic()
            log.error("worker.lost", message="the coordinator has sent no heartbeat")
        except asyncio.CancelledError:
            if not self.has_left:  # the process ends: what it opened is closed before its event loop is
                await self._give_back()
            raise
        except Exception as error:  # noqa: BLE001 -- whatever it is, this worker must not write any more
            log.info("worker.left", message=str(error))
        await self.close()

    async def _leave(self) -> None:
        """Cancel everything that is under way, and wait for its end."""
        self.has_left = True
        for task in list(self._active):
            task.cancel()
        if self._active:
            await asyncio.wait(list(self._active))
