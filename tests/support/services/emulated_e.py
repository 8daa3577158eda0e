"""A served tenant of service E for tests by raw HTTP: time that only `advance` moves, and a client with its token."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx

from dam_sync.emulators.e_profiles import emulator
from dam_sync.emulators.kit.catalogue import catalogue_of
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.serve import Served, serve_in_thread
from tests.support.services import background_stop
from tests.support.stepped_clock import StillClock

TOKEN = "wat_demo_b1d3c61e03c6"
BOTH = {"include_deleted": "true", "include_archived": "true"}
TOP = {
    "id", "external_id", "version_id", "current_version", "filename", "created_date", "last_update_date",
    "file_upload_date", "deleted_date", "released_and_not_expired", "asset_properties", "file_properties", "metadata",
    "metadata_info", "security", "status", "tags", "ai_tags", "thumbnails", "embeds", "expanded", "_links",
}  # fmt: skip


def asset_row(key: str, **more: Any) -> dict[str, Any]:
    """One asset of a catalogue."""
    return {
        "record": "asset",
        "id": key,
        "filename": f"{key}.jpg",
        "type": "Photo",
        "status": "published",
        "imported_at": "2026-01-01T00:00:00Z",
        "fields": {"srckey": f"k_{key}", "author": "Ann"},
        "versions": [{"name": f"{key}.jpg", "generate": {"size": 1000, "seed": key}}],
        **more,
    }


def schema_rows() -> list[dict[str, Any]]:
    """Types, fields, vocabularies, groups, profiles and containers."""
    both = ["Photo", "Logo"]
    return [
        {"record": "type", "name": "Photo"},
        {"record": "type", "name": "Logo"},
        {"record": "vocabulary", "key": "colours", "label": "Colours"},
        *({"record": "term", "vocabulary": "colours", "id": c, "labels": {"en": c}} for c in ("Red", "Blue", "A/B c")),
        {"record": "field", "key": "srckey", "label": "Key", "kind": "text", "types": both, "max_length": 255},
        {"record": "field", "key": "author", "label": "Author", "kind": "text", "types": ["Photo"], "max_length": 1280},
        {"record": "field", "key": "colors", "label": "Colours", "kind": "term", "types": ["Photo"], "multiple": True,
         "vocabulary": "colours"},
        {"record": "field", "key": "main", "label": "Main", "kind": "term", "types": ["Photo"],
         "vocabulary": "colours"},
        {"record": "field", "key": "shot", "label": "Shot", "kind": "date", "types": ["Photo"]},
        {"record": "field", "key": "height", "label": "Height", "kind": "number", "types": ["Photo"]},
        {"record": "field", "key": "title", "label": "Title", "kind": "text", "types": ["Photo"], "required": True},
        {"record": "group", "name": "public"},
        {"record": "group", "name": "staff"},
        {"record": "profile", "name": "files", "type": "Photo", "groups": ["public"], "version_policy": "file_only",
         "defaults": {"author": ["Nobody"]}, "categories": [["In"]]},
        {"record": "profile", "name": "both", "type": "Photo", "version_policy": "file_and_information"},
        {"record": "profile", "name": "queue", "type": "Logo", "version_policy": "none"},
        {"record": "container", "kind": "category", "path": ["Press", "Sea / Shore"]},
        {"record": "container", "kind": "collection", "path": ["Spring"]},
    ]  # fmt: skip


class Tenant:
    """A served tenant and a client with its token."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.world = served.app.world
        self.faults = served.app.faults
        self.http = httpx.Client(
            base_url=served.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20, trust_env=False, verify=False
        )
        self.plain = httpx.Client(timeout=20, trust_env=False, verify=False)

    def get(self, path: str, **params: str) -> Any:
        """The JSON of a GET that must succeed."""
        answer = self.http.get(path, params=params or None)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def search(self, query: str = "", **params: str) -> Any:
        return self.get("/v2/assets/search", **({"query": query} if query else {}), limit="100", **params)

    def found(self, query: str, **params: str) -> set[str]:
        """The names a well-formed query finds, deleted and archived ones too."""
        answer = self.search(query, **{**BOTH, **params})
        assert answer["query_syntax_ok"]
        assert answer["total_count"] == len(answer["items"])
        return {item["filename"].removesuffix(".jpg") for item in answer["items"]}

    def ids(self) -> dict[str, str]:
        """The id of each asset by its name."""
        lines = self.plain.get(f"{self.served.url}/_emulator/assets").text.splitlines()
        return {row["filename"].removesuffix(".jpg"): row["id"] for row in map(json.loads, lines)}

    def truth(self, asset: str) -> Any:
        """What the tenant truly holds of an asset."""
        lines = self.plain.get(f"{self.served.url}/_emulator/assets").text.splitlines()
        return next(row for row in map(json.loads, lines) if row["id"] == asset)

    def upload(self, name: str, profile: str = "files", body: bytes = b"bytes", **data: str) -> httpx.Response:
        files = {} if {"url", "file_id"} & set(data) else {"file": ("x.bin", body)}
        form = {"profile": profile, "filename": name, **data}
        return self.http.post("/v2/uploads", data=form, files=files or {"none": (None, "")})

    def uploaded(self, name: str, profile: str = "files", body: bytes = b"bytes", **data: str) -> str:
        """The id of a new asset."""
        answer = self.upload(name, profile, body, **data)
        assert answer.status_code == 201, answer.text
        assert set(answer.json()) == {"_links"}
        return str(answer.json()["_links"]["self"]).rpartition("/")[2]

    def close(self) -> None:
        self.http.close()
        self.plain.close()
        background_stop.stop(self.served)


Open = Callable[..., Tenant]


@contextmanager
def tenants() -> Iterator[Open]:
    """Serves tenants with the schema above, given rows and options, and closes them at the end."""
    with ExitStack() as stack:

        def opened(*rows: dict[str, Any], **options: object) -> Tenant:
            def make() -> Any:
                world = Environment(clock=StillClock())
                given = {"rate": None, "lag": 0.0, "processing": 0.0, **options}
                app = emulator(world, Faults(), ObjectStore(world), given)
                app.state.load(catalogue_of([*schema_rows(), *rows]), None)
                return app

            tenant = Tenant(serve_in_thread(make))
            stack.callback(tenant.close)
            return tenant

        yield opened
