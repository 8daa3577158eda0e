"""The webhooks of a job that is watched: kept subscribed, received, and counted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

import structlog

from dam_sync.aio.polling import sleep_until_set
from dam_sync.api.logs import reported
from dam_sync.api.watching import WatchLock
from dam_sync.api.webhooks import JobWebhooks, Receipt, webhooks_of
from dam_sync.config.job import JobConfig
from dam_sync.model.errors import DamSyncError, StoreBusy
from dam_sync.model.run_options import RunOptions
from dam_sync.watch.scheduler import BUSY_PAUSE, LONGEST_PAUSE, RunResult, doubled_pause, result_of

RENEW_SECONDS = 900.0  # services end subscriptions by themselves after failures
MOST_OPEN = 256  # deliveries that are being read or stored, together if they can be
READ_SECONDS = 1.0  # after which a body that does not arrive makes room for another delivery
MOST_TAKEN = 500  # assets of one run
FAILING = 3  # runs in a row

_log = structlog.get_logger()


class WatchedWebhooks:
    """The webhooks of one job, which may have none. changed: called when a delivery names an asset. lock: held before
    the source is called."""

    def __init__(
        self, config: Callable[[], JobConfig], surroundings: RunOptions, changed: Callable[[], None], lock: WatchLock
    ) -> None:
        self.counts: dict[Receipt, int] = dict.fromkeys(Receipt, 0)
        self.problem: DamSyncError | None = None  # why the source may not deliver
        self._config = config
        self._surroundings = surroundings
        self._changed = changed
        self._lock = lock
        self._webhooks: JobWebhooks | None = None
        self._renew = asyncio.Event()
        self._waiting = True  # as far as known: an earlier process may have left some
        self._failures = 0
        self._not_before: datetime | None = None  # the next run for named assets, after failures
        self._open = 0
        self._reading: dict[asyncio.Timeout, float] = {}  # bodies, and when each began

    async def keep(self) -> None:
        """Keep the source delivering as the job file says, until cancelled."""
        try:
            while True:
                try:
                    await self._subscribe()
                    self.problem = None
                except Exception as problem:  # noqa: BLE001 -- a bug of ours is reported; the schedule goes on
                    self.problem = reported(problem)
                    _log.error("webhooks.not_subscribed", job=self._config().name, problem=str(self.problem))
                await sleep_until_set(self._surroundings.clock, RENEW_SECONDS, self._renew)
        finally:
            await self._close()

    def renew(self) -> None:
        """Subscribe again now: the job file may have changed."""
        self._renew.set()

    def is_ours(self, path: str) -> bool:
        """Whether deliveries with this path are for this job."""
        return self._webhooks is not None and self._webhooks.is_ours(path)

    async def receive(self, headers: Mapping[str, str], read: Callable[[], Awaitable[bytes]]) -> Receipt:
        """Judge and store one delivery. Raises what the state raises."""
        webhooks = self._webhooks
        if webhooks is None or (self._open >= MOST_OPEN and not self._give_up_slowest()):
            return self._counted(Receipt.FULL)
        self._open += 1
        try:
            body = await self._body(read)
            receipt = Receipt.FULL if body is None else await webhooks.receive(headers, body)
        finally:
            self._open -= 1
        if receipt is Receipt.QUEUED:
            self._waiting = True
            self._changed()
        return self._counted(receipt)

    def forged(self) -> None:
        """Count a request to a path that is not ours."""
        self._counted(Receipt.FORGED)

    def is_due(self, now: datetime) -> bool:
        """Whether a run for named assets may begin, as far as webhooks are concerned."""
        return self._webhooks is not None and self._waiting and (self._not_before is None or self._not_before <= now)

    async def take(self) -> Sequence[str]:
        """Ids of the assets to be read now; none if nothing waits."""
        self._waiting = False  # what arrives from here on sets it again
        found = await self._webhooks.take(MOST_TAKEN) if self._webhooks is not None else ()
        self._waiting |= len(found) == MOST_TAKEN
        return found

    async def read(self, names: Sequence[str]) -> None:
        """A run has read these."""
        self._failures, self._not_before = 0, None
        if self._webhooks is not None:
            await self._webhooks.done(names)

    def failed(self, error: DamSyncError, now: datetime) -> bool:
        """A run for named assets has failed: they wait, and the next run on schedule finds them as well. Whether that
        one is to follow now, because a person should hear of what it reports."""
        self._waiting = True
        if isinstance(error, StoreBusy):
            self._not_before = now + BUSY_PAUSE
            return False
        self._failures += 1
        for_person = result_of(error, stopping=False) is RunResult.BLOCKED
        self._not_before = now + (LONGEST_PAUSE if for_person else doubled_pause(self._failures))
        return for_person or self._failures >= FAILING

    def retry(self) -> None:
        """Read what waits without a pause: somebody may have solved what was wrong."""
        self._not_before = None

    async def _subscribe(self) -> None:
        config = self._config()
        if self._webhooks is None or self._webhooks.job is not config:
            await self._close()
            self._webhooks = await webhooks_of(config, self._surroundings)
        if self._webhooks is not None:
            await self._lock.hold()
            changed = await self._webhooks.subscribe()
            if changed:
                _log.info("webhooks.subscribed", job=config.name, subscriptions=changed)

    async def _close(self) -> None:
        webhooks, self._webhooks = self._webhooks, None
        if webhooks is not None:
            await webhooks.close()

    async def _body(self, read: Callable[[], Awaitable[bytes]]) -> bytes | None:
        """None if it was given up for another delivery."""
        limit = asyncio.timeout(None)
        self._reading[limit] = self._surroundings.clock.monotonic()
        try:
            async with limit:
                return await read()
        except TimeoutError:
            if not limit.expired():
                raise
            return None
        finally:
            self._reading.pop(limit, None)

    def _give_up_slowest(self) -> bool:
        """Make room for a delivery; False if nothing is read for long."""
        limit, began = next(iter(self._reading.items()), (None, 0.0))
        if limit is None or self._surroundings.clock.monotonic() - began < READ_SECONDS:
            return False
        del self._reading[limit]
        limit.reschedule(0)
        return True

    def _counted(self, receipt: Receipt) -> Receipt:
        self.counts[receipt] += 1
        return receipt
