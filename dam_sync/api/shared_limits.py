"""What all processes share whose states are in one database: rate limits, and credentials that a service renews."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from dam_sync.config.job import JobConfig
from dam_sync.config.options import AuthMethod
from dam_sync.config.side import SideConfig
from dam_sync.http.shared_rates import JobRates, SharedRates
from dam_sync.model.clock import SystemClock
from dam_sync.model.ports import CredentialStore
from dam_sync.model.run_options import RunOptions
from dam_sync.store.credential_store import FileCredentialStore


@asynccontextmanager
async def sharing_limits(job: JobConfig, options: RunOptions) -> AsyncIterator[RunOptions]:
    """The options with rates whose permits are leased from the database of the state; as they are if the state is a
    file, or if the clock is not that of the system, because the schedule follows the time of the database.

    Each process that calls the services of the job does this for itself, and connects with the options that it gets.
    Raises ConfigError, StoreUnreachable.
    """
    place = job.state_place
    if isinstance(place, Path) or not isinstance(options.clock, SystemClock):
        yield options
        return
    from dam_sync.store.store import server_extra

    with server_extra(place):
        from dam_sync.store.permits import ServerPermits
    permits = await ServerPermits.open(place, options.storage)
    rates = options.rates or JobRates(SharedRates(options.clock))
    rates.share(permits)
    try:
        yield replace(options, rates=rates)
    finally:
        rates.share(None)
        await permits.close()


def vault_of(job: JobConfig, side: SideConfig, auth: AuthMethod | None, storage: Any) -> CredentialStore:
    """Where credentials that the service renews are kept: in a file next to the state, or in its database."""
    file, place = FileCredentialStore(job.state_path.with_suffix(".vault")), job.state_place
    if isinstance(place, Path):
        return file
    from dam_sync.store.store import server_extra

    with server_extra(place):
        from dam_sync.store.server_credentials import ServerCredentialStore
    given = auth.model_dump(mode="json") if auth else None
    return ServerCredentialStore(place, json.dumps([side.kind, given]), file, storage)
