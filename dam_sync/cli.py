"""Arguments in, exit code out; what a verb does is decided in `app`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from dam_sync import __version__
from dam_sync.api.adopt import Adoption, adopt_job
from dam_sync.api.atomic_io import atomic_write
from dam_sync.api.check import check_job
from dam_sync.api.demo import READY, Demo, run_demo
from dam_sync.api.emulate import Emulation, EmulatorAddress, assumptions_of, kind_called, serve_emulation
from dam_sync.api.jobs import plan_job, run_job, unfinished, verify_job, write_html
from dam_sync.api.logs import reported, set_up_logs
from dam_sync.api.run_options import RunOptions, run_async
from dam_sync.api.state_commands import job_errors, job_state, job_status
from dam_sync.api.state_copies import OLD_LEDGER, job_export, job_gc, job_import
from dam_sync.cli_help import help_
from dam_sync.model.errors import ConfigError, DamSyncError
from dam_sync.model.safe_text import csv_cell
from dam_sync.report.causes import sentence
from dam_sync.report.next_step import after_check, after_demo, after_errors, after_report, after_state, after_status
from dam_sync.report.output import Output

cli = typer.Typer(
    name="dam-sync",
    help="Moves digital-asset libraries between services that disagree about everything, and keeps them in step.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

JobFile = Annotated[Path, typer.Argument(metavar="JOB", help="The job file (YAML).")]
AsJson = Annotated[bool, typer.Option("--json", help="Results as JSON on stdout.")]
Verbose = Annotated[int, typer.Option("-v", "--verbose", count=True, help="Tell more; twice tells every call.")]
LogFormat = Annotated[str, typer.Option("--log-format", help="console or json.")]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="No progress on stderr.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Accept = Annotated[bool, typer.Option("--accept-changes", help="Go on where a guard stopped the run.")]
Continue = Annotated[
    bool, typer.Option("--continue-parked", help="Go on where the first 25 assets are parked for one cause.")
]
Full = Annotated[bool, typer.Option("--full", help="Read and map every asset again.")]
Repair = Annotated[
    bool, typer.Option("--repair", help="Also read every asset at the target, and set right what was changed there.")
]
Only = Annotated[list[str] | None, typer.Option("--only", metavar="ID", help="Only this asset; may be repeated.")]

SHOWN_PARKED = 30
KEYWORD = Parameter.KEYWORD_ONLY
COMMON: tuple[tuple[str, Any, Any], ...] = (
    ("as_json", AsJson, False),
    ("no_progress", NoProgress, False),
    ("verbose", Verbose, 0),
    ("log_format", LogFormat, "console"),
    ("yes", Yes, False),
)


def verb(act: Callable[..., None]) -> Callable[..., None]:
    """Gives a verb the options that everything takes, and an `Output` made of them as its first argument."""
    hints = get_type_hints(act, include_extras=True)
    own = [each.replace(annotation=hints[each.name]) for each in list(signature(act).parameters.values())[1:]]
    common = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind) for name, kind, default in COMMON
    ]

    @wraps(act)
    def command(**given: Any) -> None:
        as_json, no_progress, verbose, log_format, _ = (given.pop(name) for name, _, _ in COMMON)
        output = Output(as_json, no_progress, verbose)
        try:
            set_up_logs(verbose, log_format)
        except DamSyncError as error:
            output.error(error)
            raise typer.Exit(error.exit_code) from None
        act(output, **given)

    shown = [each.replace(kind=KEYWORD) for each in own]
    command.__signature__ = Signature([*shown, *common])  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in (*shown, *common)}
    return command


def main() -> None:
    """The `dam-sync` command."""
    cli()


@cli.callback(invoke_without_command=True)
def top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """See `dam-sync VERB --help`."""
    if version:
        sys.stdout.write(f"dam-sync {__version__}\n")
        raise typer.Exit


@cli.command("demo")
@verb
def demo_(
    output: Output,
    assets: Annotated[int, typer.Option(min=1, help="Assets in the made-up library.")] = 300,
    source: Annotated[str, typer.Option("--from", help="Kind of the source; a letter is enough.")] = READY[0],
    target: Annotated[str, typer.Option("--to", help="Kind of the target.")] = READY[1],
    folder: Annotated[Path, typer.Option("--dir", help="A new or empty folder, or one of an earlier demo.")] = Path(
        "state/demo"
    ),
) -> None:
    """Migrate a made-up library between two emulated tenants, and verify it."""

    async def act(wish: RunOptions) -> int:
        demo = Demo(folder, assets, kind_called(source).name, kind_called(target).name)
        code = await run_demo(demo, wish, output.report, output.note)
        output.next(*after_demo(str(folder / "job.yaml"), code))
        return code

    _run(output, RunOptions(), act)


@cli.command()
@verb
def check(output: Output, job: JobFile) -> None:
    """Prove credentials, rights, release, clock, disk, and the mapping against both schemas."""

    async def act(wish: RunOptions) -> int:
        findings = await check_job(job, wish)
        if output.as_json:
            ok = not any(finding.exit_code for finding in findings)
            output.data({"ok": ok, "findings": [finding.as_json() for finding in findings]})
        else:
            rows = [(f.mark, f.subject, f.message, f.hint) for f in findings]
            output.table(f"Check of {job}", ("", "what", "found", "what to do"), rows)
        code = max((finding.exit_code for finding in findings), default=0)
        output.next(*after_check(str(job), code))
        return code

    _run(output, RunOptions(), act)


@cli.command()
@verb
def plan(
    output: Output,
    job: JobFile,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write every operation to this file (JSON).")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the report as HTML.")] = None,
    detailed: Annotated[bool, typer.Option("--detailed-exitcode", help="Exit 10 when there are changes.")] = False,
    full: Full = False,
    repair: Repair = False,
    only: Only = None,
    accept_changes: Accept = False,
    continue_parked: Continue = False,
) -> None:
    """Dry run: what would happen to each asset, what is lost and why, calls and duration."""
    wish = RunOptions(full=full, repair=repair, only=frozenset(only or ()), output=out, html=html)
    wish.accept_changes, wish.continue_parked = accept_changes, continue_parked

    async def act(wish: RunOptions) -> int:
        report = await plan_job(job, wish)
        output.report(report.as_json())
        output.next(*after_report(report.as_json(), str(job)))
        return 10 if detailed and report.operations else 0

    _run(output, wish, act)


@cli.command()
@verb
def run(
    output: Output,
    job: JobFile,
    full: Full = False,
    repair: Repair = False,
    only: Only = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Take at most N assets.")] = None,
    max_calls: Annotated[int | None, typer.Option("--max-calls", min=1, help="API calls to each, at most.")] = None,
    max_duration: Annotated[str | None, typer.Option("--max-duration", help="Stop after 90s, 30m, 8h …")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the report as HTML.")] = None,
    accept_changes: Accept = False,
    continue_parked: Continue = False,
) -> None:
    """Do it; first time a migration, later a delta. Continues by itself where it was interrupted."""

    async def act(wish: RunOptions) -> int:
        report = await run_job(job, wish)
        output.report(report.as_json())
        write_html(report, wish.html)
        code, stop = unfinished(report)
        if stop is not None:
            output.told(stop)
        output.next(*after_report(report.as_json(), str(job)))
        return code

    wish = _asked(
        output,
        full=full,
        repair=repair,
        only=frozenset(only or ()),
        accept_changes=accept_changes,
        continue_parked=continue_parked,
        limit=limit,
        max_calls=max_calls,
        max_duration=max_duration,
        html=html,
    )
    _run(output, wish, act)


@cli.command()
@verb
def verify(
    output: Output,
    job: JobFile,
    level: Annotated[str | None, typer.Option("--level", help="count, fields, digest or bytes.")] = None,
    sample: Annotated[str, typer.Option("--sample", help="Compare only this part: 2%.")] = "100%",
    html: Annotated[Path | None, typer.Option("--html", help="Write the report as HTML.")] = None,
    accept_changes: Accept = False,
) -> None:
    """Read both sides back and reconcile them."""

    async def act(wish: RunOptions) -> int:
        report = await verify_job(job, wish, level, sample)
        output.report(report.as_json())
        output.next(*after_report(report.as_json(), str(job)))
        return 3 if not report.clean else 5 if report.early else 0

    _run(output, RunOptions(html=html, accept_changes=accept_changes), act)


@cli.command()
@verb
def adopt(
    output: Output,
    job: JobFile,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the matches, keep no link.")] = False,
    by_field: Annotated[str, typer.Option("--by-field", help="A field of the target that holds source ids.")] = "",
    by_file: Annotated[bool, typer.Option("--by-file", help="Match by file name, size and digest as well.")] = False,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write the ambiguous matches to this file.")] = None,
    decisions: Annotated[Path | None, typer.Option("--decisions", help="That file, with decisions filled in.")] = None,
    accept_changes: Accept = False,
) -> None:
    """Link what is at the target already: by our markers, by an id field, by name, size and digest."""

    async def act(wish: RunOptions) -> int:
        report = await adopt_job(job, wish, Adoption(dry_run, by_field, by_file, csv_file, decisions))
        output.report(report.as_json())
        output.next(*after_report(report.as_json(), str(job)))
        return 4 if report.counts.get("ambiguous") else 0

    _run(output, RunOptions(accept_changes=accept_changes), act)


@cli.command()
@verb
def status(output: Output, job: JobFile) -> None:
    """Where the job stands."""

    async def act(_: RunOptions) -> int:
        data = await job_status(job)
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

    _run(output, RunOptions(), act)


@cli.command()
@verb
def errors(
    output: Output,
    job: JobFile,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write every parked asset to this file.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Let the next run try them again.")] = False,
    cause: Annotated[list[str] | None, typer.Option("--cause", help="Only this cause; may be repeated.")] = None,
) -> None:
    """Parked assets, grouped by cause."""

    async def act(_: RunOptions) -> int:
        parked = await job_errors(job, cause or [], retry)
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

    _run(output, RunOptions(), act)


@cli.command()
@verb
def state(
    output: Output,
    job: JobFile,
    what: Annotated[str, typer.Argument(help="show, export, import or gc")] = "show",
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="To export to (new), to import from.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="The same as FILE.")] = None,
    older_than: Annotated[str, typer.Option("--older-than", help="gc: age of what goes, like 90d.")] = OLD_LEDGER,
) -> None:
    """Show the checkpoint store of a job, export a whole copy (also during a run), restore an export, or let go of old
    ledger rows (gc)."""
    file = file or out
    if what not in ("show", "export", "import", "gc") or (what in ("show", "gc")) != (file is None):
        known = "`show`, `gc`, `export FILE` or `import FILE`"
        output.error(ConfigError(f"state can be asked to {known}, not to `{what}`", hint="see `state --help`"))
        raise typer.Exit(2)

    async def act(_: RunOptions) -> int:
        if file is not None:
            data = await (job_import if what == "import" else job_export)(job, file)
        else:
            data = await job_state(job) if what == "show" else await job_gc(job, older_than)
        if output.as_json:
            output.data(data)
        else:
            rows = [(str(key), json.dumps(value, ensure_ascii=False)) for key, value in data.items()]
            output.table(f"State of {job}", ("", ""), rows)
        output.next(*after_state(str(job), what))
        return 0

    _run(output, RunOptions(), act)


@cli.command()
@verb
def emulate(
    output: Output,
    kind: Annotated[str, typer.Argument(help="Which service.")] = "",
    port: Annotated[int, typer.Option(help="0 takes a free one.")] = 0,
    rate: Annotated[float | None, typer.Option(help="Calls a second it allows; default as documented.")] = None,
    lag: Annotated[float | None, typer.Option(help="Seconds its search index runs behind.")] = None,
    faults: Annotated[Path | None, typer.Option(help="Scripted faults (JSON list).")] = None,
    load: Annotated[Path | None, typer.Option("--load", help="Catalogue (JSON lines) to begin with.")] = None,
    files: Annotated[Path | None, typer.Option("--files", help="Folder of the catalogue's files.")] = None,
    option: Annotated[list[str] | None, typer.Option("--option", help="KEY=VALUE, may be repeated.")] = None,
    assumptions: Annotated[bool, typer.Option("--assumptions", help="List our numbered guesses and stop.")] = False,
) -> None:
    """Serve one emulated service on this machine until Ctrl-C."""
    try:
        if assumptions:
            rows = [(name, str(a.number), a.text, a.where) for name, a in assumptions_of(kind)]
            output.table("Assumptions", ("service", "no.", "assumed", "contract"), rows)
            return
        serve_emulation(
            Emulation(kind, port, rate, lag, faults, load, files, tuple(option or ())), partial(_show_ready, output)
        )
    except DamSyncError as error:
        output.error(error)
        raise typer.Exit(error.exit_code) from None


cli.command("help")(verb(help_))


def _show_ready(output: Output, ready: EmulatorAddress) -> None:
    """An emulated service that answers: one line of JSON, or lines to paste."""
    sys.stdout.write(json.dumps(ready.as_json()) + "\n" if output.as_json else ready.text())
    sys.stdout.flush()


def _asked(output: Output, **options: Any) -> RunOptions:
    """The options of a command; one that cannot be meant ends it before anything is opened."""
    try:
        return RunOptions(**options)
    except DamSyncError as error:
        output.error(error)
        raise typer.Exit(error.exit_code) from None


def _run(output: Output, wish: RunOptions, act: Callable[[RunOptions], Coroutine[Any, Any, int]]) -> None:
    """Run a verb; every error we know becomes two lines and its exit code."""
    try:
        line = output.show_progress(wish.snapshot)
        line.start()
        try:
            code = run_async(wish, act)
        finally:
            line.stop()
    except Exception as error:  # noqa: BLE001 -- a bug of ours is reported, not hidden
        known = reported(error)
        output.error(known)
        code = known.exit_code
    raise typer.Exit(code)
