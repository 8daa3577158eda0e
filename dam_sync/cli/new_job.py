"""The command `init`, which writes the files of a new job."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dam_sync.cli import completion
from dam_sync.cli.command import command, execute, exit_on_error
from dam_sync.model.errors import DamSyncError
from dam_sync.model.wording import counted
from dam_sync.report.next_step import after_init
from dam_sync.report.output import Output

if TYPE_CHECKING:
    from dam_sync.api.new_job import Initialized
    from dam_sync.model.run_options import RunOptions

AGAIN = "the job file is written: once it is right, `dam-sync init {job}` writes the mapping"
GIVEN = "A key of this side as in a job file: kind, base_url, tenant_url, flow, login, options.NAME …; may be repeated."
NAMED = "For a secret of this side, the environment variable that holds it: password=MUSEUM_PASSWORD; may be repeated."
Pairs = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help=GIVEN, autocompletion=completion.key_of_side)
]
Names = Annotated[list[str] | None, typer.Option(metavar="KEY=NAME", help=NAMED)]


@command()
def init(
    output: Output,
    job: Annotated[Path, typer.Argument(metavar="JOB", help="The job file to write, for example jobs/museum.yaml.")],
    source: Pairs = None,
    source_env: Names = None,
    target: Pairs = None,
    target_env: Names = None,
    name: Annotated[str, typer.Option(help="Name of the job; by default that of the file.")] = "",
    mapping: Annotated[Path | None, typer.Option(help="The mapping file; by default next to the job file.")] = None,
    non_interactive: Annotated[bool, typer.Option("--non-interactive", help="Ask nothing.")] = False,
) -> None:
    """Write a job file, and a first mapping suggested from both services. Overwrites nothing; run it again once the
    variables with the secrets are set, and it writes the mapping."""
    with exit_on_error(output):
        from dam_sync.api.new_job import NewJob, decide_options, write_first_mapping, write_new_job
        from dam_sync.api.new_side import NewSide

        sides = (
            NewSide.of(source or (), source_env or (), "source"),
            NewSide.of(target or (), target_env or (), "target"),
        )
        new = NewJob(job, *sides, name, mapping)
        asker = None if non_interactive else _ask
        files = write_new_job(new, asker, output.note, output.run_options.get("connectors"))
    for path in files:
        output.note(f"written: {path}")

    async def act(options: RunOptions) -> int:
        try:
            done = await write_first_mapping(job, options)
        except DamSyncError as error:
            error.hint = "; ".join(filter(None, (error.hint, AGAIN.format(job=shlex.quote(str(job))) * bool(files))))
            raise
        if asker is not None:
            done = decide_options(done, partial(_ask_between, output), output.note, options.connectors)
        if output.as_json:
            output.data({**done.as_json(), "written": [str(path) for path in (*files, *done.written)]})
        else:
            _show_new(output, done)
        output.next(*after_init(str(job), complete=not done.unset))
        return 0

    execute(output, act, repeats=True)


def _ask(question: str, default: str) -> str:
    answer: str = typer.prompt(question, default=default, show_default=bool(default), err=True)
    return answer


def _ask_between(output: Output, question: str, default: str) -> str:
    """Ask while progress is shown. Left by Ctrl-C or the end of the input, nothing is decided."""
    with output.line.hidden():
        try:
            return _ask(question, default)
        except typer.Abort:
            output.note("")  # ends the line of the question
            return default


def _show_new(output: Output, done: Initialized) -> None:
    for name in done.unset:
        output.say(f"not set: {name}")
    if done.unset:
        output.say(
            f"no mapping was written: set these variables (the template {done.template.name} says how), and run the "
            "same command again with the job file only"
        )
        return
    doubtful = f"{done.doubtful} of them with a score below 0.9"
    output.say(f"written: {done.mapping}, {counted(done.lines, 'line')}, {doubtful}: read every line")
    for note in done.notes:
        output.say(f"note: {note}")
    if done.review:
        output.say("look at these next, in this order:")
    for number, text in enumerate(done.review, 1):
        output.say(f"{number}. {text}")
