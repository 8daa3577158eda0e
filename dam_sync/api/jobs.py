"""The commands that need both services: plan, run, verify."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio

from dam_sync.api.abandoned_rollbacks import finish_abandoned
from dam_sync.api.atomic_io import atomic_write, prove_writable, scratch_dir
from dam_sync.api.bootstrap import ConnectedJob, connected, refuse_unmarked, run_context_of
from dam_sync.api.job_file import job_of
from dam_sync.api.plans.plan_file import PLAN, write_plan
from dam_sync.api.plans.plan_report import PlanSpan, add_allowances, add_estimate, add_service_notes
from dam_sync.api.plans.planned_run import about_plan, follow, header_of, limit_left, plan_given, state_facts
from dam_sync.api.processes.workers import execute_with, refuse_workers, workers_of
from dam_sync.api.reports.asset_names import add_names
from dam_sync.api.reports.asset_rows import write_assets
from dam_sync.api.reports.differences import DifferingAssets, differences_to
from dam_sync.api.reports.kept_reports import keep_report, keep_verification
from dam_sync.api.reports.run_record import add_spent, books_of, counting, keep_recording, keep_spent
from dam_sync.api.reports.run_report import Done, about_other_job, bare_report, report_of
from dam_sync.api.stored_job import existing_store, refusing_strange_values, state_exists
from dam_sync.api.waves import WaveBook, WaveState, about_wave, begin_wave, note_verified, wave_run_of
from dam_sync.config.job import JobConfig
from dam_sync.engine.context.call_budget import advise
from dam_sync.engine.context.planned import forget_plan
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.guards.exposure import exposure_stop
from dam_sync.engine.guards.preflight import (
    refuse_before_run,
    refuse_before_verify,
    refuse_half_rolled_back,
    refuse_in_between,
)
from dam_sync.engine.guards.probation import still_deletable, watch_probation
from dam_sync.engine.run.dry_run import DryFiles
from dam_sync.engine.run.execute import close_run, execute, refuse_unknown, under_lease, window_of
from dam_sync.engine.verification.verify import LEVELS, Verifier
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import ConfigError, DamSyncError, StopKind, StopRequested, first_cause
from dam_sync.model.run_options import RunOptions, fraction_of
from dam_sync.model.stopped_run import stopped_by
from dam_sync.model.values import Json
from dam_sync.model.waits import sleep_for
from dam_sync.report import sentences
from dam_sync.report.headline import complete
from dam_sync.report.html import render_html
from dam_sync.report.report import Report
from dam_sync.store.note_keys import accepted_key
from dam_sync.store.rows import Run
from dam_sync.store.store import SqlStore
from dam_sync.transfer.spool import clean_spool

PAGE = 500
RESUME_PAUSE = 1.0
PartReport: TypeAlias = Callable[[], Awaitable[Report]]
REPORT, ASSETS = "the report", "the list of assets"


async def run_job(path: Path | JobConfig, options: RunOptions) -> Report:
    """`run`: migrate, or bring the target up to date. Raises whatever stopped it; run again to resume.

    The report is not written to `options.html` here: the result is printed first.
    """
    job, began, context = job_of(path, options.connectors), options.clock.monotonic(), None
    part: PartReport | None = None
    refuse_workers(job, options)
    options = replace(options, max_calls=options.max_calls or job.limits.max_calls)
    plan, options = plan_given(options)
    prove_writable(options.html, REPORT)
    prove_writable(options.csv, ASSETS)
    async with AsyncExitStack() as stack:
        stack.enter_context(refusing_strange_values(job.state_place))
        store = await SqlStore.open(job.state_place, options.clock, storage=options.storage)
        stack.push_async_callback(store.close)
        state = await state_facts(store, plan)
        wave = (await WaveBook.of(job, store, options.clock.now())).chosen(options.wave)
        run, options = await _begun(store, job, options), await counting(store, options)
        try:
            if run.resumed:  # calls of a killed process may still count against the rate at the services
                await sleep_for(options.clock, RESUME_PAUSE, "calls of the stopped process to be counted no more")
            workers, options = await stack.enter_async_context(workers_of(options))
            opened = await _connected(stack, store, run, job, options)
            refuse_unmarked(opened.crosswalk)
            prepared = await run_context_of(opened, store, run, options)
            await prepared.accepted.recall()
            await begin_wave(wave, opened, prepared)
            prepared.task.planned = await follow(plan, opened, prepared, state)
            await under_lease(store, run.id, options.clock, _admitted(prepared, options))
            context = prepared
            part = partial(_part_of, opened, context, wave, began)
            clean_spool(job.state_path.parent / "spool")
            await execute_with(workers, job, context, keep_recording(context, began))
            await watch_probation(context.target, context.state.store, context.phases, due=True, run=run.id)
        except BaseException as error:
            advise(error, options)
            await _stopped(store, run, context, began, error, part)
            raise
        report = await report_of("run", opened, context, Done(await _ledger_start(store, run)))
        report.notes.extend(await _after_run(context, wave))
        await write_assets(options.csv, store, run.id)
        report.notes.extend(await about_plan(context))
        await forget_plan(store, run.id)
        spent = await add_spent(report, context, began)
        await keep_report(store, report, run.id, context.task.policy)
        await close_run(
            context.source, context.state, context.task, books_of(report, context, spent, await store.ledger_count())
        )
    return report


async def _part_of(opened: ConnectedJob, context: RunContext, wave: WaveState | None, began: float) -> Report:
    """The report of a run that is not complete, which the state does not keep."""
    report = await report_of("run", opened, context, Done(await _ledger_start(context.state.store, context.state.run)))
    report.notes.extend(await _after_run(context, wave))
    await write_assets(context.task.options.csv, context.state.store, context.state.run.id)
    await add_spent(report, context, began)
    return report


async def _stopped(
    store: SqlStore, run: Run, context: RunContext | None, began: float, error: BaseException, part: PartReport | None
) -> None:
    """Keep why the run stopped, and what it spent. context, part: None if it was refused before it did anything; the
    report of the part is added to the end of a run at the number of assets that was asked for."""
    stop = first_cause(error)
    with anyio.CancelScope(shield=True), suppress(DamSyncError):  # a full disk: the state keeps the run as it is
        if context is None or part is None:
            await store.withdraw(run.id, stopped_by(error))
            return
        if isinstance(stop, StopRequested) and context.stopping.token.kind is StopKind.ASSETS:
            with suppress(DamSyncError):
                stop.report = await part()
        await keep_spent(context, began)
        await store.stop(run.id, stopped_by(error))


async def _connected(
    stack: AsyncExitStack, store: SqlStore, run: Run, job: JobConfig, options: RunOptions
) -> ConnectedJob:
    """Both services, connected under the lease of the run: they may take longer to answer than a lease lasts."""
    connecting = stack.enter_async_context(connected(job, options, may_write=store.prove_held))
    return await under_lease(store, run.id, options.clock, connecting)


async def _admitted(context: RunContext, options: RunOptions) -> None:
    """Raises what keeps a run from writing anything."""
    context.task.options = replace(options, limit=await limit_left(context))
    await refuse_before_run(context)
    await finish_abandoned(context)
    await refuse_unknown(context.source, context.state.store, context.task)


async def _after_run(context: RunContext, wave: WaveState | None) -> list[str]:
    """What a run has to report besides its result."""
    notes = [*await _probation(context), *sentences.about_orphans(context.tallies.orphans_aborted)]
    notes += sentences.about_partial_creates(context.tallies.partial_creates_trashed)
    pulls = context.pulls
    notes += sentences.about_fetched(*astuple(pulls.fetched), exhausted=pulls.exhausted)
    notes += sentences.about_no_links(pulls.obstacle)
    return [*notes, *await about_wave(context, wave)]


async def plan_job(path: Path | JobConfig, options: RunOptions) -> Report:
    """`plan`: the same engine over a copy of the state and with a target that only simulates writes."""
    job, started = job_of(path, options.connectors), options.clock.monotonic()
    for file, what in ((options.output, PLAN), (options.html, REPORT), (options.csv, ASSETS)):
        prove_writable(file, what)
    async with AsyncExitStack() as stack:
        stack.enter_context(refusing_strange_values(job.state_place))
        copied = stack.enter_context(scratch_dir("plan")) / "plan.db"
        await copy_state(job, options, copied)
        store = await SqlStore.open(copied, options.clock, storage=options.storage)
        stack.push_async_callback(store.close)
        state, state_bytes, options = await state_facts(store), await store.size(), await counting(store, options)
        opened = await stack.enter_async_context(connected(job, options, dry=True, planning=True))
        refuse_unmarked(opened.crosswalk)
        wave = (await WaveBook.of(job, store, options.clock.now())).chosen(options.wave, plan=True)
        run = await _begun(store, job, options)
        context = await run_context_of(opened, store, replace(run, started_at=options.clock.now()), options)
        await context.accepted.recall()
        await begin_wave(wave, opened, context)
        await refuse_before_run(context)
        await finish_abandoned(context)
        await refuse_unknown(context.source, context.state.store, context.task)
        files = DryFiles(opened.source)
        context.source.contents = files.contents
        if not options.only:
            await window_of(context.source, context.state, context.task)  # may start an interrupted run again
        done = await Done.of(context)
        await _planned(context)
        report = await report_of("plan", opened, context, done)
        report.notes.extend(await about_wave(context, wave))
        add_estimate(
            report, opened, files, PlanSpan(started, options.clock.monotonic(), state_bytes, await store.size())
        )
        if job.webhooks is not None:
            offered = Operation.SUBSCRIBE in opened.source.capabilities
            report.notes.extend(sentences.about_webhooks(job.source.kind, offered=offered))
        report.notes.extend(sentences.about_fetches(files.fetched, files.fetched_size))
        report.notes.extend(sentences.about_no_links(context.pulls.obstacle))
        add_allowances(report, opened, options)
        await add_service_notes(report, opened, options)
        complete(report)
        if options.output is not None:
            header = await header_of(opened, context, state, report)
            await write_plan(options.output, header, report, store, (run.id, done.ledger))
        await write_assets(options.csv, store, run.id)
    write_html(report, options.html)
    return report


async def _planned(context: RunContext) -> None:
    """Run to the end, or to the limit of the plan. Raises what stops it otherwise."""
    try:
        await execute(context)
    except StopRequested:
        if context.stopping.token.kind is not StopKind.ASSETS:
            raise


async def _begun(store: SqlStore, job: JobConfig, options: RunOptions) -> Run:
    """The run to execute: the interrupted one, or a new one. What was accepted for it is stored."""
    await refuse_in_between(store, options.only)
    accepted = await refuse_half_rolled_back(store, options)
    run = await store.begin(job.name, "only" if options.only else "run")
    if accepted:
        await store.set_meta(accepted_key(run.id), [*(await store.get_meta(accepted_key(run.id)) or []), *accepted])
    return run


async def verify_job(
    path: Path | JobConfig, options: RunOptions, level: str | None, sample: str, differences: Path | None = None
) -> Report:
    """`verify`: read both services back and compare them. differences: a CSV file for every one."""
    job = job_of(path, options.connectors)
    level = level or job.policy.verify
    if level not in LEVELS:
        raise ConfigError(f"--level expects one of {', '.join(LEVELS)}, not {level}")
    part = fraction_of(sample)
    prove_writable(options.html, REPORT)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(existing_store(job, options.clock, storage=options.storage))
        opened = await stack.enter_async_context(connected(job, options, dry=True))
        found = await SqlStore.open(
            stack.enter_context(scratch_dir("verify")) / "verify.db", options.clock, storage=options.storage
        )
        stack.push_async_callback(found.close)
        scratch_run = await found.begin(job.name, "verify")
        context = await run_context_of(opened, store, scratch_run, options)
        if options.wave:
            (await WaveBook.of(job, store, options.clock.now())).named(options.wave)
            context.task.wave = await wave_run_of(options.wave, opened)
        await refuse_before_verify(context)
        sink = stack.enter_context(differences_to(differences))
        differing = DifferingAssets(sink, extras=context.task.policy.extras == "fail")
        verifier = Verifier(context, found, level, part, differing)
        verdict = await verifier.run()
        report = bare_report("verify", opened, context)
        open_run = await store.unfinished("run")
        report.verdict = {**verdict.as_json(), "unfinished": open_run.id if open_run is not None else None}
        await add_names(report, store)
        report.notes.extend([*await about_other_job(job, store), *await _probation(context)])
        report.notes.extend([] if await store.anything_moved() else sentences.about_nothing_moved())
        report.notes.extend(sentences.about_unfinished(report.verdict["unfinished"]))
        report.notes.extend(sentences.about_unsorted(verifier.unsorted))
        report.notes.extend(sentences.about_unread(verifier.unread_containers))
        if verifier.again is not None and verifier.again.number:
            report.notes.extend(sentences.about_lag(*astuple(verifier.again)))
        await keep_verification(store, report, context.task.policy)
        await note_verified(job, context, report, sample, differing)
    write_html(report, options.html)
    return report


async def _probation(context: RunContext) -> list[str]:
    left = await still_deletable(context.target, context.state.store)
    return [] if left is None else sentences.about_probation(*left)


def unfinished(report: Report) -> tuple[int, DamSyncError | None]:
    """The exit code of a complete run, and notes to print besides the report."""
    stop = exposure_stop(report.exposure)
    return (stop.exit_code if stop else 4 if report.parked else 0), stop


def write_html(
    report: Report, path: Path | None, rehearsal: Sequence[str] = (), verification: Mapping[str, Json] | None = None
) -> None:
    """Write the report as HTML if requested; the last two as in `render_html`. Raises DiskFull or ConfigError."""
    if path is not None:
        with atomic_write(path, REPORT) as out:
            out.write(render_html(report.as_json(), rehearsal, verification))


async def copy_state(job: JobConfig, options: RunOptions, path: Path) -> None:
    """A copy of the state, if there is one."""
    if await state_exists(job):
        async with existing_store(job, options.clock, read_only=True, storage=options.storage) as store:
            await store.copy_to(path)


async def _ledger_start(store: SqlStore, run: Run) -> int:
    """The last ledger row before the run began, even if another process began it."""
    runs = [row.outcome for row in await store.runs(at_most=50) if row.id < run.id and isinstance(row.outcome, dict)]
    return int(next((outcome["ledger"] for outcome in runs if "ledger" in outcome), 0))
