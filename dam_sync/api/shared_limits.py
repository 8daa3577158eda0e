"""Rate limits that all processes share whose states are in one database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from dam_sync.config.job import JobConfig
from dam_sync.http.shared_rates import JobRates, SharedRates
from dam_sync.model.clock import SystemClock
from dam_sync.model.run_options import RunOptions


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
