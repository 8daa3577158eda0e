"""The emulated service E: metadata, security, tags, vocabularies, containers, removal. Numbers are the checklist's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.services.emulated_e import BOTH, Open, asset_row, tenants


@pytest.fixture
def tenant_of() -> Iterator[Open]:
    with tenants() as opened:
        yield opened


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
    assert tenant.get(path)["asset_groups"] == []  # it is there for those who have all groups
    assert put("all") == 200
    assert tenant.http.get(path).status_code == 404  # without any value nobody has it


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


def test_14_trash_then_purge(tenant_of: Open) -> None:
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
