"""The command `errors`: parked assets, and what people give in place of the values that failed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dam_sync.cli import completion
from dam_sync.cli.command import command, execute
from dam_sync.cli.options import JobFile
from dam_sync.model.errors import ConfigError
from dam_sync.model.parking import park_cause
from dam_sync.model.wording import agreed, counted
from dam_sync.report.causes import cause_in_words, sentence
from dam_sync.report.next_step import after_corrections, after_errors, after_forgetting
from dam_sync.report.output import Output

if TYPE_CHECKING:
    from dam_sync.model.run_options import RunOptions

SHOWN = 30
EXCLUSIVE = "--import, --corrections and --forget exclude each other, --retry and --csv"


@command()
def errors(
    output: Output,
    job: JobFile,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write every parked asset to this file.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Let the next run try them again.")] = False,
    cause: Annotated[
        list[str] | None,
        typer.Option("--cause", help="Only this cause; may be repeated.", autocompletion=completion.cause),
    ] = None,
    filled: Annotated[
        Path | None, typer.Option("--import", help="The file written by --csv, with its column `corrected` filled in.")
    ] = None,
    corrections: Annotated[bool, typer.Option("--corrections", help="List the corrected values.")] = False,
    forget: Annotated[
        list[str] | None, typer.Option("--forget", metavar="ID", help="Remove the corrected values of this asset.")
    ] = None,
) -> None:
    """List parked assets, grouped by cause; correct the values for which they are parked."""

    async def act(options: RunOptions) -> int:
        chosen = [filled is not None, corrections, bool(forget), retry or csv_file is not None]
        if sum(chosen) > 1 and any(chosen[:3]):
            raise ConfigError(EXCLUSIVE, hint="use one of them")
        if filled is not None:
            await _import(output, job, filled, options)
        elif corrections:
            await _list(output, job, options)
        elif forget:
            await _forget(output, job, forget, options)
        else:
            await _parked(output, job, csv_file, cause or [], retry, options)
        return 0

    done = filled is not None or retry or forget or csv_file is not None
    execute(output, act, recorded=f"errors {shlex.quote(str(job))}" if done else "")


async def _parked(
    output: Output, job: Path, csv_file: Path | None, causes: list[str], retry: bool, options: RunOptions
) -> None:
    from dam_sync.api.state_commands import job_errors

    at_most = SHOWN if csv_file is None and not output.as_json else None
    parked = await job_errors(job, causes, retry, options.clock, at_most=at_most)
    if csv_file is not None:
        from dam_sync.api.corrections import export_errors  # loads the mapping language

        export_errors(csv_file, parked["assets"])
    if output.as_json:
        output.data(parked)
        return
    _show(output, job, parked)
    output.written(csv_file)
    if retry and parked["count"]:
        output.note(f"{counted(parked['retried'], 'asset')} will be tried again by the next run")
    values = parked["values"]
    stopped = bool(parked["unfinished"] or parked["waiting"])
    rest = {"values": values, "stopped": stopped, "rollback": parked["rollback"], "running": bool(parked["running"])}
    rest["listed"] = csv_file
    output.next(*after_errors(str(job), parked["count"], parked["retried"], **rest))


def _show(output: Output, job: Path, parked: Mapping[str, Any]) -> None:
    if not parked["causes"]:
        stopped = f"; run {parked['unfinished']} was stopped and is not finished" if parked["unfinished"] else ""
        running = f"; run {parked['running']} is under way" if parked["running"] else ""
        waits = parked["waiting"] and not stopped and not running
        waiting = f"; {counted(parked['waiting'], 'asset waits', 'assets wait')} for the next run" if waits else ""
        output.say(f"nothing is parked{stopped}{running}{waiting}")
    causes = [
        (cause_in_words(cause), str(r["count"]), sentence(cause), r["operation"], r["hint"])
        for r in parked["causes"]
        for cause in (park_cause(r["cause"]),)
    ]
    output.table(f"Parked: {parked['count']}", ("cause", "assets", "meaning", "call", "what to do"), causes)
    shown = [tuple(r[key] for key in ("asset", "filename", "title", "url", "message")) for r in parked["assets"]]
    every = f"`errors {job} --csv FILE` lists all"
    output.table("Assets", ("id", "file name", "title", "URL", "what happened"), shown, SHOWN, every, parked["count"])


async def _import(output: Output, job: Path, filled: Path, options: RunOptions) -> None:
    from dam_sync.api.corrections import import_corrections

    done = await import_corrections(job, filled, options.clock, options.storage)
    if output.as_json:
        output.data(done)
    else:
        values = counted(done["corrections"], "corrected value")
        output.say(f"{values} of {counted(done['assets'], 'asset')} {_stored(done)}; {_retried(done)}")
    output.next(*after_corrections(str(job), done["corrections"]))


def _stored(done: Mapping[str, int]) -> str:
    if done["new"] or not done["corrections"]:
        before = done["corrections"] - done["new"]
        words = f", {before:,} of them before" if before else ""
        return f"{agreed(done['corrections'], 'is', 'are')} stored{words}"
    return f"{agreed(done['corrections'], 'was', 'were')} stored before"


def _retried(done: Mapping[str, int]) -> str:
    if done["assets"] and not done["retried"]:
        return "none of these assets is parked"
    return f"{counted(done['retried'], 'parked asset')} will be tried again by the next run"


async def _list(output: Output, job: Path, options: RunOptions) -> None:
    from dam_sync.api.corrections import list_corrections

    rows = await list_corrections(job, options.clock, options.storage)
    if output.as_json:
        output.data({"corrections": rows})
        return
    if not rows:
        output.say("no value is corrected by hand")
    shown = [(row["asset"], row["path"], row["failed"], "; ".join(row["corrected"]), row["at"]) for row in rows]
    columns = ("asset", "field", "in place of", "corrected", "since")
    output.table(f"Values corrected by hand: {len(rows)}", columns, shown)


async def _forget(output: Output, job: Path, assets: list[str], options: RunOptions) -> None:
    from dam_sync.api.corrections import forget_corrections

    number = await forget_corrections(job, assets, options.clock, options.storage)
    if output.as_json:
        output.data({"removed": number})
    else:
        output.say(f"{number:,} corrected values are removed")
    output.next(*after_forgetting(str(job), assets[0]))
