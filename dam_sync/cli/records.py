"""Commands that show what was recorded of a job: report."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dam_sync.cli.command import command, execute
from dam_sync.cli.options import JobFile
from dam_sync.report.next_step import after_kept_report, after_reports
from dam_sync.report.output import Output

if TYPE_CHECKING:
    from dam_sync.model.run_options import RunOptions

LISTED = ("run", "kind", "ended", "result", "version")


@command()
def report(
    output: Output,
    job: JobFile,
    run: Annotated[int | None, typer.Option("--run", metavar="N", min=1, help="The report of this run.")] = None,
    kind: Annotated[str, typer.Option("--kind", help="run, or verify: the last verification after that run.")] = "",
    html: Annotated[Path | None, typer.Option("--html", help="Write the report to this HTML file.")] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write the report to this CSV file.")] = None,
) -> None:
    """List the reports of earlier runs and verifications, or show one of them again."""
    from dam_sync.api.kept_reports import job_report, job_reports

    async def act(options: RunOptions) -> int:
        if run is None and not (kind or html or csv_file):
            listed = await job_reports(job, options.clock, options.storage)
            _list_reports(output, job, listed)
            return 0
        found = await job_report(job, run, kind, options.clock, options.storage)
        _write_files(found, html, csv_file)
        output.report(found)
        output.next(*after_kept_report(str(job)))
        return 0

    execute(output, act)


def _list_reports(output: Output, job: Path, listed: dict[str, Any]) -> None:
    if output.as_json:
        output.data(listed)
        return
    rows = [tuple(str(row[key]) for key in LISTED) for row in listed["reports"]]
    rows = [(*row, "" if given["kept"] else "no report") for row, given in zip(rows, listed["reports"], strict=True)]
    output.table(f"Reports of {listed['job']}", ("run", "kind", "ended", "result", "made by", ""), rows)
    newest = next((row for row in listed["reports"] if row["kept"]), None)
    output.next(*after_reports(str(job), newest))


def _write_files(found: dict[str, Any], html: Path | None, csv_file: Path | None) -> None:
    from dam_sync.api.atomic_io import atomic_write
    from dam_sync.report.csv_rows import report_rows
    from dam_sync.report.html import render_html  # loads a template engine

    if html is not None:
        with atomic_write(html, "the report") as out:
            out.write(render_html(found))
    if csv_file is not None:
        with atomic_write(csv_file, "the report") as out:
            csv.writer(out).writerows(report_rows(found))
