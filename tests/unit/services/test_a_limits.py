"""Every number of the contract's table of limits (wire A 8), as the emulated instance keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dam_sync.emulators.a_hypermedia.options import Options
from dam_sync.services.a_hypermedia import facts
from tests.support.services.emulated_a import Tenant, last_number, photo, tenant


@pytest.fixture(scope="module")
def a() -> Iterator[Tenant]:
    with tenant([photo(number) for number in range(1, 231)]) as made:
        yield made


def test_a_query_shows_its_first_10_000_hits(a: Tenant) -> None:
    assert a.get("/search/media", size=100, page=100)["totalCount"] == 230
    refused = a.no("GET", "/search/media", params={"size": 100, "page": 101})
    assert refused == (400, "search-window-exceeded")
    assert facts.REACH == 10_000


def test_a_page_has_20_rows_and_at_most_200(a: Tenant) -> None:
    assert len(a.search()["_embedded"]["media"]) == 20
    assert len(a.search(size=1000)["_embedded"]["media"]) == 200
    assert len(a.search(size=facts.PAGE)["_embedded"]["media"]) == facts.PAGE


def test_facets_have_at_most_150_values(a: Tenant) -> None:
    assert a.get("/search/media", **{"facet-values-number": "150"})["totalCount"] == 230
    refused = a.no("GET", "/search/media", params={"facet-values-number": "151"})
    assert refused == (400, "facet-values-too-many")


@pytest.mark.parametrize("name", ["associations", "types"])
def test_lists_of_ids_have_at_most_1000(a: Tenant, name: str) -> None:
    def asked(number: int) -> dict[str, str]:
        return {"fq": f"{name}:(" + ",".join(map(str, range(number))) + ")"}

    assert a.http.get("/search/media", params=asked(1000)).status_code == 200
    assert a.no("GET", "/search/media", params=asked(1001)) == (400, "too-many-ids")


def test_one_request_takes_50_mb() -> None:
    headers = {"X-SVC-FileName": "a.bin"}
    with tenant() as a:
        assert a.http.post("/files", content=bytes(50_000_000), headers=headers, timeout=60).status_code == 201
        assert a.no("POST", "/files", content=bytes(50_000_001), headers=headers, timeout=60)[0] == 413
    assert facts.ONE_REQUEST_BYTES == 50_000_000


def announced(a: Tenant, size: int) -> Any:
    headers = {"X-SVC-FileName": "big.jpg", "X-SVC-Upload-Content-Type": "image/jpeg", "Content-Length": "0"}
    return a.http.post("/files", headers={**headers, "X-SVC-Upload-Content-Length": str(size)})


def test_a_file_has_at_most_20_gb(a: Tenant) -> None:
    assert announced(a, facts.LARGEST_BYTES).status_code == 201
    assert announced(a, 20_000_000_001).status_code == 413


def test_a_chunk_has_at_most_20_mb_where_the_instance_is_strict() -> None:
    with tenant(variant="small-chunks") as a:
        where = announced(a, 60_000_000).headers["location"]

        def sent(size: int) -> int:
            area = {"Content-Range": f"bytes 0-{size - 1}/60000000"}
            return a.http.put(where, content=bytes(size), headers=area, timeout=60).status_code

        assert sent(20_000_001) == 413
        assert sent(facts.CHUNK_BYTES) == 202


def test_200_uploads_at_once() -> None:
    assert Options().uploads_at_once == 200
    headers = {"X-SVC-FileName": "a.bin"}
    with tenant(uploads_at_once=0) as none:
        assert none.no("POST", "/files", content=b"x", headers=headers) == (503, "too-many-uploads")
    with tenant(uploads_at_once=1) as one:
        for _ in range(2):
            assert one.http.post("/files", content=b"x", headers=headers).status_code == 201


def test_a_selection_has_at_most_10_000_media() -> None:
    assert Options().selection_limit == 10_000
    with tenant([photo(1), photo(2), photo(3)], selection_limit=2) as a:
        where = a.ok("POST", "/users/2/selections").headers["location"]
        *ids, rest = a.found()
        a.ok("POST", f"{where}/medias-collection", {"ids": ids})
        assert a.no("POST", f"{where}/medias", {"id": rest}) == (400, "selection-too-large")
        assert a.get(where)["mediaCount"] == 2


def test_a_basket_takes_500_media_a_call(a: Tenant) -> None:
    basket = f"/baskets/{last_number(a.ok('POST', '/baskets', {'title': 'B'}))}"
    first = a.first_id()
    a.ok("POST", f"{basket}/medias-collection", {"ids": [first] * 500})
    assert a.no("POST", f"{basket}/medias-collection", {"ids": [first] * 501}) == (400, "too-many-ids")


@pytest.mark.parametrize(("duration", "good"), [(29, False), (30, True), (600, True), (601, False)])
def test_a_bulk_job_lasts_30_to_600_seconds(a: Tenant, duration: int, good: bool) -> None:
    assert (a.http.post("/bulk-jobs", json={"duration": duration}).status_code == 201) == good


def test_an_export_has_at_most_50_items(a: Tenant) -> None:
    body = {"acceptTermsOfUse": True, "usage": "x"}
    where = a.ok("POST", "/users/2/selections").headers["location"]
    a.ok("POST", f"{where}/medias-collection", {"ids": a.found(size=50)})
    a.ok("POST", f"{where}/exports", body)
    a.ok("POST", f"{where}/medias-collection", {"ids": a.found(size=51)})
    assert a.no("POST", f"{where}/exports", body) == (500, "export-too-large")  # an e-mail is sent instead


def test_a_term_has_at_most_100_characters(a: Tenant) -> None:
    roots = a.get("/thesaurus-tree", forceArrays="true")["_embedded"]["child"]
    children = f"/thesaurus-tree/{roots[0]['id']}/children"
    a.ok("POST", children, {"title": "é" * facts.TERM_LETTERS})
    assert a.no("POST", children, {"title": "é" * 101}) == (400, "thesaurus-title-too-long")


@pytest.mark.parametrize(
    ("call", "release"),
    [
        ("GET /sheet-fields", "4.16.0"),
        ("GET /users", "4.20.0"),
        ("GET /boards", "4.31.0"),
        ("GET /bulk-jobs", "4.33.0"),
        ("GET /scripts", "4.50.0"),
        ("GET /forms/1/extensions", "4.72.0"),
        ("GET /search/facet-fields", "4.75.0"),
    ],
)
def test_what_came_with_a_release_is_not_there_before(call: str, release: str) -> None:
    method, path = call.split()
    major, minor, _ = release.split(".")
    with tenant([photo(1)], release=f"{major}.{int(minor) - 1}.9") as older:
        assert older.no(method, path)[0] == 404
    with tenant([photo(1)], release=release) as newer:
        newer.ok(method, path)


def test_chunks_came_with_4_31_0() -> None:
    area = {"Content-Range": "bytes 0-9/10"}
    with tenant(release="4.30.9") as older:
        made = announced(older, 10)
        assert "nextExpectedRanges" not in made.json()
        assert older.no("PUT", made.headers["location"], content=bytes(10), headers=area)[0] == 404
    with tenant(release="4.31.0") as newer:
        where = announced(newer, 10).headers["location"]
        assert newer.http.put(where, content=bytes(10), headers=area).status_code == 200
