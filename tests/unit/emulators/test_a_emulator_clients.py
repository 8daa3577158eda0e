"""What other people's clients ask of the instance, and what a bulk, whose body nobody shows, may come to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.services.emulated_a import Tenant, photo, tenant

CHANGE = {"type": "UPDATE", "_embedded": {"metadata": [{"id": "external_key", "value": "k"}]}}


def bulk(a: Tenant, number: int) -> Any:
    """A bulk over one media: the response, whatever it is."""
    where = a.ok("POST", "/users/2/selections").headers["location"]
    a.ok("POST", f"{where}/medias", {"id": number})
    return a.http.post(f"{where}/bulks", json=CHANGE)


@pytest.mark.parametrize(
    ("variant", "status", "answer", "kept"),
    [
        ("", 200, {"type": "UPDATE", "mediaCount": 1, "updatedCount": 1}, "k"),
        ("bulk-uncounted", 200, {"type": "UPDATE", "mediaCount": 1}, "k"),
        ("bulk-ignored", 200, {"type": "UPDATE", "mediaCount": 1}, None),
        *((f"bulk-{status}", status, None, None) for status in (400, 415, 422)),
    ],
)
def test_what_a_bulk_comes_to(variant: str, status: int, answer: Any, kept: str | None) -> None:
    with tenant([photo(1)], variant=variant) as a:
        number = a.first_id()
        found = bulk(a, number)
        assert found.status_code == status
        assert answer is None or found.json() == answer
        assert a.get(f"/medias/{number}/metadatas/external_key").get("value") == kept
        a.ok("PUT", f"/medias/{number}/metadatas/external_key", {"value": "single"})
        assert a.get(f"/medias/{number}/metadatas/external_key")["value"] == "single"


def test_a_media_without_links_has_an_empty_list_or_none_in_one_reading() -> None:
    with tenant([photo(1)]) as a, tenant([photo(1)], variant="links-404") as other:
        number = a.first_id()
        assert a.get(f"/medias/{number}/media-links/7/medias")["totalCount"] == 0
        assert other.no("GET", f"/medias/{number}/media-links/7/medias")[0] == 404


def test_a_catalogue_fills_baskets() -> None:
    basket = {"kind": "basket", "path": ["Café ☕ 100%"]}
    with tenant([{"record": "container", **basket}, photo(1, placements=[basket]), photo(2)]) as a:
        (found,) = a.get("/baskets", forceArrays="true")["_embedded"]["basket"]
        assert found["title"] == "Café ☕ 100%"
        members = a.get(f"/baskets/{found['id']}/medias", forceArrays="true")["_embedded"]["media"]
        assert [media["id"] for media in members] == a.found(fq=f"basketId:{found['id']}")
        assert len(members) == 1
