"""The coordinator's side: hands assets to worker processes one by one, and notices when one of them is gone."""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from distributed import Client, KilledWorker

from dam_sync.aio.task_group import TaskGroup
from dam_sync.cluster import tasks
from dam_sync.cluster.cancellation import is_cancelled
from dam_sync.cluster.dask_client import workers_at
from dam_sync.cluster.links import LinkSeal
from dam_sync.cluster.messages import Calls, Joining, LongestWait, Order, Spent, WorkerResult
from dam_sync.cluster.worker_waits import WorkerWaits
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.stages import Concluded, DraftedAsset
from dam_sync.model.errors import (
    ConfigError,
    ContractBroken,
    DamSyncError,
    InternalError,
    StoreUnreachable,
    WorkerLost,
    WorkersGone,
)
from dam_sync.model.outcome import Outcome
from dam_sync.model.waits import Wait, current_waits
from dam_sync.store.server.workers import WorkerProcess

log = structlog.get_logger(__name__)
LOOK_SECONDS = 0.5  # between two looks at the workers of the scheduler
PATIENCE_SECONDS = 60.0  # how long a run waits without any worker
REFUSED_SECONDS = 20.0  # until a worker that could not take part is asked again
JOIN_SECONDS = 60.0
PASSING = (WorkerLost, StoreUnreachable)  # errors after which a worker is asked again at once
PAUSE_SECONDS = 1.0  # before an asset is tried again: calls of a lost worker may still be processed
LEAVE_SECONDS = 10.0


@dataclass(eq=False, slots=True)
class Member:
    """A worker that takes part. room: assets that it writes at once; known: how many of the stored counterparts it
    knows; gone: set when it is lost; silent: it certainly sends nothing any more for this run; hurries: it knows that
    the run is to end soon."""

    address: str
    process: WorkerProcess
    room: int
    known: int = 0
    busy: int = 0
    spent: Spent = field(default_factory=Spent)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    silent: bool = False
    hurries: bool = False
    ended: asyncio.Future[None] | None = None  # until it is silent


