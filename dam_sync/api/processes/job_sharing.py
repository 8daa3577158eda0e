"""What all processes share whose states are in one database: rate limits, credentials that a service renews, and what
jobs decide about a target that they write into together."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from dam_sync.config.job import JobConfig
from dam_sync.config.options import AuthMethod
from dam_sync.config.side import SideConfig
from dam_sync.http.rates.shared import JobRates, SharedRates
from dam_sync.http.urls import one_spelling
from dam_sync.model.clock import SystemClock
from dam_sync.model.ports import CredentialStore
from dam_sync.model.probed import Account
from dam_sync.model.run_options import RunOptions
from dam_sync.model.service import Service
from dam_sync.model.shared_target import UNSHARED, SharedTarget
from dam_sync.store.credential_store import FileCredentialStore


@asynccontextmanager
async def sharing(
    job: JobConfig, options: RunOptions, *, read_only: bool
) -> AsyncIterator[tuple[RunOptions, SharedTarget]]:
    """The options with rates whose permits are leased from the database of the state, and the target as other jobs of
    the database know it (`identify_target` comes before its first use). Nothing is shared if the state is a file, or if
    the clock is not that of the system, because schedules follow the time of the database.

    Each process that calls the services of the job does this for itself, and connects with what it gets. read_only:
    nothing is written to the target. Raises ConfigError, StoreUnreachable.
    """
    place = job.state_place
    if isinstance(place, Path) or not isinstance(options.clock, SystemClock):
        yield options, UNSHARED
        return
    from dam_sync.store.store import server_extra

    with server_extra(place):
        from dam_sync.store.server.notices import ServerNotices
        from dam_sync.store.server.permits import ServerPermits
        from dam_sync.store.server.target import ServerTarget
    notices = ServerNotices(place)
    async with AsyncExitStack() as stack:
        permits = await ServerPermits.open(place, options.storage, notices)
        stack.push_async_callback(permits.close)
        shared = await ServerTarget.open(place, options.storage, notices, read_only=read_only)
        stack.push_async_callback(shared.close)
        notices.start()
        stack.push_async_callback(notices.close)
        rates = options.rates or JobRates(SharedRates(options.clock))
        rates.share(permits)
        stack.push_async_callback(rates.end_sharing)
        yield replace(options, rates=rates), shared


async def identify_target(shared: SharedTarget, job: JobConfig, target: Service, account: Account) -> None:
    """Say by which name all jobs know the target: what it is, where it is, and how it calls itself."""
    urls = [one_spelling(url) for url in (job.target.base_url, job.target.tenant_url or "")]
    await shared.identify(json.dumps([job.target.kind, *urls, account.tenant]), target.limits.lag)


def credential_store_of(job: JobConfig, side: SideConfig, auth: AuthMethod | None, storage: Any) -> CredentialStore:
    """Where credentials that the service renews are kept: in a file next to the state, or in its database."""
    file, place = FileCredentialStore(job.state_path.with_suffix(".vault")), job.state_place
    if isinstance(place, Path):
        return file
    from dam_sync.store.store import server_extra

    with server_extra(place):
        from dam_sync.store.server.credentials import ServerCredentialStore
    given = auth.model_dump(mode="json") if auth else None
    return ServerCredentialStore(place, json.dumps([side.kind, given]), file, storage)
