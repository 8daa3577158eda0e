"""What tests ask of a served tenant and of connections to it, whatever the service."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

import httpx

from dam_sync.emulators.kit.app import Application
from dam_sync.emulators.kit.catalogue import catalogue_of
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.serve import Served, serve_in_thread
from dam_sync.model.asset import AssetId, Entry, FileLink, FileRef
from dam_sync.model.connector import Connector, Context
from dam_sync.model.limits import Limits
from dam_sync.model.service import Service, Window
from dam_sync.model.values import Json
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services import background_stop
from tests.support.services.typed_options import connected

EVERYTHING = Window()


class HastyClock:
    """Time that passes at once when somebody sleeps, for us and for the emulated world alike."""

    def __init__(self, world: Environment) -> None:
        self.world = world
        self.ahead = 0.0

    def now(self) -> datetime:
        return self.world.now()

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    async def sleep(self, seconds: float) -> None:
        due = self.monotonic() + seconds
        await asyncio.sleep(0)
        left = max(0.0, due - self.monotonic())  # those who sleep at once sleep through the same time
        self.ahead += left
        self.world.advance(left)

    def chance(self) -> float:
        return 0.5

    def token(self) -> str:
        return secrets.token_hex(16)


class Bytes:
    """Content in memory; its digest is `known` before it is read or not."""

    link: FileLink | None = None

    def __init__(self, name: str, data: bytes, media_type: str = "image/jpeg", known: bool = False) -> None:
        self.name, self.data, self.media_type = name, data, media_type
        self.digests: Mapping[str, str] = {"md5": hashlib.md5(data).hexdigest()} if known else {}
        self.checked = 0

    @property
    def size(self) -> int:
        return len(self.data)

    async def read(self, start: int, stop: int) -> bytes:
        return self.data[start:stop]

    async def blocks(self, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes]:
        end = self.size if stop is None else stop
        for at in range(start, end, 1 << 18):
            yield self.data[at : min(at + (1 << 18), end)]

    async def version(self) -> str:
        return ""

    async def check(self) -> None:
        self.checked += 1


@dataclass
class Emulated:
    """A served tenant, what its emulator knows, and the connections of a test to it."""

    served: Served
    world: Environment
    faults: Faults
    connected: list[Service] = field(default_factory=list, kw_only=True)
    limits: Limits | None = field(default=None, kw_only=True)
    service: type[Service] | None = field(default=None, kw_only=True)
    transport: httpx.AsyncBaseTransport | None = field(default=None, kw_only=True)

    def open(self, connector: Connector, context: Context) -> Service:
        """A new connection, with the limits, the class of the service and the transport of this test, where it has any
        of its own."""
        own = self.service
        connector = connector if own is None else replace(connector, service=lambda: own)
        given = replace(context, limits=self.limits, transport=self.transport)
        self.connected.append(connected(connector, given))
        return self.connected[-1]

    def truth(self) -> dict[AssetId, Json]:
        """Every asset there is, by id."""
        return {AssetId(str(row["id"])): row for row in self.served.app.state.dump()}

    def of_catalogue(self, number: int) -> AssetId:
        """The id of a catalogue's asset."""
        return next(key for key, row in self.truth().items() if str(row.get("catalogue_id")) == str(number))

    @contextmanager
    def costs(self) -> Iterator[Counter[str]]:
        """API calls made inside, as the emulator counts them."""
        before, spent = Counter(self.world.api_calls), Counter[str]()
        yield spent
        spent.update(Counter(self.world.api_calls) - before)

    async def disconnect(self) -> None:
        """Close whatever a test has connected."""
        for service in self.connected:
            await service.close()
        self.connected.clear()
        if isinstance(self.transport, AlteredTransport):
            await self.transport.aclose()

    async def stop(self) -> None:
        """Disconnect, and serve no longer."""
        await self.disconnect()
        background_stop.stop(self.served)


T = TypeVar("T", bound=Emulated)


@asynccontextmanager
async def serving_of(
    tenant: Callable[[Served, Environment, Faults], T],
    emulator: Callable[..., Application],
    schema: Sequence[Json],
    **always: Any,
) -> AsyncIterator[Callable[..., T]]:
    """Starts tenants for as long as the block runs, each with the schema, the records and the options it is given."""
    running: list[T] = []

    def start(*records: Json, **options: Json) -> T:
        lag = float(options.pop("lag", 0.0))
        world, faults = Environment(seed=7, lag_s=lag), Faults()
        app = emulator(world, faults, ObjectStore(world), {"lag": lag, **always, **options})
        app.state.load(catalogue_of([*schema, *records]), None)
        running.append(tenant(serve_in_thread(lambda: app), world, faults))
        return running[-1]

    yield start
    for one in running:
        await one.stop()


def alike(counted: Mapping[str, int]) -> Counter[str]:
    """Calls by method and path, the slots as `{}`."""
    found: Counter[str] = Counter()
    for name, number in counted.items():
        found["/".join("{}" if part.startswith("{") else part for part in name.split("/"))] += number
    return +found


async def entries(service: Service, window: Window = EVERYTHING) -> list[Entry]:
    """All entries of a window, shard after shard."""
    found: list[Entry] = []
    async for shard in service.shards(window):
        async for batch in service.crawl(shard, None):
            found += batch.entries
    return found


async def body(service: Service, file: FileRef, offset: int = 0) -> bytes:
    """The bytes of a file from `offset` on."""
    stream = await service.open(file, offset)
    try:
        data = b"".join([block async for block in stream])
    finally:
        await stream.aclose()
    return data[offset - stream.start :]
