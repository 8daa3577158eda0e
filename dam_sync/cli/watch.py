"""The command `watch`, which runs jobs on their schedules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dam_sync.cli.command import command, execute, exit_on_error
from dam_sync.report.output import Output

if TYPE_CHECKING:
    from dam_sync.model.run_options import RunOptions
    from dam_sync.watch.watcher import Watcher


@command()
def watch(
    output: Output,
    jobs: Annotated[list[Path], typer.Argument(metavar="JOB...", help="The job files (YAML), each with a schedule.")],
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Serve /health, /metrics and webhooks on this address.")
    ] = "",
    page: Annotated[
        bool, typer.Option("--page", help="Serve a page that shows the jobs, on the address of --listen or a free one.")
    ] = False,
    systemd: Annotated[
        bool, typer.Option("--systemd", help="Print a systemd unit that runs this command, and exit.")
    ] = False,
    unsubscribe: Annotated[
        bool, typer.Option("--unsubscribe", help="End the webhook subscriptions of these jobs, and exit.")
    ] = False,
) -> None:
    """Run jobs on their schedules until Ctrl-C. SIGHUP reads the job files again."""
    reloads: list[Callable[[], None]] = []

    async def act(options: RunOptions) -> int:
        from dam_sync.watch.watcher import Watcher

        watcher = Watcher(jobs, options, output.note)
        reloads.append(watcher.reload)
        if unsubscribe:
            for line in await watcher.unsubscribe():
                output.say(line)
        else:
            await _served(watcher, options, listen, page, output)
        return 0

    def on_hangup() -> None:
        for reload in reloads:
            reload()

    if systemd:
        _print_unit(jobs, listen, page, output)
        return
    output.progress = False  # several runs at once have no single line
    execute(output, act, on_hangup)


async def _served(watcher: Watcher, options: RunOptions, listen: str, page: bool, output: Output) -> None:
    """Watch, with the pages, until it is stopped."""
    from contextlib import AsyncExitStack

    from dam_sync.watch.page import OWN_PORT, kept, page_application, page_of_watch
    from dam_sync.watch.server import addresses_of, application, serving

    await watcher.hold()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(watcher.release)
        await watcher.remember()
        live = page_of_watch(watcher, options) if page else None
        for address in addresses_of(watcher.jobs, listen):
            url = await stack.enter_async_context(serving(application(watcher, live if listen else None), address))
            output.note(f"listening on {url}")
        if live is not None:
            if not listen:
                url = await stack.enter_async_context(serving(page_application(live), OWN_PORT))
            output.note(f"page: {live.key.address(url)}")
            await stack.enter_async_context(kept(live))
        for job in watcher.jobs:
            output.note(f"watching {job.name}")
        await watcher.run()
    output.note("stopped; the same command continues")


def _print_unit(jobs: list[Path], listen: str, page: bool, output: Output) -> None:
    with exit_on_error(output):
        from dam_sync.api.job import Job
        from dam_sync.watch.server import ListenAddress
        from dam_sync.watch.systemd import unit_of

        options = ["--page"] if page else []
        if listen:
            ListenAddress.of(listen)
            options = ["--listen", listen, *options]
        if output.verbose:
            options.append("-" + "v" * output.verbose)
        if output.log_file is not None:
            options += ["--log-file", str(output.log_file.absolute())]
        output.say(unit_of(jobs, [Job.load(job).name for job in jobs], options).rstrip("\n"))
