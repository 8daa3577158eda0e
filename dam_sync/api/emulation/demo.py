"""A complete migration without an account: two emulated tenants, a generated library, plan, run, verify."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dam_sync.api.atomic_io import atomic_write
from dam_sync.api.emulation.demo_folder import keep, prepare
from dam_sync.api.emulation.demo_server import state_server
from dam_sync.api.emulation.emulate import ready_mapping
from dam_sync.api.emulation.emulator_process import emulate_arguments, emulated
from dam_sync.api.emulation.sandbox import Emulated, write_job, write_suggested_mapping
from dam_sync.api.emulation.tenant_options import write_tenant_options
from dam_sync.api.jobs import plan_job, run_job, unfinished, verify_job
from dam_sync.api.state_copies import job_export
from dam_sync.api.stored_job import state_exists, stored_job_of
from dam_sync.emulators import profile_of
from dam_sync.emulators.kit.library import MARKS, write_empty_tenant, write_library
from dam_sync.model.run_options import RunOptions
from dam_sync.model.wording import counted
from dam_sync.report.report import Report

READY = ("a_hypermedia", "e_profiles")  # the pair with a handwritten mapping
SHOWN_TO_MORE = ("archived_as_published", "groups_widened")
"""Exposure rules that the demo accepts: some of its assets are archived, and in some services all of them have a
group."""
LOOK_SECONDS = 0.1
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Demo:
    """Options of a demo: how many assets, from which kind to which, the folder, and how many worker processes write,
    with the state on a PostgreSQL server that is started for it; 0 for none, with the state in a file."""

    folder: Path
    assets: int = 300
    source: str = READY[0]
    target: str = READY[1]
    workers: int = 0

    @property
    def ready(self) -> bool:
        """Whether there is a handwritten mapping; otherwise one is suggested from the two schemas."""
        return (self.source, self.target) == READY


async def run_demo(demo: Demo, options: RunOptions, show: Callable[[Mapping[str, Any]], None], tell: Tell) -> int:
    """Run the demo. Returns the exit code: 0 if every asset is equal on both sides."""
    folder = demo.folder.resolve()
    async with _job_of(demo, folder, tell) as job:
        plan = await plan_job(job, replace(options, output=folder / "plan.json"))
        tell(f"the plan: {sum(plan.operations.values())} writes, see {folder / 'plan.json'}")
        run = await _run(job, demo.workers, options, tell)
        show(run.as_json())
        verdict = await verify_job(job, replace(options, html=folder / "report.html"), "digest", "100%")
        show(verdict.as_json())
    tell("both emulated services have ended: `status`, `report`, `errors` and `explain` of the job still work")
    tell(f"the job file: {job}")
    tell(f"the report: {folder / 'report.html'}")
    code, stop = unfinished(run)
    if stop is not None:
        tell(f"{stop}; {stop.hint}")
    return code or (0 if verdict.clean else 3)


async def plan_demo(demo: Demo) -> Report:
    """The plan of a demo, without its run."""
    async with _job_of(demo, demo.folder.resolve(), lambda _: None) as job:
        return await plan_job(job, RunOptions())


@asynccontextmanager
async def _job_of(demo: Demo, folder: Path, tell: Tell) -> AsyncIterator[Path]:
    """The job file of a demo, between two tenants that are emulated while it is used."""
    foreign = prepare(folder)
    tell(f"generating a library of {counted(demo.assets, 'asset')} in {folder}")
    catalogue = write_library(folder, demo.assets)
    empty = write_empty_tenant(folder, like_the_source=not demo.ready)
    write_tenant_options(catalogue, (demo.source, demo.target))
    keep(folder, foreign)
    source = [*emulate_arguments(demo.source), "--load", str(catalogue), "--files", str(folder / "files")]
    target = [*emulate_arguments(demo.target), "--load", str(empty)]
    async with emulated(source) as source_url, emulated(target) as target_url, _state_of(demo, folder, tell) as state:
        tell(f"the source is emulated at {source_url}, the target at {target_url}")
        sides = Emulated(demo.source, source_url), Emulated(demo.target, target_url)
        job = await _write_job(folder, *sides, state, demo.ready)
        keep(folder, foreign)
        yield job


async def _run(job: Path, workers: int, options: RunOptions, tell: Tell) -> Report:
    """The run; with workers, they and their dashboard are named as soon as they are there."""
    if not workers:
        return await run_job(job, options)
    naming = asyncio.ensure_future(_name_workers(workers, options, tell))
    try:
        return await run_job(job, replace(options, workers=workers))
    finally:
        naming.cancel()


async def _name_workers(workers: int, options: RunOptions, tell: Tell) -> None:
    while not options.progress.dashboard:
        await options.clock.sleep(LOOK_SECONDS)
    tell(f"{workers} worker processes write the assets; Dask shows them at {options.progress.dashboard} until the end")


@asynccontextmanager
async def _state_of(demo: Demo, folder: Path, tell: Tell) -> AsyncIterator[str]:
    """Where the state is: in a file, or for workers on a server. When that ends, a copy of the state takes its place in
    the job file, also if the run was interrupted."""
    path = folder / "demo.db"
    if not demo.workers:
        yield str(path)
        return
    async with state_server() as url:
        tell("a PostgreSQL server was started for the state")
        try:
            yield url
        finally:
            await _move_state(folder / "job.yaml", url, path, tell)


async def _move_state(job: Path, url: str, path: Path, tell: Tell) -> None:
    if not (job.is_file() and await state_exists(stored_job_of(job))):
        return
    await job_export(job, path)
    text = job.read_text(encoding="utf-8").replace(url, str(path))
    with atomic_write(job, "the job file") as out:
        out.write(text)
    tell(f"the state was copied to {path}, which the job file names now; the server ends with the demo")


async def _write_job(folder: Path, source: Emulated, target: Emulated, state: str, ready: bool) -> Path:
    mapping = ready_mapping("demo-a-to-e.yaml") if ready else folder / "mapping.yaml"
    policy = {"exposure": dict.fromkeys(SHOWN_TO_MORE, "accept")}
    job = write_job(folder / "job.yaml", "demo", source, target, mapping, state=state, policy=policy)
    if not ready:
        await write_suggested_mapping(job, mapping, profile_of(target.kind).prefix + MARKS)
    return job
