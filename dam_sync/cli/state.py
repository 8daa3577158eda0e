"""Commands that need only the state of a job: status, errors, state."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dam_sync.cli.command import command, confirm, execute
from dam_sync.cli.options import JobFile
from dam_sync.model.errors import ConfigError
from dam_sync.model.safe_text import csv_cell
from dam_sync.report.causes import sentence
from dam_sync.report.next_step import after_errors, after_state, after_status
from dam_sync.report.output import Output

if TYPE_CHECKING:
    from dam_sync.model.run_options import RunOptions

SHOWN_PARKED = 30


@command()
def status(output: Output, job: JobFile) -> None:
    """Show where the job stands."""
    from dam_sync.api.state_commands import job_status

    async def act(options: RunOptions) -> int:
        data = await job_status(job, options.clock)
        if output.as_json:
            output.data(data)
        else:
            now = [(str(key), str(value)) for key, value in data["now"].items()]
            output.table(f"Job {data['job']}", ("", ""), now)
            rows = [
                tuple(str(row[key]) for key in ("run", "command", "started", "ended", "result")) for row in data["runs"]
            ]
            output.table("Runs", ("run", "command", "started", "ended", "result"), rows)
        finished = not data["runs"] or data["runs"][0]["result"] == "done"
        output.next(*after_status(str(job), finished=finished, parked=data["now"].get("parked", 0)))
        return 0

    execute(output, act)


@command()
def errors(
    output: Output,
    job: JobFile,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write every parked asset to this file.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Let the next run try them again.")] = False,
    cause: Annotated[list[str] | None, typer.Option("--cause", help="Only this cause; may be repeated.")] = None,
) -> None:
    """List parked assets, grouped by cause."""
    from dam_sync.api.atomic_io import atomic_write
    from dam_sync.api.state_commands import job_errors

    async def act(options: RunOptions) -> int:
        parked = await job_errors(job, cause or [], retry, options.clock)
        if csv_file is not None:
            with atomic_write(csv_file, "the list") as out:
                columns = ["asset", "filename", "title", "url", "cause", "operation", "message", "hint"]
                writer = csv.DictWriter(out, columns, extrasaction="ignore")
                writer.writeheader()
                writer.writerows({key: csv_cell(text) for key, text in row.items()} for row in parked["assets"])
        if output.as_json:
            output.data(parked)
            return 0
        if not parked["causes"]:
            output.say("nothing is parked")
        causes = [
            (r["cause"], str(r["count"]), sentence(r["cause"]), r["operation"], r["hint"]) for r in parked["causes"]
        ]
        output.table(f"Parked: {parked['count']}", ("cause", "assets", "meaning", "call", "what to do"), causes)
        shown = [tuple(r[key] for key in ("asset", "filename", "title", "url", "message")) for r in parked["assets"]]
        output.table("Assets", ("id", "file name", "title", "URL", "what happened"), shown[:SHOWN_PARKED])
        if len(shown) > SHOWN_PARKED:
            output.note(f"… and {len(shown) - SHOWN_PARKED:,} more: `errors {job} --csv FILE` lists them all")
        if retry:
            output.note(f"{parked['retried']} assets will be tried again by the next run")
        output.next(*after_errors(str(job), parked["count"], parked["retried"]))
        return 0

    execute(output, act)


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
    ledger rows (gc)."""
    from dam_sync.api.state_commands import job_state
    from dam_sync.api.state_copies import job_export, job_gc, job_import

    file = file or out
    if what not in ("show", "export", "import", "gc") or (what in ("show", "gc")) != (file is None):
        known = "`show`, `gc`, `export FILE` or `import FILE`"
        output.error(ConfigError(f"`{what}` is not an action of `state`; use {known}", hint="see `state --help`"))
        raise typer.Exit(2)
    if what == "gc":
        confirm(output, f"Remove the ledger rows of {job} that are older than {older_than}?")

    async def act(options: RunOptions) -> int:
        if file is not None:
            data = await (job_import if what == "import" else job_export)(job, file, options.clock)
        else:
            data = await (job_state(job, options.clock) if what == "show" else job_gc(job, older_than, options.clock))
        if output.as_json:
            output.data(data)
        else:
            rows = [(str(key), json.dumps(value, ensure_ascii=False)) for key, value in data.items()]
            output.table(f"State of {job}", ("", ""), rows)
        output.next(*after_state(str(job), what))
        return 0

    execute(output, act)
