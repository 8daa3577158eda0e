"""The webhooks of a job: subscriptions at its source, deliveries that arrive, and the assets that wait for a run."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from dam_sync.api.bootstrap import MEMORY_FOR_FILES, connect
from dam_sync.config.job import JobConfig
from dam_sync.http.client import Client, ClientConfig, Request
from dam_sync.http.redaction import hide
from dam_sync.model.capabilities import Operation
from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError, ContractBroken, Transient, Unsupported
from dam_sync.model.limits import Pace
from dam_sync.model.run_options import RunOptions
from dam_sync.model.service import Service
from dam_sync.model.waits import waiting
from dam_sync.model.webhooks import Delivery, Endpoint, Hint
from dam_sync.store.hints import Receipt
from dam_sync.store.note_keys import SUBSCRIPTIONS
from dam_sync.store.store import SqlStore
from dam_sync.transfer.content import MemoryBudget

__all__ = ["JobWebhooks", "Receipt", "webhooks_of"]

KEY_CHARACTERS = 32  # hexadecimal
LONGEST = 200  # characters of an id in a delivery
TEST_SECONDS = 30.0  # until a test delivery has arrived
LOOK_SECONDS = 0.5
ATTEMPTS = 2


@dataclass(slots=True)
class _Arrival:
    """A delivery that waits to be stored together with others."""

    hint: Hint
    receipt: Receipt | None = None


async def webhooks_of(job: JobConfig, options: RunOptions) -> JobWebhooks | None:
    """None for a job without webhooks. Raises ConfigError for secrets and URLs that cannot be used, Unsupported if the
    source has no webhooks."""
    if job.webhooks is None:
        return None
    return JobWebhooks(job, options, job.webhooks.public_url, await _source_of(job, options))


class JobWebhooks:
    """A connection to the source that only subscribes, and the queue in the state. Must be closed."""

    def __init__(self, job: JobConfig, options: RunOptions, public_url: str, source: Service) -> None:
        self.job = job
        self._options = options
        self._service = source
        secret = job.webhook_secret
        if self._service.keyed_endpoints and not secret:
            raise ConfigError("`webhooks` needs a `secret`", hint="write `secret: ${env:NAME}` with a long random text")
        key = f"/{_key(secret, job)}" if self._service.keyed_endpoints else ""
        hide(secret, key.strip("/"))
        self.path = f"/webhooks/{job.name}/{job.source.kind}{key}"
        self._endpoint = Endpoint(public_url + self.path, job.name, secret)
        self._arrivals: list[_Arrival] = []
        self._gate = asyncio.Lock()

    async def subscribe(self) -> int:
        """Make sure that the source delivers; how many subscriptions were made or changed. Safe to repeat. Raises what
        the source and the state raise."""
        await self._load()
        found = await self._service.subscribe(self._endpoint)
        if found.ids != self._endpoint.known or not self._endpoint.current:
            await self._remember(found.ids)
        return found.changed

    async def unsubscribe(self) -> int:
        """End all deliveries; how many subscriptions there were. Safe to repeat."""
        await self._load()
        number = await self._service.unsubscribe(self._endpoint)
        await self._remember(frozenset())
        return number

    def is_ours(self, path: str) -> bool:
        """Whether this is the path of our URL; takes as long for any wrong key."""
        return hmac.compare_digest(path.encode("utf-8", "surrogateescape"), self.path.encode())

    async def receive(self, headers: Mapping[str, str], body: bytes) -> Receipt:
        """Judge a delivery to our path, and store what it says before it is answered. Raises what the state raises."""
        delivery = Delivery(headers, body, self._options.clock.now())
        try:
            hint = self._service.hint_of(delivery, self._endpoint)
        except ContractBroken:
            return Receipt.IGNORED
        return Receipt.FORGED if hint is None else await self._store(_bounded(hint, body))

    async def take(self, at_most: int) -> Sequence[str]:
        """Ids of assets to be read, as the source named them, longest waiting first; the same ones until `done`."""
        async with self._state() as store:
            return await store.take_hints(at_most)

    async def done(self, names: Sequence[str]) -> None:
        """A run has read these assets; safe to repeat."""
        async with self._state() as store:
            await store.hints_done(names)

    async def prove(self) -> float | None:
        """Prove that our URL leads to a `watch` of this job, and that a test delivery of the source arrives there.

        Returns after how many seconds, None if the source offers no test. Raises Transient if it does not arrive.
        """
        await self._reach()
        await self._load()
        began = self._options.clock.now()
        if not await self._service.send_test(self._endpoint):
            return None
        with waiting(self._options.clock, TEST_SECONDS, "a test delivery", "source"):
            while (waited := (self._options.clock.now() - began).total_seconds()) < TEST_SECONDS:
                async with self._state() as store:
                    if await store.deliveries_since(began):
                        return waited
                await self._options.clock.sleep(LOOK_SECONDS)
        raise Transient(f"the URL works from here, but no test delivery arrived within {TEST_SECONDS:.0f} s")

    async def close(self) -> None:
        """Close the connection; safe to repeat."""
        await self._service.close()

    async def _reach(self) -> None:
        """Raises Transient, or what was responded instead, unless the URL leads to a `watch` of this job."""
        options, parts = self._options, urlsplit(self._endpoint.url)
        context = Context(
            f"{parts.scheme}://{parts.netloc}", clock=options.clock, transport=options.transport, attempts=ATTEMPTS
        )
        client = Client(ClientConfig.of(context, "webhooks.public_url", None, (), Pace(None, 1, 1)))
        try:
            await client.send(Request("GET webhooks", "GET", self._endpoint.url, bare=True))
        finally:
            await client.close()

    async def _store(self, hint: Hint) -> Receipt:
        """Deliveries that arrive while others are stored are stored together."""
        arrival = _Arrival(hint)
        self._arrivals.append(arrival)
        async with self._gate:
            if arrival.receipt is None:
                arrivals, self._arrivals = self._arrivals, []
                try:
                    async with self._state() as store:
                        receipts = await store.add_hints([each.hint for each in arrivals])
                except BaseException:
                    self._arrivals = [*(each for each in arrivals if each is not arrival), *self._arrivals]
                    raise
                for each, receipt in zip(arrivals, receipts, strict=True):
                    each.receipt = receipt
        return arrival.receipt or Receipt.FULL

    async def _load(self) -> None:
        async with self._state() as store:
            noted = await store.get_meta(SUBSCRIPTIONS) or {}
        known = frozenset(map(str, noted.get("ids", ())))
        self._endpoint = replace(self._endpoint, known=known, current=noted.get("url") == self._url_digest)

    async def _remember(self, ids: frozenset[str]) -> None:
        async with self._state() as store:
            await store.set_meta(SUBSCRIPTIONS, {"ids": sorted(ids), "url": self._url_digest})
        self._endpoint = replace(self._endpoint, known=ids, current=True)

    @asynccontextmanager
    async def _state(self) -> AsyncIterator[SqlStore]:
        """The state of the job, opened for a moment: an import may replace the file meanwhile."""
        store = await SqlStore.open(self.job.state_place, self._options.clock, storage=self._options.storage)
        try:
            yield store
        finally:
            await store.close()

    @property
    def _url_digest(self) -> str:
        return hashlib.sha256(self._endpoint.url.encode()).hexdigest()


async def _source_of(job: JobConfig, options: RunOptions) -> Service:
    """The source, opened for its subscriptions alone. Raises Unsupported if it has none."""
    source = await connect(job, "source", options, MemoryBudget(MEMORY_FOR_FILES), read_only=False)
    if Operation.SUBSCRIBE not in source.capabilities:
        raise Unsupported(
            f"{job.source.kind} has no webhooks: its changes are found by the schedule",
            hint="remove `webhooks` from the job file",
        )
    return source


def _key(secret: str, job: JobConfig) -> str:
    """What makes a URL impossible to guess; another secret makes another URL."""
    text = f"{job.name} {job.source.kind}".encode()
    return hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()[:KEY_CHARACTERS]


def _bounded(hint: Hint, body: bytes) -> Hint:
    """With an id, and without one of an asset that is too long to be one."""
    delivery = hint.delivery
    if not 0 < len(delivery) <= LONGEST:
        delivery = hashlib.sha256(body).hexdigest()
    return Hint(delivery, hint.asset if len(hint.asset) <= LONGEST else "")
