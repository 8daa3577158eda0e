"""Undoing a run: rollback."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dam_sync.cli.command import command, confirm, execute
from dam_sync.cli.options import ACCEPT, JobFile
from dam_sync.model.errors import ConfigError
from dam_sync.report.next_step import after_rollback
from dam_sync.report.output import Output
from dam_sync.report.rollback import COLUMNS, rows_of

if TYPE_CHECKING:
    from dam_sync.api.rollback import RollbackRequest
    from dam_sync.model.run_options import RunOptions
    from dam_sync.report.rollback import RollbackReport

UNASKED = ConfigError("nothing was undone: there is no terminal to ask", hint="--yes undoes it without a question")


@command(ACCEPT)
def rollback(
    output: Output,
    job: JobFile,
    run: Annotated[int, typer.Option("--run", metavar="N", min=1, help="The run to undo; `status` lists the runs.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Compare every asset with the target, and write nothing.")
    ] = False,
    max_deletes: Annotated[
        str,
        typer.Option(
            "--max-deletes",
            metavar="N",
            help="Assets that may go to the trash, or a percentage; default: `max_deletes` of the job.",
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--csv", "-o", "--output", help="Write everything that stays to this CSV file.")
    ] = None,
) -> None:
    """Show what undoes one run, ask, and undo it: created assets go to the trash, changed values return."""
    from dam_sync.api.rollback import RollbackRequest, rollback_job

    asked = RollbackRequest(run, dry_run, max_deletes, out)

    async def act(options: RunOptions) -> int:
        report = await rollback_job(job, options, asked)
        _show(output, report)
        output.written(out)
        allow = report.trashed if report.over else 0
        output.next(
            *after_rollback(
                str(job), run, dry_run=dry_run, complete=report.complete, nothing=report.nothing, allow=allow
            )
        )
        return 0 if report.complete else 4

    if not (dry_run or output.yes):
        _ask(output, job, asked)
    execute(output, act, writes=True, recorded="" if dry_run else f"report {shlex.quote(str(job))}")


def _ask(output: Output, job: JobFile, asked: RollbackRequest) -> None:
    """Show the preview and ask. Exits if there is nothing to undo, with 2 if nobody can be asked, with 1 without a
    confirmation."""
    from dam_sync.api.rollback import preview_rollback

    previewed: list[RollbackReport] = []

    async def preview(options: RunOptions) -> int:
        previewed.append(await preview_rollback(job, options, asked))
        _show(output, previewed[0])
        return 0

    try:
        execute(output, preview, repeats=True)
    except typer.Exit as ended:
        if ended.exit_code:
            raise
    if previewed[0].nothing:
        raise typer.Exit(0 if previewed[0].complete else 4)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        output.error_note(UNASKED)
        raise typer.Exit(UNASKED.exit_code)
    confirm(output, f"Undo run {asked.run}?")


def _show(output: Output, report: RollbackReport) -> None:
    if output.as_json:
        output.data(report.as_json())
        return
    would = report.dry_run
    title = "What would stay as it is" if would else "What stays as it is"
    output.table(title, COLUMNS, rows_of(report.cannot))
    heading = "Would be undone" if would else "Undone"
    rows = [(name, f"{number:,}") for name, number in report.counts.items() if number]
    output.table(f"{heading}: run {report.run} of {report.started}", ("", ""), rows)
    for note in report.notes:
        output.note(f"note: {note}")
    if report.nothing:
        output.say(f"there is nothing to undo of run {report.run}")
