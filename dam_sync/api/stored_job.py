"""Opens the state of a job without loading a service."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dam_sync.config.job import JobConfig, load_job
from dam_sync.model.clock import Clock
from dam_sync.model.errors import ConfigError, DamSyncError, InternalError

if TYPE_CHECKING:
    from dam_sync.model.state_server import StateServer
    from dam_sync.store.base import Storage
    from dam_sync.store.store import SqlStore


def stored_job_of(job: Path | JobConfig) -> JobConfig:
    """The job of a file, without the checks that need its services (auth methods, options). Raises ConfigError with
    every diagnostic."""
    return job if isinstance(job, JobConfig) else load_job(job, None)


async def state_exists(job: JobConfig) -> bool:
    """Whether the job has a state. Raises ConfigError and StoreUnreachable for a server."""
    place = job.state_place
    if isinstance(place, Path):
        return place.exists()
    from dam_sync.store.store import server_extra

    with server_extra(place):
        from dam_sync.store.server.store import exists
    return await asyncio.to_thread(exists, place)


async def refuse_unwritable_state(job: JobConfig) -> None:
    """Raises ConfigError for a file that a run could not write, or a server on which the user lacks a right that a run
    needs; StoreUnreachable. Creates and changes nothing."""
    place = job.state_place
    if isinstance(place, Path):
        _refuse_unwritable_file(place)
        return
    from dam_sync.store.store import server_extra

    with server_extra(place):
        from dam_sync.store.server.shared_schema import SCHEMA
        from dam_sync.store.server.store import refuse_unwritable
    await asyncio.to_thread(refuse_unwritable, place, (place.schema, SCHEMA))


def _refuse_unwritable_file(state: Path) -> None:
    """The folder must be writable as well: SQLite keeps the newest commits in files of its own beside the state."""
    folder = next((each for each in state.absolute().parents if each.exists()), state.parent)
    refused = [path for path in (state, folder) if path.exists() and not os.access(path, os.W_OK)]
    if refused:
        hint = (
            f"let this user write {refused[0]}, mount its disk writable, or name another place with `state:` in the "
            "job file"
        )
        raise ConfigError(f"the state {state} cannot be written: {refused[0]} is read-only for this user", hint=hint)


async def existing_state(job: JobConfig) -> Path | StateServer:
    """The state of a job that ran before. Raises ConfigError if there is none."""
    if not await state_exists(job):
        raise ConfigError(
            f"there is no state at {job.state_name}", hint="run the job first, or correct `state:` in the job file"
        )
    return job.state_place


@contextmanager
def refusing_strange_values(place: Path | StateServer) -> Iterator[None]:
    """For a block that works with a state: an internal error becomes a ConfigError if the state, a file, has values
    that dam-sync never stores. Any other one stays a bug of ours."""
    try:
        yield
    except Exception as error:
        known = isinstance(error, DamSyncError) and not isinstance(error, InternalError)
        if isinstance(place, Path) and not known:
            from dam_sync.store.file.contents import refuse_strange_values  # takes longer to import than `status` has

            refuse_strange_values(place, place)
        raise


@asynccontextmanager
async def existing_store(
    job: JobConfig, clock: Clock, *, read_only: bool = False, storage: Storage | None = None
) -> AsyncIterator[SqlStore]:
    """The state of a job that ran before. Raises ConfigError if there is none."""
    place = await existing_state(job)
    from dam_sync.store.store import SqlStore  # takes longer to import than `status` has

    with refusing_strange_values(place):
        store = await SqlStore.open(place, clock, read_only=read_only, storage=storage)
        try:
            yield store
        finally:
            await store.close()
