"""Commands that need only the state of a job: signoff, conflicts, state."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dam_sync.cli.command import command, confirm, execute
from dam_sync.cli.options import ACCEPT, NAME_OF_WAVE, JobFile
from dam_sync.model.errors import ConfigError
from dam_sync.model.wording import counted
from dam_sync.report.next_step import after_conflicts, after_sign_off, after_state
from dam_sync.report.output import Output
from dam_sync.report.sign_off import rows_of_sign_off
from dam_sync.report.stored_state import rows_of_state

if TYPE_CHECKING:
    from dam_sync.model.run_options import RunOptions

SHOWN = 30  # rows of a table
SIDES = ("written", "source", "target")


@command(ACCEPT)
def signoff(
    output: Output,
    job: JobFile,
    wave: Annotated[str, typer.Option("--wave", help="The wave, which is moved and verified.", **NAME_OF_WAVE)] = "",
    by: Annotated[str, typer.Option("--by", help="Who signs; by default the user of this computer.")] = "",
    note: Annotated[str, typer.Option("--note", help="A text to keep with it.")] = "",
    revoke: Annotated[bool, typer.Option("--revoke", help="Take the sign-off back.")] = False,
) -> None:
    """Sign off a wave once it is moved and verified, so that the waves after it may run."""
    from dam_sync.api.sign_off import SignOffRequest, sign_off

    async def act(options: RunOptions) -> int:
        data = await sign_off(job, SignOffRequest(wave, by, note, revoke), options)
        if output.as_json:
            output.data(data)
        elif data["signed"] is None:
            output.say(f"wave {wave} is not signed off any more")
        else:
            output.table(f"Sign-off of wave {wave}", ("", ""), rows_of_sign_off(data["signed"]))
        output.next(*after_sign_off(str(job)))
        return 0

    execute(output, act, recorded=f"status {shlex.quote(str(job))}")


@command()
def conflicts(
    output: Output,
    job: JobFile,
    take: Annotated[str, typer.Option("--take", metavar="SIDE", help="Decide: source or target.")] = "",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ID", help="Only this asset of the source; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--csv", "-o", "--output", help="Write every conflict to this CSV file.")
    ] = None,
    decisions: Annotated[
        Path | None, typer.Option("--import", help="The file written by --csv, with its column `decision` filled in.")
    ] = None,
) -> None:
    """Show both sides of each open conflict, and take decisions, which the next run applies."""
    from dam_sync.api.conflicts import ConflictRequest, job_conflicts

    async def act(options: RunOptions) -> int:
        at_most = None if output.as_json else SHOWN
        asked = ConflictRequest(take, frozenset(only or ()), out, decisions, at_most)
        data = await job_conflicts(job, asked, options.clock)
        undecided = data["count"] - data["decided"]
        if output.as_json:
            output.data(data)
        else:
            _show_conflicts(output, job, data)
        output.written(out)
        if decisions is not None and not data["taken"]:
            output.note(f"{decisions} decides nothing: write source or target into its column `decision`")
        output.next(*after_conflicts(str(job), undecided, data["decided"], listed=out))
        return 4 if undecided else 0

    done = bool(take) or out is not None or decisions is not None
    execute(output, act, recorded=f"conflicts {shlex.quote(str(job))}" if done else "")


def _show_conflicts(output: Output, job: Path, data: Mapping[str, Any]) -> None:
    from dam_sync.model.conflict import shown

    if not data["count"]:
        output.say("there is no open conflict")
    rows = []
    for row in data["conflicts"]:
        sides = (shown(row["value"], row[side]) for side in SIDES)
        rows.append((row["asset"], row["filename"], row["value"], *sides, row["decision"] or row["why"]))
    title = f"Conflicts: {data['count']:,} in {counted(data['assets'], 'asset')}, {data['decided']:,} decided"
    columns = ("asset", "file name", "value", *SIDES, "decision")
    output.table(title, columns, rows, SHOWN, f"`conflicts {job} --csv FILE` lists all", data["count"])


ACTIONS = {
    "show": "state JOB show",
    "export": "state JOB export -o FILE",
    "import": "state JOB import FILE",
    "gc": "state JOB gc --older-than 400d",
}


def _wrong_action(job: Path, what: str, file: Path | None) -> ConfigError | None:
    """Why a command line of `state` says nothing that can be done."""
    if what not in ACTIONS:
        turned = f"the job file comes before the action: `state {what} {job}`" if str(job) in ACTIONS else ""
        hint = turned or "use " + " or ".join(f"`{each}`" for each in ACTIONS.values())
        return ConfigError(f"`{what}` is not an action of `state`", hint=hint)
    if (what in ("show", "gc")) == (file is None):
        return None
    wrong = "needs the path of a file" if file is None else f"takes no file, but was given {file}"
    return ConfigError(f"`state JOB {what}` {wrong}", hint=f"write `{ACTIONS[what]}`")


@command()
def state(
    output: Output,
    job: JobFile,
    what: Annotated[str, typer.Argument(help="show, export, import or gc")] = "show",
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The new file to export to, or the file to import.")
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="The same as FILE.")] = None,
    older_than: Annotated[
        str, typer.Option("--older-than", help="gc: remove rows older than this, for example 90d.")
    ] = "400d",
) -> None:
    """Show the state of a job, export a complete copy (even during a run), restore an export, or remove old
    ledger rows and reports (gc)."""
    from dam_sync.api.state_commands import job_state
    from dam_sync.api.state_copies import job_export, job_gc, job_import

    file = file or out
    wrong = _wrong_action(job, what, file)
    if wrong is not None:
        output.error(wrong)
        raise typer.Exit(2)
    if what == "gc":
        confirm(output, f"Remove the ledger rows and reports of {job} that are older than {older_than}?")

    async def act(options: RunOptions) -> int:
        if file is not None:
            data = await (job_import if what == "import" else job_export)(job, file, options.clock)
        else:
            data = await (job_state(job, options.clock) if what == "show" else job_gc(job, older_than, options.clock))
        if output.as_json:
            output.data(data)
        else:
            output.table(f"State of {job}", ("", ""), rows_of_state(data))
        output.next(*after_state(str(job), what))
        return 0

    execute(output, act, recorded=f"status {shlex.quote(str(job))}" if what != "show" else "")
