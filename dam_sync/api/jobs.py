"""The commands that need both services: plan, run, verify."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import anyio

from dam_sync.api.atomic_io import atomic_write, prove_writable, scratch_dir
from dam_sync.api.bootstrap import ConnectedJob, connected, refuse_unmarked, run_context_of
from dam_sync.api.differences import differences_to
from dam_sync.api.duration import PlannedTime, Speed, estimate_duration, estimate_notes
from dam_sync.api.job_file import job_of
from dam_sync.api.kept_reports import keep_report, keep_verification
from dam_sync.api.run_record import LedgerSummary, books_of, counting, keep_spent
from dam_sync.api.state_commands import causes_of, gone_from_source
from dam_sync.api.stored_job import existing_store
from dam_sync.config.job import JobConfig
from dam_sync.engine.conflicts import report_conflicts
from dam_sync.engine.dry_run import DryFiles, DryTarget
from dam_sync.engine.guards.exposure import exposure_stop, report_exposure
from dam_sync.engine.guards.preflight import (
    refuse_before_run,
    refuse_before_verify,
    refuse_half_rolled_back,
    refuse_in_between,
)
from dam_sync.engine.probation import until_text, watch_probation
from dam_sync.engine.retrying import unseen_changes
from dam_sync.engine.run import close_run, execute, refuse_unknown, window_of
from dam_sync.engine.run_context import RunContext
from dam_sync.engine.second_pass import disappeared, unwritten_relations
from dam_sync.engine.verify import LEVELS, Verifier
from dam_sync.http.shared_rates import month_after
from dam_sync.model import journal_names
from dam_sync.model.capabilities import Operation
from dam_sync.model.conflict import CONFLICT
from dam_sync.model.errors import ConfigError, DamSyncError
from dam_sync.model.exposure import EXPOSURE
from dam_sync.model.run_options import RunOptions, fraction_of
from dam_sync.model.service import Account, Service
from dam_sync.model.values import instant_text
from dam_sync.report import sentences
from dam_sync.report.html import render_html
from dam_sync.report.report import Report, ReportedSide, count_operations
from dam_sync.store.rows import Run
from dam_sync.store.store import SqlStore
from dam_sync.transfer.spool import clean_spool

PAGE = 500
RESUME_PAUSE = 1.0
REPORT, PLAN = "the report", "the plan"


async def run_job(path: Path | JobConfig, options: RunOptions) -> Report:
    """`run`: migrate, or bring the target up to date. Raises whatever stopped it; run again to resume.

    The report is not written to `options.html` here: the result is printed first.
    """
    job, began, context = job_of(path, options.connectors), options.clock.monotonic(), None
    prove_writable(options.html, REPORT)
    async with AsyncExitStack() as stack:
        store = await SqlStore.open(job.state_path, options.clock, storage=options.storage)
        stack.push_async_callback(store.close)
        run, options = await _begun(store, job, options), await counting(store, options)
        try:
            if run.resumed:  # calls of a killed process may still count against the rate at the services
                await options.clock.sleep(RESUME_PAUSE)
            opened = await stack.enter_async_context(connected(job, options, may_write=store.prove_held))
            refuse_unmarked(opened.crosswalk)
            prepared = run_context_of(opened, store, run, options)
            await refuse_before_run(prepared)
            await refuse_unknown(prepared)
            context = prepared
            clean_spool(job.state_path.parent / "spool")
            await execute(context)
            await watch_probation(context, due=True, run=run.id)
        except BaseException as error:
            with (
                anyio.CancelScope(shield=True),
                suppress(DamSyncError),
            ):  # a full disk: the state keeps the run as it is
                if context is None:
                    await store.withdraw(run.id, _reason(error))
                else:
                    await keep_spent(context, began)
                    await store.stop(run.id, _reason(error))
            raise
        report = await report_of("run", opened, context, Done(await _ledger_start(store, run)))
        report.notes.extend(await _probation(context))
        report.notes.extend(sentences.about_orphans(context.orphans_aborted))
        report.notes.extend(sentences.about_partial_creates(context.partial_creates_trashed))
        spent = await keep_spent(context, began)
        await keep_report(store, report, run.number)
        await close_run(context, books_of(report, context, spent, await store.ledger_count()))
    return report


async def plan_job(path: Path | JobConfig, options: RunOptions) -> Report:
    """`plan`: the same engine over a copy of the state and with a target that only simulates writes."""
    job, started = job_of(path, options.connectors), options.clock.monotonic()
    async with AsyncExitStack() as stack:
        copied = stack.enter_context(scratch_dir("plan")) / "plan.db"
        await copy_state(job, options, copied)
        store = await SqlStore.open(copied, options.clock, storage=options.storage)
        stack.push_async_callback(store.close)
        options = await counting(store, options)
        opened = await stack.enter_async_context(connected(job, options, dry=True))
        refuse_unmarked(opened.crosswalk)
        run = replace(await _begun(store, job, options), started_at=options.clock.now())
        context = run_context_of(opened, store, run, options)
        await refuse_before_run(context)
        await refuse_unknown(context)
        files = DryFiles(opened.source)
        context.contents = files.contents
        if not options.only:
            await window_of(context)  # may start an interrupted run again
        done = await Done.of(context)
        await execute(context)
        report = await report_of("plan", opened, context, done)
        report.source.calls = dict(Counter(report.source.calls) + files.estimated)
        report.forecast_seconds = _estimated_seconds(report, opened, files, (started, options.clock.monotonic()))
        report.bytes = files.size
        report.notes.extend(estimate_notes(job, opened.target, files))
        if job.webhooks is not None:
            offered = Operation.SUBSCRIBE in opened.source.capabilities
            report.notes.extend(sentences.about_webhooks(job.source.kind, offered=offered))
        report.notes.extend(_beyond_allowance(report, opened, options))
        if options.output is not None:
            await _write_plan(options.output, report, store, done.ledger)
    write_html(report, options.html)
    return report


def _beyond_allowance(report: Report, opened: ConnectedJob, options: RunOptions) -> list[str]:
    """Sides whose monthly allowance does not suffice for the run."""
    sides = {"source": (report.source, opened.source_account), "target": (report.target, opened.target_account)}
    return [
        sentences.about_allowance(role, side.total_calls, left, allowance.calls, month_after(options.clock.now()))
        for role, (side, account) in sides.items()
        if (allowance := account.allowance) is not None
        if (left := options.rates.left(role, allowance)) < side.total_calls
    ]


async def _begun(store: SqlStore, job: JobConfig, options: RunOptions) -> Run:
    """The run to execute: the interrupted one, or a new one."""
    await refuse_in_between(store, options.only)
    await refuse_half_rolled_back(store, options)
    return await store.begin(job.name, "only" if options.only else "run")


async def verify_job(
    path: Path | JobConfig, options: RunOptions, level: str | None, sample: str, differences: Path | None = None
) -> Report:
    """`verify`: read both services back and compare them. differences: a CSV file for every one."""
    job = job_of(path, options.connectors)
    level = level or job.policy.verify
    if level not in LEVELS:
        raise ConfigError(f"--level expects one of {', '.join(LEVELS)}, not {level}")
    part = fraction_of(sample)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(existing_store(job, options.clock, storage=options.storage))
        opened = await stack.enter_async_context(connected(job, options, dry=True))
        found = await SqlStore.open(
            stack.enter_context(scratch_dir("verify")) / "verify.db", options.clock, storage=options.storage
        )
        stack.push_async_callback(found.close)
        scratch_run = await found.begin(job.name, "verify")
        context = run_context_of(opened, store, scratch_run, options)
        await refuse_before_verify(context)
        sink = stack.enter_context(differences_to(differences))
        verdict = await Verifier(context, found, level, part, sink).run()
        report = bare_report("verify", opened, context)
        report.verdict = verdict.as_json()
        report.notes.extend(await _probation(context))
        await keep_verification(store, report)
    write_html(report, options.html)
    return report


@dataclass(frozen=True, slots=True)
class Done:
    """What the report of a resumed run leaves out: ledger rows, assets of the run by outcome, and losses by path and
    rule."""

    ledger: int
    counts: Mapping[str, int] = field(default_factory=dict)
    losses: Counter[tuple[str, str]] = field(default_factory=Counter)

    @classmethod
    async def of(cls, context: RunContext) -> Done:
        """Everything done so far by an interrupted run: a plan covers the rest."""
        ledger, counts = await context.store.ledger_count(), await context.store.tally(context.run.id)
        settled = {action: number for action, number in counts.items() if action not in ("listed", "open")}
        return cls(ledger, settled, await _losses(context))

    def rest(self, counts: Mapping[str, int]) -> dict[str, int]:
        """A tally without what was done before; never negative, because listed assets may change."""
        done = {**self.counts, "listed": sum(self.counts.values())}
        return {action: max(0, number - done.get(action, 0)) for action, number in counts.items()}


async def report_of(kind: str, opened: ConnectedJob, context: RunContext, done: Done) -> Report:
    """What the run did, read back from the state."""
    report = bare_report(kind, opened, context)
    report.run = context.run.number if kind == "run" else 0
    report.resumed = context.run.resumed
    report.counts = done.rest(await context.store.tally(context.run.id))
    report.notes.extend(sentences.about_resumed(context.run.number, sum(done.counts.values())))
    written = await LedgerSummary.of(context.store, context.run.id, done.ledger)
    report.operations, report.repaired, report.digest = written.operations, written.repaired, written.digest
    report.losses = [
        {"path": path, "rule": rule, "assets": number}
        for (path, rule), number in (await _losses(context) - done.losses).most_common()
    ]
    report.exposure = await report_exposure(context, report.losses)
    report.conflicts = await report_conflicts(context, written.conflicts)
    report.losses = [loss for loss in report.losses if loss["path"] != CONFLICT]
    report.losses = [loss for loss in report.losses if loss["path"] != EXPOSURE or " " in loss["rule"]]
    report.parked = [
        {"cause": cause, "operation": operation, "hint": hint, "count": count, "example": example}
        for cause, operation, hint, count, example in await causes_of(context.store)
    ]
    report.bytes = context.progress.bytes
    report.notes.extend(opened.crosswalk.notes)
    report.left_out = await context.store.left_out(context.run.id)
    report.notes.extend(sentences.about_left_out(report.left_out))
    report.notes.extend(sentences.about_retried(context.retried))
    window = await context.store.get_meta(f"window:{context.run.id}") or {}
    unseen = unseen_changes(context, window.get("since"))
    report.notes.extend(sentences.about_unseen(unseen, context.policy.rotation))
    report.notes.extend(sentences.about_read_again(context.read_again, window.get("rotation")))
    report.notes.extend(sentences.about_relations(await unwritten_relations(context)))
    report.gone = await gone_from_source(context.store, context.policy.deletions)
    removes = context.policy.deletions is not None
    if loss := await disappeared(context):
        report.notes.extend(sentences.about_disappeared(loss.gone, loss.fresh, loss.examples, removes=removes))
    return report


async def _probation(context: RunContext) -> list[str]:
    left = await context.store.on_probation()
    return sentences.about_probation(left.number, until_text(context, left.last)) if left.last else []


async def _losses(context: RunContext) -> Counter[tuple[str, str]]:
    return Counter({(path, rule): number for path, rule, number in await context.store.losses(context.run.id)})


def unfinished(report: Report) -> tuple[int, DamSyncError | None]:
    """The exit code of a complete run, and notes to print besides the report."""
    stop = exposure_stop(report.exposure)
    return (stop.exit_code if stop else 4 if report.parked else 0), stop


def write_html(report: Report, path: Path | None) -> None:
    """Write the report as HTML if requested. Raises DiskFull or ConfigError."""
    if path is not None:
        with atomic_write(path, REPORT) as out:
            out.write(render_html(report.as_json()))


def bare_report(kind: str, opened: ConnectedJob, context: RunContext) -> Report:
    """A report with only sides, times and notes."""
    now = context.clock.now()
    return Report(
        kind=kind,
        job=opened.job.name,
        source=_side(opened.job.source.kind, opened.source_account, opened.source),
        target=_side(opened.job.target.kind, opened.target_account, opened.target),
        started=instant_text(context.run.started_at.replace(microsecond=0)),
        ended=instant_text(now.replace(microsecond=0)),
        seconds=(now - context.run.started_at).total_seconds(),
        notes=[
            *opened.source_account.notes,
            *opened.target_account.notes,
            *sentences.about_accepted(context.accepted),
        ],
    )


def _side(kind: str, account: Account, service: Service) -> ReportedSide:
    calls: Counter[str] = Counter(service.calls)
    if isinstance(service, DryTarget):
        calls.update(service.estimated)
    return ReportedSide(kind, account.tenant, account.release, account.total, dict(calls))


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__


async def copy_state(job: JobConfig, options: RunOptions, path: Path) -> None:
    """A copy of the state, if there is one."""
    if job.state_path.exists():
        async with existing_store(job, options.clock, read_only=True, storage=options.storage) as store:
            await store.copy_to(path)


async def _ledger_start(store: SqlStore, run: Run) -> int:
    """The last ledger row before the run began, even if another process began it."""
    runs = [row.outcome for row in await store.runs(at_most=50) if row.id < run.id and isinstance(row.outcome, dict)]
    return int(next((outcome["ledger"] for outcome in runs if "ledger" in outcome), 0))


def _estimated_seconds(report: Report, opened: ConnectedJob, files: DryFiles, span: tuple[float, float]) -> float:
    """Estimated seconds of the run; without anything to move, as long as the plan took."""
    target = opened.target
    assert isinstance(target, DryTarget)
    planned = PlannedTime.of(target, files, report.counts, span)
    return estimate_duration(planned, Speed.of(opened.source), Speed.of(target), opened.job.limits.bandwidth)


async def _write_plan(path: Path, report: Report, store: SqlStore, after: int) -> None:
    """The report and every operation, one per line of the list, streamed."""
    with atomic_write(path, PLAN) as out:
        out.write('{"report": ' + json.dumps(report.as_json(), ensure_ascii=False) + ',\n"operations": [')
        await _write_operations(out, store, after)
        out.write("\n]}\n")


async def _write_operations(out: IO[str], store: SqlStore, after: int) -> None:
    separator = "\n"
    while rows := await store.ledger(after, PAGE):
        after = rows[-1].seq
        for row in rows:
            if count_operations(Counter([row.operation])):
                told: dict[str, Any] = {"operation": journal_names.kind_of(row.operation), "asset": row.asset}
                told["what"] = row.operation.partition(":")[2]
                out.write(separator + json.dumps(told, ensure_ascii=False))
                separator = ",\n"
