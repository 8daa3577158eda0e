"""A small tenant of service A, served on real sockets, and a plain client for it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from dam_sync.emulators.a_hypermedia import emulator
from dam_sync.emulators.kit.catalogue import catalogue_of
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.serve import Served
from tests.support.services import background_stop

Json = Any
HIGH = "999999999"

SCHEMA: Sequence[Mapping[str, Json]] = (
    {"record": "type", "name": "Photo", "media": ["PICTURE"]},
    {"record": "type", "name": "Film", "media": ["VIDEO"]},
    {"record": "field", "key": "title", "label": "Title", "kind": "text", "localized": True, "required": True,
     "max_length": 40},
    {"record": "field", "key": "external_key", "kind": "text", "max_length": 64},
    {"record": "field", "key": "legend", "kind": "long_text", "types": ["Photo"], "localized": True},
    {"record": "field", "key": "body", "kind": "html", "types": ["Photo"]},
    {"record": "field", "key": "size_cm", "kind": "number", "types": ["Photo"]},
    {"record": "field", "key": "released", "kind": "flag", "types": ["Photo"]},
    {"record": "field", "key": "shot_date", "kind": "date", "types": ["Photo"]},
    {"record": "field", "key": "expires", "kind": "instant", "types": ["Photo"]},
    {"record": "field", "key": "country", "kind": "term", "types": ["Photo"], "vocabulary": "countries"},
    {"record": "field", "key": "keywords", "kind": "text", "multiple": True, "types": ["Photo"]},
    {"record": "field", "key": "places", "kind": "term", "multiple": True, "types": ["Photo"], "vocabulary": "places"},
    {"record": "field", "key": "credit", "kind": "person", "multiple": True, "types": ["Photo"]},
    {"record": "field", "key": "where", "kind": "place", "types": ["Photo"]},
    {"record": "field", "key": "contact", "kind": "email", "types": ["Photo"]},
    {"record": "field", "key": "site", "kind": "url", "types": ["Photo"]},
    {"record": "field", "key": "uses", "kind": "rows", "types": ["Photo"]},
    {"record": "field", "key": "batch", "kind": "text", "editable": False, "types": ["Photo"]},
    {"record": "vocabulary", "key": "countries", "label": "Countries", "closed": True},
    {"record": "term", "vocabulary": "countries", "id": "fr", "labels": {"en": "France"}},
    {"record": "term", "vocabulary": "countries", "id": "es", "labels": {"en": "Spain"}},
    {"record": "vocabulary", "key": "places", "label": "Places", "hierarchical": True, "localized": True},
    {"record": "term", "vocabulary": "places", "id": "1", "labels": {"en": "England", "fr": "Angleterre"}},
    {"record": "term", "vocabulary": "places", "id": "2", "parent": "1",
     "labels": {"en": "London", "fr": "Londres"}, "synonyms": {"en": ["Londinium"]}},
    {"record": "container", "kind": "folder", "path": ["Press", "2024"]},
    {"record": "container", "kind": "folder", "path": ["Archive"]},
    {"record": "container", "kind": "label", "path": ["Highlight"]},
    {"record": "container", "kind": "label", "path": ["Review"]},
    {"record": "status", "name": "Internal", "status": "published"},
    {"record": "relation_kind", "name": "Views of the object"},
)  # fmt: skip


def photo(number: int, **more: Json) -> dict[str, Json]:
    """A published photo of the catalogue with a generated file."""
    return {
        "record": "asset",
        "id": str(number),
        "type": "Photo",
        "status": "published",
        "filename": f"photo {number}.jpg",
        "fields": {"title": {"texts": {"en": f"Picture {number}", "fr": f"Image {number}"}}},
        "versions": [{"name": f"photo {number}.jpg", "generate": {"size": 1000 + number, "seed": number}}],
        "placements": [{"kind": "folder", "path": ["Press", "2024"] if number % 2 else ["Archive"]}],
        "created_at": f"2024-03-{number % 28 + 1:02d}T10:00:00Z",
        **more,
    }


ASSETS: Sequence[Mapping[str, Json]] = [
    photo(
        1,
        fields={
            "title": {"texts": {"en": "Harbour at dawn", "fr": "Port à l'aube"}},
            "external_key": "xa-1",
            "shot_date": {"date": "2025-02-06"},
            "expires": {"instant": "2026-01-01T10:00:00Z"},
            "country": {"id": "fr", "label": "France"},
            "keywords": ["harbour", "dawn"],
            "places": [{"id": "2", "label": "London"}],
            "credit": [{"person": "Doe Jane", "id": ""}],
            "where": {"latitude": 48.38, "longitude": -4.49, "address": "Brest"},
            "size_cm": 12.5,
            "released": True,
            "uses": [{"row": {"medium": "web", "years": 3}}],
        },
        placements=[
            {"kind": "folder", "path": ["Press", "2024"]},
            {"kind": "folder", "path": ["Archive"]},
            {"kind": "label", "path": ["Highlight"]},
        ],
        versions=[
            {"name": "old.jpg", "generate": {"size": 500, "seed": 1}},
            {"name": "new.jpg", "generate": {"size": 600, "seed": 2}},
        ],
        relations=[{"kind": "Views of the object", "target": "2"}],
        attachments=[{"name": "plan.pdf", "generate": {"size": 99, "seed": 3}}],
    ),
    photo(2),
    photo(3, status="draft"),
    photo(4, status="archived", versions=[{"name": "same.jpg", "generate": {"size": 1002, "seed": 2}}]),
    photo(5, status="trash"),
    photo(6, substatus="Internal"),
]


class Tenant:
    """A served instance and a client that speaks as its user."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.world: Environment = served.app.world
        self.http = httpx.Client(base_url=f"{served.url}/api/dam", auth=("dam-sync", "secret-a"), verify=False)
        self.plain = httpx.Client(verify=False)  # plain HTTP: to read the trusted certificates takes longer than a test

    def get(self, path: str, **params: Json) -> Json:
        """The JSON of a GET that must succeed."""
        answer = self.http.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def ok(self, method: str, path: str, body: Json = None, **more: Json) -> httpx.Response:
        """A call that must succeed."""
        answer = self.http.request(method, path, json=body, **more)
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    def no(self, method: str, path: str, body: Json = None, **more: Json) -> tuple[int, str]:
        """A call that must be refused: its status and code; the body has the documented form."""
        answer = self.http.request(method, path, json=body, **more)
        refusal = answer.json()
        assert answer.status_code >= 400, answer.text
        assert refusal["status"] == answer.status_code
        assert refusal["message"]
        return answer.status_code, refusal["code"]

    def search(self, **params: Json) -> Json:
        """A search without facets, arrays forced."""
        return self.get("/search/media", **{"forceArrays": "true", "facet-fields": "[]", **params})

    def found(self, **params: Json) -> list[int]:
        """The ids of a search's page."""
        return [item["id"] for item in self.search(**params).get("_embedded", {}).get("media", ())]

    def first_id(self) -> int:
        """The id of the first media of the catalogue."""
        return self.found(sort="id", size=1)[0]

    def upload(self, data: bytes = b"bytes", name: str = "new.jpg", kind: str = "image/jpeg") -> str:
        """The URL of a temporary file."""
        headers = {"Content-Type": kind, "X-SVC-Base64FileName": base64.b64encode(name.encode()).decode()}
        answer = self.http.post("/files", content=data, headers=headers)
        assert answer.status_code == 201, answer.text
        return answer.headers["location"]

    def create(self, data: bytes = b"bytes", name: str = "new.jpg", folder: int | None = None) -> int:
        """The id of a new media, in a folder if given."""
        path = "/medias" if folder is None else f"/folders/{folder}/medias"
        body = {"_links": {"from": {"href": self.upload(data, name)}}}
        return last_number(self.ok("POST", path, body, params={"forceNew": "true"}))

    def folder(self, title: str) -> int:
        """The id of a folder by its title."""
        return int(self.get("/search/folder", q=title, forceArrays="true")["_embedded"]["folder"][0]["id"])

    def status(self, title: str) -> Json:
        """A link to a custom status by its title."""
        rows = self.get("/medias/custom-statuses", forceArrays="true")["_embedded"]["custom-status"]
        return next(row["_links"]["self"] for row in rows if row["title"] == title)

    def publish(self, media: int, title: str = "Internal") -> httpx.Response:
        """PUT of a media with another status, whatever the response."""
        body = self.get(f"/medias/{media}")
        body["_links"]["svc:custom-status"] = self.status(title)
        return self.http.put(f"/medias/{media}", json=body)


def last_number(answer: httpx.Response) -> int:
    """The id at the end of a Location."""
    return int(urlsplit(answer.headers["location"]).path.rpartition("/")[2])


@contextmanager
def tenant(assets: Sequence[Mapping[str, Json]] = (), files: Path | None = None, **options: Json) -> Iterator[Tenant]:
    """A served tenant with the schema above; `lag` is 0 if not given."""
    world = Environment(seed=1)
    app = emulator(world, Faults(), ObjectStore(world), {"lag": 0.0, **options})
    app.state.load(catalogue_of([*SCHEMA, *assets]), files)
    with background_stop.serving(lambda: app) as served:
        made = Tenant(served)
        try:
            yield made
        finally:
            made.http.close()
            made.plain.close()
