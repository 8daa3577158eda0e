"""`report`: the reports of runs, adoptions, rollbacks and verifications that the state keeps. Needs only the state."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from dam_sync import __version__
from dam_sync.api.stored_job import existing_store, stored_job_of
from dam_sync.config.job import JobConfig
from dam_sync.model.clock import SYSTEM_CLOCK, Clock
from dam_sync.model.errors import ConfigError
from dam_sync.model.policy import Policy
from dam_sync.model.values import Json, instant_text
from dam_sync.report.parts import LossLine
from dam_sync.report.report import Report
from dam_sync.report.rollback import RollbackReport
from dam_sync.report.stored_report import MisshapenReport, read_report
from dam_sync.store.base import Storage
from dam_sync.store.file.lock_holder import process_exists
from dam_sync.store.reports import NewReport, damaged
from dam_sync.store.rollbacks import rollback_of
from dam_sync.store.rows import KeptReport, RunRow
from dam_sync.store.status_facts import DONE, RUNNING, shown_state
from dam_sync.store.store import SqlStore

KINDS = ("run", "verify", "adopt", "rollback")
MOVES = frozenset({"run", "only"})  # commands that move assets
LISTS = "`report JOB` lists those that are kept"


async def keep_report(store: SqlStore, report: Report, run: int, policy: Policy) -> None:
    """Keep a report in the state, without values of assets if the policy keeps none in the ledger. run: the run that it
    is about, or the last one before a verification. Safe to repeat for a run."""
    if report.kind == "verify":
        result = "equal" if report.clean else "different"
    else:
        result = "parked" if report.parked else "done"
    body = report.as_json() if policy.ledger == "values" else without_values(report.as_json())
    await store.keep_report(NewReport(run, report.kind, __version__, result, body))


async def keep_verification(store: SqlStore, report: Report, policy: Policy) -> None:
    """Keep the report of a verification, with the number of the last run before it."""
    run = next((row.id for row in await store.runs() if row.command in MOVES), 0)
    await keep_report(store, report, run, policy)


def without_values(report: dict[str, Json]) -> dict[str, Json]:
    """The report (as JSON) without values of assets: samples of the mapping and of what it leaves out, names, details
    of examples, and what differs."""
    kept = {**report, "names": {}, "mapping": [{**line, "samples": []} for line in report["mapping"]]}
    kept["losses"] = [{**loss, "examples": [(asset, "") for asset, _ in loss["examples"]]} for loss in report["losses"]]
    kept["omissions"] = [{**omission, "samples": []} for omission in report["omissions"]]
    kept["parked"] = [{**row, "example": row["asset"]} for row in report["parked"]]
    verdict = report["verdict"]
    if verdict is not None:
        kept["verdict"] = {
            **verdict,
            **{part: [_without(row) for row in verdict[part]] for part in ("differences", "extras")},
            "groups": [
                {**group, "examples": [(source, target, "", "") for source, target, *_ in group["examples"]]}
                for group in verdict["groups"]
            ],
        }
    return kept


def _without(row: tuple[str, str, dict[str, Json]]) -> tuple[str, str, dict[str, Json]]:
    source, target, difference = row
    return source, target, {**difference, "expected": "", "found": ""}


async def keep_rollback(store: SqlStore, report: Report, undone: RollbackReport) -> None:
    """Keep the report of a rollback: `report` has only sides and times."""
    report.counts, report.run = undone.counts, undone.by
    report.notes = list(dict.fromkeys((*report.notes, *undone.notes)))
    report.losses = [
        LossLine(
            path=row["what"],
            rule=row["reason"],
            assets=row["number"],
            text=f"stays as run {undone.run} left it",
            examples=[(example, "") for example in row["examples"]],
        )
        for row in undone.cannot
    ]
    result = "done" if undone.complete else "partly"
    await store.keep_report(NewReport(undone.by, report.kind, __version__, result, report.as_json()))


async def job_reports(
    path: Path | JobConfig, clock: Clock = SYSTEM_CLOCK, storage: Storage | None = None
) -> dict[str, Any]:
    """`report JOB`: every run, newest first, with its verifications, and whether its report is kept."""
    job = stored_job_of(path)
    async with existing_store(job, clock, read_only=True, storage=storage) as store:
        kept, runs, now = await store.kept_reports(), await store.runs(), clock.now()
    reported = {row.run for row in kept if row.kind != "verify"}
    rows = [_of_report(row) for row in kept] + [_of_run(row, now) for row in runs if _lacks_report(row, reported)]
    return {"job": job.name, "reports": sorted(rows, key=lambda row: row["run"], reverse=True)}


def _lacks_report(row: RunRow, reported: set[int]) -> bool:
    return bool(_kind_of(row)) and row.id not in reported


def _kind_of(row: RunRow) -> str:
    """The kind of its report; empty for a run that has none."""
    if rollback_of(row) is not None:
        return "rollback"
    return "run" if row.command in MOVES else row.command if row.command in KINDS else ""


def _of_report(row: KeptReport) -> dict[str, Any]:
    ended = instant_text(row.at.replace(microsecond=0))
    facts = {"run": row.run, "kind": row.kind, "ended": ended, "result": row.result}
    return {**facts, "kept": True, "version": row.version, "bytes": row.bytes}


def _of_run(row: RunRow, now: datetime) -> dict[str, Any]:
    ended = instant_text(row.ended_at.replace(microsecond=0)) if row.ended_at else ""
    facts = {"run": row.id, "kind": _kind_of(row), "ended": ended, "result": shown_state(row, now, process_exists)}
    return {**facts, "kept": False, "version": "", "bytes": 0}


async def job_report(
    path: Path | JobConfig,
    run: int | None = None,
    kind: str = "",
    clock: Clock = SYSTEM_CLOCK,
    storage: Storage | None = None,
) -> dict[str, Any]:
    """`report JOB --run N`: the report of a run, or with `kind` the last verification after it; without a number, the
    last report. An older report gets what reports did not have then, empty. Raises ConfigError if there is none."""
    job = stored_job_of(path)
    if kind and kind not in KINDS:
        raise ConfigError(f"--kind expects one of {', '.join(KINDS)}, not {kind}")
    wanted = {kind} if kind else set(KINDS) - ({"verify"} if run is not None else set())
    async with existing_store(job, clock, read_only=True, storage=storage) as store:
        number = await store.newest_report(wanted, run)
        if number is not None:
            return await _read(store, number, job)
        row = await store.run_row(run) if run is not None else None
    _refuse_unfinished(row, clock.now())
    of, called = "" if run is None else f" of run {run}", f" of the kind {kind}" if kind else ""
    raise ConfigError(f"the state has no report{of}{called}", hint=LISTS)


async def _read(store: SqlStore, number: int, job: JobConfig) -> dict[str, Any]:
    """The report with this id. Raises ConfigError for one that dam-sync did not store so."""
    try:
        return read_report(await store.report_body(number))
    except MisshapenReport as error:
        raise damaged(number, f"{error}; the state is {job.state_name}") from error


def _refuse_unfinished(row: RunRow | None, now: datetime) -> None:
    """Raises ConfigError for a run that has no report yet."""
    shown = DONE if row is None else shown_state(row, now, process_exists)
    if row is None or shown == DONE:
        return
    if shown == RUNNING:
        hint = "it has a report when it is finished; `status JOB` shows where it stands"
        raise ConfigError(f"run {row.id} is under way", hint=hint)
    undone = rollback_of(row)
    again = f"{_kind_of(row) or row.command} JOB{'' if undone is None else f' --run {undone}'}"
    hint = f"`{again}` finishes it, and makes its report; `status JOB` says why it ended"
    raise ConfigError(f"run {row.id} is not finished ({shown})", hint=hint)
