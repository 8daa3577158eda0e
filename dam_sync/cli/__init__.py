"""The command line: arguments in, exit code out. One module per group of commands; what a command does is decided in
`api`, which a command imports when it runs, so that `--help` and shell completion stay fast."""

from __future__ import annotations

import gc
import os
import sys
from typing import Annotated, TextIO, cast

import typer

from dam_sync import __version__
from dam_sync.cli.emulation import demo, emulate
from dam_sync.cli.mapping import map_
from dam_sync.cli.migration import adopt, check, plan, run, verify
from dam_sync.cli.new_job import init
from dam_sync.cli.parked import errors
from dam_sync.cli.preparation import inspect, rehearse
from dam_sync.cli.records import explain, report
from dam_sync.cli.redirects import redirects
from dam_sync.cli.rollback import rollback
from dam_sync.cli.state import conflicts, signoff, state
from dam_sync.cli.status import status
from dam_sync.cli.topics import help_
from dam_sync.cli.usage import CommandGroup, RunCommand
from dam_sync.cli.watch import watch
from dam_sync.model.errors import NO_ROOM
from dam_sync.report.output import StdoutFull, escape_what_stdout_lacks, let_go_of_stdout, unwritten
from dam_sync.report.streams import MessageStream, ResultStream

cli = typer.Typer(
    name="dam-sync",
    cls=CommandGroup,
    help="Migrates digital-asset libraries between services and keeps them in sync.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
COMMANDS = (
    *(demo, init, inspect, check, plan, rehearse, run, watch, verify, adopt),
    *(signoff, status, errors, conflicts, explain, report, redirects, rollback, state, emulate),
)
for function in COMMANDS:
    cli.command(cls=RunCommand if function is run else None)(function)
cli.command("help")(help_)
cli.add_typer(map_, name="map")


@cli.callback(invoke_without_command=True)
def top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """See `dam-sync COMMAND --help`."""
    if version:
        sys.stdout.write(f"dam-sync {__version__}\n")
        raise typer.Exit


YOUNG_OBJECTS = 20_000  # of which a part may be in cycles
CTRL_C = 130  # the exit code of typer for Ctrl-C outside of a command, while it parses what was typed


def main() -> None:
    """The `dam-sync` command. Its process looks for reference cycles less often than by default: loading the libraries
    and reading pages of rows make many objects and hardly any cycle, and looking took up to a fifth of its time.
    Raises KeyboardInterrupt for a Ctrl-C before the command begins."""
    gc.set_threshold(YOUNG_OBJECTS)
    _open_closed_streams()
    escape_what_stdout_lacks()
    _outlive_streams()
    try:
        try:
            cli()
        finally:
            sys.stdout.flush()
    except OSError as problem:
        sys.exit(_unwritten(problem))
    except SystemExit as ended:
        if ended.code == CTRL_C:
            raise KeyboardInterrupt from None
        raise


def _unwritten(problem: OSError) -> int:
    """The exit code where standard output cannot be written. Raises any other error."""
    if not isinstance(problem, StdoutFull) and problem.errno not in NO_ROOM:
        raise problem
    let_go_of_stdout()  # what is buffered would fail again at the end
    sys.stderr.write(f"{unwritten(problem)}\n")
    return 1


def _outlive_streams() -> None:
    """Let no message that cannot be written end a command, and no reader that has read enough."""
    if not isinstance(sys.stderr, MessageStream):
        sys.stderr = cast("TextIO", MessageStream(sys.stderr))
    if not isinstance(sys.stdout, ResultStream):
        sys.stdout = cast("TextIO", ResultStream(sys.stdout))


def _open_closed_streams() -> None:
    """Open each standard stream that whoever started the process had closed, so that messages can be written and no
    other file gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 -- open until the process ends
