"""`status`: where one job stands, or several at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dam_sync.cli.command import command, execute
from dam_sync.model.errors import DamSyncError
from dam_sync.model.wording import counted, timestamp_text
from dam_sync.report.next_step import after_status, after_statuses
from dam_sync.report.output import Output
from dam_sync.report.terminal import GONE, GONE_TITLE

if TYPE_CHECKING:
    from dam_sync.model.run_options import RunOptions

SHOWN = 30  # rows of a table
SHOWN_RUNS = 20
RUN = ("run", "command", "started", "ended", "result")
GLANCE = ("job", "last run", "ended", "result", "at the target", "parked", "to be written", "what to look at")
NOW = {
    "source": "tenant of the source",
    "target": "tenant of the target",
    "linked": "assets at the target",
    "listed": "listed by the last run",
    "open": "to be written",
    "unchanged": "unchanged",
    "skipped": "left out",
    "watermark": "the next run reads changes since",
}
"""What the figures of `status` are called for people."""


@command()
def status(
    output: Output,
    jobs: Annotated[list[Path], typer.Argument(metavar="JOB...", help="The job file (YAML); several for a line each.")],
) -> None:
    """Show where a job stands, or several at a glance."""

    async def act(options: RunOptions) -> int:
        if len(jobs) > 1:
            return await _at_a_glance(output, jobs, options)
        return await _in_full(output, jobs[0], options)

    execute(output, act)


async def _in_full(output: Output, job: Path, options: RunOptions) -> int:
    from dam_sync.api.job_status import job_status

    data = await job_status(job, options.clock)
    if output.as_json:
        output.data(data)
    else:
        _show(output, job, data)
    last = data["runs"][0] if data["runs"] else {"result": "done", "command": ""}
    unfinished = "" if last["result"] == "done" else str(last["command"])
    parked, running = data["now"].get("parked", 0), last["result"] == "running"
    waves = data.get("waves", ())
    code = data.get("stopped", {}).get("exit code")
    unfinished = unfinished or str(data.get("stopped", {}).get("command", ""))
    stood = {"unfinished": unfinished, "parked": parked, "running": running, "waves": waves, "code": code}
    stood["waiting"] = data["now"].get("open", 0)
    stood["planned"] = bool(data.get("stopped", {}).get("follows a plan"))
    output.next(*after_status(str(job), begun=bool(data["runs"]), **stood))
    return 0


async def _at_a_glance(output: Output, jobs: Sequence[Path], options: RunOptions) -> int:
    """A line for each job; one that cannot be read has its error in it, and its exit code is that of the command."""
    from dam_sync.api.job_status import job_status

    found: list[dict[str, Any] | DamSyncError] = []
    for job in jobs:
        try:
            found.append(await job_status(job, options.clock))
        except DamSyncError as unreadable:
            found.append(unreadable)
    errors = [one for one in found if isinstance(one, DamSyncError)]
    rows = [_glance(job, one) for job, one in zip(jobs, found, strict=True)]
    if output.as_json:
        output.data({"jobs": [one.as_json() if isinstance(one, DamSyncError) else one for one in found]})
    else:
        output.table(f"{len(jobs)} jobs", GLANCE, rows)
    for error in errors:
        output.error_note(error)
    look = next((job for job, row in zip(jobs, rows, strict=True) if row[-1]), jobs[0])
    output.next(*after_statuses(str(look)))
    return max((error.exit_code for error in errors), default=0)


def _glance(job: Path, found: Mapping[str, Any] | DamSyncError) -> tuple[str, ...]:
    if isinstance(found, DamSyncError):
        return (str(job), "", "", "unknown", "", "", "", found.message)
    now, last = found["now"], found["runs"][0] if found["runs"] else None
    run = f"{last['run']} {last['command']}" if last else "none"
    numbers = [f"{now.get(key, 0):,}" for key in ("linked", "parked", "open")]
    stopped = found.get("stopped", {}).get("reason", "")
    parked = f"{counted(now['parked'], 'asset is', 'assets are')} parked" if now.get("parked") else ""
    ended, result = (last["ended"], last["result"]) if last else ("", "")
    return found["job"], run, timestamp_text(ended), result, *numbers, stopped or parked


def _show(output: Output, job: Path, data: Mapping[str, Any]) -> None:
    now = [(NOW.get(str(key), str(key)), timestamp_text(str(value))) for key, value in data["now"].items()]
    if phase := data.get("phase"):
        moved = f"{phase['completed']:,} of {counted(phase['listed'], 'listed asset')} completed"
        if waiting := data.get("waiting"):
            now.insert(0, ("waiting", waiting["text"]))
        now.insert(0, ("phase", f"{phase['phase']}, since {timestamp_text(phase['since'])}; {moved}"))
    output.table(f"Job {data['job']}", ("", ""), now)
    rows = [tuple(timestamp_text(str(row[key])) for key in RUN) for row in data["runs"]]
    every = f"`status {job} --json` lists the last {len(rows):,}"
    output.table("Runs", RUN, rows, SHOWN_RUNS, every)
    _show_stopped(output, data.get("stopped"))
    _show_waves(output, data)
    gone = [tuple(str(row[key]) for key in GONE) for row in data.get("gone", ())]
    columns = ("asset", "target id", "why", "gone since", "removed after")
    output.table(GONE_TITLE, columns, gone, SHOWN, f"`status {job} --json` lists all")
    for text in data.get("notes", ()):
        output.note(f"WARN: {text}")


def about_stopped(run: int | None, command: str, started: str, reason: str) -> str:
    """Why the last run is not complete. run: its number; None if it left no row."""
    verb, _, undone = command.partition(" ")
    what = f"the rollback of run {undone}" if verb == "rollback" else "the run"
    if run is None:
        return f"{what} that began at {timestamp_text(started)} stopped: {reason}"
    return f"run {run}{f', {what},' if undone else ''} stopped: {reason}"


def _show_stopped(output: Output, stopped: Mapping[str, Any] | None) -> None:
    """Why the last run is not complete, and what to do about it."""
    if stopped is None:
        return
    output.say(about_stopped(stopped["run"], stopped["command"], stopped["started"], stopped["reason"]))
    if stopped["hint"]:
        output.say(f"hint: {stopped['hint']}")


def _show_waves(output: Output, data: Mapping[str, Any]) -> None:
    """A line for each wave; a dash for what no run has counted yet."""
    keys = ("wave", "stage", "selected", "moved", "parked", "open", "left", "freeze")
    rows = [tuple("-" if row[key] is None else str(row[key]) for key in keys) for row in data.get("waves", ())]
    output.table("Waves", keys, rows)
    if data.get("in no wave"):
        output.note(f"{counted(data['in no wave'], 'asset is', 'assets are')} in no wave, and moved by no run")
