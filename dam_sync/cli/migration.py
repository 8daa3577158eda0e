"""Commands that need both services: check, plan, run, verify, adopt."""

from __future__ import annotations

import shlex
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dam_sync.cli import completion
from dam_sync.cli.command import command, execute
from dam_sync.cli.options import ACCEPT, BOUNDS, FOLLOW, HTML, PLAN, RUN, WAVE, WAVE_ALONE, WORKERS, Ids, JobFile
from dam_sync.model.adoption import AdoptionCount
from dam_sync.model.errors import StopRequested
from dam_sync.report.next_step import after_adoption, after_check, after_open_rollback, after_plan, after_report
from dam_sync.report.output import Output

if TYPE_CHECKING:
    from dam_sync.api.job import Job
    from dam_sync.model.run_options import RunOptions
    from dam_sync.report.report import Report


@command()
def check(output: Output, job: JobFile) -> None:
    """Check credentials, rights, releases, clocks and disk, and compile the mapping against both schemas."""
    from dam_sync.api.check_result import exit_code_of
    from dam_sync.api.job import Job

    async def act(options: RunOptions) -> int:
        findings = await Job.load(job).check(options)
        if output.as_json:
            ok = not any(finding.exit_code for finding in findings)
            output.data({"ok": ok, "findings": [finding.as_json() for finding in findings]})
        else:
            rows = [(f.mark, f.subject, f.message, f.hint) for f in findings]
            output.table(f"Check of {job}", ("", "what", "found", "what to do"), rows)
        code = exit_code_of(findings)
        output.next(*after_check(str(job), code))
        return code

    execute(output, act, repeats=True)


@command(*PLAN)
def plan(
    output: Output,
    job: JobFile,
    detailed: Annotated[bool, typer.Option("--detailed-exitcode", help="Exit with 10 if there are changes.")] = False,
    ids: Ids = False,
) -> None:
    """Dry run: show what would happen to each asset, what would be lost and why, API calls and duration."""
    from dam_sync.api.job import Job

    async def act(given: RunOptions) -> int:
        options = _by_extension(given)
        report = await Job.load(job).plan(options)
        output.report(report.as_json(), ids=ids)
        output.written(options.output, options.html, options.csv)
        sampled = bool(options.sample)
        output.next(*after_plan(str(job), options.output, sampled=sampled, wave=report.wave, asked=_asked(options)))
        return 10 if detailed and report.operations else 0

    execute(output, act, repeats=True)


def _asked(options: RunOptions) -> list[str]:
    """The options of a plan that decide what a run does, as they are written."""
    flags = [flag for flag, given in (("--full", options.full), ("--repair", options.repair)) if given]
    only = [f"--only {shlex.quote(asset)}" for asset in sorted(options.only)]
    return [*flags, *only, *([] if options.limit is None else [f"--limit {options.limit}"])]


def _by_extension(options: RunOptions) -> RunOptions:
    """The options with a table or a page that `-o` names where `--csv` and `--html` name theirs."""
    kind = options.output.suffix.lower() if options.output is not None else ""
    if kind == ".csv" and options.csv is None:
        return replace(options, output=None, csv=options.output)
    if kind in (".html", ".htm") and options.html is None:
        return replace(options, output=None, html=options.output)
    return options


