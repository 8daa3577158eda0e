"""Commands that show what was recorded of a job: report, explain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dam_sync.cli.command import command, execute
from dam_sync.cli.options import Ids, JobFile
from dam_sync.model.wording import counted
from dam_sync.report.next_step import after_explain, after_kept_report, after_reports
from dam_sync.report.output import Output

if TYPE_CHECKING:
    from dam_sync.model.run_options import RunOptions

SHOWN = 30  # rows of a table
LISTED = ("run", "kind", "ended", "result", "version")


@command()
def report(
    output: Output,
    job: JobFile,
    run: Annotated[int | None, typer.Option("--run", metavar="N", min=1, help="The report of this run.")] = None,
    kind: Annotated[
        str, typer.Option("--kind", help="verify: the last verification after that run; or run, adopt, rollback.")
    ] = "",
    html: Annotated[Path | None, typer.Option("--html", help="Write the report to this HTML file.")] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write the report to this CSV file.")] = None,
    ids: Ids = False,
) -> None:
    """List the reports of earlier runs and verifications, or show one of them again."""
    from dam_sync.api.reports.kept_reports import job_report, job_reports

    async def act(options: RunOptions) -> int:
        if run is None and not (kind or html or csv_file):
            listed = await job_reports(job, options.clock, options.storage)
            _list_reports(output, job, listed)
            return 0
        found = await job_report(job, run, kind, options.clock, options.storage)
        _write_files(found, html, csv_file)
        output.report(found, ids=ids)
        output.written(html, csv_file)
        output.next(*after_kept_report(str(job)))
        return 0

    execute(output, act, repeats=True)


def _list_reports(output: Output, job: Path, listed: dict[str, Any]) -> None:
    if output.as_json:
        output.data(listed)
        return
    rows = [tuple(str(row[key]) for key in LISTED) for row in listed["reports"]]
    rows = [(*row, "" if given["kept"] else "no report") for row, given in zip(rows, listed["reports"], strict=True)]
    columns, every = ("run", "kind", "ended", "result", "made by", ""), f"`report {job} --json` lists all"
    output.table(f"Reports of {listed['job']}", columns, rows, SHOWN, every)
    newest = next((row for row in listed["reports"] if row["kept"]), None)
    running = any(row["result"] == "running" for row in listed["reports"])
    output.next(*after_reports(str(job), newest, running=running))


def _write_files(found: dict[str, Any], html: Path | None, csv_file: Path | None) -> None:
    from dam_sync.api.atomic_io import atomic_write
    from dam_sync.api.atomic_io import csv_file as csv_writer
    from dam_sync.report.csv_rows import report_rows
    from dam_sync.report.html import render_html  # loads a template engine

    if html is not None:
        with atomic_write(html, "the report") as out:
            out.write(render_html(found))
    if csv_file is not None:
        with csv_writer(csv_file, "the report") as rows:
            rows.writerows(report_rows(found))


@command()
def explain(
    output: Output,
    job: JobFile,
    called: Annotated[
        str,
        typer.Argument(metavar="ID", help="Its id at either service, its file name, or a value such as its title."),
    ],
    by: Annotated[
        str, typer.Option("--by", help="What ID is: source, target, filename or value. All are tried by default.")
    ] = "",
    live: Annotated[bool, typer.Option("--live", help="Also read its records at both services.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write the page to this HTML file.")] = None,
) -> None:
    """Show everything that is known about one asset: values, rules, writes, calls, evidence, conflicts and causes."""

    async def act(options: RunOptions) -> int:
        story = await _story(job, called, by, live, options)
        if "candidates" in story:
            _list_candidates(output, job, story)
            return 2
        if html is not None:
            _write_story(story, html)
        if output.as_json:
            output.data(story)
        else:
            _show_story(output, story)
        output.written(html)
        output.next(*after_explain(str(job), story))
        return 0

    execute(output, act, repeats=True)


async def _story(job: Path, called: str, by: str, live: bool, options: RunOptions) -> dict[str, Any]:
    if live:
        from dam_sync.api.explain_live import job_explain_live  # loads the services

        return await job_explain_live(job, called, by, options)
    from dam_sync.api.explain import job_explain

    return await job_explain(job, called, by, options.clock, options.storage)


def _list_candidates(output: Output, job: Path, story: dict[str, Any]) -> None:
    if output.as_json:
        output.data(story)
    else:
        titles = {
            **{"name": "name at the source", "source": "id at the source"},
            **{"filename": "name at the target", "target": "id at the target"},
            **({"value": "value"} if any(row["value"] for row in story["candidates"]) else {}),
        }
        rows = [tuple(row[key] for key in titles) for row in story["candidates"]]
        output.table(f"Assets called {story['asked']}", tuple(titles.values()), list(dict.fromkeys(rows)))
    number = len({row["source"] for row in story["candidates"]})
    output.note(f"error: {counted(number, 'asset is', 'assets are')} called so", style="red")
    output.note(f"hint: name one by its source id: `explain {job} ID --by source`")


def _show_story(output: Output, story: dict[str, Any]) -> None:
    from dam_sync.report.story import sections_of, title_of

    output.say(title_of(story))
    for section in sections_of(story):
        output.table(section.title, section.columns, section.rows)


def _write_story(story: dict[str, Any], html: Path) -> None:
    from dam_sync.api.atomic_io import atomic_write
    from dam_sync.report.story import render_story

    with atomic_write(html, "the page") as out:
        out.write(render_story(story))
