"""An instance of service A served on real sockets, connections to it, and the truth its emulator keeps."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any

from dam_sync.emulation.catalogue import catalogue_of
from dam_sync.emulation.faults import Faults
from dam_sync.emulation.object_store import ObjectStore
from dam_sync.emulation.serve import Served, serve_in_thread
from dam_sync.emulation.world import World
from dam_sync.model.asset import Draft, Entry, FileRef, Marker
from dam_sync.model.clock import Clock, SystemClock
from dam_sync.model.errors import Uncertain
from dam_sync.model.service import Call, Context, Service, Steps, Window
from dam_sync.model.values import Json, Localized
from dam_sync.services.a_hypermedia import KIND
from dam_sync.services.a_hypermedia.emulator import emulator

PASSWORD = {"flow": "basic", "login": "dam-sync", "password": "secret-a"}
EVERYTHING = Window()


def field(key: str, kind: str, **more: Json) -> Json:
    return {"record": "field", "key": key, "label": key.title(), "kind": kind, "types": ["Photo", "Video"], **more}


SCHEMA: list[Json] = [
    {"record": "type", "name": "Photo", "media": ["PICTURE"]},
    {"record": "type", "name": "Video", "media": ["VIDEO"]},
    {"record": "vocabulary", "key": "subjects", "label": "Subjects", "hierarchical": True, "localized": True},
    {"record": "vocabulary", "key": "countries", "label": "Countries", "closed": True},
    {"record": "term", "vocabulary": "subjects", "id": "1", "labels": {"en": "Nature", "fr": "Nature"}},
    {
        "record": "term",
        "vocabulary": "subjects",
        "id": "2",
        "parent": "1",
        "labels": {"en": "Sea", "fr": "Mer"},
        "synonyms": {"en": ["Ocean"]},
    },
    {"record": "term", "vocabulary": "countries", "id": "11", "labels": {"en": "France"}},
    {"record": "term", "vocabulary": "countries", "id": "12", "labels": {"en": "Spain"}},
    field("legacy_id", "text"),
    field("title", "text", localized=True, required=True, max_length=255),
    field("legend", "long_text", localized=True),
    field("shot_date", "date"),
    field("seen_at", "instant"),
    field("rating", "number"),
    field("cleared", "flag"),
    field("keywords", "text", multiple=True),
    field("subject", "term", multiple=True, vocabulary="subjects"),
    field("country", "term", vocabulary="countries"),
    field("spot", "place"),
    {"record": "container", "kind": "folder", "path": ["Press"]},
    {"record": "container", "kind": "folder", "path": ["Press", "2024"]},
    {"record": "container", "kind": "label", "path": ["Highlight"]},
    {"record": "status", "name": "Internal", "status": "published"},
    {"record": "relation_kind", "name": "Views of the object"},
]


def asset(number: int, **more: Json) -> Json:
    return {
        "record": "asset",
        "id": str(number),
        "filename": f"photo {number}.jpg",
        "status": "published",
        "form_type": "PICTURE",
        "type": "Photo",
        "fields": {"title": {"texts": {"en": f"Photo {number}", "fr": f"Photo n° {number}"}}, "rating": number},
        "versions": [{"name": f"photo {number}.jpg", "generate": {"size": 1000 + number, "seed": number}}],
        "placements": [{"kind": "folder", "path": ["Press", "2024"], "id": ""}],
        **more,
    }


FULL = asset(
    1,
    substatus="Internal",
    fields={
        "legacy_id": "old-1",
        "title": {"texts": {"en": "Harbour at dawn", "fr": "Port à l’aube"}},
        "legend": {"texts": {"en": "First light"}},
        "shot_date": {"date": "2025-02-06"},
        "seen_at": {"instant": "2025-02-06T10:30:00Z"},
        "rating": 12.5,
        "cleared": True,
        "keywords": ["harbour", "dawn"],
        "subject": [{"id": "2", "label": "Sea"}],
        "country": {"id": "11", "label": "France"},
        "spot": {"latitude": 48.382, "longitude": -4.495, "address": "Brest, France"},
    },
    versions=[
        {"name": "old.jpg", "generate": {"size": 900, "seed": 100}},
        {"name": "harbour.jpg", "generate": {"size": 1200, "seed": 101}},
    ],
    attachments=[{"name": "plan.pdf", "generate": {"size": 300, "seed": 102}}],
    placements=[
        {"kind": "folder", "path": ["Press", "2024"], "id": ""},
        {"kind": "label", "path": ["Highlight"], "id": ""},
    ],
    relations=[{"kind": "Views of the object", "target": "2"}],
)


class Bytes:
    """Content in memory."""

    link = ""

    def __init__(self, name: str, data: bytes, media_type: str = "image/jpeg", known: bool = False) -> None:
        self.name, self.data, self.media_type = name, data, media_type
        self.digests: Mapping[str, str] = {"md5": hashlib.md5(data).hexdigest()} if known else {}

    @property
    def size(self) -> int:
        return len(self.data)

    async def read(self, start: int, stop: int) -> bytes:
        return self.data[start:stop]

    async def blocks(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.data), 1 << 18):
            yield self.data[start : start + (1 << 18)]

    async def check(self) -> None:
        return None


class Remembered(Steps):
    """Steps in memory, as strict as the store's."""

    def __init__(self) -> None:
        self.results: dict[str, Json] = {}
        self.intents: set[str] = set()

    async def once(
        self,
        name: str,
        call: Call,
        *,
        found: Call | None = None,
        keep: timedelta | None = None,
        harmless: bool = False,
    ) -> Json:
        if name in self.results:
            return self.results[name]
        result = None
        if name in self.intents and not harmless:
            if found is None:
                raise Uncertain("the outcome of an earlier attempt is not known")
            result = await found()
        if result is None:
            self.intents.add(name)
            result = await call()
        self.results[name] = result
        return result

    async def forget(self, *names: str) -> None:
        for name in names:
            for known in [*self.results, *self.intents]:
                if known == name or (name.endswith("*") and known.startswith(name[:-1])):
                    self.results.pop(known, None)
                    self.intents.discard(known)

    async def recall(self, name: str) -> Json:
        return self.results.get(name)


