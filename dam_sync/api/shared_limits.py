"""What all processes share whose states are in one database: rate limits, credentials that a service renews, and what
jobs decide about a target that they write into together."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dam_sync.config.job import JobConfig
from dam_sync.config.options import AuthMethod
from dam_sync.config.side import SideConfig
from dam_sync.http.shared_rates import JobRates, SharedRates
from dam_sync.model.clock import SystemClock
from dam_sync.model.ports import CredentialStore
from dam_sync.model.probed import Account
from dam_sync.model.run_options import RunOptions
from dam_sync.model.service import Service
from dam_sync.model.shared_target import UNSHARED, SharedTarget
from dam_sync.model.state_server import StateServer
from dam_sync.store.credential_store import FileCredentialStore


@asynccontextmanager
async def sharing_limits(job: JobConfig, options: RunOptions) -> AsyncIterator[RunOptions]:
    """The options with rates whose permits are leased from the database of the state; as they are if the state is a
    file, or if the clock is not that of the system, because the schedule follows the time of the database.

    Each process that calls the services of the job does this for itself, and connects with the options that it gets.
    Raises ConfigError, StoreUnreachable.
    """
    place = _server_of(job, options)
    if place is None:
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


@asynccontextmanager
async def sharing_target(job: JobConfig, options: RunOptions, *, read_only: bool) -> AsyncIterator[SharedTarget]:
    """What other jobs of the database decide about the target; `identify_target` comes before its first use. Unshared
    where limits are. Raises ConfigError, StoreUnreachable."""
    place = _server_of(job, options)
    if place is None:
        yield UNSHARED
        return
    from dam_sync.store.store import server_extra

    with server_extra(place):
        from dam_sync.store.server_target import ServerTarget
    shared = await ServerTarget.open(place, options.storage, read_only=read_only)
    try:
        yield shared
    finally:
        await shared.close()


async def identify_target(shared: SharedTarget, job: JobConfig, target: Service, account: Account) -> None:
    """Say by which name all jobs know the target: what it is, where it is, and how it calls itself."""
    urls = [_plain(url) for url in (job.target.base_url, job.target.tenant_url or "")]
    await shared.identify(json.dumps([job.target.kind, *urls, account.tenant]), target.limits.lag)


def _plain(url: str) -> str:
    """One spelling of it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}" if parts.netloc else url


def _server_of(job: JobConfig, options: RunOptions) -> StateServer | None:
    """The server of the state, if the clock is the one of the system, as the one of the server is."""
    place = job.state_place
    return None if isinstance(place, Path) or not isinstance(options.clock, SystemClock) else place


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
