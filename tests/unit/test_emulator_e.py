"""The emulated service E against the checklist of its wire contract, over real sockets. Numbers are the checklist's."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.emulation.catalogue import catalogue_of
from dam_sync.emulation.faults import Faults
from dam_sync.emulation.object_store import ObjectStore
from dam_sync.emulation.serve import Served, serve_in_thread
from dam_sync.emulation.world import World
from dam_sync.services.e_profiles.emulator import emulator
from dam_sync.services.e_profiles.emulator.query import BadQuery, Exact, Not, Words, parse

TOKEN = "wat_demo_b1d3c61e03c6"
NOW = datetime(2026, 6, 15, 10, 20, 30, tzinfo=UTC)
BOTH = {"include_deleted": "true", "include_archived": "true"}
TOP = {
    "id", "external_id", "version_id", "current_version", "filename", "created_date", "last_update_date",
    "file_upload_date", "deleted_date", "released_and_not_expired", "asset_properties", "file_properties", "metadata",
    "metadata_info", "security", "status", "tags", "ai_tags", "thumbnails", "embeds", "expanded", "_links",
}  # fmt: skip


class StillClock:
    """Time that only `advance` moves."""

    def now(self) -> datetime:
        return NOW

    async def sleep(self, seconds: float) -> None:
        return None


def asset_row(key: str, **more: Any) -> dict[str, Any]:
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
            base_url=served.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20, trust_env=False
        )
        self.plain = httpx.Client(timeout=20, trust_env=False)

    def get(self, path: str, **params: str) -> Any:
        answer = self.http.get(path, params=params or None)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def search(self, query: str = "", **params: str) -> Any:
        return self.get("/v2/assets/search", **({"query": query} if query else {}), limit="100", **params)

    def found(self, query: str, **params: str) -> set[str]:
        answer = self.search(query, **{**BOTH, **params})
        assert answer["query_syntax_ok"]
        assert answer["total_count"] == len(answer["items"])
        return {item["filename"].removesuffix(".jpg") for item in answer["items"]}

    def ids(self) -> dict[str, str]:
        lines = self.plain.get(f"{self.served.url}/_emulator/assets").text.splitlines()
        return {row["filename"].removesuffix(".jpg"): row["id"] for row in map(json.loads, lines)}

    def truth(self, asset: str) -> Any:
        lines = self.plain.get(f"{self.served.url}/_emulator/assets").text.splitlines()
        return next(row for row in map(json.loads, lines) if row["id"] == asset)

    def upload(self, name: str, profile: str = "files", body: bytes = b"bytes", **data: str) -> httpx.Response:
        files = {} if {"url", "file_id"} & set(data) else {"file": ("x.bin", body)}
        form = {"profile": profile, "filename": name, **data}
        return self.http.post("/v2/uploads", data=form, files=files or {"none": (None, "")})

    def uploaded(self, name: str, profile: str = "files", body: bytes = b"bytes", **data: str) -> str:
        answer = self.upload(name, profile, body, **data)
        assert answer.status_code == 201, answer.text
        assert set(answer.json()) == {"_links"}
        return str(answer.json()["_links"]["self"]).rpartition("/")[2]

    def close(self) -> None:
        self.http.close()
        self.plain.close()
        self.served.stop()


Open = Callable[..., Tenant]


@pytest.fixture
def tenant_of() -> Iterator[Open]:
    with ExitStack() as stack:

        def opened(*rows: dict[str, Any], **options: object) -> Tenant:
            def make() -> Any:
                world = World(clock=StillClock())
                given = {"rate": None, "lag": 0.0, "processing": 0.0, **options}
                app = emulator(world, Faults(), ObjectStore(world), given)
                app.state.load(catalogue_of([*schema_rows(), *rows]), None)
                return app

            tenant = Tenant(serve_in_thread(make))
            stack.callback(tenant.close)
            return tenant

        yield opened


def test_1_both_interfaces_show_one_store(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    asset = tenant.search()["items"][0]
    old = tenant.get(f"/api/rest/asset/uuid/{asset['id']}")
    assert (old["uuid"], old["name"], old["metadataType"]) == (asset["id"], "a.jpg", "Photo")


def test_2_tokens_in_every_form(tenant_of: Open) -> None:
    tenant = tenant_of(users=[{"name": "eve", "token": "wat_demo_eve"}])
    basic = base64.b64encode(f"{TOKEN}:x-oauth-basic".encode()).decode()
    for header in (f"Bearer {TOKEN}", "Bearer demo/b1d3c61e03c6", f"Basic {basic}"):
        assert tenant.http.get("/v2/user", headers={"Authorization": header}).json()["username"] == "dam-sync"
    for header in ("Bearer wat_demo_wrong", f"Basic {base64.b64encode(b'a:b').decode()}", ""):
        assert tenant.http.get("/v2/user", headers={"Authorization": header}).status_code == 401
    assert tenant.http.get("/v2/user", headers={"Authorization": "Bearer wat_demo_eve"}).json()["username"] == "eve"


def test_2_oauth_rotates_and_spends_once(tenant_of: Open) -> None:
    tenant = tenant_of()
    consent = {"client_id": "client-1", "redirect_uri": "https://app.example/cb", "state": "s"}
    where = tenant.plain.get(f"{tenant.served.url}/allowaccess", params=consent)
    assert where.status_code == 302
    facts = parse_qs(urlsplit(where.headers["location"]).query)
    assert facts["state"] == ["s"]
    assert facts["code"][0].startswith("wac_demo_")
    address = f"{tenant.served.url}/v2/oauth/access-token"
    client = {"client_id": "client-1", "client_secret": "client-secret-1"}
    by_code = {**client, "grant_type": "authorization_code", "authorization_code": facts["code"][0]}
    first = tenant.plain.post(address, json=by_code).json()
    assert (first["token_type"], first["expires_in"]) == ("Bearer", 28800)
    assert tenant.plain.post(address, json=by_code).json()["error"] == "invalid_grant"
    by_refresh = {**client, "grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    second = tenant.plain.post(address, json=by_refresh).json()
    assert second["refresh_token"] != first["refresh_token"]
    assert tenant.plain.post(address, json=by_refresh).status_code == 400
    bearer = {"Authorization": f"Bearer {second['access_token']}"}
    assert tenant.http.get("/v2/user", headers=bearer).status_code == 200
    tenant.world.advance(28_801)
    assert tenant.http.get("/v2/user", headers=bearer).status_code == 401
    wrong = {**by_refresh, "client_secret": "no", "refresh_token": second["refresh_token"]}
    assert tenant.plain.post(address, json=wrong).status_code == 401
    third = tenant.plain.post(address, json={**by_refresh, "refresh_token": second["refresh_token"]}).json()
    bearer = {"Authorization": f"Bearer {third['access_token']}"}
    assert tenant.http.delete("/v2/oauth/access-token", headers=bearer).status_code == 204
    assert tenant.http.get("/v2/user", headers=bearer).status_code == 401


def test_2_oauth_of_v1(tenant_of: Open) -> None:
    tenant = tenant_of()
    consent = {"client_id": "client-2", "redirect_uri": "https://app.example/cb"}
    where = tenant.plain.get(f"{tenant.served.url}/allowaccess", params=consent).headers["location"]
    body = {"grant_type": "authorization_code", "authorization_code": where.partition("code=")[2]}
    address = f"{tenant.served.url}/api/rest/oauth/token"
    answer = tenant.plain.post(address, json=body, auth=("client-2", "client-secret-2"))
    assert set(answer.json()) == {"access_token"}
    bearer = {"Authorization": f"Bearer {answer.json()['access_token']}"}
    tenant.world.advance(10 * 365 * 86400)
    assert tenant.http.post("/api/rest/oauth/logout", headers=bearer).status_code == 200
    assert tenant.http.get("/v2/user", headers=bearer).status_code == 401
    assert tenant.plain.post(address, json=body, auth=("client-2", "client-secret-2")).status_code == 403


def test_3_the_rate_is_a_sliding_window_over_v1_and_v2(tenant_of: Open) -> None:
    tenant = tenant_of(rate=50)
    for _ in range(25):
        last = tenant.http.get("/v2/user")
        assert tenant.http.get("/api/rest/assetgroups").status_code == 200
    assert last.headers["x-ratelimit-limit"] == "50/second"
    assert last.headers["x-ratelimit-remaining"] == "1"
    assert last.headers["access-control-allow-origin"] == "*"
    refused = tenant.http.get("/v2/user")
    assert refused.status_code == 429
    assert refused.headers["x-ratelimit-reset"] == "2026-06-15T10:20:31.000Z"
    assert tenant.http.get("/api/rest/assetgroups").status_code == 429
    tenant.world.advance(0.999)
    assert tenant.http.get("/v2/user").status_code == 429
    tenant.world.advance(0.001)
    assert tenant.http.get("/v2/user").status_code == 200
    assert tenant.http.get("/v2/nowhere").headers["x-ratelimit-limit"] == "50/second"


def test_4_envelope_members_and_bounds(tenant_of: Open) -> None:
    tenant = tenant_of(*(asset_row(f"a{n}", imported_at=f"2026-01-0{n}T00:00:00Z") for n in range(1, 4)))
    answer = tenant.get("/v2/assets/search")
    assert set(answer) == {
        "query", "sort", "query_explained", "sort_explained", "query_syntax_ok", "scroll_id", "scroll_timeout",
        "include_archived", "include_deleted", "facets", "item_type", "total_count", "offset", "limit", "items",
    }  # fmt: skip
    assert (answer["query"], answer["sort"], answer["limit"], answer["total_count"]) == (None, "-created_date", 10, 3)
    assert [item["filename"] for item in answer["items"]] == ["a3.jpg", "a2.jpg", "a1.jpg"]
    item = answer["items"][0]
    assert set(item) == TOP
    assert item["metadata"] is item["tags"] is item["status"] is None
    assert item["created_date"] == "2026-01-03T00:00:00Z"
    item = tenant.get("/v2/assets/search", expand="metadata,security", limit="1")["items"][0]
    assert item["metadata"]["fields"]["colors"] == []
    assert item["expanded"]["metadata"]
    assert not item["expanded"]["tags"]
    for bad in ({"limit": "0"}, {"limit": "101"}, {"offset": "10001"}, {"expand": "status"}, {"sort": "nothing"}):
        assert tenant.http.get("/v2/assets/search", params=bad).status_code == 400
    assert tenant.get("/v2/assets/search", offset="10000", limit="100")["items"] == []
    assert [i["filename"] for i in tenant.search(sort="filename")["items"]] == ["a1.jpg", "a2.jpg", "a3.jpg"]
    strict = tenant_of(variant="window")
    assert strict.http.get("/v2/assets/search", params={"offset": "9950", "limit": "51"}).status_code == 400


def test_4_ties_are_shuffled_in_each_call(tenant_of: Open) -> None:
    tenant = tenant_of(*(asset_row(f"t{n:03}") for n in range(60)))
    orders = [tuple(item["id"] for item in tenant.search(sort="created_date")["items"]) for _ in range(4)]
    assert len(set(orders)) > 1
    assert {frozenset(order) for order in orders} == {frozenset(orders[0])}
    assert len(orders[0]) == 60


def test_4_the_query_language(tenant_of: Open) -> None:
    day = "2026-02-0{}T00:00:00Z".format
    tenant = tenant_of(
        asset_row("sea", imported_at=day(1), tags=["wave"],
                  fields={"srckey": "a_1", "author": "Ann Lee", "colors": [{"id": "Red", "label": "Red"}]},
                  placements=[{"kind": "category", "path": ["Press", "Sea / Shore"]}]),
        asset_row("hill", imported_at=day(2), fields={"srckey": "a_10", "author": "Ann"}, rights={"groups": ["staff"]}),
        asset_row("town", imported_at=day(3), fields={"srckey": "a_100", "shot": {"date": "2020-05-05"}},
                  rights={"expires_at": "2026-03-01T00:00:00Z"}),
    )  # fmt: skip
    cases = {
        "srckey:({a_1})": {"sea"},
        "srckey:({A_10})": {"hill"},
        "srckey:({a_1}) OR srckey:({a_100})": {"sea", "town"},
        "author:(Ann)": {"sea", "hill"},
        "author:({Ann})": {"hill"},
        'author:"Ann Lee"': {"sea"},
        "author:(isempty)": {"town"},
        "author:-(isempty)": {"sea", "hill"},
        "author:(Ann -(Lee))": {"hill"},
        "author:(A*)": {"sea", "hill"},
        "filename:({sea.jpg})": {"sea"},
        f"DateAdded:[{day(1)} to {day(2)}]": {"sea", "hill"},
        f"du:[{day(1)} TO 2026-02-01T23:59:59.123Z]": {"sea"},
        "du:[02/02/2026]": {"hill"},
        "du:[after 02/02/2026] AND du:[before 02/04/2026]": {"hill", "town"},
        "shot:[05/05/2020]": {"town"},
        "ed:((isEmpty) OR [after 09/30/2026])": {"sea", "hill"},
        "category:({Press/Sea \\/ Shore})": {"sea"},
        "cat:(In)": set(),
        "ag:{staff}": {"hill"},
        "ft:(image) -(srckey:({a_1}))": {"hill", "town"},
        "ff:(JPEG) keywords:(wave)": {"sea"},
        "colors:({Red})": {"sea"},
        "wave": {"sea"},
        "nofield:(Ann)": set(),
        "(srckey:({a_1}) OR author:(isempty)) AND ft:(image)": {"sea", "town"},
    }
    assert {query: tenant.found(query) for query in cases} == cases
    embed = tenant.search("srckey:({a_1})")["items"][0]["external_id"]
    assert tenant.found(f"embedid:({{{embed}}})") == {"sea"}
    assert len(embed) == 10


def test_4_malformed_queries_do_not_fail(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    for query in (
        "author:(Ann",
        "author:({Ann)",
        'say "Ann',
        "Ann OR",
        "du:[yesterday]",
        "author:",
        "AND",
        "du:[after 13/45/2020]",
    ):
        answer = tenant.search(query)
        assert answer["query_syntax_ok"] is False, query


def test_4_range_ends_in_both_readings(tenant_of: Open) -> None:
    rows = [asset_row(f"s{n}", imported_at=f"2026-02-01T00:00:0{n}Z") for n in (1, 2, 3)]
    query = "DateAdded:[2026-02-01T00:00:01Z to 2026-02-01T00:00:03Z]"
    assert tenant_of(*rows).found(query) == {"s1", "s2", "s3"}
    assert tenant_of(*rows, variant="exclusive").found(query) == {"s2"}


def test_5_scroll_advances_on_the_server(tenant_of: Open) -> None:
    tenant = tenant_of(*(asset_row(f"n{n:02}") for n in range(25)))
    first = tenant.get("/v2/assets/search", scroll="true", limit="10", facet="file_types", expand="tags")
    assert first["scroll_timeout"] == "60000"
    assert first["facets"]["file_types"] == [{"name": "image", "count": 25, "search_query": "ft:(image)"}]
    tenant.uploaded("later.jpg")
    second = tenant.get("/v2/assets/search/scroll", scroll_id=first["scroll_id"], expand="tags")
    assert second["facets"] is None
    assert second["total_count"] == 25
    third = tenant.get("/v2/assets/search", scroll_id=first["scroll_id"])
    last = tenant.get("/v2/assets/search/scroll", scroll_id=third["scroll_id"])
    pages = [first["items"], second["items"], third["items"], last["items"]]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert len({item["id"] for page in pages for item in page}) == 25
    tenant.world.advance(61)
    gone = tenant.http.get("/v2/assets/search/scroll", params={"scroll_id": third["scroll_id"]})
    assert gone.status_code == 404
    assert tenant.http.get("/v2/assets/search/scroll", params={"scroll_id": "nonsense"}).status_code == 404


def test_5_a_lost_scroll_answer_has_consumed_its_page(tenant_of: Open) -> None:
    tenant = tenant_of(*(asset_row(f"n{n:02}") for n in range(25)))
    first = tenant.get("/v2/assets/search", scroll="true", limit="10")
    tenant.faults.add([{"match": "GET /v2/assets/search/scroll", "do": "reset_after", "nth": 1}])
    with pytest.raises(httpx.TransportError):
        tenant.get("/v2/assets/search/scroll", scroll_id=first["scroll_id"])
    rest = tenant.get("/v2/assets/search/scroll", scroll_id=first["scroll_id"])
    assert len(rest["items"]) == 5
    assert not tenant.faults.unhit()


def test_6_the_index_lags_and_reads_by_id_do_not(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("old"), lag=3.0)
    made = tenant.uploaded("new.jpg", metadata='{"fields":{"srckey":["k_new"]}}')
    assert tenant.get(f"/v2/assets/{made}")["filename"] == "new.jpg"
    assert tenant.found("srckey:({k_new})") == set()
    tenant.world.advance(2.9)
    assert tenant.found("srckey:({k_new})") == set()
    tenant.world.advance(0.1)
    assert tenant.found("srckey:({k_new})") == {"new"}
    tenant.http.delete(f"/v2/assets/{made}")
    assert tenant.get(f"/v2/assets/{made}")["deleted_date"] is not None
    assert "new" in tenant.found("", include_deleted="false")
    tenant.world.advance(3)
    assert "new" not in tenant.found("", include_deleted="false")


def test_6_every_change_moves_last_update_date_but_membership_of_a_collection(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    key = tenant.ids()["a"]
    collection = tenant.get("/v2/collections", type="global")["items"][0]["id"]
    category = tenant.get("/v2/categories")["items"][0]["id"]
    base = f"/v2/assets/{key}"

    def moved(method: str, path: str, body: Any) -> bool:
        before = tenant.get(base)["last_update_date"]
        tenant.world.advance(5)
        assert tenant.http.request(method, path, json=body).status_code < 300
        return bool(tenant.get(base)["last_update_date"] != before)

    member = {"add": {"uuids": [key]}, "remove": {"uuids": []}}
    assert moved("PUT", f"{base}/metadata", {"fields": {"author": ["B"]}})
    assert moved("PUT", f"{base}/security?patch=expiration_date", {"expiration_date": "2030-01-01T00:00:00Z"})
    assert moved("PUT", f"{base}/tags/add", {"tags": ["x"]})
    assert moved("PUT", f"{base}/filename", {"filename": "b.jpg"})
    assert moved("POST", "/api/rest/category/assets", {"categories": {"uuids": [category]}, **member})
    assert not moved("POST", "/api/rest/collection/assets", {"collections": {"uuids": [collection]}, **member})
    assert moved("DELETE", base, None)


def test_7_rights_narrow_lists_and_take_links_away(tenant_of: Open) -> None:
    users = [
        {"name": "narrow", "token": "wat_demo_narrow", "groups": ["public"], "sees": [], "orders": []},
        {"name": "wide", "token": "wat_demo_wide", "groups": ["public"], "orders": ["active"]},
    ]
    tenant = tenant_of(
        asset_row("plain"),
        asset_row("staff", rights={"groups": ["staff"]}),
        asset_row("early", rights={"release_at": "2027-01-01T00:00:00Z"}),
        asset_row("late", rights={"expires_at": "2026-02-01T00:00:00Z"}),
        asset_row("shelved", status="archived"),
        asset_row("binned", status="trash"),
        users=users,
    )
    assert tenant.found("") == {"plain", "staff", "early", "late", "shelved", "binned"}
    assert tenant.found("", include_deleted="false", include_archived="false") == {"plain", "staff", "early", "late"}
    ids = tenant.ids()
    tenant.http.headers["Authorization"] = "Bearer wat_demo_narrow"
    assert tenant.found("") == {"plain"}
    assert "download" not in tenant.search()["items"][0]["_links"]
    assert tenant.http.get(f"/v2/assets/{ids['staff']}").status_code == 404
    assert [g["name"] for g in tenant.get("/v2/assets/assetgroups")["items"]] == ["public"]
    tenant.http.headers["Authorization"] = "Bearer wat_demo_wide"
    links = {item["filename"]: "download" in item["_links"] for item in tenant.search("", **BOTH)["items"]}
    assert links == {"plain.jpg": True, "early.jpg": False, "late.jpg": False, "shelved.jpg": True, "binned.jpg": True}


def test_8_metadata_lists_every_field_of_its_one_type(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    made = tenant.uploaded("logo.png", "queue")
    asset = tenant.get(f"/v2/assets/{made}", expand="metadata,metadata_info,metadata_vocabulary")
    assert asset["metadata"]["fields"] == {"srckey": []}
    photo = tenant.get(f"/v2/assets/{tenant.ids()['a']}", expand="metadata,metadata_info,metadata_vocabulary")
    fields = {row["key"]: row for row in photo["metadata_info"]["field_set_fields"]}
    assert set(photo["metadata"]["fields"]) == set(fields)
    assert fields["colors"]["vocabulary"] == ["Red", "Blue", "A/B c"]
    assert fields["title"]["required"]


def test_9_upload_takes_what_the_profile_gives(tenant_of: Open) -> None:
    tenant = tenant_of(processing=10.0)
    made = tenant.uploaded("x.jpg", body=b"12345", metadata='{"fields":{"srckey":["k"]}}')
    asset = tenant.get(f"/v2/assets/{made}", expand="metadata,security,status,metadata_info,file_properties")
    assert asset["metadata_info"]["field_set"] == "Photo"
    assert asset["metadata"]["fields"]["author"] == ["Nobody"]
    assert asset["security"]["asset_groups"] == ["public"]
    assert asset["status"]["upload_progress"] == "pending"
    assert asset["file_properties"]["size_in_bytes"] is None
    tenant.world.advance(6)
    assert tenant.get(f"/v2/assets/{made}", expand="status")["status"]["upload_progress"] == "verifying"
    tenant.world.advance(5)
    asset = tenant.get(f"/v2/assets/{made}", expand="status,file_properties")
    assert asset["status"]["upload_progress"] == "complete"
    assert asset["file_properties"]["size_in_bytes"] == 5
    assert tenant.truth(made)["placements"][0]["path"] == ["In"]
    assert tenant.truth(made)["versions"][0]["sha256"] == hashlib.sha256(b"12345").hexdigest()
    for refused in (
        tenant.upload("y.jpg", "unknown"),
        tenant.upload("y.jpg", metadata='{"srckey":["bare map"]}'),
        tenant.upload("y.jpg", metadata='{"fields":{"colors":["Pink"]}}'),
        tenant.upload("y.jpg", file_id="unknown"),
        tenant.http.post("/v2/uploads", json={}),
        tenant.http.post("/v2/uploads", data={"profile": "files"}, files={"none": (None, "")}),
    ):
        assert refused.status_code == 400


@pytest.mark.parametrize(
    "body", [b"", b"no form at all", b'--B\r\nContent-Disposition: form-data; name="file"\r\n\r\nhalf of']
)
def test_9_malformed_forms_leave_nothing(tenant_of: Open, body: bytes) -> None:
    tenant = tenant_of()
    headers = {"Content-Type": "multipart/form-data; boundary=B"}
    assert tenant.http.post("/v2/uploads", content=body, headers=headers).status_code == 400
    assert list(tenant.served.app.objects.folder.iterdir()) == []


def test_9_upload_from_an_address(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    link = tenant.search()["items"][0]["_links"]["download"]
    made = tenant.uploaded("copy.jpg", url=link)
    assert tenant.truth(made)["versions"][0]["sha256"] == tenant.truth(tenant.ids()["a"])["versions"][0]["sha256"]
    assert tenant.upload("z.jpg", url=f"{tenant.served.storage_url}/nothing").status_code == 400


def test_9_conflicts_follow_the_policy_of_the_profile(tenant_of: Open) -> None:
    tenant = tenant_of()
    first = tenant.uploaded("x.jpg", metadata='{"fields":{"srckey":["one"],"author":["Ann"]}}')
    before = tenant.get(f"/v2/assets/{first}")
    tenant.world.advance(2)
    assert tenant.uploaded("X.JPG", "files", b"v2", metadata='{"fields":{"author":["Bob"]}}') == first
    asset = tenant.get(f"/v2/assets/{first}", expand="metadata")
    assert asset["metadata"]["fields"]["author"] == ["Ann"]
    assert asset["version_id"] != before["version_id"]
    assert asset["external_id"] == before["external_id"]
    assert tenant.uploaded("x.jpg", "both", b"v3", metadata='{"fields":{"author":["Bob"]}}') == first
    fields = tenant.get(f"/v2/assets/{first}", expand="metadata")["metadata"]["fields"]
    assert (fields["author"], fields["srckey"]) == (["Bob"], ["one"])
    queued = tenant.uploaded("x.jpg", "queue", b"v4")
    assert queued != first
    tenant.world.advance(7200)
    assert tenant.get(f"/v2/assets/{queued}", expand="status")["status"]["upload_progress"] == "pending"
    assert tenant.search("", **BOTH)["total_count"] == 1
    assert tenant_of(asset_row("x"), variant="refuse_names").upload("x.jpg").status_code == 409


def chunk(tenant: Tenant, session: str, number: int | str, body: bytes) -> httpx.Response:
    form = {"session_id": session, "chunk_number": str(number)}
    return tenant.http.post("/v2/uploads/chunks/upload", data=form, files={"file": ("blob", body)})


def begin(tenant: Tenant) -> str:
    return str(tenant.http.post("/v2/uploads/chunks/start").json()["session_id"])


def complete(tenant: Tenant, session: str, tags: list[str]) -> httpx.Response:
    return tenant.http.post("/v2/uploads/chunks/complete", json={"session_id": session, "tags": tags})


def test_10_chunks_in_any_order(tenant_of: Open) -> None:
    tenant = tenant_of()
    session = begin(tenant)
    parts = [bytes([n]) * 5_000_000 for n in (1, 2)] + [b"tail"]
    tags = [chunk(tenant, session, number, parts[number - 1]).json()["tag"] for number in (3, 1, 2)]
    tags[0] = chunk(tenant, session, 3, b"TAIL").json()["tag"]
    listed = tenant.http.post("/v2/uploads/chunks/status", json={"session_id": session}).json()
    assert [row["chunk_number"] for row in listed["chunks"]] == [1, 2, 3]
    assert complete(tenant, session, tags[:2]).status_code == 400
    file_id = complete(tenant, session, tags).json()["file_id"]
    made = tenant.uploaded("big.bin", file_id=file_id)
    digest = hashlib.sha256(parts[0] + parts[1] + b"TAIL").hexdigest()
    assert tenant.truth(made)["versions"][0]["sha256"] == digest
    second = tenant.uploaded("other.bin", file_id=file_id)
    assert second != made
    tenant.world.advance(7 * 86400 + 1)
    assert tenant.upload("third.bin", file_id=file_id).status_code == 400
    assert chunk(tenant, session, 1, b"x").status_code == 404


def test_10_bounds_of_chunks(tenant_of: Open) -> None:
    tenant = tenant_of()
    session = begin(tenant)
    for number in ("0", "10001", "x"):
        assert chunk(tenant, session, number, b"x").status_code == 400
    tags = [chunk(tenant, session, number, b"small").json()["tag"] for number in (1, 2)]
    assert complete(tenant, session, tags).status_code == 400
    gap = begin(tenant)
    tags = [chunk(tenant, gap, number, b"x" * 5_000_000).json()["tag"] for number in (1, 3)]
    assert complete(tenant, gap, tags).status_code == 400
    single = begin(tenant)
    tag = chunk(tenant, single, 1, b"9 bytes!!").json()["tag"]
    assert complete(tenant, single, [tag]).status_code == 200
    off = tenant_of(variant="no_chunks").http.post("/v2/uploads/chunks/start")
    assert off.status_code == 403
    assert "support" in off.json()["error_description"]


def test_10_a_chunk_that_is_too_long_is_refused(tenant_of: Open) -> None:
    tenant = tenant_of()
    session = begin(tenant)
    assert chunk(tenant, session, 1, bytes(100_000_001)).status_code == 413
    small = tenant_of(variant="small_forms")
    assert small.upload("x.bin", body=bytes(50_000_001)).status_code == 413


def test_10_only_so_many_chunks_at_once(tenant_of: Open) -> None:
    tenant = tenant_of(chunk_slots=1)
    session = begin(tenant)
    went_on, over = threading.Event(), threading.Event()
    head = b'--B\r\nContent-Disposition: form-data; name="session_id"\r\n\r\n'
    seen: list[int] = []

    def slow() -> Iterator[bytes]:
        yield head
        went_on.set()
        over.wait(60)
        yield session.encode() + b'\r\n--B\r\nContent-Disposition: form-data; name="chunk_number"\r\n\r\n1\r\n'
        yield b'--B\r\nContent-Disposition: form-data; name="file"; filename="b"\r\n\r\nbody\r\n--B--\r\n'

    def send() -> None:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "multipart/form-data; boundary=B"}
        url = f"{tenant.served.url}/v2/uploads/chunks/upload"
        seen.append(httpx.post(url, content=slow(), headers=headers, trust_env=False).status_code)

    thread = threading.Thread(target=send)
    thread.start()
    assert went_on.wait(10)
    refused = 0
    for _ in range(2_000):  # the slow call may not have reached the service yet
        refused = chunk(tenant, session, 2, b"x").status_code
        if refused == 429 or not thread.is_alive():
            break
    over.set()
    thread.join(60)
    assert refused == 429
    assert seen == [200]
    assert chunk(tenant, session, 2, b"x").status_code == 200


def test_11_metadata_writes(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    key = tenant.ids()["a"]
    path = f"/v2/assets/{key}/metadata"

    def put(patch: str | None, **fields: Any) -> int:
        params = None if patch is None else {"patch": patch}
        return tenant.http.put(path, params=params, json={"fields": fields}).status_code

    assert put("author", author=["  Bob "], srckey=["ignored"]) == 200
    assert tenant.get(path)["fields"]["author"] == ["Bob"]
    assert tenant.get(path)["fields"]["srckey"] == ["k_a"]
    for empty in ([], None, [None], [""], ["  "]):
        assert put(None, author=["x"]) == 200
        assert put(None, author=empty) == 200
        assert tenant.get(path)["fields"]["author"] == []
    assert put(None, colors=["Red", "Blue"], shot=["2022-06-19"], height=["1.5"], main=["Red"]) == 200
    refused: list[dict[str, Any]] = [
        {"colors": ["Pink"]}, {"main": ["Red", "Blue"]}, {"shot": ["soon"]}, {"height": ["tall"]}, {"nothing": ["x"]},
        {"srckey": ["x" * 256]}, {"author": ["x" * 1281]}, {"author": "text"}, {"author": [1]},
    ]  # fmt: skip
    for fields in refused:
        assert put(None, **fields) == 400, fields
    assert put(None, title=["T"]) == 200
    assert put(None, title=[]) == 409
    assert put("author,main") == 200
    assert tenant.get(path)["fields"]["main"] == ["Red"]
    assert put(None, srckey=["x" * 255]) == 200
    other = tenant_of(asset_row("a"), variant="patch_empties,empty_required,ignore_unknown")
    path = f"/v2/assets/{other.ids()['a']}/metadata"
    assert other.http.put(f"{path}?patch=author,title", json={"fields": {"none": ["x"]}}).status_code == 200
    assert other.get(path)["fields"]["author"] == []


def test_12_security(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    path = f"/v2/assets/{tenant.ids()['a']}/security"

    def put(patch: str, **body: Any) -> int:
        return tenant.http.put(path, params={"patch": patch}, json=body).status_code

    assert put("expiration_date", expiration_date="2027-01-01T10:00:00.791Z", asset_groups=["staff"]) == 200
    assert tenant.get(path) == {
        "asset_groups": ["public"], "release_date": "2026-01-01T00:00:00Z", "expiration_date": "2027-01-01T10:00:00Z",
    }  # fmt: skip
    assert put("asset_groups", asset_groups=[]) == 400
    assert put("asset_groups", asset_groups=["nobody"]) == 400
    assert put("release_date", release_date="soon") == 400
    assert put("colour") == 400
    assert put("all", asset_groups=["staff"]) == 200
    assert tenant.get(path) == {"asset_groups": ["staff"], "release_date": None, "expiration_date": None}
    assert put("all", release_date="2026-01-01T00:00:00Z") == 200
    assert tenant.http.get(path).status_code == 404  # without a group nobody has it


def test_13_tags(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a", tags=["one"], machine_tags=["robot"]))
    base = f"/v2/assets/{tenant.ids()['a']}"
    for _ in range(2):
        assert tenant.http.put(f"{base}/tags/add", json={"tags": ["two"]}).status_code == 200
    assert tenant.http.post(f"{base}/tags/remove", json={"tags": ["one", "robot"]}).status_code == 200
    asset = tenant.get(base, expand="tags,ai_tags")
    assert (asset["tags"], asset["ai_tags"]) == (["two"], ["robot"])
    assert tenant.http.put(f"{base}/tags/add", json={"tags": "two"}).status_code == 400


def test_13_vocabularies(tenant_of: Open) -> None:
    tenant = tenant_of(
        asset_row("a", fields={"colors": [{"id": "Red", "label": "Red"}, {"id": "Blue", "label": "Blue"}]})
    )
    base = "/v2/metadata/colors/vocabulary"
    assert tenant.get(base)["vocabulary"] == ["Red", "Blue", "A/B c"]
    slashed = tenant.get(f"{base}/A%2FB%20c")
    assert (slashed["index"], slashed["value"]) == (2, "A/B c")
    assert tenant.http.get(f"{base}/Pink").status_code == 404
    assert tenant.http.post(base, json={"value": "Green", "index": 1}).status_code == 201
    assert tenant.http.post(base, json={"value": "Green"}).status_code == 409
    assert tenant.http.put(f"{base}/Red", json={"value": "Crimson"}).status_code == 200
    assert tenant.http.put(f"{base}/A%2FB%20c", json={"index": 0}).status_code == 200
    assert tenant.http.delete(f"{base}/Blue").status_code == 204
    assert tenant.get(base)["vocabulary"] == ["A/B c", "Crimson", "Green"]
    assert tenant.get(f"/v2/assets/{tenant.ids()['a']}", expand="metadata")["metadata"]["fields"]["colors"] == [
        "Crimson"
    ]
    assert tenant.found("colors:({crimson})") == {"a"}
    assert tenant.http.get("/v2/metadata/author/vocabulary").status_code == 404


def test_13_categories(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"), asset_row("b"))
    ids = tenant.ids()
    press = next(row for row in tenant.get("/v2/categories")["items"] if row["name"] == "Press")
    child = tenant.get("/v2/categories/Press")["items"][0]
    assert (child["name"], child["path"], child["parts"]) == (
        "Sea / Shore",
        "Press/Sea \\/ Shore",
        ["Press", "Sea / Shore"],
    )
    assert child["_links"]["categories"].endswith("/v2/categories/Press/Sea%20%5C%2F%20Shore")
    made = tenant.http.post("/api/rest/category", json={"title": "Deep", "parentCategory": child["id"]}).json()
    assert [row["id"] for row in tenant.get("/v2/categories/Press/Sea%20%5C%2F%20Shore")["items"]] == [made["uuid"]]
    assert tenant.http.get("/v2/categories/Press/Sea%20/%20Shore").status_code == 404
    both = {"uuids": [made["uuid"], press["id"]]}
    body = {"categories": both, "add": {"uuids": list(ids.values())}, "remove": {"uuids": []}}
    for _ in range(2):
        assert tenant.http.post("/api/rest/category/assets", json=body).status_code == 200
    out = {**body, "add": {"uuids": []}, "remove": {"uuids": [ids["b"]]}}
    assert tenant.http.post("/api/rest/category/assets", json=out).status_code == 200
    assert {row["id"] for row in tenant.http.get(press["_links"]["assets"]).json()["items"]} == {ids["a"]}
    tree = tenant.get("/api/rest/category/categoryTree")["categories"]
    assert [row["title"] for row in tree] == ["Press"]
    everything = tenant.get("/api/rest/category/categoryTree", includeEmpty="true")["categories"]
    assert {row["title"] for row in everything} == {"In", "Press"}
    assert len(tenant.get("/api/rest/category/categoryTree", includeEmpty="undefined")["categories"]) == 1
    renamed = tenant.http.put(f"/api/rest/category/uuid/{press['id']}", json={"title": "Media"})
    assert renamed.json()["title"] == "Media"
    assert tenant.found("category:({Media})") == {"a"}
    assert tenant.http.post("/api/rest/category", json={"title": "Media", "parentCategory": "root"}).status_code == 409


def test_13_listings_of_parents_in_both_readings(tenant_of: Open) -> None:
    row = asset_row("a", placements=[{"kind": "category", "path": ["Press", "Sea / Shore"]}])
    for variant, count in (("", 0), ("subtree", 1)):
        tenant = tenant_of(row, variant=variant)
        press = next(each for each in tenant.get("/v2/categories")["items"] if each["name"] == "Press")
        assert tenant.http.get(press["_links"]["assets"]).json()["total_count"] == count


def test_13_collections(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a", placements=[{"kind": "collection", "path": ["Spring"]}]), asset_row("b"))
    ids = tenant.ids()
    assert tenant.http.get("/v2/collections").status_code == 400
    spring = tenant.get("/v2/collections", type="global")["items"][0]
    assert (spring["title"], spring["total_items"]) == ("Spring", 1)
    assert {row["id"] for row in tenant.http.get(spring["_links"]["assets"]).json()["items"]} == {ids["a"]}
    made = tenant.http.post("/api/rest/collection", json={"title": "Mine", "assets": {"uuids": [ids["a"]]}}).json()
    assert (made["type"], made["numResults"], made["assetsAddedCount"]) == ("local", 1, 1)
    body = {"collections": {"uuids": [made["uuid"]]}, "add": {"uuids": [ids["b"]]}, "remove": {"uuids": [ids["a"]]}}
    assert tenant.http.post("/api/rest/collection/assets", json=body).status_code == 200
    mine = tenant.get("/v2/collections", type="private", limit="100")["items"][0]
    assert {row["id"] for row in tenant.http.get(mine["_links"]["assets"]).json()["items"]} == {ids["b"]}
    for bad in ({"limit": "101"}, {"offset": "10000"}):
        assert tenant.http.get("/v2/collections", params={"type": "global", **bad}).status_code == 400


def test_14_trash_then_gone(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    base = f"/v2/assets/{tenant.ids()['a']}"
    assert tenant.http.delete(f"{base}/permanent").status_code == 409
    for _ in range(2):
        assert tenant.http.delete(base).status_code == 204
    assert tenant.search()["total_count"] == 0
    assert tenant.search("", **BOTH)["items"][0]["deleted_date"] == "2026-06-15T10:20:30Z"
    assert tenant.http.delete(f"{base}/permanent").status_code == 204
    assert tenant.http.get(base).status_code == 404
    assert tenant.search("", **BOTH)["total_count"] == 0


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


def test_19_void_calls_in_both_modes(tenant_of: Open) -> None:
    row = asset_row("a")
    for variant, body in (("", b""), ("void_json", b'{"status":"success"}')):
        tenant = tenant_of(row, variant=variant)
        answer = tenant.http.put(f"/v2/assets/{tenant.ids()['a']}/filename", json={"filename": "b.jpg"})
        assert (answer.status_code, answer.content) == (200, body)
        assert ("json" in answer.headers.get("content-type", "")) == bool(body)


def test_20_faults_before_and_after_the_effect(tenant_of: Open) -> None:
    tenant = tenant_of()
    script = ("status:408", "status:500", "status:502", "status:503", "reset_before", "reset_after")
    tenant.faults.add([{"match": "POST /v2/uploads", "do": do, "nth": n} for n, do in enumerate(script, 1)])
    for status in (408, 500, 502, 503):
        assert tenant.upload("x.jpg", body=bytes(10)).status_code == status
    for _ in range(2):
        with pytest.raises(httpx.TransportError):
            tenant.upload("x.jpg")
    assert not tenant.faults.unhit()
    assert len(tenant.search()["items"]) == 1  # the last one had its effect


def test_20_throttled_by_script(tenant_of: Open) -> None:
    tenant = tenant_of()
    tenant.faults.add([{"match": "GET /v2/user", "do": "throttle", "nth": 1}])
    refused = tenant.http.get("/v2/user")
    assert (refused.status_code, refused.headers["x-ratelimit-reset"]) == (429, "2026-06-15T10:20:31.000Z")


def test_strict_names_are_refused(tenant_of: Open) -> None:
    tenant = tenant_of(variant="strict_names")
    assert tenant.upload("a/b.jpg").status_code == 400
    assert tenant.upload("a" * 129).status_code == 400
    assert tenant.http.post("/api/rest/category", json={"title": "a/b", "parentCategory": "root"}).status_code == 400


def test_unknown_options_are_refused() -> None:
    world = World()
    for options in ({"colour": 1}, {"variant": "nonsense"}, {"version_policy": "x"}, {"deliveries": "x"}):
        with pytest.raises(ValueError):
            emulator(world, Faults(), ObjectStore(world), options)


def test_the_ground_truth_is_neutral(tenant_of: Open) -> None:
    fields = {
        "colors": [{"id": "Red", "label": "Red"}], "shot": {"date": "2020-01-02"}, "height": 4,
        "title": {"texts": {"fr": "Mer", "en": "Sea"}},
    }  # fmt: skip
    places = [{"kind": "collection", "path": ["Spring"]}, {"kind": "category", "path": ["Press"]}]
    row = asset_row("a", fields=fields, placements=places)
    tenant = tenant_of(row)
    truth = tenant.truth(tenant.ids()["a"])
    assert truth["catalogue_id"] == "a"
    assert truth["fields"] == {
        "colors": [{"id": "", "label": "Red"}], "shot": {"date": "2020-01-02"}, "height": 4, "title": "Sea",
    }  # fmt: skip
    assert [(p["kind"], p["path"]) for p in truth["placements"]] == [
        ("category", ["Press"]),
        ("collection", ["Spring"]),
    ]


@pytest.mark.parametrize("text", ["a:(b", "a:[x]", "(", ")", "a OR", "{", "]", '"', "a:(b:c)", "[after 01/01/2020]"])
def test_bad_queries_are_told(text: str) -> None:
    with pytest.raises(BadQuery):
        parse(text)


def test_queries_become_trees() -> None:
    assert parse("f:-({x y})") == Not(Exact("f", "x y"))
    assert parse("well-known") == Words("", "well-known")


@settings(max_examples=60)
@given(st.text(max_size=40))
def test_any_text_is_a_query_or_told_to_be_none(text: str) -> None:
    try:
        parse(text)
    except BadQuery:
        return


def test_quoted_paths_survive(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    odd = "50% off / [new]?"
    assert tenant.http.post("/v2/metadata/colors/vocabulary", json={"value": odd}).status_code == 201
    assert tenant.get(f"/v2/metadata/colors/vocabulary/{quote(odd, safe='')}")["value"] == odd