class QuickClock(SystemClock):
    """Real, but it does not wait long."""

    speed = 20.0

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / self.speed)


class Tenant:
    """A served instance and what the emulator knows of it."""

    def __init__(self, served: Served, world: World, faults: Faults) -> None:
        self.served, self.world, self.faults = served, world, faults
        self.services: list[Service] = []

    def connect(
        self,
        auth: Mapping[str, str] = PASSWORD,
        read_only: bool = False,
        max_calls: int | None = None,
        clock: Clock | None = None,
        **options: Any,
    ) -> Service:
        settings = {"index_lag": 0.4 * QuickClock.speed, "locales": "en,fr", "timezone": "Europe/Paris", **options}
        given = {key: value for key, value in settings.items() if value is not None}
        context = Context(
            self.served.url, auth, given, clock=clock or QuickClock(), read_only=read_only, max_calls=max_calls
        )
        self.services.append(KIND.connect(context))
        return self.services[-1]

    def truth(self) -> dict[str, Json]:
        return {str(row["id"]): row for row in self.served.app.state.dump()}

    @contextmanager
    def costs(self) -> Iterator[Counter[str]]:
        """API calls made inside, as the emulator counts them."""
        before, spent = Counter(self.world.api_calls), Counter[str]()
        yield spent
        spent.update(self.world.api_calls - before)


Open = Callable[..., Tenant]


@asynccontextmanager
async def serving() -> AsyncIterator[Open]:
    """Starts instances for as long as the block runs, each with the schema above and what it is given."""
    running: list[Tenant] = []

    def start(*records: Json, **options: Json) -> Tenant:
        lag = float(options.pop("lag", 0.0))
        world = World(seed=7, lag_s=lag)
        faults = Faults()
        app = emulator(world, faults, ObjectStore(world), {"lag": lag, "thumbnail_delay": 0, **options})
        app.state.load(catalogue_of([*SCHEMA, *records]), None)
        running.append(Tenant(serve_in_thread(lambda: app), world, faults))
        return running[-1]

    yield start
    for tenant in running:
        for service in tenant.services:
            await service.close()
        await asyncio.to_thread(tenant.served.stop)


async def entries(service: Service, window: Window = EVERYTHING) -> list[Entry]:
    found: list[Entry] = []
    async for shard in service.shards(window):
        async for batch in service.crawl(shard, None):
            found += batch.entries
    return found


async def body(service: Service, file: FileRef, offset: int = 0) -> bytes:
    stream = await service.open(file, offset)
    try:
        data = b"".join([block async for block in stream])
    finally:
        await stream.aclose()
    return data[offset - stream.start :]


async def draft_for(service: Service, key: str = "m-1", **fields: Any) -> Draft:
    await service.schema()
    folders = {place.text: place async for place in service.containers()}
    return Draft(
        marker=Marker("legacy_id", key),
        filename="new.jpg",
        profile="Photo",
        status="published",
        fields={"legacy_id": key, "title": Localized({"en": "New", "fr": "Nouveau"}), **fields},
        placements=frozenset({folders["/Press/2024"], folders["/Highlight"]}),
    )
