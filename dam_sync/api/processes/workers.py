"""Runs with worker processes: which are refused, and how their workers take part."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dam_sync.api.bootstrap import source_secret
from dam_sync.config.job import JobConfig
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.run.execute import execute
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import ConfigError, WorkersGone
from dam_sync.model.run_options import RunOptions

if TYPE_CHECKING:  # needs the extra `cluster`
    from dam_sync.cluster.workers import DaskWorkers

STATE_HINT = (
    "`state JOB export -o FILE`, then set `state: postgresql+psycopg://…` in the job file, then `state JOB import FILE`"
)


def refuse_workers(job: JobConfig, options: RunOptions) -> None:
    """Raises ConfigError for a job that several processes cannot write: before anything is opened."""
    if options.workers is None and not options.cluster:
        return
    if options.workers is not None and options.cluster:
        raise ConfigError("--workers and --cluster exclude each other", hint="leave one of them out")
    if not job.state_on_server:
        message = f"several processes cannot share the state {job.state_path}, which is a file"
        raise ConfigError(message, hint=STATE_HINT)
    if job.given_mapping is not None or not _file_of(job).is_file():
        hint = "write a job file, and load it with `Job.load`"
        raise ConfigError("worker processes read the job file, and this job was made in code", hint=hint)
    if options.transport is not None or options.connectors is not None or options.clock is not SYSTEM_CLOCK:
        raise ConfigError("worker processes have their own clock, transport and connectors", hint="leave them out")


def _file_of(job: JobConfig) -> Path:
    """The job file."""
    return job.folder / Path(job.written.file).name


@asynccontextmanager
async def workers_of(options: RunOptions) -> AsyncIterator[tuple[DaskWorkers | None, RunOptions]]:
    """The worker processes of a run, and its options with the number of processes that share the limits; none unless
    they are asked for. Raises ConfigError without the extra `cluster`, WorkersGone if there are none."""
    if options.workers is None and not options.cluster:
        yield None, options
        return
    from dam_sync.cluster.dask_client import dashboard_of, local_client, remote_client, start_hint, workers_at
    from dam_sync.cluster.workers import DaskWorkers

    async with AsyncExitStack() as stack:
        opening = remote_client(options.cluster) if options.cluster else local_client(options.workers or 1)
        client = await stack.enter_async_context(opening)
        number = len(await workers_at(client))
        if not number:
            hint = f"start workers with `dask worker {options.cluster}`, then run again"
            raise WorkersGone(f"the Dask scheduler {options.cluster} has no workers", hint=hint)
        options.progress.dashboard = dashboard_of(client)
        workers = DaskWorkers(client, number, start_hint(options.cluster) if options.cluster else "")
        stack.push_async_callback(workers.end)
        yield workers, replace(options, processes=number + 1)


async def execute_with(
    workers: DaskWorkers | None, job: JobConfig, context: RunContext, *beside: Coroutine[Any, Any, None]
) -> None:
    """See `engine.run.execute`; with workers, which have left when it returns."""
    if workers is None:
        await execute(context, *beside)
        return
    await take_part(workers, job, context)
    await execute(context, *beside, workers.keep())
    await workers.end()


async def take_part(workers: DaskWorkers, job: JobConfig, context: RunContext) -> None:
    """The workers will write for this run, which is about to be executed."""
    from dam_sync.api.processes.worker_process import RunSettings, open_worker
    from dam_sync.cluster.links import LinkSeal
    from dam_sync.cluster.messages import Joining, program

    options = context.task.options

    def joining() -> Joining:
        settings = RunSettings(
            path=str(_file_of(job)),
            run=context.state.run,
            mapping=context.mapping.crosswalk.digest,
            places=options.processes - 1,
            processes=options.processes,
            max_calls=options.max_calls,
            full=options.full,
            only=options.only,
            repair=context.task.repair,
            rotation=context.task.rotation,
            planned=context.task.planned and replace(context.task.planned, store=None),  # type: ignore[arg-type]
            accept_changes=options.accept_changes,
        )
        return Joining(f"{context.state.run.id} {context.state.run.owner}", open_worker, settings, program())

    workers.prepare(context, joining, LinkSeal(await source_secret(job, options), context.state.run.owner))
    context.workers = workers
