"""Complete copies of a job's state: exported, even during a run, and restored."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from dam_sync.api.atomic_io import atomic_write, translate_os_error
from dam_sync.api.stored_job import existing_store, state_exists, stored_job_of
from dam_sync.config.job import JobConfig
from dam_sync.model.clock import SYSTEM_CLOCK, Clock
from dam_sync.model.errors import ConfigError, DamSyncError
from dam_sync.model.run_options import seconds_of
from dam_sync.model.state_server import StateServer
from dam_sync.model.values import instant_text, parse_instant
from dam_sync.store.base import Storage
from dam_sync.store.file.contents import refuse_damaged, refuse_strange_values
from dam_sync.store.file.database import HELPERS, vacuum
from dam_sync.store.file.restored import OPENED
from dam_sync.store.note_keys import IMPORTED
from dam_sync.store.store import SqlStore
from dam_sync.store.tables import stamp


async def job_export(path: Path | JobConfig, target: Path, clock: Clock = SYSTEM_CLOCK) -> dict[str, Any]:
    """`state JOB export`: write a complete copy, without the lease of a run, even during a run."""
    job = stored_job_of(path)
    async with existing_store(job, clock, read_only=True) as store:
        await store.copy_to(target, to_keep=True)
    _note_copy(job, target, clock)
    return {"state": job.state_name, "copy": str(target), "bytes": target.stat().st_size}


async def job_gc(path: Path | JobConfig, older_than: str, clock: Clock = SYSTEM_CLOCK) -> dict[str, Any]:
    """`state JOB gc`: remove ledger rows of finished runs and reports older than this, and shrink the file. Links
    and the history of runs stay. Raises ConfigError for an invalid duration, StoreBusy during a run."""
    job, age = stored_job_of(path), timedelta(seconds=seconds_of(older_than, "--older-than"))
    async with existing_store(job, clock) as store:
        before = await store.size()
        run = await store.begin(job.name, "gc")
        removed = await store.gc(stamp(clock.now() - age))
        reports = await store.gc_reports(stamp(clock.now() - age))
        await store.finish(run.id, {"removed": removed, "reports": reports}, listed=False)
    await _shrink(job.state_place)
    async with existing_store(job, clock, read_only=True) as store:
        after = await store.size()
    return {
        "state": job.state_name,
        "ledger rows removed": removed,
        "reports removed": reports,
        "bytes before": before,
        "bytes": after,
    }


def _note_copy(job: JobConfig, copy: Path, clock: Clock) -> None:
    """Record that this file is a complete copy of the state as it is now. A disk that takes no writes is a reason to
    export, and without the record `check` only says less."""
    with suppress(DamSyncError), atomic_write(_exported(job), "the time of the export") as out:
        out.write(f"{instant_text(clock.now())}\n{copy.absolute()}\n")


def last_export(job: JobConfig) -> datetime | None:
    """When the state was last exported, or replaced by an export, according to the file next to it."""
    try:
        return parse_instant(_exported(job).read_text(encoding="utf-8")[:200].splitlines()[0])
    except (OSError, ValueError, IndexError):
        return None


async def job_import(path: Path | JobConfig, export: Path, clock: Clock = SYSTEM_CLOCK) -> dict[str, Any]:
    """`state JOB import`: replace the state with an export; the old state is kept next to it under another name.

    The next run looks for assets written after the export. Raises ConfigError for a file that is not a state
    of this job or that is damaged, StoreBusy during a run of the job.
    """
    job = stored_job_of(path)
    if export.absolute() == job.state_path.absolute():
        raise ConfigError(f"{export} is already the state of this job", hint="name the file that `export` wrote")
    fresh = _beside(job, clock, "importing")
    async with _opened(export, clock) as store:
        await store.copy_to(fresh)
    try:
        await asyncio.to_thread(refuse_damaged, fresh, export)
        await _prepare(fresh, job, export, clock)
        kept = await _put_aside(job, clock)
        await _replace(fresh, job.state_place, clock)
        _note_copy(job, export, clock)
    finally:
        for name in ("", *HELPERS, OPENED):
            fresh.with_name(fresh.name + name).unlink(missing_ok=True)
    async with existing_store(job, clock, read_only=True) as store:
        links = await store.link_count()
    return {"state": job.state_name, "imported": str(export), "links": links, "before": str(kept or "none")}


async def _prepare(fresh: Path, job: JobConfig, export: Path, clock: Clock) -> None:
    """Migrate the copy to the current format. Raises ConfigError if it belongs to another job."""
    async with _opened(fresh, clock, read_only=False) as store:
        await asyncio.to_thread(refuse_strange_values, fresh, export)
        runs = await store.runs(at_most=1)
        if runs and runs[0].job != job.name:
            hint = f"import it into the job called {runs[0].job}, or give this job that name"
            raise ConfigError(f"{export} is the state of the job {runs[0].job}, not of {job.name}", hint=hint)
        await store.set_meta(IMPORTED, True)


async def _put_aside(job: JobConfig, clock: Clock) -> Path | None:
    """Copy the current state while no run can begin. None if there is no state."""
    if not await state_exists(job):
        return None
    kept = _beside(job, clock, "before-import")
    if isinstance(job.state_place, Path):
        _refuse_no_state(job.state_place)
    async with existing_store(job, clock) as store:
        run = await store.begin(job.name, "import")
        await store.copy_to(kept, to_keep=True)
        await store.finish(run.id, None, listed=False)
    return kept


async def _shrink(place: Path | StateServer) -> None:
    if isinstance(place, Path):
        await asyncio.to_thread(vacuum, place)
    else:
        from dam_sync.store.server import store as server_store  # loads the driver

        await asyncio.to_thread(server_store.vacuum, place)


async def _replace(fresh: Path, state: Path | StateServer, clock: Clock) -> None:
    if not isinstance(state, Path):
        from dam_sync.store.server import store as server_store  # loads the driver

        await asyncio.to_thread(server_store.restore, state, fresh, clock, Storage())
        return
    try:
        for name in HELPERS:
            state.with_name(state.name + name).unlink(missing_ok=True)
        os.replace(fresh, state)
    except OSError as error:
        raise translate_os_error(error, state, "the state") from error


def _beside(job: JobConfig, clock: Clock, word: str) -> Path:
    stamp = instant_text(clock.now()).translate({ord(one): None for one in "-:."})
    return job.state_path.with_name(f"{job.state_path.stem}.{word}-{stamp}{job.state_path.suffix}")


def _exported(job: JobConfig) -> Path:
    """One file for each state: jobs of one name and folder may have theirs in different databases."""
    place = job.state_place
    if isinstance(place, Path):
        return place.with_suffix(".exported")
    which = hashlib.sha256(str(replace(place, user="")).encode()).hexdigest()
    return job.state_path.with_suffix(f".{which[:12]}.exported")


@asynccontextmanager
async def _opened(path: Path, clock: Clock, *, read_only: bool = True) -> AsyncIterator[SqlStore]:
    _refuse_no_state(path)
    store = await SqlStore.open(path, clock, read_only=read_only)
    try:
        yield store
    finally:
        await store.close()


def _refuse_no_state(path: Path) -> None:
    if not path.is_file():
        raise ConfigError(f"there is no file at {path}", hint="name the file that `state JOB export` wrote")
    if not path.stat().st_size:  # SQLite takes it for a new state
        raise ConfigError(f"{path} is empty", hint="name the file that `state JOB export` wrote")
