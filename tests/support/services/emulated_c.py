"""A served tenant of service C for tests by raw HTTP: time that only `advance` moves, two clients, a small library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import httpx

from dam_sync.emulators.c_brandlibrary import emulator
from dam_sync.emulators.kit.catalogue import catalogue_of
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from tests.support.services import background_stop
from tests.support.stepped_clock import StillClock

TOKEN = "b7kq.c5wxt2rn.z8hmvd3f"
EVERYTHING = "attachments,section,collections,custom_fields,tags,library"
Row = dict[str, Any]


def asset_row(key: str, **more: Any) -> Row:
    """One asset of a catalogue."""
    return {
        "record": "asset",
        "id": key,
        "filename": f"{key}.jpg",
        "status": "published",
        "imported_at": "2026-01-01T00:00:00Z",
        "fields": {"srckey": f"k{key}", "colour": {"id": "r", "label": "Red"}},
        "versions": [{"name": f"{key}.jpg", "generate": {"size": 1000, "seed": key}}],
        "placements": [{"kind": "folder", "path": ["Press", "2024"]}],
        **more,
    }


def schema_rows() -> list[Row]:
    """Keys and containers."""
    return [
        {"record": "vocabulary", "key": "colours", "label": "Colours"},
        *(
            {"record": "term", "vocabulary": "colours", "id": c[0].lower(), "labels": {"en": c}}
            for c in ("Red", "Blue")
        ),
        {"record": "field", "key": "srckey", "label": "Key", "kind": "text"},
        {"record": "field", "key": "colour", "label": "Colour", "kind": "term", "vocabulary": "colours"},
        {"record": "field", "key": "keywords", "label": "Keywords", "kind": "text", "multiple": True},
        {"record": "field", "key": "Shot by", "label": "Shot by", "kind": "text"},
        {"record": "container", "kind": "folder", "path": ["Press", "2024"]},
        {"record": "container", "kind": "folder", "path": ["Empty"]},
        {"record": "container", "kind": "collection", "path": ["Logo Kit"]},
        {"record": "container", "kind": "label", "path": ["North", "Coast"]},
    ]


class Rig:
    """One served tenant; `api` carries a key, `store` carries nothing."""

    def __init__(self, rows: Iterable[Row] = (), *, schema: bool = True, **options: Any) -> None:
        self.world, self.faults = Environment(seed=3, clock=StillClock()), Faults()
        self.app = emulator(self.world, self.faults, ObjectStore(self.world), {"rate": None, "lag": 0, **options})
        self.app.state.load(catalogue_of([*(schema_rows() if schema else ()), *rows]), None)
        self._stack = ExitStack()
        self.url = self._stack.enter_context(background_stop.serving(lambda: self.app)).url
        self.api = self.client(TOKEN)
        self.old = self.client(TOKEN, "/api/v1")
        self.store = self._stack.enter_context(httpx.Client(verify=False))

    def client(self, token: str = "", base: str = "/api/v4") -> httpx.Client:
        """Another caller."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self._stack.enter_context(
            httpx.Client(base_url=self.url + base, headers=headers, timeout=30, verify=False)
        )

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *_: Any) -> None:
        self._stack.close()

    def get(self, path: str, status: int = 200, **params: Any) -> Any:
        """GET and the JSON, with the status that is expected."""
        answer = self.api.get(path, params=params)
        assert answer.status_code == status, answer.text
        return answer.json()

    def send(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        """Any other call."""
        answer = self.api.request(method, path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    @property
    def library(self) -> str:
        """The id of the first library."""
        return str(self.app.state.tenant.first.id)

    def named(self, what: str, name: str) -> str:
        """The id of a section, collection, label or custom field key by its name."""
        rows = self.get(f"/libraries/{self.library}/{what}", per=3000)["data"]
        return next(str(row["id"]) for row in rows if row["attributes"]["name"] == name)

    @property
    def section(self) -> str:
        """The id of the section that has the assets."""
        return self.named("sections", "Press / 2024")

    def of(self, catalogue_id: str) -> str:
        """The id of a catalogue's asset."""
        return next(str(row["id"]) for row in self.app.state.dump() if row["catalogue_id"] == catalogue_id)

    def truth(self, key: str) -> Row:
        """The ground truth of one asset."""
        return next(dict(row) for row in self.app.state.dump() if row["id"] == key)

    def assets(self, **params: Any) -> list[str]:
        """The names in a list of the library's assets."""
        return [row["attributes"]["name"] for row in self.get(f"/libraries/{self.library}/assets", **params)["data"]]

    def uploaded(self, data: bytes = b"hello") -> str:
        """The URL of an object with these bytes."""
        request = self.get("/upload_requests")
        assert self.store.put(request["upload_url"], content=data).status_code == 200
        return str(request["object_url"])

    def create(self, *rows: Row, status: int = 200, section: str = "", path: str = "") -> Any:
        """POST assets."""
        body = {"data": {"attributes": list(rows)}, "section_key": section or self.section}
        return self.send("POST", path or f"/libraries/{self.library}/assets", body, status)

    def made(self, name: str = "New", data: bytes = b"hello", **more: Any) -> str:
        """The id of a new asset with one attachment, not processed yet."""
        row = {"name": name, "attachments": [{"url": self.uploaded(data), "filename": f"{name}.jpg"}], **more}
        return str(self.create(row)["data"][0]["id"])

    def attachments(self, key: str) -> Sequence[Row]:
        """The attachments of an asset."""
        rows: Sequence[Row] = self.get(f"/assets/{key}/attachments")["data"]
        return rows
