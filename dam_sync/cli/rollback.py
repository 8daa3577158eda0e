"""Undoing a run: rollback."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dam_sync.cli.command import command, execute
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
        Path | None, typer.Option("-o", "--output", help="Write everything that stays to this CSV file.")
    ] = None,
) -> None:
    """Show what undoes one run, ask, and undo it: created assets go to the trash, changed values return."""
    from dam_sync.api.rollback import RollbackRequest, rollback_job

    asked = RollbackRequest(run, dry_run, max_deletes, out)

    async def act(options: RunOptions) -> int:
        if not (dry_run or output.yes) and not await _confirmed(output, job, asked, options):
            return 0
        report = await rollback_job(job, options, asked)
        _show(output, report)
        output.next(*after_rollback(str(job), run, dry_run=dry_run, complete=report.complete))
        return 0 if report.complete else 4

    execute(output, act)


async def _confirmed(output: Output, job: JobFile, asked: RollbackRequest, options: RunOptions) -> bool:
    """Show the preview and ask; False if there is nothing to undo. Raises ConfigError if nobody can be asked."""
    from dam_sync.api.rollback import preview_rollback

    report = await preview_rollback(job, replace(options), asked)
    _show(output, report)
    if report.done:
        return False
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UNASKED
    with output.line.hidden():
        return typer.confirm(f"Undo run {asked.run}?", abort=True, err=True)


def _show(output: Output, report: RollbackReport) -> None:
    if output.as_json:
        output.data(report.as_json())
        return
    would = report.dry_run
    title = "What would stay as it is" if would else "What stays as it is"
    output.table(title, COLUMNS, rows_of(report.cannot))
    told = "Would be undone" if would else "Undone"
    rows = [(name, f"{number:,}") for name, number in report.counts.items() if number]
    output.table(f"{told}: run {report.run} of {report.started}", ("", ""), rows)
    for note in report.notes:
        output.note(f"note: {note}")
    if report.done and not report.notes:
        output.say(f"there is nothing to undo of run {report.run}")
