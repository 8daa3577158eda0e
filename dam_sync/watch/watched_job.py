"""One job that is watched: its file, what is remembered of it, and the run under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import structlog

from dam_sync.aio.polling import sleep_until_set
from dam_sync.api.job import Job
from dam_sync.api.jobs import unfinished
from dam_sync.api.logs import reported
from dam_sync.api.watching import JobRates, SharedRates, WatchLock, finished_since, load_record, save_record
from dam_sync.model.errors import ConfigError, DamSyncError, StopKind
from dam_sync.model.outage import show_outage
from dam_sync.model.run_options import Progress, RunOptions, StopToken
from dam_sync.model.values import Json
from dam_sync.model.waits import showing
from dam_sync.report.report import Report
from dam_sync.watch.hooks import WatchedWebhooks
from dam_sync.watch.scheduler import Decision, RunResult, WatchRecord, decide, result_of
from dam_sync.watch.timetable import Timetable

GATHER_SECONDS = 0.5  # between a delivery and the run that it causes: others follow it
LOOK_SECONDS = 60.0  # the longest sleep: the clock may be set, the computer may be suspended
CLOSED, ENDING = "the hours of the job have ended", "watch is ending"

_log = structlog.get_logger()


class WatchedJob:
    """Runs one job whenever it is due, one run at a time.

    surroundings: clock, transport, connectors and storage of every run. slots: runs at once of the process. on_end:
    called with this job, the record before and the report when a run has ended.
    """

    def __init__(
        self,
        path: Path,
        surroundings: RunOptions,
        shared: SharedRates,
        slots: asyncio.Semaphore,
        on_end: Callable[[WatchedJob, WatchRecord, Json], None],
    ) -> None:
        self.path = path
        self.job = Job.load(path, surroundings.connectors)
        self.timetable = Timetable.of(self.job.config)
        self.record = WatchRecord(surroundings.clock.now(), chance=surroundings.clock.chance())
        self.totals: dict[str, int] = {}
        self.progress: Progress | None = None  # of the run under way
        self.exit_code = 0  # of the last complete run
        self.problem: DamSyncError | None = None  # of a job file that could not be reloaded
        self.lock = WatchLock(self.job.config.state_place, surroundings.clock)
        self.webhooks = WatchedWebhooks(lambda: self.job.config, surroundings, self._changed, self.lock)
        self._surroundings = surroundings
        self._clock = surroundings.clock
        self._slots = slots
        self._on_end = on_end
        self._rates = JobRates(shared)
        self._wake = asyncio.Event()
        self._token = StopToken()
        self._ending = self._reloading = False

    @property
    def name(self) -> str:
        """That of the job."""
        return self.job.name

    @property
    def decision(self) -> Decision:
        """When the next run begins, and why then."""
        return decide(self.timetable, self.record, self._clock.now())

    async def remember(self) -> None:
        """Take over what an earlier process stored. A restart is somebody's answer to what the job waited for."""
        with suppress(DamSyncError):
            stored = await self.load()
            if stored is not None:
                self.record = WatchRecord.of_json(stored, self._clock.now()).released()

    async def watch(self) -> None:
        """Run the job whenever it is due, until it is stopped. `remember` comes first. The lock is released at the
        end."""
        try:
            while not self._ending:
                await self._look()
        finally:
            await self.lock.release()

    def stop(self) -> None:
        """Start nothing new and stop the run under way; safe to repeat."""
        self._ending = True
        self._token.stop(ENDING, StopKind.ENDING, hurry=True)
        self._wake.set()

    def reload(self) -> None:
        """Read the job file again before the next run, and try again what waits for a person."""
        self._reloading = True
        self._wake.set()

    async def execute(self, options: RunOptions) -> Report:
        """One run."""
        return await self.job.run(options)

    async def load(self) -> Json:
        """What is remembered in the state of the job, None if nothing is."""
        return await load_record(self.job.config, self._surroundings)

    async def store(self, record: Json) -> None:
        """Remember it there."""
        await save_record(self.job.config, record, self._rates, self._surroundings)

    async def _look(self) -> None:
        """Run the job if it is due, or wait."""
        if self._reloading:
            self._reload()
        self.record = self.record.rebased(self._clock.now())
        if self.record.result is RunResult.BLOCKED:
            await self._look_for_help()
        decision = self.decision
        if decision.is_due(self._clock.now()):
            async with self._slots:
                await self._run()
        elif self._may_read_named():
            async with self._slots:
                await self._read_named()
        else:
            await self._sleep(decision.at)

    def _reload(self) -> None:
        self._reloading = False
        self.webhooks.retry()
        try:
            job = Job.load(self.path, self._surroundings.connectors)
            _refuse_other_state(job, self.lock)
            self.timetable, self.job, self.problem = Timetable.of(job.config), job, None
            self.webhooks.renew()
        except DamSyncError as error:
            self.problem = error
            _log.error("watch.not_reloaded", job=self.name, problem=str(error))
        self.record = self.record.released()

    async def _look_for_help(self) -> None:
        """Somebody may have run the job by hand and accepted what stopped it."""
        with suppress(DamSyncError):
            ended = self.record.ended or self.record.since
            began = await finished_since(self.job.config, ended, self._surroundings)
            if began is not None:
                self.record = replace(self.record, began=began).ended_with(RunResult.DONE, began, self._clock.chance())
                await self._save()

    async def _sleep(self, at: datetime | None) -> None:
        """Until the next run is due or something is asked, but not longer than a minute."""
        left = LOOK_SECONDS if at is None else (at - self._clock.now()).total_seconds()
        await sleep_until_set(self._clock, max(0.0, min(left, LOOK_SECONDS)), self._wake)

    async def _run(self) -> None:
        if self._ending or not self.decision.is_due(self._clock.now()):  # it waited for a slot
            return
        before, self.record = self.record, self.record.begun(self._clock.now())
        await self._save()
        report, error = await self._executed(self._surroundings)
        self._ended(report, error)
        await self._save()
        self._on_end(self, before, None if report is None else report.as_json())

    def _may_read_named(self) -> bool:
        """Whether a run for assets that webhooks named may begin: between complete runs, within the hours."""
        now = self._clock.now()
        return self.record.result is RunResult.DONE and self.webhooks.is_due(now) and self.timetable.opening(now) <= now

    async def _read_named(self) -> None:
        """A run for the assets that webhooks named since the last one; the schedule stays as it is."""
        await self._clock.sleep(GATHER_SECONDS)
        if self._ending:
            return
        report: Report | None = None
        error: DamSyncError | None = None
        try:
            names = await self.webhooks.take()
            if not names:
                return
            given = replace(self._surroundings, only=frozenset(names), hinted=True)
            report, error = await self._executed(given)
            if error is None:
                await self.webhooks.read(names)
        except DamSyncError as problem:  # of the state
            error = error or problem
        if error is not None and not self._ending:
            if self.webhooks.failed(error, self._clock.now()):  # a run on schedule reports it as it reports everything
                self.record = replace(self.record, result=RunResult.INTERRUPTED)
            _log.warning("webhooks.not_read", job=self.name, problem=str(error))
        if report is not None:
            before = self.record
            self._add_up(report)
            await self._save()
            self._on_end(self, before, report.as_json())

    async def _executed(self, given: RunOptions) -> tuple[Report | None, DamSyncError | None]:
        """One run: its report, or the error that ended it."""
        self._token = StopToken()
        if self._ending:
            self._token.stop(ENDING, StopKind.ENDING, hurry=True)
        options = replace(given, stop_token=self._token, progress=Progress(), rates=self._rates)
        self.progress = options.progress
        show_outage(options.progress.outage)
        guard = asyncio.ensure_future(self._guard(self.timetable.closing(self._clock.now())))
        try:
            await self.lock.hold()
            with showing(options.progress.waits):
                return await self.execute(options), None
        except Exception as problem:  # noqa: BLE001 -- a bug of ours is reported, and the other jobs continue
            return None, reported(problem)
        finally:
            guard.cancel()
            self.progress = None

    def _ended(self, report: Report | None, error: DamSyncError | None) -> None:
        now, chance = self._clock.now(), self._clock.chance()
        result = RunResult.DONE if error is None else result_of(error, stopping=bool(self._token.reason))
        self.record = self.record.ended_with(result, now, chance, error)
        self.totals[result.value] = self.totals.get(result.value, 0) + 1
        if report is not None:
            self._add_up(report)

    def _add_up(self, report: Report) -> None:
        """Keep what metrics show of a complete run."""
        self.exit_code = unfinished(report)[0]
        self.record = replace(self.record, parked=_parked(report.parked))
        _add(self.totals, {f"assets.{key}": number for key, number in report.counts.items()})
        _add(self.totals, {f"calls.{role}": getattr(report, role).total_calls for role in ("source", "target")})
        self.totals["bytes"] = self.totals.get("bytes", 0) + report.bytes

    def _changed(self) -> None:
        self._wake.set()

    async def _guard(self, closing: datetime | None) -> None:
        """During a run: stop it when its hours end, and store the calls of the day."""
        while True:
            left = (closing - self._clock.now()).total_seconds() if closing else LOOK_SECONDS
            await self._clock.sleep(max(0.0, min(left, LOOK_SECONDS)))
            if closing is not None and self._clock.now() >= closing:
                self._token.stop(CLOSED, StopKind.HOURS, hurry=True)
                return
            if self.job.config.limits.calls_per_day is not None:
                await self._save()

    async def _save(self) -> None:
        """Store the record; a state that cannot be written now is written after the next run."""
        try:
            await self.store(self.record.as_json())
        except DamSyncError as error:
            _log.warning("watch.not_recorded", job=self.name, problem=str(error))


def _refuse_other_state(job: Job, lock: WatchLock) -> None:
    if job.config.state_place != lock.place:
        raise ConfigError(
            f"the job file names another state ({job.config.state_name})",
            hint="stop `watch` and start it again: it holds the lock of the state that it began with",
        )


def _parked(groups: list[dict[str, Json]]) -> dict[str, int]:
    found: dict[str, int] = {}
    _add(found, [(str(group["cause"]), int(group["count"])) for group in groups])
    return found


def _add(totals: dict[str, int], more: Mapping[str, int] | list[tuple[str, int]]) -> None:
    for key, number in more.items() if isinstance(more, Mapping) else more:
        totals[key] = totals.get(key, 0) + number
