"""The emulated service E: links, embeds, versions, the rest of v1, webhooks. Numbers are the checklist's."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.support.services.emulated_e import TOP, Open, asset_row, tenants
from tests.support.stepped_clock import NOW


@pytest.fixture
def tenant_of() -> Iterator[Open]:
    with tenants() as opened:
        yield opened


def test_15_links_end_on_the_full_hour(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a", versions=[{"name": "été #1.jpg", "generate": {"size": 1000, "seed": 1}}]))
    asset = tenant.search(expand="thumbnails,embeds,file_properties")["items"][0]
    link = asset["_links"]["download"]
    expires = datetime.fromtimestamp(int(parse_qs(urlsplit(link).query)["Expires"][0]), UTC)
    assert expires == NOW.replace(minute=0, second=0) + timedelta(hours=13)
    first = tenant.plain.get(link)
    assert first.status_code == 302
    body = tenant.plain.get(link, follow_redirects=True)
    assert len(body.content) == asset["file_properties"]["size_in_bytes"] == 1000
    tail = tenant.plain.get(link, follow_redirects=True, headers={"Range": "bytes=990-"})
    assert (tail.status_code, tail.content) == (206, body.content[990:])
    assert tenant.plain.get(link, headers={"Authorization": "Bearer x"}).status_code == 400
    assert tenant.plain.get(link.replace("Signature=", "Signature=0")).status_code == 403
    thumbnail = asset["thumbnails"]["300px"]
    assert thumbnail["valid_until"] == "2026-06-16T10:20:30Z"
    assert tenant.plain.get(thumbnail["url"]).headers["content-type"] == "image/jpeg"
    assert tenant.plain.get(asset["embeds"]["original"]["url"]).content == body.content
    tenant.world.advance((expires - NOW).total_seconds() + 1)
    assert tenant.plain.get(link).status_code == 403
    assert tenant.plain.get(thumbnail["url"]).status_code == 200
    calls = tenant.plain.get(f"{tenant.served.url}/_emulator/calls").json()
    assert calls["api"] == {"GET /v2/assets/search": 1}


def test_15_embeds_die_with_the_asset_and_may_be_stale(tenant_of: Open) -> None:
    tenant = tenant_of(embed_stale=3600)
    key = tenant.uploaded("x.jpg", body=b"old")
    url = tenant.get(f"/v2/assets/{key}", expand="embeds")["embeds"]["original"]["url"]
    tenant.world.advance(10)
    tenant.uploaded("x.jpg", body=b"new")
    assert tenant.plain.get(url).content == b"old"
    tenant.world.advance(3600)
    assert tenant.plain.get(url).content == b"new"
    body = {"expiration_date": "2026-01-01T00:00:00Z"}
    tenant.http.put(f"/v2/assets/{key}/security?patch=expiration_date", json=body)
    assert tenant.plain.get(url).status_code == 404


def test_15_zero_bytes_and_truncation_on_demand(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    link = tenant.search()["items"][0]["_links"]["download"]
    tenant.faults.add([{"match": "GET /objects/*", "do": "wrong_length:0", "nth": 1}])
    tenant.faults.add([{"match": "GET /objects/*", "do": "truncate:0.5", "nth": 2}])
    empty = tenant.plain.get(link, follow_redirects=True)
    assert (empty.status_code, empty.content) == (200, b"")
    with pytest.raises(httpx.TransportError):
        tenant.plain.get(link, follow_redirects=True)


def test_16_versions_in_both_interfaces(tenant_of: Open) -> None:
    versions = [{"name": "a.jpg", "generate": {"size": size, "seed": size}} for size in (10, 20)]
    tenant = tenant_of(asset_row("a", versions=versions))
    key = tenant.ids()["a"]
    rows = tenant.get(f"/v2/assets/{key}/versions", expand="file_properties")["items"]
    assert [row["current_version"] for row in rows] == [True, False]
    assert [row["file_properties"]["size_in_bytes"] for row in rows] == [20, 10]
    assert {row["id"] for row in rows} == {key}
    one = tenant.get(f"/v2/assets/{key}/versions/{rows[1]['version_id']}")
    assert len(tenant.plain.get(one["_links"]["download"], follow_redirects=True).content) == 10
    assert tenant.http.get(f"/v2/assets/{key}/versions/none").status_code == 404
    old = tenant.get(f"/api/rest/asset/uuid/{key}/assetversions")
    assert [(row["versionNumber"], row["uuid"]) for row in old["versions"]] == [
        (2, rows[0]["version_id"]), (1, rows[1]["version_id"]),
    ]  # fmt: skip
    older = tenant_of(asset_row("a"), variant="older").search(expand="file_properties")["items"][0]
    assert set(older) == TOP - {"version_id", "current_version", "tags", "ai_tags"}
    assert "size_in_bytes" not in older["file_properties"]


def test_17_the_rest_of_v1(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a", attachments=[{"name": "release.pdf", "generate": {"size": 7, "seed": 1}}]))
    key = tenant.ids()["a"]
    docs = tenant.get(f"/api/rest/asset/uuid/{key}", options="attachedDocs")["attachedDocs"]["docs"]
    assert docs[0]["title"] == "release.pdf"
    assert len(tenant.plain.get(docs[0]["downloadUrl"], follow_redirects=True).content) == 7
    types = {each["name"]: each for each in tenant.get("/api/rest/metadata/types")["types"]}
    fields = {field["displayKey"]: field for field in types["Photo"]["fields"]}
    assert [item["displayName"] for item in fields["main"]["itemList"]["items"]] == ["Red", "Blue", "A/B c"]
    assert "itemList" not in fields["author"]
    change = f"/api/rest/asset/changemetadatatype/asset/{key}/type/{types['Logo']['uuid']}"
    assert tenant.http.put(change).status_code == 200
    assert tenant.get(f"/v2/assets/{key}", expand="metadata")["metadata"]["fields"] == {"srckey": ["k_a"]}
    profiles = {row["title"]: row["uuid"] for row in tenant.get("/api/rest/uploadprofile")["uploadProfiles"]}
    assert list(profiles) == [row["name"] for row in tenant.get("/v2/uploads/profiles")]
    form = {"uploadProfileUUID": profiles["files"], "filename": "old.bin"}
    made = tenant.http.post("/api/rest/asset", data=form, files={"file": ("f", b"old")}).json()["uuid"]
    assert tenant.get(f"/v2/assets/{made}")["filename"] == "old.bin"
    link = {"assetUuid": key, "description": "back", "url": "https://x.example/1"}
    created = tenant.http.post("/api/rest/integrationlink", json=link).json()
    assert tenant.get("/api/rest/integrationlink")["integrationLinks"] == [created]
    groups = {row["uuid"] for row in tenant.get("/api/rest/assetgroups")["assetGroups"]}
    assert groups == {row["uuid"] for row in tenant.get("/v2/assets/assetgroups")["items"]}


def test_17_fields_are_paged_by_display_name(tenant_of: Open) -> None:
    tenant = tenant_of()
    seen: list[str] = []
    after = ""
    while page := tenant.get("/v2/metadata/fields/viewable", limit="3", display_name_after=after)["fields"]:
        seen += [row["display_name"] for row in page]
        after = seen[-1]
    assert seen == sorted(["Author", "Colours", "Height", "Key", "Main", "Shot", "Title"])
    listed = tenant.get("/v2/metadata/fields/viewable", field_types="all_controlled_vocabulary")["fields"]
    assert {row["display_key"]: row["field_type"] for row in listed} == {
        "colors": "selection_list_multi", "main": "selection_list",
    }  # fmt: skip
    assert tenant.http.get("/v2/metadata/fields/viewable?limit=101").status_code == 400


class Hook(BaseHTTPRequestHandler):
    """Collects what is posted to it."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.headers.get("X-Svc-Signature", ""), body))  # type: ignore[attr-defined]
        self.server.more.set()  # type: ignore[attr-defined]
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        return None


