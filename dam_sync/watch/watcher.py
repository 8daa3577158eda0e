"""Watches several jobs in one process."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog

from dam_sync.aio.task_group import TaskGroup
from dam_sync.api.watching import SharedRates, deliver, held_back
from dam_sync.api.webhooks import webhooks_of
from dam_sync.config.job import JobConfig
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.errors import ConfigError, DamSyncError
from dam_sync.model.run_options import RunOptions
from dam_sync.model.values import Json
from dam_sync.model.watched_elsewhere import ALREADY_WATCHED
from dam_sync.watch.notifier import Notifier, event_of, events_of
from dam_sync.watch.scheduler import WatchRecord, one_line
from dam_sync.watch.watched_job import WatchedJob

AT_ONCE = 4  # runs
LOCK_SECONDS = 60.0  # after which a lock that was lost is taken again

_log = structlog.get_logger()


class Watcher:
    """Jobs with schedules, their shared rate limits, and the notifications about them.

    surroundings: `RunOptions` whose clock, transport, connectors and storage every run gets, and whose stop token ends
    `run`. show: called with a line about each run that has ended. Raises ConfigError with the diagnostics of all job
    files.
    """

    def __init__(self, paths: Sequence[Path], surroundings: RunOptions, show: Callable[[str], None]) -> None:
        self._surroundings = surroundings
        self._show = show
        self.notifier = Notifier(self._deliver, surroundings.clock)
        shared, slots = SharedRates(surroundings.clock), asyncio.Semaphore(AT_ONCE)
        self.jobs: list[WatchedJob] = []
        self._taken: DamSyncError | None = None
        problems: list[ConfigError] = []
        for path in paths:
            try:
                self.jobs.append(WatchedJob(path, surroundings, shared, slots, self._run_ended))
            except ConfigError as error:
                problems.append(error)
        _raise_all(problems)
        _refuse_shared_states(self.jobs)

    async def hold(self) -> None:
        """Be the only `watch` of these jobs until `release`. Raises StoreBusy if another one has a job. A state that
        cannot be reached now is locked as soon as it can."""
        for job in self.jobs:
            try:
                await job.lock.hold()
            except DamSyncError as error:
                if error.code == ALREADY_WATCHED:
                    raise
                _log.warning("watch.not_locked", job=job.name, problem=str(error))

    async def release(self) -> None:
        """Let another `watch` have the jobs; safe to repeat."""
        for job in self.jobs:
            await job.lock.release()

    async def remember(self) -> None:
        """Take over what earlier processes stored, so that everything that is shown of the jobs is true."""
        for job in self.jobs:
            await job.remember()

    async def run(self) -> None:
        """Watch until the stop token is stopped; runs under way are stopped cleanly. Raises StoreBusy if another
        `watch` took a job meanwhile, after an outage of the server of its state."""
        self._surroundings.stop_token.on_stop = self._stop
        helpers = [asyncio.ensure_future(self.notifier.run()), asyncio.ensure_future(self._keep_locks())]
        helpers += [asyncio.ensure_future(job.webhooks.keep()) for job in self.jobs]
        try:
            async with TaskGroup() as group:
                for job in self.jobs:
                    group.start(job.watch)
                if self._surroundings.stop_token.reason:
                    self._stop()
            await self.notifier.drain()
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            await self.release()
        if self._taken is not None:
            raise self._taken

    async def unsubscribe(self) -> list[str]:
        """End the webhook subscriptions of all jobs; a line about each. Safe to repeat. Raises what a source raises,
        and StoreBusy while a `watch` has a job, which would subscribe again."""
        await self.hold()
        try:
            return [await self._unsubscribed(job) for job in self.jobs]
        finally:
            await self.release()

    async def _unsubscribed(self, job: WatchedJob) -> str:
        webhooks, number = await webhooks_of(job.job.config, self._surroundings), 0
        if webhooks is not None:
            try:
                number = await webhooks.unsubscribe()
            finally:
                await webhooks.close()
        return f"{job.name}: {number} webhook subscriptions ended"

    def reload(self) -> None:
        """Read all job files again; a run under way continues as it began."""
        for job in self.jobs:
            self._show(f"{job.name}: its job file is read again before the next run")
            job.reload()

    async def _keep_locks(self) -> None:
        """Take what could not be locked before; stop if another `watch` was faster."""
        while True:
            try:
                await self.hold()
            except DamSyncError as error:
                self._taken = error
                self._stop()
                return
            await self._surroundings.clock.sleep(LOCK_SECONDS)

    def _stop(self) -> None:
        for job in self.jobs:
            job.stop()

    async def _deliver(self, job: JobConfig, event: Json) -> None:
        await deliver(job, event, self._surroundings)

    def _run_ended(self, job: WatchedJob, before: WatchRecord, report: Json) -> None:
        """A run has ended: show it, and notify whoever wants to know."""
        gc.collect()  # what the run leaves is in reference cycles, which this process hardly ever looks for by itself
        decision = job.decision
        self._show(line_of(job, report))
        for kind in events_of(job.record, before):
            identity = self._surroundings.clock.token()
            self.notifier.put(job.job.config, event_of(kind, job.name, job.record, report, decision.at, identity))


def line_of(job: WatchedJob, report: Json) -> str:
    """What happened to a job and what happens next, in one line."""
    record, decision = job.record, job.decision
    what = record.result.value
    if report is not None:
        moved = ", ".join(f"{number:,} {kind}" for kind, number in report["counts"].items() if number)
        what = f"run {report['run']} is done: {moved or 'nothing to do'}{_held_back(report)}"
    elif record.error:
        hint = one_line(record.error, "hint") if decision.at is None else ""  # otherwise the next run needs nobody
        what = f"{record.result.value}: {one_line(record.error)}{f' (hint: {hint})' if hint else ''}"
    following = (
        "waits for you, and is tried again after SIGHUP"
        if decision.at is None
        else f"next run {decision.at:%Y-%m-%d %H:%M:%S} UTC"
    )
    return f"{job.name}: {what}; {following}"


def _held_back(report: Mapping[str, Any]) -> str:
    """What a run by hand reports with exit code 6. It keeps no later run from its time."""
    stop = held_back(report)
    return "" if stop is None else f"; {stop} (`dam-sync errors JOB` says what to do)"


def _raise_all(problems: Sequence[ConfigError]) -> None:
    """One error with the diagnostics of all job files."""
    found: list[Diagnostic] = [each for problem in problems for each in problem.diagnostics]
    plain = next((problem for problem in problems if not problem.diagnostics), None)
    if plain is not None:
        raise plain
    if found:
        raise ConfigError.of(found)


def _refuse_shared_states(jobs: Sequence[WatchedJob]) -> None:
    states: dict[str, WatchedJob] = {}
    names: dict[str, WatchedJob] = {}
    for job in jobs:
        if job.job.config.webhooks is not None:
            named = names.setdefault(job.name, job)
            if named is not job:
                raise ConfigError(
                    f"{job.path} and {named.path} have webhooks and the same name", hint="give each job its own name"
                )
        other = states.setdefault(job.job.config.state_name, job)
        if other is not job:
            raise ConfigError(
                f"{job.path} and {other.path} have the same state", hint="give each job a state file of its own"
            )