class DaskWorkers:
    """Implements `engine.asset_writers.RemoteWriters` with Dask.

    Each asset is one task, bound to one worker, named by the number of the asset, never retried by Dask and never moved
    to another worker: a write is not repeatable without its journal. If Dask runs one again after all, the second
    execution is refused by its ticket (see `store.workers`), as is a worker that was lost and still lives.

    Assets with one file name are written by the same worker as long as one of them is under way, because a connector
    tells an asset of ours that has no marker yet from its own by what this process created.
    """

    _seal: LinkSeal

    def __init__(self, client: Client, number: int, hint: str = "") -> None:
        """hint: what to do about a cluster that is gone, if it is not one of this process."""
        self._client, self._number, self._hint = client, number, hint
        self._members: dict[str, Member] = {}
        self._former: list[Member] = []
        self._refused: dict[str, float] = {}
        self._alike: dict[str, tuple[Member, int]] = {}
        self._changed = asyncio.Condition()
        self._joiners: set[str] = set()  # the addresses of those that are about to take part
        self._alone: Wait | None = None  # while there is none
        self._context: RunContext | None = None
        self._make: Callable[[], Joining] | None = None
        self._joining: Joining | None = None  # once the run has begun
        self._began = self._ended = False
        self._why = ""  # the last worker could not take part

    # -- taking part --------------------------------------------------------------------------------------------------

    def prepare(self, context: RunContext, joining: Callable[[], Joining], seal: LinkSeal) -> None:
        """They will write for this run. joining: called when it begins."""
        self._context, self._make, self._seal = context, joining, seal

    async def begin(self) -> None:
        """See `RemoteWriters`. Raises what keeps a worker from taking part permanently; one that is lost meanwhile, or
        whose place is not free yet, may take part later."""
        assert self._make is not None
        self._joining = self._make()
        addresses = sorted(await self._present())[: self._number]
        results = await asyncio.gather(*map(self._join, addresses), return_exceptions=True)
        for address, result in zip(addresses, results, strict=True):
            if isinstance(result, PASSING):
                self._refuse(address, result)
            elif result is not None:
                raise result
        self._began = True

    async def keep(self) -> None:
        """Notice lost workers, let others take part in their place, and show what they wait for, until cancelled."""
        waits = WorkerWaits(self._clock, self._longest_wait)
        try:
            async with TaskGroup() as group:
                group.start(waits.keep, lambda: self._members.keys() | self._joiners)
                group.start(self._look_after)
        finally:
            self._end_alone()

    async def _look_after(self) -> None:
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            if not self._began:
                continue
            if self._run.stopping.token.hurry:
                await self._hurry()
            addresses = await self._present()
            for member in [each for each in self._members.values() if each.address not in addresses]:
                self._lose(member)
            now = self._clock.monotonic()
            for address in sorted(addresses - self._members.keys()):
                if len(self._members) < self._number and self._refused.get(address, now) <= now:
                    await self._join_later(address)
            self._note_alone(now)
            async with self._changed:
                self._changed.notify_all()

    def _note_alone(self, now: float) -> None:
        """Show that no worker is there while that is so."""
        if not self._members and self._alone is None:
            self._alone = current_waits().begin("a worker process", "", now, now + PATIENCE_SECONDS)
        elif self._members:
            self._end_alone()

    def _end_alone(self) -> None:
        if self._alone is not None:
            current_waits().end(self._alone)
            self._alone = None

    async def _longest_wait(self, address: str) -> LongestWait | None:
        """Of one worker. Raises WorkerLost."""
        assert self._joining is not None
        found = (await self._asked(address, tasks.longest_wait, self._joining.run)).result
        return found if isinstance(found, LongestWait) else None

    async def _hurry(self) -> None:
        """Tell every worker once that the run is to end soon."""
        members = [each for each in self._members.values() if not each.hurries]
        for member in members:
            member.hurries = True
        if members:
            await self._tell(members, tasks.hurry)

    async def _present(self) -> frozenset[str]:
        """The addresses of all workers; none while the scheduler is away."""
        try:
            return await workers_at(self._client)
        except WorkersGone:
            return frozenset()

    async def _is_gone(self, address: str) -> bool:
        """Whether the scheduler says so; one that does not respond says nothing."""
        try:
            return address not in await workers_at(self._client)
        except WorkersGone:
            return False

    async def end(self) -> None:
        """Let all workers leave; what they spent last is counted. The next process that takes part in the run waits for
        those that may still send something. Never raises; safe to repeat."""
        if self._joining is not None and not self._ended:
            self._ended = True
            with suppress(Exception):
                async with asyncio.timeout(LEAVE_SECONDS):
                    await self._everywhere(tasks.leave)
            unsure = [each.process for each in (*self._members.values(), *self._former) if not each.silent]
            with suppress(Exception):
                await self._run.state.store.note_workers(unsure)

    async def _join(self, address: str) -> None:
        joining = self._joining
        assert joining is not None
        known = len(self._run.target.counterparts.stored)
        self._joiners.add(address)
        try:
            reply = await self._asked(address, tasks.join, pickle.dumps(joining))
        finally:
            self._joiners.discard(address)
        if reply.error is not None:
            raise named(reply.error, address)
        assert isinstance(reply.result, WorkerProcess)
        member = Member(address, reply.result, self._room, known)
        noted = [each.process for each in (*self._members.values(), *self._former, member) if not each.silent]
        await self._run.state.store.note_workers(noted)  # before it is handed anything
        self._members[address] = member
        log.info("worker.joined", address=address, place=member.process.place)

    async def _join_later(self, address: str) -> None:
        """A worker that comes later is not needed by the run, which goes on without it."""
        try:
            async with asyncio.timeout(JOIN_SECONDS):
                await self._join(address)
        except Exception as error:  # noqa: BLE001 -- reported; it may be gone again
            self._refuse(address, error)

    def _refuse(self, address: str, error: Exception) -> None:
        """Ask this worker again later."""
        self._why = str(error) or type(error).__name__
        log.warning("worker.refused", address=address, message=self._why)
        again = LOOK_SECONDS if isinstance(error, PASSING) else REFUSED_SECONDS
        self._refused[address] = self._clock.monotonic() + again

    def _lose(self, member: Member) -> None:
        if self._members.pop(member.address, None) is None:
            return
        log.warning("worker.lost", address=member.address)
        self._former.append(member)
        member.gone.set()

    # -- RemoteWriters ------------------------------------------------------------------------------------------------

    @property
    def at_once(self) -> int:
        return self._room * self._number

    @property
    def calls(self) -> Calls:
        found = {"source": Counter[str](), "target": Counter[str]()}
        for member in (*self._members.values(), *self._former):
            for side, calls in member.spent.calls.items():
                found[side].update(calls)
        return found

    async def outcome(self, item: DraftedAsset | Concluded) -> Outcome:
        """See `AssetWriter`. Raises WorkersGone if there is no worker for too long."""
        name = item.drafted.draft.filename.casefold() if isinstance(item, DraftedAsset) else ""
        member = await self._seat(name)
        try:
            reply = await self._handed(member, item)
        finally:
            await self._leave_seat(member, name)
        if reply.error is not None:
            raise reply.error
        if not isinstance(reply.result, Outcome):
            raise ContractBroken("a worker sent no outcome", asset=item.work.asset)
        return reply.result

    async def end_shared(self) -> None:
        await self._everywhere(tasks.end_shared)

    async def sweep(self) -> int:
        results = [reply.result for reply in await self._everywhere(tasks.sweep)]
        return sum(result for result in results if isinstance(result, int))

    # -- one asset ----------------------------------------------------------------------------------------------------

    async def _seat(self, name: str) -> Member:
        async with self._changed:
            while (member := self._free(name)) is None:
                self._refuse_to_wait()
                await self._changed.wait()
            member.busy += 1
            if name:
                self._alike[name] = (member, self._alike.get(name, (member, 0))[1] + 1)
        return member

    def _refuse_to_wait(self) -> None:
        """Raises WorkersGone if there was no worker for too long, or none can come any more."""
        if self._alone is None:
            return
        if self._client.status == "closed":
            raise WorkersGone("the Dask scheduler is gone, and with it all worker processes", hint=self._hint)
        if self._clock.monotonic() - self._alone.since > PATIENCE_SECONDS:
            raise WorkersGone("no worker process is left" + (f": {self._why}" if self._why else ""), hint=self._hint)

    def _free(self, name: str) -> Member | None:
        """The member that writes an asset of this name, or the least busy one; None until there is room."""
        alike = self._alike.get(name)
        if alike is not None:
            member = alike[0]
            return member if member.busy < member.room and not member.gone.is_set() else None
        free = [each for each in self._members.values() if each.busy < each.room]
        return min(free, key=lambda each: each.busy, default=None)

    async def _leave_seat(self, member: Member, name: str) -> None:
        async with self._changed:
            member.busy -= 1
            if name:
                number = self._alike[name][1] - 1
                self._alike[name] = (member, number)
                if not number:
                    del self._alike[name]
            self._changed.notify_all()

    async def _handed(self, member: Member, item: DraftedAsset | Concluded) -> WorkerResult:
        """The reply to an order. Raises WorkerLost once the worker certainly does nothing more about it."""
        assert self._joining is not None
        ticket = f"{member.process.place}-{self._clock.token()}"
        stored, no_links = self._run.target.counterparts.stored, self._run.pulls.exhausted
        news = tuple(stored[member.known :])
        order = Order(self._joining.run, self._seal.sealed(item), ticket, member.known, news, no_links)
        knows, work = len(stored), item.work
        reply = await self._answer(member, f"asset-{work.seq}-{ticket}", pickle.dumps(order))
        if reply is not None:
            self._take_in(member, reply)
            member.known = max(member.known, knows)
            if not isinstance(reply.error, WorkerLost):
                return reply
            if reply.left:
                self._lose(member)
        if await self._run.state.store.take_back(work) and (reply is None or not reply.left):
            await self._until_ended(member)
        why = reply.error.message if reply is not None and reply.error is not None else "its process ended"
        raise WorkerLost(f"the worker that wrote it was lost: {why}", asset=work.asset, retry_after=PAUSE_SECONDS)

    async def _answer(self, member: Member, key: str, message: bytes) -> WorkerResult | None:
        """None if the worker is lost."""
        future = self._client.submit(
            tasks.write,
            message,
            key=key,
            workers=[member.address],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )
        result, gone = asyncio.ensure_future(result_of(future)), asyncio.ensure_future(member.gone.wait())
        try:
            await asyncio.wait([result, gone], return_when=asyncio.FIRST_COMPLETED)
            if not result.done():
                return None
            return result.result()
        finally:
            for each in (result, gone):
                each.cancel()
            future.release()  # type: ignore[no-untyped-call]

    async def _until_ended(self, member: Member) -> None:
        """Shared by all assets that the worker had."""
        self._lose(member)
        if member.ended is None:
            member.ended = asyncio.ensure_future(self._run.state.store.until_gone([member.process]))
        await asyncio.shield(member.ended)
        member.silent = True

    def _take_in(self, member: Member, reply: WorkerResult) -> None:
        """Count what a worker spent since its last report; an earlier one may come after it."""
        member.silent |= reply.left
        if reply.spent.total < member.spent.total:
            return
        before, member.spent = member.spent, reply.spent
        for side, calls in reply.spent.calls.items():
            more = sum(calls.values()) - sum(before.calls.get(side, {}).values())
            self._run.task.options.rates.note(side, max(0, more))
        self._run.phases.progress.bytes += max(0, reply.spent.bytes - before.bytes)
        self._run.pulls.add(reply.spent.fetched - before.fetched)

    async def _everywhere(self, function: Callable[[str], Awaitable[bytes]]) -> Sequence[WorkerResult]:
        return await self._tell(list(self._members.values()), function)

    async def _tell(
        self, members: Sequence[Member], function: Callable[[str], Awaitable[bytes]]
    ) -> Sequence[WorkerResult]:
        joining = self._joining
        assert joining is not None
        found = await asyncio.gather(
            *(self._asked(each.address, function, joining.run) for each in members), return_exceptions=True
        )
        replies = [
            (member, reply) for member, reply in zip(members, found, strict=True) if isinstance(reply, WorkerResult)
        ]
        for member, reply in replies:
            self._take_in(member, reply)
        return [reply for _, reply in replies]

    async def _asked(self, address: str, function: Callable[..., Awaitable[bytes]], *given: Any) -> WorkerResult:
        """The reply of one worker, outside of the tasks. Raises WorkerLost, also if it is lost before it replies."""
        asked = asyncio.ensure_future(self._client.run(function, *given, workers=[address], on_error="return"))
        try:
            while not (await asyncio.wait([asked], timeout=LOOK_SECONDS))[0]:
                if await self._is_gone(address):
                    raise WorkerLost(f"the worker {address} does not respond: its process ended")
            found = (await asked)[address]
        except (OSError, TimeoutError, KeyError) as error:
            raise WorkerLost(f"the worker {address} does not respond: {error}") from error
        finally:
            asked.cancel()
        if isinstance(found, OSError):
            raise WorkerLost(f"the worker {address} does not respond: {found}") from found
        if isinstance(found, BaseException):
            if function is tasks.join:  # which raises nothing itself
                raise named(ConfigError(f"dam-sync cannot be loaded there ({found})", hint=tasks.SAME), address)
            raise InternalError.of(found)
        reply: WorkerResult = pickle.loads(found)
        return reply

    @property
    def _run(self) -> RunContext:
        assert self._context is not None
        return self._context

    @property
    def _clock(self) -> Any:
        return self._run.clock

    @property
    def _room(self) -> int:
        """Assets that one worker writes at once: together as many as one process would."""
        able = self._run.target.service.capabilities
        return max(able.batch, -(-able.writers // self._number))


async def result_of(future: Any) -> WorkerResult | None:
    """The reply; None if Dask lost it with its worker or its scheduler, or if the worker was cancelled. Raises
    InternalError for a message that could not be carried."""
    try:
        reply: WorkerResult = pickle.loads(await future)
    except (KilledWorker, OSError, TimeoutError):
        return None
    except asyncio.CancelledError:
        if is_cancelled():
            raise
        return None
    except Exception as error:
        if "Cancelled" in type(error).__name__:
            return None
        raise InternalError.of(error) from error
    return reply


def named(error: DamSyncError, address: str) -> DamSyncError:
    """The error with the worker that it is about: files and variables may be there for this process, and not for it."""
    if isinstance(error, ConfigError):
        error.message = f"the worker {address}: {error.message}"
        error.hint += f"{'; ' if error.hint else ''}do so on the host of that worker, and start the worker again"
    return error