@pytest.fixture
def hook() -> Iterator[Any]:
    server: Any = HTTPServer(("127.0.0.1", 0), Hook)
    server.got, server.more = [], threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def received(hook: Any, count: int) -> list[tuple[str, bytes]]:
    while len(hook.got) < count:
        assert hook.more.wait(10)
        hook.more.clear()
    return list(hook.got)


def test_18_webhooks(tenant_of: Open, hook: Any) -> None:
    tenant = tenant_of(asset_row("a"), deliveries="duplicate")
    base = "/v2/webhooks/configurations"
    body = {
        "delivery_url": f"http://127.0.0.1:{hook.server_port}/", "event_type": "asset_metadata_value_updated",
        "secret_key": "s3cret", "monitored_metadata_fields": ["author"],
    }  # fmt: skip
    made = tenant.http.post(base, json=body).json()["id"]
    shown = tenant.get(f"{base}/{made}")
    assert (shown["signing_enabled"], shown["monitored_metadata_fields"]) == (True, ["author"])
    assert "s3cret" not in json.dumps(shown)
    assert tenant.get(base)["total_count"] == 1
    hidden = {**body, "monitored_metadata_fields": ["nothing"]}
    assert tenant.http.post(base, json=hidden).status_code == 403
    for bad in ({"event_type": "x"}, {"secret_key": "x" * 257}, {"delivery_url": "ftp://x"}):
        assert tenant.http.post(base, json={**body, **bad}).status_code == 400
    assert tenant.http.get(f"{base}?limit=11").status_code == 400
    write = {"fields": {"author": ["Bea"], "srckey": ["unwatched"]}}
    tenant.http.put(f"/v2/assets/{tenant.ids()['a']}/metadata", json=write)
    (signature, raw), again = received(hook, 2)
    assert again == (signature, raw)
    assert signature == hmac.new(b"s3cret", raw, hashlib.sha256).hexdigest()
    event = json.loads(raw)
    assert event["change"] == [
        {
            "field": {"display_key": "author", "value_type": "text"},
            "change": {"old_value": ["Ann"], "new_value": ["Bea"]},
        }
    ]
    assert tenant.http.put(f"{base}/{made}?patch=delivery_enabled", json={"delivery_enabled": False}).status_code == 200
    assert tenant.get(f"{base}/{made}")["delivery_enabled"] is False
    assert tenant.http.get(f"{base}/{made}/ping").status_code == 200
    assert json.loads(received(hook, 4)[-1][1])["event_type"] == "ping"
    assert tenant.http.delete(f"{base}/{made}").status_code == 204
    assert tenant.http.get(f"{base}/{made}").status_code == 404
    assert tenant_of(variant="no_webhooks").http.get(base).status_code == 403
