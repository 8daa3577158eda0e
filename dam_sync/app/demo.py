"""The main job with nothing to install or own: two emulated tenants, a made-up library, plan, run, verify."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dam_sync.app.emulating import ready_mapping
from dam_sync.app.jobs import plan_job, run_job, verify_job
from dam_sync.app.wish import Wish
from dam_sync.emulation.library import write_empty_tenant, write_library
from dam_sync.model.errors import DamSyncError

SOURCE, TARGET = "a_hypermedia", "e_profiles"
READY_SECONDS = 60
Tell = Callable[[str], None]

JOB = """\
# Written by `dam-sync demo`: moves a made-up library from one emulated tenant to another.
version: 1
name: demo
source:
  kind: a_hypermedia
  base_url: {source}
  auth: {{flow: basic, login: dam-sync, password: secret-a}}
target:
  kind: e_profiles
  base_url: {target}
  tenant_url: {target}
  auth: {{flow: token, token: wat_demo_b1d3c61e03c6}}
  options: {{version_policy: file_only}}
mapping: {mapping}
state: {state}
"""


async def run_demo(folder: Path, assets: int, wish: Wish, show: Callable[[Mapping[str, Any]], None], tell: Tell) -> int:
    """Gives the exit code: 0 when every asset is equal on both sides."""
    folder = folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tell(f"making a library of {assets} assets in {folder}")
    catalogue = write_library(folder, assets)
    empty = write_empty_tenant(folder)
    source = [SOURCE, "--load", str(catalogue), "--files", str(folder / "files")]
    target = [TARGET, "--load", str(empty), "--lag", "1"]
    async with emulated(source) as source_url, emulated(target) as target_url:
        tell(f"the source is emulated at {source_url}, the target at {target_url}")
        job = _write_job(folder, source_url, target_url)
        plan = await plan_job(job, _like(wish, output=folder / "plan.json"))
        tell(f"the plan: {sum(plan.operations.values())} writes, see {folder / 'plan.json'}")
        run = await run_job(job, wish)
        show(run.as_json())
        verdict = await verify_job(job, _like(wish, html=folder / "report.html"), "digest", "100%")
        show(verdict.as_json())
    tell(f"the job file: {job}")
    tell(f"the report: {folder / 'report.html'}")
    if run.parked:
        return 4
    return 0 if verdict.clean else 3


@asynccontextmanager
async def emulated(arguments: Sequence[str]) -> AsyncIterator[str]:
    """One emulated service in a process of its own; gives its address and stops it afterwards."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "dam_sync", "emulate", *arguments, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield await _address(process)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    if process.stdout is None:
        raise DamSyncError("the emulated service gave no address")
    line = await asyncio.wait_for(process.stdout.readline(), READY_SECONDS)
    if not line:
        raise DamSyncError("the emulated service did not start", hint="start it alone: dam-sync emulate a_hypermedia")
    url: str = json.loads(line)["url"]
    return url


def _like(wish: Wish, **changes: Path) -> Wish:
    """The same wish with other outputs, stopped by the same Ctrl-C."""
    return Wish(**changes, ask=wish.ask, progress=wish.progress)  # type: ignore[arg-type]


def _write_job(folder: Path, source: str, target: str) -> Path:
    path = folder / "job.yaml"
    mapping = ready_mapping("demo-a-to-e.yaml")
    path.write_text(
        JOB.format(source=source, target=target, mapping=mapping, state=folder / "demo.db"), encoding="utf-8"
    )
    return path
