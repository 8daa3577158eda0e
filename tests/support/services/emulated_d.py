"""A served emulation of service D, spoken to by raw HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from dam_sync.emulators.d_templates import emulator
from dam_sync.emulators.kit.catalogue import catalogue_of
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.serve import Served
from tests.support.services import background_stop
from tests.support.stepped_clock import StillClock

START = datetime(2026, 1, 1, tzinfo=UTC)
KEY = {"X-API-Key": "k-123"}
OWNER = ("svc-migration", "s3cret-Pass1")
LIMITED = ("svc-limited", "s3cret-Pass2")
EVERY = {"includeDeleted": True, "includeVersions": True}
Row = dict[str, Any]


def field(key: str, kind: str = "text", **more: Any) -> Row:
    label = key.replace("_", " ").title()
    return {"record": "field", "key": key, "label": label, "kind": kind, "types": ["Images"], **more}


def schema_rows() -> list[Row]:
    colours = [{"record": "term", "vocabulary": "colours", "id": c, "labels": {"en": c}} for c in ("Red", "Blue")]
    usage = [
        {"key": "usage_category", "label": "Usage Category", "kind": "term", "vocabulary": "colours"},
        {"key": "usage_until", "label": "Usage Until", "kind": "date"},
    ]
    levels = [{"key": f"level_{n}", "label": f"Level {n}", "kind": "term", "vocabulary": "colours"} for n in (1, 2)]
    return [
        {"record": "type", "name": "Images"},
        {"record": "type", "name": "Documents"},
        {"record": "vocabulary", "key": "colours", "label": "Colours"},
        *colours,
        field("migration_key", types=["Images", "Documents"]),
        field("title", required=True, max_length=250),
        field("notes", "long_text"),
        field("shoot_date", "date"),
        field("campaign", "term", vocabulary="colours"),
        field("channels", "term", vocabulary="colours", multiple=True),
        field("usage_table", "rows", columns=usage),
        field("category", "rows", columns=levels, native="CASCADE"),
        field("secret", sensitive=True),
        {"record": "group", "name": "Full Access"},
        {"record": "group", "name": "Inner Circle"},
        {"record": "container", "kind": "folder", "path": ["Press", "2024"]},
    ]


def asset_row(number: int, **more: Any) -> Row:
    name = f"photo-{number}.jpg"
    return {
        "record": "asset",
        "id": str(number),
        "filename": name,
        "type": "Images",
        "imported_at": (START + timedelta(seconds=number)).isoformat(),
        "fields": {"migration_key": f"old-{number}", "title": f"Photo {number}"},
        "versions": [{"name": name, "generate": {"size": 1000 + number, "seed": number}}],
        **more,
    }


class Api:
    """One signed-in user of a served tenant; `bare` has no credentials at all."""

    def __init__(self, served: Served, user: tuple[str, str] = OWNER) -> None:
        self.served, self.world = served, served.app.world
        self.bare = httpx.Client(timeout=20, trust_env=False, verify=False)
        self.http = httpx.Client(base_url=f"{served.url}/v1", headers=KEY, timeout=20, trust_env=False, verify=False)
        answer = self.http.post("/auth/token", json={"username": user[0], "password": user[1]})
        assert answer.status_code == 200, answer.text
        self.session: Row = answer.json()
        self.use(self.session)

    def use(self, session: Mapping[str, Any]) -> None:
        tokens = session["session"]
        self.http.headers.update({"Authorization": tokens["authorization"], "AccessToken": tokens["accessToken"]})

    def renew(self) -> None:
        """Sign in again, as the owner, after much time."""
        self.use(self.post("/auth/token", {"username": OWNER[0], "password": OWNER[1]}))

    def close(self) -> None:
        self.http.close()
        self.bare.close()

    def get(self, path: str, **params: Any) -> Any:
        return good(self.http.get(path, params=params or None))

    def post(self, path: str, body: Any = None) -> Any:
        return good(self.http.post(path, json=body))

    def patch(self, path: str, body: Any) -> Any:
        return good(self.http.patch(path, json=body))

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        answer = self.http.request(method, path, json=body)
        assert answer.status_code >= 400, answer.text
        return answer.status_code, answer.json()

    def scan(self, **more: Any) -> Any:
        return self.post("/asset/scan", {"searchTerm": ["*"], "operation": "AND", "limit": 100, **more})

    def found(self, *terms: str, **more: Any) -> set[str]:
        answer = self.post("/search/keyword", {"searchTerm": list(terms), "limit": 100, **more})
        return {row["filename"] for row in answer["result"]}

    def named(self, filename: str) -> Any:
        rows = self.scan(**EVERY)["result"]
        return next(row for row in rows if row["filename"] == filename and row["currentVersion"] == "Y")

    def template(self, name: str = "Images") -> Any:
        found = next(row["templateId"] for row in self.get("/metadata/template") if row["templateName"] == name)
        return self.get(f"/metadata/template/{found}")["template"]

    def attributes(self, name: str = "Images") -> dict[str, Any]:
        groups = self.template(name)["metadataGroups"]
        return {each["searchField"]: each for group in groups for each in group["metadataAttributes"]}

    def security(self, name: str = "Full Access") -> str:
        rows = self.get("/security/template")
        return str(next(row["templateId"] for row in rows if row["templateName"] == name))

    def value(self, text: str, name: str = "Colours") -> Row:
        vocabulary = next(r for r in self.get("/metadata/vocabulary") if r["metadataDefinitionName"] == name)
        values = {row["valueName"]: row["valueId"] for row in vocabulary["metadata"]["values"]}
        return {"valueId": values[text]}

    def entry(self, slug: str, value: Any) -> Row:
        attribute = self.attributes()[slug]["id"]
        key = "metadataDefinitionTableValue" if slug == "usage_table" else "metadataDefinitionValue"
        return {"metadataDefinitionId": attribute, key: value}

    def body(self, filename: str = "new.jpg", *entries: Row, **more: Any) -> Row:
        return {
            "filename": filename,
            "metadataTemplateId": self.template()["templateId"],
            "securityTemplateIds": [self.security()],
            "metadata": [self.entry("title", "New"), *entries],
            **more,
        }

    def made(self, filename: str = "new.jpg", *entries: Row, **more: Any) -> Any:
        return self.post("/asset", self.body(filename, *entries, **more))

    def put(self, url: str, data: bytes, **headers: str) -> httpx.Response:
        return self.bare.put(url, content=data, headers={**meta_of(url), **headers})

    def uploaded(self, filename: str = "new.jpg", data: bytes = b"bytes", **more: Any) -> Any:
        made = self.made(filename, **more)
        assert self.put(made["url"], data).status_code == 200
        self.world.advance(5)
        return made

    def truth(self) -> dict[str, Any]:
        return {row["filename"]: row for row in self.served.app.state.dump()}


def good(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, f"{answer.status_code} {answer.text}"
    return answer.json()


def meta_of(url: str) -> dict[str, str]:
    return {key: value for key, value in parse_qsl(urlsplit(url).query) if key.startswith("x-amz-meta-")}


def library(number: int = 6) -> list[Row]:
    return [*schema_rows(), *(asset_row(each) for each in range(1, number + 1))]


@contextmanager
def served(rows: Iterable[Row], **options: Any) -> Iterator[Api]:
    """A tenant with a still clock, and its owner signed in."""
    world = Environment(seed=3, clock=StillClock())
    app = emulator(world, Faults(), ObjectStore(world), options)
    app.state.load(catalogue_of(rows), None)
    with background_stop.serving(lambda: app) as running:
        api = Api(running)
        try:
            yield api
        finally:
            api.close()
