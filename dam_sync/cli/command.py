"""What all commands share: common options, logs, errors and exit codes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NoReturn, get_type_hints

import typer

from dam_sync.cli.options import AsJson, LogFormat, NoProgress, Verbose, Yes
from dam_sync.model.errors import DamSyncError
from dam_sync.report.output import Output

if TYPE_CHECKING:
    from dam_sync.model.run_options import RunOptions

COMMON: tuple[tuple[str, Any, Any], ...] = (
    ("as_json", AsJson, False),
    ("no_progress", NoProgress, False),
    ("verbose", Verbose, 0),
    ("log_format", LogFormat, "console"),
    ("yes", Yes, False),  # accepted by every command; none of them asks today
)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that every command takes, and pass an `Output` made from them as the first argument.

    `cli(arguments, obj={"clock": ...})` passes further `RunOptions` to the command.
    """
    hints = get_type_hints(function, include_extras=True)
    own = list(signature(function).parameters.values())[1:]
    parameters = [
        *(each.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[each.name]) for each in own),
        Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context),
        *(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind) for name, kind, default in COMMON),
    ]

    @wraps(function)
    def wrapped(*, context: typer.Context, **given: Any) -> None:
        as_json, no_progress, verbose, log_format, _ = (given.pop(name) for name, _, _ in COMMON)
        output = Output(as_json, no_progress, verbose, context.obj)
        with exit_on_error(output):
            _set_up_logs(verbose, log_format)
        function(output, **given)

    wrapped.__signature__ = signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
    return wrapped


def execute(output: Output, act: Callable[[RunOptions], Coroutine[Any, Any, int]], /, **options: Any) -> NoReturn:
    """Run a command's coroutine with these options and exit with its code; every error is printed as two lines and sets
    the exit code."""
    from dam_sync.api.running import run_async, snapshots  # loads asyncio
    from dam_sync.model.run_options import RunOptions

    with exit_on_error(output):
        run_options = RunOptions(**options, **output.run_options)
    try:
        line = output.show_progress(snapshots(run_options))
        line.start()
        try:
            code = run_async(run_options, act)
        finally:
            line.stop()
    except Exception as error:  # noqa: BLE001 -- a bug of ours is reported, not hidden
        from dam_sync.api.logs import reported  # loads structlog

        known = reported(error)
        output.error(known)
        code = known.exit_code
    raise typer.Exit(code)


@contextmanager
def exit_on_error(output: Output) -> Iterator[None]:
    """Print an expected error and exit with its code."""
    try:
        yield
    except DamSyncError as error:
        output.error(error)
        raise typer.Exit(error.exit_code) from None


def _set_up_logs(verbose: int, log_format: str) -> None:
    from dam_sync.api.logs import set_up_logs  # loads structlog

    set_up_logs(verbose, log_format)
