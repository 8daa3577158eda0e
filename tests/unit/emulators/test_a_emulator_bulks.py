"""The emulated service A: selections, bulks, baskets, lost responses, second readings (wire A 12, lines 16, 22, 23)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.services.emulated_a import HIGH, Tenant, last_number, photo, tenant


@pytest.fixture
def a() -> Iterator[Tenant]:
    with tenant([photo(1), photo(2)]) as made:
        yield made


# 16: selections, bulks, baskets


def selection(a: Tenant, *numbers: int) -> str:
    where = a.ok("POST", "/users/2/selections").headers["location"]
    a.ok("POST", f"{where}/medias-collection", {"ids": list(numbers)})
    return str(where)


def test_a_bulk_writes_many_fields_of_many_media(a: Tenant) -> None:
    one, two = a.found(sort="id")
    where = selection(a, one, two)
    fields = a.get(f"{where}/bulks/fields", forceArrays="true")["_embedded"]["field"]
    assert "batch" not in {field["internalName"] for field in fields}

    def bulk(*changes: dict[str, Any]) -> None:
        answer = a.ok("POST", f"{where}/bulks", {"type": "UPDATE", "_embedded": {"metadata": list(changes)}})
        assert answer.json() == {"type": "UPDATE", "mediaCount": 2, "updatedCount": 2}

    bulk({"id": "keywords", "value": ["a", "b"]}, {"id": "external_key", "value": "k"})
    bulk({"id": "keywords", "mode": "APPEND", "value": ["b", "c"]}, {"id": "external_key", "mode": "CLEAR"})
    bulk({"id": "keywords", "mode": "REMOVE", "value": ["a"]})
    for number in (one, two):
        assert a.get(f"/medias/{number}/metadatas/keywords")["value"] == ["b", "c"]
        assert "value" not in a.get(f"/medias/{number}/metadatas/external_key")


def test_a_bulk_is_all_or_nothing(a: Tenant) -> None:
    one, empty = a.first_id(), a.create()
    where = selection(a, one, empty)
    body: dict[str, Any] = {"_embedded": {"metadata": [{"id": "external_key", "value": "k"}]}}
    body["_links"] = {"svc:custom-status": a.status("Internal")}
    assert a.no("POST", f"{where}/bulks", body) == (400, "mandatory-metadata-missing")
    assert "value" not in a.get(f"/medias/{one}/metadatas/external_key")
    body["_embedded"]["metadata"].append({"id": "title", "value": "T"})
    a.ok("POST", f"{where}/bulks", body)
    assert a.get(f"/medias/{empty}")["status"] == "PUBLISHED"
    wrong = {"_embedded": {"metadata": [{"id": "title", "value": "New"}, {"id": "size_cm", "value": "many"}]}}
    assert a.no("POST", f"{where}/bulks", wrong)[0] == 400
    assert a.get(f"/medias/{empty}")["title"] == "T"


def test_removal_in_bulk_came_with_the_last_release() -> None:
    with tenant([photo(1)], release="4.123.9") as a:
        number = a.http.get("/search/media").json()["_embedded"]["media"]["id"]
        body = {"_embedded": {"metadata": [{"id": "keywords", "mode": "REMOVE", "value": ["a"]}]}}
        assert a.no("POST", f"{selection(a, number)}/bulks", body) == (400, "bulk-mode-unknown")


def test_selections_expire_and_belong_to_one_user(a: Tenant) -> None:
    where = selection(a, a.first_id())
    assert a.get(where)["mediaCount"] == 1
    assert a.found(fq=f"selectionId:{where.rpartition('/')[2]}") == [a.first_id()]
    a.ok("DELETE", f"{where}/medias-collection", {"ids": [a.first_id()]})
    assert a.get(where)["mediaCount"] == 0
    assert a.no("POST", "/users/3/selections")[0] == 404
    a.world.advance(3601)
    assert a.no("GET", where) == (404, "selection-not-found")


def test_a_selection_has_a_cap() -> None:
    with tenant([photo(1), photo(2)], selection_limit=1) as a:
        where = a.ok("POST", "/users/2/selections").headers["location"]
        assert a.no("POST", f"{where}/medias-collection", {"ids": a.found()}) == (400, "selection-too-large")


def test_a_basket_has_a_cap_per_call(a: Tenant) -> None:
    basket = f"/baskets/{last_number(a.ok('POST', '/baskets', {'title': 'B'}))}"
    first = a.first_id()
    assert a.no("POST", f"{basket}/medias-collection", {"ids": [first] * 501}) == (400, "too-many-ids")
    a.ok("POST", f"{basket}/medias-collection", {"ids": [first] * 500})
    assert a.get(f"{basket}/medias")["totalCount"] == 1


def test_bulk_jobs_last_30_to_600_seconds(a: Tenant) -> None:
    for duration in (29, 601):
        assert a.no("POST", "/bulk-jobs", {"duration": duration}) == (400, "bulk-job-duration")
    a.ok("POST", "/bulk-jobs")
    assert a.get("/bulk-jobs")["availableJobs"] == 6
    a.world.advance(31)
    assert a.get("/bulk-jobs")["availableJobs"] == 7


def test_exports_and_download_requests(a: Tenant) -> None:
    number = a.first_id()
    where = selection(a, number)
    assert a.no("POST", f"{where}/exports", {"usage": "x"}) == (400, "terms-of-use-not-accepted")
    made = a.ok("POST", f"{where}/exports", {"acceptTermsOfUse": True, "usage": "x"}).json()
    assert a.plain.get(made["_links"]["enclosure"]["href"]).content[:2] == b"PK"
    body = {"elementDownloads": [{"mediaIds": [number], "downloadSources": []}]}
    request = a.ok("POST", "/download-requests", body)
    assert request.json()["status"] == "PROCESSING"
    a.world.advance(2)
    done = a.get(request.headers["location"])
    assert done["status"] == "SUCCESS"
    assert a.plain.get(done["target"]["svc:target"]).content[:2] == b"PK"


# 22, 23: faults, variants


def test_a_create_may_be_committed_and_its_response_lost(a: Tenant) -> None:
    folder, body = a.folder("2024"), {"_links": {"from": {"href": a.upload(b"once")}}}
    a.served.app.faults.add([{"match": "POST /api/dam/folders/*/medias", "do": "reset_after", "times": 1}])
    with pytest.raises(httpx.ReadError):
        a.http.post(f"/folders/{folder}/medias", json=body)
    lost = a.search(f=f"id:[1 TO {HIGH}]", fq=f"folderId:{folder}", sort="id desc", size=1)["_embedded"]["media"][0]
    assert a.get(f"/medias/{lost['id']}")["checkSums"]["md5"] == hashlib.md5(b"once").hexdigest()
    assert a.served.app.faults.unhit() == []


def test_calls_are_counted_by_template(a: Tenant) -> None:
    a.world.reset_calls()
    number = a.first_id()
    a.get(f"/medias/{number}")
    a.get(f"/medias/{number + 1}")
    calls = a.plain.get(f"{a.served.url}/_emulator/calls").json()["api"]
    assert calls == {"GET /api/dam/search/media": 1, "GET /api/dam/medias/{id}": 2}


def test_the_second_reading_of_everything_at_once() -> None:
    with tenant([photo(1)], variant="second") as a:
        media = a.get(f"/medias/{a.first_id()}", forceArrays="true")
        assert isinstance(media["_embedded"]["importUser"], dict)
        assert isinstance(media["_embedded"]["metadata"], list)
    with pytest.raises(ValueError, match="unknown variant"), tenant(variant="third"):
        pass
    with pytest.raises(ValueError, match="unknown options"), tenant(colour="blue"):
        pass


def test_equal_seeds_give_equal_urls() -> None:
    paths = []
    for _ in range(2):
        with tenant([photo(1)]) as a:
            paths.append(a.get(f"/medias/{a.first_id()}")["_links"]["svc:hires"]["href"].rpartition("/")[2])
    assert paths[0] == paths[1]
