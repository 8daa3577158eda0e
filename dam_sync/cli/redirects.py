"""Old public links to new ones: redirects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dam_sync.cli.command import command, execute
from dam_sync.cli.options import ACCEPT, JobFile
from dam_sync.report.next_step import after_redirects
from dam_sync.report.output import Output

if TYPE_CHECKING:
    from dam_sync.model.run_options import RunOptions
    from dam_sync.report.redirects import RedirectReport


@command(ACCEPT)
def redirects(
    output: Output,
    job: JobFile,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write every link to this CSV file.")] = None,
    nginx: Annotated[Path | None, typer.Option("--nginx", help="Write rules for nginx to this file.")] = None,
    apache: Annotated[
        Path | None, typer.Option("--apache", help="Write rules for Apache to this file, and their map beside it.")
    ] = None,
    probe: Annotated[bool, typer.Option("--probe", help="Ask every old and new link, without credentials.")] = False,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="With --probe: also ask hosts of private networks.")
    ] = False,
) -> None:
    """List the public links of the source and what takes their place at the target, also as rules of web servers."""
    from dam_sync.api.redirects import RedirectRequest, job_redirects

    asked = RedirectRequest(csv_file, nginx, apache, probe, allow_private)

    async def act(options: RunOptions) -> int:
        report = await job_redirects(job, options, asked)
        _show(output, report)
        output.next(*after_redirects(str(job), found=report.redirects > 0, written=bool(report.files), probed=probe))
        return 0 if report.works else 3

    execute(output, act)


def _show(output: Output, report: RedirectReport) -> None:
    if output.as_json:
        output.data(report.as_json())
        return
    without = [(row["reason"], f"{row['number']:,}", ", ".join(row["examples"])) for row in report.without]
    output.table("Links without a counterpart", ("why", "links", "for example"), without)
    left_out = [(row["reason"], f"{row['number']:,}", ", ".join(row["examples"])) for row in report.left_out]
    output.table("Left out, because more people could open them than before", ("why", "links", "for example"), left_out)
    accepted = [(row["rule"], f"{row['number']:,}", row["meaning"]) for row in report.accepted]
    output.table("Let through by the job file", ("rule", "links", "the asset is"), accepted)
    title = f"Redirects: {report.redirects:,}"
    output.table(title, ("old link", "new link"), [(row["old"], row["new"]) for row in report.links])
    if (more := report.redirects - len(report.links)) > 0:
        output.say(f"… and {more:,} more (`--csv FILE` has all)")
    for side, heading in (("old", "Responses of the old links"), ("new", "Responses of the new links")):
        rows = [(status, f"{number:,}") for status, number in report.probes.get(side, {}).items()]
        output.table(heading, ("response", "links"), rows)
    if number := sum(row["number"] for row in report.left_out):
        output.note(
            f"note: {number:,} links are left out; `dam-sync help redirects` says how to publish them all the same"
        )
    for note in report.notes:
        output.note(f"note: {note}")
    if not report.redirects:
        output.say("no link has a counterpart")
    for file in report.files:
        output.note(f"written: {file}")
