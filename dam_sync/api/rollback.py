"""`rollback`: previews what undoes one run, and undoes it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import anyio

from dam_sync.api.abandoned_rollbacks import listed_writes
from dam_sync.api.atomic_io import csv_file, prove_writable, scratch_dir
from dam_sync.api.bootstrap import ConnectedJob, connected, run_context_of
from dam_sync.api.job_file import job_of
from dam_sync.api.jobs import RESUME_PAUSE, copy_state
from dam_sync.api.reports.kept_reports import keep_rollback
from dam_sync.api.reports.run_record import counting, keep_spent
from dam_sync.api.reports.run_report import bare_report
from dam_sync.api.service_notes import about_side_effects
from dam_sync.api.stored_job import existing_store
from dam_sync.api.waves import list_whole_source
from dam_sync.config.job import JobConfig
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.guards.preflight import refuse_other_services
from dam_sync.engine.rollback.asset import TRASHED
from dam_sync.engine.rollback.rollback import Rollback
from dam_sync.engine.run.execute import under_lease
from dam_sync.model.deletion_policy import DeletionPolicy, policy_of
from dam_sync.model.errors import ConfigError, DamSyncError, SafetyStop
from dam_sync.model.run_options import RunOptions
from dam_sync.model.safe_text import csv_cell
from dam_sync.model.stopped_run import stopped_by
from dam_sync.model.values import Json, instant_text
from dam_sync.model.waits import sleep_for
from dam_sync.model.wording import agreed, counted
from dam_sync.report import sentences
from dam_sync.report.rollback import RollbackReport
from dam_sync.store.note_keys import window_key
from dam_sync.store.rollbacks import rollback_command, rollback_of
from dam_sync.store.rows import Run, RunRow
from dam_sync.store.store import SqlStore
from dam_sync.store.undo_list import UndoList

RUNS = ("run", "only")  # commands that write to the target
COLUMNS = ("asset", "target", "what", "reason")
RESUMED_NOTE = "the rollback was resumed: what was undone before it was interrupted is not counted again"
LIMIT_HINT = "--dry-run compares every asset with the target before; --max-deletes {number} allows it"
ALLOWED_NOTE = "--max-deletes {} let {} go to the trash; `max_deletes` of the job is {}"
LIMIT_NOTE = "the rollback itself would stop: {}. --max-deletes {} allows it"


@dataclass(frozen=True, slots=True)
class RollbackRequest:
    """run: the number of the run to undo. dry_run: everything but the writes. max_deletes: how many assets may go to
    the trash, a number or a percentage of those linked, instead of `policy.max_deletes` of the job. output: a CSV of
    everything that stays."""

    run: int
    dry_run: bool = False
    max_deletes: str = ""
    output: Path | None = None


@dataclass(slots=True)
class _Undoing:
    """One rollback, or its preview, over an open state."""

    opened: ConnectedJob
    store: SqlStore
    row: RunRow
    asked: RollbackRequest
    options: RunOptions
    began: float
    context: RunContext = field(init=False)
    linked: int = field(init=False, default=0)  # before anything is undone, be it in the copy of a dry run

    async def preview(self, listed: UndoList) -> RollbackReport:
        """What would be undone, by the state alone."""
        self.context = await run_context_of(self.opened, self.store, await self._begin(), self.options)
        undoing = self._rollback(listed, await self._is_whole())
        self.linked = await self.store.link_count()
        await undoing.survey()
        return await self._report(undoing, executed=False)

    async def execute(self, listed: UndoList) -> RollbackReport:
        """Undo the run, unless there is nothing left of it."""
        run = await self._begin()
        self.context = context = await run_context_of(self.opened, self.store, run, self.options)
        try:
            if run.resumed:  # calls of a killed process may still count against the rate at the target
                await sleep_for(self.options.clock, RESUME_PAUSE, "calls of the stopped process to be counted no more")
            await context.accepted.recall()
            await refuse_other_services(
                context.source, context.target, context.state, context.stopping, context.accepted
            )
            whole, self.linked = await self._is_whole(), await self.store.link_count()
            surveyed = self._rollback(listed, whole)
            await surveyed.survey()
            if not run.resumed:
                if not context.task.dry and (found := self._too_many(surveyed)):
                    raise SafetyStop(found, hint=LIMIT_HINT.format(number=surveyed.counts[TRASHED]))
                if surveyed.is_done:
                    await self.store.withdraw(run.id, "nothing to undo")
                    return await self._report(surveyed)
            undoing = self._rollback(listed, whole)
            if whole:  # the next run finds what is undone from now on, also if the rollback is given up
                await list_whole_source(self.store, [wave.name for wave in self.opened.job.waves])
            await under_lease(self.store, run.id, context.clock, undoing.execute())
        except BaseException as error:
            with anyio.CancelScope(shield=True), suppress(DamSyncError):
                await self._stopped(run, error)
            raise
        report = await self._report(undoing)
        await self._close(undoing, report)
        return report

    async def _begin(self) -> Run:
        """The rollback: the interrupted one, or a new one. Raises SafetyStop while another one is unfinished."""
        for other in await self.store.rollbacks():
            number = rollback_of(other)
            if other.state != "done" and number != self.row.id:
                hint = f"finish it first: `rollback JOB --run {number}`"
                raise SafetyStop(f"the rollback of run {number} was interrupted", hint=hint)
        return await self.store.begin(self.opened.job.name, rollback_command(self.row.id))

    async def _stopped(self, run: Run, error: BaseException) -> None:
        if self.context.phases.progress.removed:
            await keep_spent(self.context, self.began)
        await self.store.withdraw(run.id, stopped_by(error))

    def _rollback(self, listed: UndoList, whole: bool) -> Rollback:
        return Rollback(self.context, listed, whole)

    async def _is_whole(self) -> bool:
        """Whether the run listed everything: the next run then does so again."""
        window = await self.store.get_meta(window_key(self.row.id))
        return window is not None and window["since"] is None

    def _too_many(self, surveyed: Rollback) -> str:
        """Why it would move more assets to the trash than is allowed; empty if it would not."""
        number, linked = surveyed.counts[TRASHED], self.linked
        limit = self._limit()
        if not number or limit.allows(number, linked):
            return ""
        asked = "--max-deletes" if self.asked.max_deletes else "`max_deletes`"
        found = f"{number:,} of {counted(linked, 'asset')} would be moved to the trash of the target"
        return f"{found}, more than {asked} {limit.limit} allows"

    def _allowed(self, number: int) -> list[str]:
        """What --max-deletes allowed and the job does not."""
        usual = self.opened.job.policy.max_deletes
        if not number or not self.asked.max_deletes or limit_of(usual).allows(number, self.linked):
            return []
        return [ALLOWED_NOTE.format(self.asked.max_deletes, counted(number, "asset"), usual)]

    def _limit(self) -> DeletionPolicy:
        """How many assets may go to the trash; raises ConfigError."""
        return limit_of(self.asked.max_deletes or self.opened.job.policy.max_deletes)

    async def _close(self, undoing: Rollback, report: RollbackReport) -> None:
        store, run = self.store, self.context.state.run
        if self.row.state != "done":
            await store.close_interrupted(self.row.id, run.id)
        spent = await keep_spent(self.context, self.began)
        await keep_rollback(store, bare_report("rollback", self.opened, self.context), report)
        books = {"rolled back": self.row.id, "counts": report.counts, "cannot": report.cannot}
        await store.finish(run.id, {**books, "ledger": await store.ledger_count(), **spent}, listed=False)

    async def _report(self, undoing: Rollback, *, executed: bool = True) -> RollbackReport:
        """executed: whether anything was undone, or would have been in a dry run."""
        context, row = self.context, self.row
        report = RollbackReport(
            job=self.opened.job.name,
            run=row.id,
            command=row.command,
            started=instant_text(row.started_at.replace(microsecond=0)),
            by=0 if undoing.is_done else context.state.run.id,
            dry_run=context.task.dry,
            resumed=context.state.run.resumed,
            cannot=_groups(undoing.listed),
            counts=dict(undoing.counts),
            trashed=undoing.counts[TRASHED],
            linked=self.linked,
            calls=dict(context.target.service.calls),
        )
        report.over = self._too_many(undoing) if context.task.dry else ""
        report.notes.extend(sentences.about_accepted(context.accepted.findings))
        report.notes.extend([] if context.task.dry else self._allowed(undoing.counts[TRASHED]))
        report.notes.extend(await self._notes(undoing))
        report.notes.extend([LIMIT_NOTE.format(report.over, report.trashed)] if report.over else [])
        report.nothing = undoing.is_done
        report.done = report.complete and (undoing.is_done or (executed and not context.task.dry))
        return report

    async def _notes(self, undoing: Rollback) -> list[str]:
        notes = about_side_effects(self.opened.job, self.options, "target") if undoing.counts[TRASHED] else []
        earlier = [each.id for each in await self.store.rollbacks() if rollback_of(each) == self.row.id]
        before = [number for number in earlier if number != self.context.state.run.id]
        if before:
            outcome = "nothing more can be undone" if undoing.is_done else "what was left then is undone now"
            notes.append(f"run {self.row.id} was rolled back by run {before[0]}: {outcome}")
        if self.context.state.run.resumed:
            notes.append(RESUMED_NOTE)
        if lost := await self._rows_lost():
            notes.append(
                f"{counted(lost, 'ledger row')} of run {self.row.id} {agreed(lost, 'was', 'were')} removed by "
                "`state gc`: what was recorded there stays as it is"
            )
        if not (undoing.is_done or self.context.task.dry):
            notes.append("the next run writes again what was undone, unless the mapping or the source changes before")
        return notes

    async def _rows_lost(self) -> int:
        """Writes of the run that the ledger does not have any more."""
        outcome = self.row.outcome if isinstance(self.row.outcome, dict) else {}
        written = int(sum(outcome.get("operations", {}).values()))
        return max(0, written - await self.store.writes_of(self.row.id))


async def preview_rollback(path: Path | JobConfig, options: RunOptions, asked: RollbackRequest) -> RollbackReport:
    """What would be undone, by the ledger; the target is asked for no asset. Writes nothing."""
    job = job_of(path, options.connectors)
    async with _copied(job, options, asked) as undoing, listed_writes(undoing.store, undoing.row.id) as listed:
        return await undoing.preview(listed)


async def rollback_job(path: Path | JobConfig, options: RunOptions, asked: RollbackRequest) -> RollbackReport:
    """Undo the run. Raises SafetyStop before anything is written if more assets would go to the trash than allowed.
    Raises what stopped it otherwise; the same call resumes it, and does nothing once all is undone."""
    job = job_of(path, options.connectors)
    if asked.max_deletes:
        limit_of(asked.max_deletes)
    prove_writable(asked.output, "the list")
    over = _copied(job, options, asked) if asked.dry_run else _opened(job, options, asked)
    async with over as undoing, listed_writes(undoing.store, undoing.row.id) as listed:
        report = await undoing.execute(listed)
        if asked.output is not None:
            _write_stays(asked.output, listed)
        return report


def _groups(listed: UndoList) -> list[dict[str, Json]]:
    return [
        {"what": one.what, "reason": one.reason, "number": number, "examples": examples, "stays": one.stays}
        for one, number, examples in listed.obstacle_groups()
    ]


def _write_stays(path: Path, listed: UndoList) -> None:
    with csv_file(path, "the list") as writer:
        writer.writerow(COLUMNS)
        for one, asset, target in listed.obstacles():
            writer.writerow([csv_cell(each) for each in (asset, target, one.what, one.reason)])


def limit_of(text: int | str) -> DeletionPolicy:
    """A number of assets, or a percentage of those linked. Raises ConfigError."""
    found = str(text).strip()
    number = found.rstrip("% ")
    if not number.replace(".", "", 1).isdigit() or (not found.endswith("%") and not number.isdigit()):
        hint = "write a number of assets, or a percentage such as 5%"
        raise ConfigError(f"--max-deletes expects a number or a percentage, not {found!r}", hint=hint)
    limit = policy_of("trash", found if found.endswith("%") else int(number), timedelta(0))
    assert limit is not None
    return limit


@asynccontextmanager
async def _opened(job: JobConfig, options: RunOptions, asked: RollbackRequest) -> AsyncIterator[_Undoing]:
    """The state and both services."""
    began = options.clock.monotonic()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(existing_store(job, options.clock, storage=options.storage))
        row = await _run_of(store, asked.run)
        counted = await counting(store, options)
        opened = await stack.enter_async_context(connected(job, counted, may_write=store.prove_held))
        yield _Undoing(opened, store, row, asked, counted, began)


@asynccontextmanager
async def _copied(job: JobConfig, options: RunOptions, asked: RollbackRequest) -> AsyncIterator[_Undoing]:
    """A copy of the state, and a target that only pretends to write."""
    began = options.clock.monotonic()
    async with AsyncExitStack() as stack:
        async with existing_store(job, options.clock, read_only=True, storage=options.storage) as kept:
            row = await _run_of(kept, asked.run)
        path = stack.enter_context(scratch_dir("rollback")) / "rollback.db"
        await copy_state(job, options, path)
        store = await SqlStore.open(path, options.clock, storage=options.storage)
        stack.push_async_callback(store.close)
        counted = await counting(store, options)
        opened = await stack.enter_async_context(connected(job, counted, dry=True))
        yield _Undoing(opened, store, row, asked, counted, began)


async def _run_of(store: SqlStore, number: int) -> RunRow:
    """Raises ConfigError for a run that does not exist, is a rollback, or writes nothing to the target."""
    row = await store.run_row(number)
    if row is None:
        raise ConfigError(f"there is no run {number} in {store.place}", hint="`status JOB` lists the runs")
    if rollback_of(row) is not None:
        hint = "`run JOB` writes again what it undid"
        raise ConfigError(f"run {number} is itself a rollback, of run {rollback_of(row)}", hint=hint)
    if row.command not in RUNS:
        hint = "`status JOB` lists the runs"
        raise ConfigError(f"run {number} (`{row.command}`) wrote nothing to the target", hint=hint)
    return row
