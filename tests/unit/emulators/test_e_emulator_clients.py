"""What other people's clients ask of the tenant, and the readings that stand-ins of others played."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.services.emulated_e import Open, Tenant, asset_row, tenants


@pytest.fixture(name="tenant_of")
def fixture_tenant_of() -> Iterator[Open]:
    with tenants() as made:
        yield made


def test_a_field_query_may_have_whitespace_after_its_colon(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("sea"), asset_row("wood", fields={"srckey": "k_wood", "author": "Bob Sea"}))
    embed = tenant.get(f"/v2/assets/{tenant.ids()['sea']}")["external_id"]
    assert tenant.found(f"embedid: {embed}") == {"sea"}
    assert tenant.found("filename: {sea.jpg}") == {"sea"}
    assert tenant.found("author:  (Bob) AND filename: {wood.jpg}") == {"wood"}
    assert not tenant.search("author: ")["query_syntax_ok"]


@pytest.mark.parametrize("assets", [{}, {"uuids": []}, None])
def test_a_collection_is_created_without_assets(tenant_of: Open, assets: Any) -> None:
    tenant = tenant_of(asset_row("a"))
    body = {"title": "Mine", **({} if assets is None else {"assets": assets})}
    made = tenant.http.post("/api/rest/collection", json=body)
    assert (made.status_code, made.json()["numResults"]) == (200, 0)


def test_an_integration_link_needs_no_url(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    made = tenant.http.post("/api/rest/integrationlink", json={"assetUuid": tenant.ids()["a"], "description": "d"})
    assert (made.status_code, made.json()["url"]) == (200, None)


AVOIDED = [
    "a<b",
    "50% off",
    "a#1",
    "a, b",
    "a/b",
    "a+b",
    "a(1)",
    "[a]",
    "{a}",
    "a:b",
    'a"b',
    "a\\b",
    "a|b",
    "a?b",
    "a*b",
]


@pytest.mark.parametrize("name", AVOIDED)
def test_reserved_characters_in_any_name_are_refused_in_one_reading(tenant_of: Open, name: str) -> None:
    tenant = tenant_of(asset_row("a"), variant="strict_names")
    category = {"title": name, "parentCategory": "root"}
    assert tenant.upload(f"{name}.jpg").status_code == 400
    assert tenant.http.post("/api/rest/category", json=category).status_code == 400
    assert tenant.http.post("/api/rest/collection", json={"title": name}).status_code == 400
    renamed = {"filename": f"{name}.jpg"}
    assert tenant.http.put(f"/v2/assets/{tenant.ids()['a']}/filename", json=renamed).status_code == 400


@pytest.mark.parametrize("name", ["a .jpg", "a.jpg.", "CON.jpg", "lpt1.txt", " a.jpg", "a.jpg ", "nul"])
def test_other_names_to_avoid_are_refused_in_one_reading(tenant_of: Open, name: str) -> None:
    assert tenant_of(variant="strict_names").upload(name).status_code == 400
    assert tenant_of().upload(name).status_code == 201


def test_a_new_version_is_taken_up_later_in_one_reading(tenant_of: Open) -> None:
    def numbers(tenant: Tenant, key: str) -> list[str]:
        rows = tenant.get(f"/api/rest/asset/uuid/{key}/assetversions")["versions"]
        return [str(row["versionNumber"]) for row in rows]

    for variant, at_once in (("", ["2", "1"]), ("late_versions", ["1"])):
        tenant = tenant_of(variant=variant, processing=5.0)
        key = tenant.uploaded("a.jpg", body=b"first")
        tenant.world.advance(10)
        assert tenant.uploaded("a.jpg", body=b"second version") == key
        assert numbers(tenant, key) == at_once
        assert tenant.get(f"/v2/assets/{key}", expand="status")["status"]["upload_progress"] == "pending"
        tenant.world.advance(6)
        assert numbers(tenant, key) == ["2", "1"]
        assert tenant.get(f"/v2/assets/{key}", expand="status")["status"]["upload_progress"] == "complete"
        assert [row["size"] for row in tenant.truth(key)["versions"]] == [5, 14]


def test_versions_that_are_taken_up_later_keep_their_order(tenant_of: Open) -> None:
    tenant = tenant_of(variant="late_versions", processing=5.0)
    key = tenant.uploaded("a.jpg", body=b"1")
    for body in (b"22", b"333"):
        tenant.uploaded("a.jpg", body=body)
        tenant.world.advance(1)
    tenant.world.advance(10)
    assert [row["size"] for row in tenant.truth(key)["versions"]] == [1, 2, 3]
