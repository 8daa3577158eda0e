"""Commands that prepare a job: inspect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dam_sync.cli.command import command, execute
from dam_sync.cli.options import HTML, JobFile
from dam_sync.report.next_step import after_inspect
from dam_sync.report.output import Output

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

    execute(output, act)


def _show(output: Output, inventory: Inventory) -> None:
    from dam_sync.report.inventory import texts_of

    for head, tables, notes in texts_of(inventory):
        output.say(f"{head}\n")
        for table in tables:
            output.table(table.title, table.columns, table.rows)
        for note in notes:
            output.say(f"note: {note}")
