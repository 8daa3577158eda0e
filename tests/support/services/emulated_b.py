"""A served emulator of service B and plain HTTP to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx

from dam_sync.emulators.b_documents import emulator
from dam_sync.emulators.kit.catalogue import catalogue_of
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.serve import serve_in_thread
from tests.conformance.catalogue import library
from tests.support.services import background_stop
from tests.support.stepped_clock import NOW, StillClock

API = "/api/v1"
WORK = "/default-domain/workspaces"
AUTH = ("Administrator", "secret-b")
EVERYTHING = {"properties": "*", "fetch.document": "versionLabel,lock"}
USERS = [
    {"name": "jdoe", "password": "p", "groups": ["administrators"]},
    {"name": "eve", "password": "p", "groups": ["staff"]},
]
MILLIS = int(NOW.timestamp() * 1000)


class Platform:
    """A served tenant and a client that is signed in as the administrator."""

    def __init__(self, *rows: dict[str, Any], **options: Any) -> None:
        given = {"enrich": 1.0, "lag": 5.0, **options}
        records = list(rows) or library()

        def make() -> Any:
            world = Environment(clock=StillClock())
            app = emulator(world, Faults(), ObjectStore(world), given)
            app.state.load(catalogue_of(records), None)
            return app

        self.served = serve_in_thread(make)
        self.world, self.faults = self.served.app.world, self.served.app.faults
        self.http = self.client(auth=AUTH)

    def client(self, **more: Any) -> httpx.Client:
        headers = {"Accept": "application/json", **more.pop("headers", {})}
        return httpx.Client(
            base_url=self.served.url, headers=headers, timeout=20, trust_env=False, verify=False, **more
        )

    def get(self, path: str, status: int = 200, headers: dict[str, str] | None = None, **params: Any) -> Any:
        answer = self.http.get(f"{API}{path}", params=params or None, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def search(self, query: str, **params: Any) -> Any:
        return self.get("/search/lang/NXQL/execute", query=query, **params)

    def uids(self, query: str, **params: Any) -> list[str]:
        return [entry["uid"] for entry in self.search(query, **params)["entries"]]

    def doc(self, uid: str, **more: str) -> Any:
        return self.get(f"/id/{uid}", headers={**EVERYTHING, **more})

    def named(self, number: int) -> str:
        """The id of a catalogue's asset."""
        return next(str(row["id"]) for row in self.truth() if row["catalogue_id"] == str(number))

    def truth(self) -> list[Any]:
        with self.client() as plain:
            return [json.loads(line) for line in plain.get("/_emulator/assets").text.splitlines()]

    def true(self, uid: str) -> Any:
        return next(row for row in self.truth() if row["id"] == uid)

    def operate(self, operation: str, given: str | None = None, /, status: int = 200, **params: Any) -> Any:
        body = {"params": params, **({"input": given} if given else {})}
        answer = self.http.post(f"{API}/automation/{operation}", json=body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def batch(self) -> str:
        return str(self.http.post(f"{API}/upload/new/default").json()["batchId"])

    def send(self, batch: str, body: bytes = b"bytes", name: str = "cat.jpg", index: int = 0, **more: str) -> Any:
        headers = {"X-File-Name": name, "X-File-Type": "image/jpeg", "Content-Type": "application/octet-stream", **more}
        return self.http.post(f"{API}/upload/{batch}/{index}", content=body, headers=headers)

    def create(self, name: str = "cat", parent: str = f"{WORK}/Press", status: int = 201, **more: Any) -> Any:
        """POST a document; keywords that are no member go into the properties by `prefix__name`."""
        headers = {**EVERYTHING, **more.pop("headers", {})}
        properties = {"dc:title": name, "lib:title": "T"}
        properties |= {key.replace("__", ":"): more.pop(key) for key in list(more) if "__" in key}
        body = {"entity-type": "document", "type": "Photo", "name": name, "properties": properties, **more}
        answer = self.http.post(f"{API}/path{parent}", json=body, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def put(self, uid: str, properties: Any, status: int = 200, **more: Any) -> Any:
        headers = {**EVERYTHING, **more.pop("headers", {})}
        body = {"entity-type": "document", "uid": uid, "properties": properties, **more}
        answer = self.http.put(f"{API}/id/{uid}", json=body, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    def advance(self, seconds: float) -> None:
        self.world.advance(seconds)

    def close(self) -> None:
        self.http.close()
        background_stop.stop(self.served)


def reference(batch: str, index: int = 0) -> dict[str, str]:
    """A blob by reference to an upload."""
    return {"upload-batch": batch, "upload-fileId": str(index)}


Open = Callable[..., Platform]


@contextmanager
def platforms() -> Iterator[Open]:
    """Serves platforms with the rows and options they are given, and closes them at the end."""
    with ExitStack() as stack:

        def made(*rows: Any, **options: Any) -> Platform:
            platform = Platform(*rows, **options)
            stack.callback(platform.close)
            return platform

        yield made
