"""What all commands share: common options, logs, errors and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, get_type_hints

import typer

from dam_sync.cli.options import COMMON, OTHER_FORMS, WRITTEN, SharedOption
from dam_sync.model.errors import ConfigError, DamSyncError, Transient, too_long_name
from dam_sync.report.output import Output

if TYPE_CHECKING:
    from dam_sync.model.run_options import RunOptions

Function: TypeAlias = Callable[..., None]


def command(*shared: SharedOption) -> Callable[[Function], Function]:
    """Add `shared`, which become `RunOptions`, and the options that every command takes; pass an `Output` made from
    them as the first argument.

    `cli(arguments, obj={"clock": ...})` passes further `RunOptions` to the command.
    """

    def decorate(function: Function) -> Function:
        hints = get_type_hints(function, include_extras=True)
        own = list(signature(function).parameters.values())[1:]
        parameters = [
            *(each.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[each.name]) for each in own),
            Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context),
            *(
                Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=each.annotation)
                for each in (*shared, *COMMON)
            ),
        ]

        @wraps(function)
        def wrapped(*, context: typer.Context, **given: Any) -> None:
            run_options = {each.name: given.pop(each.name) for each in shared}
            common = {each.name: given.pop(each.name) for each in COMMON}
            output = _output(common, {**_given(run_options), **(context.obj or {})})
            with exit_on_interrupt(output), exit_on_error(output):
                from dam_sync.api.logs import logging_to  # loads structlog

                _refuse_undecodable(context, {**given, **run_options})
                everything = {**given, **run_options, **common}
                _refuse_other_forms(context, everything)
                _refuse_shared_files(context, everything)
                _refuse_own_files(everything, output)
                context.with_resource(logging_to(common["log_file"], common["verbose"], common["log_format"]))
            with exit_on_interrupt(output):
                function(output, **given)

        wrapped.__signature__ = signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
        return wrapped

    return decorate


def _refuse_undecodable(context: typer.Context, given: Mapping[str, Any]) -> None:
    """Raise ConfigError for an argument that is not text in the encoding of this system. A path may be any bytes."""
    for name, value in given.items():
        texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        if not all(_is_valid(text) for text in texts if isinstance(text, str)):
            raise ConfigError(
                f"{_as_in_usage(context, name)} is not valid text", hint="check the encoding of the shell"
            )


def _as_in_usage(context: typer.Context, name: str) -> str:
    """A parameter as the usage of the command shows it: `the argument ID`, `the option --only`."""
    found = next(each for each in context.command.params if each.name == name)
    if found.param_type_name == "option":
        return f"the option {max(found.opts, key=len)}"
    return f"the argument {getattr(found, 'metavar', None) or name.upper()}"


def _refuse_other_forms(context: typer.Context, given: Mapping[str, Any]) -> None:
    """Raise ConfigError if a table would be written into a file whose name says that it is something else: the end of
    a name decides the form."""
    for name, path in given.items():
        if not isinstance(path, Path) or path.suffix.lower() not in OTHER_FORMS:
            continue
        found = next((each for each in context.command.params if each.name == name), None)
        if found is not None and "--csv" in found.opts:
            text = f"{_as_in_usage(context, name)} writes a table of CSV, and {path} ends like another form"
            raise ConfigError(text, hint="name a file that ends with .csv; --json prints the same as JSON")


def _refuse_shared_files(context: typer.Context, given: Mapping[str, Any]) -> None:
    """Raise ConfigError if two options name one file: the second would replace what the first wrote."""
    seen: dict[str, str] = {}
    for name, path in given.items():
        if name in WRITTEN and isinstance(path, Path) and (path.is_file() or not path.exists()):
            first = seen.setdefault(os.path.realpath(path), name)
            if first != name:
                both = f"{_as_in_usage(context, first)} and {_as_in_usage(context, name)}"
                raise ConfigError(f"{both} name the same file {path}; nothing was done", hint="name another file")


def _refuse_own_files(given: Mapping[str, Any], output: Output) -> None:
    """Raise ConfigError if what is to be written would replace a file of the job."""
    written = [path for name, path in given.items() if name in WRITTEN and isinstance(path, Path) and path.exists()]
    jobs = [job for job in (given.get("job"), *(given.get("jobs") or ())) if isinstance(job, Path) and job.is_file()]
    if written and jobs:
        from dam_sync.api.own_files import refuse_own_files  # loads the mapping

        refuse_own_files(jobs, written, output.run_options.get("connectors"))


def _is_valid(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def execute(
    output: Output,
    act: Callable[[RunOptions], Coroutine[Any, Any, int]],
    on_hangup: Callable[[], None] | None = None,
    *,
    writes: bool = False,
    repeats: bool = False,
    recorded: str = "",
) -> NoReturn:
    """Run a command's coroutine and exit with its code; every error is printed as two lines and sets the exit
    code. on_hangup, repeats: see `run_async`. writes: the first Ctrl-C says what is waited for. recorded: a command
    that shows again what was done: a result that cannot be printed as text is no failure then."""
    from dam_sync.api.running import run_async, snapshots  # loads asyncio
    from dam_sync.model.run_options import RunOptions

    with exit_on_error(output):
        run_options = RunOptions(**output.run_options)
    output.keep_on()
    try:
        line = output.show_progress(snapshots(run_options))
        line.start()
        try:
            on_stop = output.note if writes else None
            code = run_async(run_options, act, on_hangup, on_stop=on_stop, repeats=repeats)
        finally:
            line.stop()
    except Exception as error:  # noqa: BLE001 -- a bug of ours is reported, not hidden
        from dam_sync.api.logs import reported  # loads structlog

        known = reported(error)
        output.error(known)
        code = known.exit_code
    raise typer.Exit(_with_lost(output, code, recorded))


def _with_lost(output: Output, code: int, recorded: str) -> int:
    """The exit code, considering that results may not have been printed."""
    if not output.lost or code:
        return code
    if recorded and not output.as_json:
        output.note("hint: the command is done, and recorded: the next one shows it")
        output.next(recorded)
        return code
    output.note("hint: free some space, or name another file, and run the same command again")
    return 1


def confirm(output: Output, question: str) -> None:
    """Ask before something is removed, and exit with 1 unless the user confirms. Without a terminal nobody is asked."""
    if output.yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    if not typer.confirm(question, err=True):
        output.note("nothing was done")
        raise typer.Exit(1)


@contextmanager
def exit_on_interrupt(output: Output) -> Iterator[None]:
    """Exit with 5 if a question is left by Ctrl-C or the end of the input, or after a Ctrl-C while the command is
    loaded: nothing has begun then."""
    try:
        yield
    except (KeyboardInterrupt, typer.Abort) as stopped:
        asked = isinstance(stopped, typer.Abort)
        if asked:
            output.note("")  # ends the line of the question
        how = "at a question" if asked else "by Ctrl-C"
        error = Transient(f"stopped {how} before anything was done", hint="run the same command again")
        output.error(error)
        raise typer.Exit(error.exit_code) from None


@contextmanager
def exit_on_error(output: Output) -> Iterator[None]:
    """Print an expected error and exit with its code."""
    try:
        yield
    except (DamSyncError, OSError) as problem:
        error = problem if isinstance(problem, DamSyncError) else too_long_name(problem)
        if error is None:
            raise
        output.error(error)
        raise typer.Exit(error.exit_code) from None


def _output(common: dict[str, Any], run_options: dict[str, Any]) -> Output:
    own = {name: common[name] for name in ("yes", "log_file")}
    return Output(common["as_json"], common["no_progress"], common["verbose"], run_options, **own)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Those that were given, as `RunOptions` takes them."""
    return {
        name: frozenset(value) if isinstance(value, list) else value
        for name, value in options.items()
        if value is not None
    }
