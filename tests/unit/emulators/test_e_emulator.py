"""The emulated service E against the checklist of its wire contract: interfaces, tokens, rate, options, faults, truth.

Over real sockets; numbers are the checklist's."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from dam_sync.emulators.e_profiles import emulator
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from tests.support.services.emulated_e import TOKEN, Open, asset_row, tenants


@pytest.fixture
def tenant_of() -> Iterator[Open]:
    with tenants() as opened:
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
    world = Environment()
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
