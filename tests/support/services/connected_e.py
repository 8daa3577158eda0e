"""A tenant of service E served on real sockets, connections to it, and the truth its emulator keeps."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

from dam_sync.emulators.e_profiles import emulator
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.serve import Served
from dam_sync.model.asset import AssetId, Draft, Marker
from dam_sync.model.connector import Context
from dam_sync.model.service import Service
from dam_sync.model.values import Json, Term
from dam_sync.services.e_profiles import CONNECTOR
from tests.support.services.connections import Bytes, Emulated, HastyClock, serving_of
from tests.support.state.credential_store import MemoryCredentialStore
from tests.support.state.memory_journal import MemoryJournal

TOKEN = {"flow": "token", "token": "wat_demo_b1d3c61e03c6"}


def field(key: str, kind: str, **more: Json) -> Json:
    return {"record": "field", "key": key, "label": key.title(), "kind": kind, "types": ["Photo", "Logo"], **more}


SCHEMA: list[Json] = [
    {"record": "type", "name": "Photo"},
    {"record": "type", "name": "Logo"},
    {"record": "group", "name": "public"},
    {"record": "group", "name": "staff"},
    {"record": "profile", "name": "photos", "type": "Photo", "groups": ["public"], "version_policy": "file_only"},
    {"record": "profile", "name": "logos", "type": "Logo", "groups": ["public"], "version_policy": "none"},
    {"record": "vocabulary", "key": "colors", "label": "Colours"},
    {"record": "vocabulary", "key": "country", "label": "Country"},
    *(
        {"record": "term", "vocabulary": "colors", "id": f"c{number}", "labels": {"en": label}}
        for number, label in enumerate(("Red", "Blue", "Green / lime"))
    ),
    {"record": "term", "vocabulary": "country", "id": "k1", "labels": {"en": "France"}},
    field("srckey", "text", max_length=255),
    field("title", "text", required=True, max_length=255),
    field("legend", "long_text"),
    field("shotDate", "date"),
    field("rating", "number"),
    field("colors", "term", vocabulary="colors", multiple=True),
    field("country", "term", vocabulary="country"),
    {"record": "container", "kind": "category", "path": ["Press"]},
    {"record": "container", "kind": "category", "path": ["Press", "A/B"]},
    {"record": "container", "kind": "collection", "path": ["Best of"]},
]
START = datetime(2024, 3, 1, 12, tzinfo=UTC)


def asset(number: int, at: datetime | None = None, **more: Json) -> Json:
    uploaded = (at or START + timedelta(hours=number)).isoformat().replace("+00:00", "Z")
    return {
        "record": "asset",
        "id": str(number),
        "filename": f"photo {number}.jpg",
        "status": "published",
        "form_type": "image",
        "type": "Photo",
        "fields": {"title": f"Photo {number}", "rating": number},
        "versions": [{"name": f"photo {number}.jpg", "generate": {"size": 1000 + number, "seed": number}}],
        "rights": {"groups": ["public"], "release_at": "2024-01-01T00:00:00Z"},
        "created_at": uploaded,
        "imported_at": uploaded,
        "changed_at": uploaded,
        **more,
    }


class Tenant(Emulated):
    """A served tenant and what the emulator knows of it; all connections share a clock and a credential store."""

    def __init__(self, served: Served, world: Environment, faults: Faults) -> None:
        super().__init__(served, world, faults)
        self.clock = HastyClock(world)
        self.credentials = MemoryCredentialStore()

    def connect(self, auth: Mapping[str, str] = TOKEN, read_only: bool = False, **options: Any) -> Service:
        context = Context(
            self.served.url,
            auth,
            {"version_policy": "file_only", **options},
            tenant_url=self.served.url,
            clock=self.clock,
            credentials=self.credentials,
            read_only=read_only,
        )
        return self.open(CONNECTOR, context)


Open = Callable[..., Tenant]


@asynccontextmanager
async def serving() -> AsyncIterator[Open]:
    """Starts instances for as long as the block runs, each with the schema above and what it is given."""
    async with serving_of(Tenant, emulator, SCHEMA) as start:
        yield start


def draft(key: str = "m-1", filename: str = "new.jpg", **more: Any) -> Draft:
    values = {"srckey": key, "title": "New", "colors": (Term("Red"), Term("Blue")), "shotDate": date(2022, 6, 19)}
    return Draft(Marker("srckey", key), filename, **{"profile": "photos", "fields": values, **more})


async def created(service: Service, wanted: Draft, data: bytes = b"abc" * 100) -> AssetId:
    return await service.create(wanted, Bytes(wanted.filename, data), MemoryJournal())


def consent(url: str) -> str:
    """What a browser does: the code of the consent page, exchanged for the first pair of tokens."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    asked = urllib.parse.urlencode({"client_id": "client-1", "redirect_uri": "http://127.0.0.1/back", "state": "s"})
    try:
        urllib.request.build_opener(Stay).open(f"{url}/allowaccess?{asked}")
        raise AssertionError("no redirect")
    except urllib.error.HTTPError as redirect:
        address = redirect.headers["location"]
        redirect.close()
    code = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)["code"][0]
    grant = {"grant_type": "authorization_code", "authorization_code": code}
    data = json.dumps({"client_id": "client-1", "client_secret": "client-secret-1", **grant}).encode()
    request = urllib.request.Request(f"{url}/v2/oauth/access-token", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return str(json.load(reply)["refresh_token"])