@command(*BOUNDS, *WORKERS, *FOLLOW, WAVE, *RUN)
def run(
    output: Output,
    job: JobFile,
    page: Annotated[bool, typer.Option("--page", help="Serve a page that shows the run, until it has ended.")] = False,
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="The address of that page; a free one by default.")
    ] = "",
    ids: Ids = False,
) -> None:
    """Migrate the library, or bring the target up to date. Resumes where it was interrupted."""
    from dam_sync.api.job import Job
    from dam_sync.api.jobs import unfinished, write_html

    async def act(options: RunOptions) -> int:
        loaded = Job.load(job)
        async with _shown(loaded, options, listen, output) if page or listen else nullcontext():
            report, ended = await _run_of(loaded, options)
        output.report(report.as_json(), ids=ids)
        write_html(report, options.html)
        output.written(options.html, options.csv)
        if ended is not None:
            output.note(f"{ended}: the next run goes on from there")
            output.next(f"run {shlex.quote(str(job))}")
            return ended.exit_code
        code, stop = unfinished(report)
        if stop is not None:
            output.error_note(stop)
        output.next(*after_report(report.as_json(), str(job)))
        return code

    execute(output, act, writes=True, recorded=f"report {shlex.quote(str(job))}")


async def _run_of(job: Job, options: RunOptions) -> tuple[Report, StopRequested | None]:
    """The report of the run, or of the part of it that `--limit` asked for, with what ended it."""
    try:
        return await job.run(options), None
    except StopRequested as ended:
        if ended.report is None:
            raise
        return ended.report, ended


def _shown(job: Job, options: RunOptions, listen: str, output: Output) -> AbstractAsyncContextManager[None]:
    from dam_sync.watch.page import page_of_run  # loads an HTTP server

    return page_of_run(job.config, options, listen, output.note)


@command(WAVE_ALONE, HTML, ACCEPT)
def verify(
    output: Output,
    job: JobFile,
    level: Annotated[
        str | None,
        typer.Option(
            "--level", help="What to compare: count, fields, digest or bytes.", autocompletion=completion.level
        ),
    ] = None,
    sample: Annotated[
        str, typer.Option("--sample", help="Compare only this share of the assets, for example 2%.")
    ] = "100%",
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write every difference and addition to this file.")
    ] = None,
    ids: Ids = False,
) -> None:
    """Read both services back and compare them."""
    from dam_sync.api.job import Job
    from dam_sync.api.state_commands import open_rollback

    async def act(options: RunOptions) -> int:
        report = await Job.load(job).verify(level, sample, options, differences=csv_file)
        output.report(report.as_json(), ids=ids)
        output.written(options.html, csv_file)
        undoing = await open_rollback(job, options.clock, options.storage)
        output.next(*(after_open_rollback(str(job), undoing) if undoing else after_report(report.as_json(), str(job))))
        return 3 if not report.clean else 5 if report.early else 0

    execute(output, act, repeats=True)


@command(ACCEPT)
def adopt(
    output: Output,
    job: JobFile,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the matches without saving links.")] = False,
    by_field: Annotated[str, typer.Option("--by-field", help="A field of the target that holds source ids.")] = "",
    by_file: Annotated[bool, typer.Option("--by-file", help="Also match by file name, size and digest.")] = False,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write the ambiguous matches to this file.")] = None,
    decisions: Annotated[
        Path | None, typer.Option("--decisions", help="The file written by --csv, with decisions filled in.")
    ] = None,
    ids: Ids = False,
) -> None:
    """Link assets that are already at the target: by marker, by a field of ids, or by file name, size and digest."""
    from dam_sync.api.adopt import Adoption
    from dam_sync.api.job import Job

    adoption = Adoption(dry_run, by_field, by_file, csv_file, decisions)

    async def act(options: RunOptions) -> int:
        report = await Job.load(job).adopt(adoption, options)
        output.report(report.as_json(), ids=ids)
        output.written(csv_file)
        field = f"--by-field {shlex.quote(by_field)}" if by_field else ""
        ways = f"{field} {'--by-file' if by_file else ''}".strip()
        files = {"listed": csv_file, "decided": decisions}
        output.next(*after_adoption(str(job), report.counts, ways=ways, dry_run=dry_run, **files))
        return 4 if any(map(report.counts.get, (AdoptionCount.AMBIGUOUS, AdoptionCount.HELD_BACK))) else 0

    execute(output, act, writes=True, recorded="" if dry_run else f"status {shlex.quote(str(job))}")
