"""An instance of service A served on real sockets, connections to it, and the truth its emulator keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from dam_sync.emulators.a_hypermedia import emulator
from dam_sync.model.asset import Draft, Marker
from dam_sync.model.clock import Clock, SystemClock
from dam_sync.model.connector import Context
from dam_sync.model.service import Service
from dam_sync.model.values import Json, Localized
from dam_sync.services.a_hypermedia import CONNECTOR
from tests.support.services.connections import Emulated, serving_of

PASSWORD = {"flow": "basic", "login": "dam-sync", "password": "secret-a"}


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


class QuickClock(SystemClock):
    """Real, but it does not wait long."""

    speed = 20.0

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / self.speed)


class Tenant(Emulated):
    """A served instance and what the emulator knows of it."""

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
        return self.open(CONNECTOR, context)


Open = Callable[..., Tenant]


@asynccontextmanager
async def serving() -> AsyncIterator[Open]:
    """Starts instances for as long as the block runs, each with the schema above and what it is given."""
    async with serving_of(Tenant, emulator, SCHEMA, thumbnail_delay=0) as start:
        yield start


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
