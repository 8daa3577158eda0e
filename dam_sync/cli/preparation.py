"""Commands before the first write: inspect, rehearse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dam_sync.cli.command import command, execute
from dam_sync.cli.options import HTML, Ids, JobFile
from dam_sync.report.next_step import after_inspect, after_rehearsal
from dam_sync.report.output import Output
from dam_sync.report.terminal import WITH_OPTIONS

if TYPE_CHECKING:
    from dam_sync.model.inventory import Inventory
    from dam_sync.model.run_options import RunOptions


@command(HTML)
def inspect(
    output: Output,
    job: JobFile,
    sample: Annotated[
        str, typer.Option("--sample", help="Read this share of the assets (2%), or the first so many (500).")
    ] = "2000",
    side: Annotated[str, typer.Option("--side", help="Only source, or only target.")] = "",
    csv: Annotated[Path | None, typer.Option("--csv", help="Write every table to a CSV file in this folder.")] = None,
) -> None:
    """Show what both libraries hold: fields, vocabularies, containers, duplicates, rights, and what will not be
    moved."""
    from dam_sync.api.inspection import write_inventory
    from dam_sync.api.job import Job

    async def act(options: RunOptions) -> int:
        inventory = await Job.load(job).inspect(sample, side, options)
        if output.as_json:
            output.data(inventory.as_json())
        else:
            _show(output, inventory)
        for path in write_inventory(inventory, options.html, csv):
            output.note(f"written: {path}")
        output.next(*after_inspect(str(job)))
        return 0

    execute(output, act, repeats=True)


def _show(output: Output, inventory: Inventory) -> None:
    from dam_sync.report.inventory import texts_of
    from dam_sync.report.inventory_summary import summary_of

    summary = summary_of(inventory)
    output.table(summary.title, summary.columns, summary.rows)
    for head, tables, notes in texts_of(inventory):
        output.say(f"{head}\n")
        for table in tables:
            output.table(table.title, table.columns, table.rows)
        for note in notes:
            output.say(f"note: {note}")


@command(HTML)
def rehearse(
    output: Output,
    job: JobFile,
    sample: Annotated[
        str, typer.Option("--sample", help="Rehearse with this share of the assets, for example 2%.")
    ] = "100%",
    placeholders: Annotated[
        bool, typer.Option("--placeholders", help="Upload generated files of the same size; read none of the source.")
    ] = False,
    ids: Ids = False,
) -> None:
    """Migrate into an emulated target with the target's own schema, and verify it. Only reads both services."""
    from dam_sync.api.emulation.rehearsal import Rehearsal
    from dam_sync.api.job import Job
    from dam_sync.api.jobs import unfinished

    async def act(options: RunOptions) -> int:
        found = await Job.load(job).rehearse(Rehearsal(sample, placeholders), options)
        if output.as_json:
            output.data({"run": found.run.as_json(), "verify": found.verification.as_json(), "unlike": found.unlike})
        else:
            output.say("Rehearsal into an emulated target: nothing was written to the target of the job")
            output.report(found.run.as_json(), WITH_OPTIONS, ids=ids)
            output.report(found.verification.as_json(), WITH_OPTIONS, ids=ids)
        output.written(options.html)
        code, stop = unfinished(found.run)
        if stop is not None:
            output.error_note(stop)
        output.next(*after_rehearsal(str(job)))
        return code or (0 if found.verification.clean else 3)

    execute(output, act, repeats=True)
