"""The emulated service A: uploads, creation, metadata, statuses, groups, faults (wire A 12, lines 9 to 23)."""

from __future__ import annotations

import base64
import hashlib
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.emulated_a import HIGH, Tenant, last_number, photo, tenant


@pytest.fixture
def a() -> Iterator[Tenant]:
    with tenant([photo(1), photo(2)]) as made:
        yield made


@pytest.fixture(scope="module")
def shared() -> Iterator[Tenant]:
    with tenant([photo(1), photo(2)]) as made:
        yield made


def titled(a: Tenant, number: int, text: str = "A title") -> None:
    a.ok("PUT", f"/medias/{number}/metadatas/title", {"value": text}, headers={"Content-Language": "en"})


def until(a: Tenant, done: Callable[[], bool]) -> None:
    """Give the server turns until it has done something."""
    for _ in range(1000):
        if done():
            return
        a.plain.get(f"{a.served.url}/_emulator/calls")
    raise AssertionError("the server did not get there")


# 9: uploads


def begin(a: Tenant, size: int, name: str = "big.jpg") -> httpx.Response:
    headers = {
        "Content-Length": "0",
        "X-SVC-FileName": name,
        "X-SVC-Upload-Content-Type": "image/jpeg",
        "X-SVC-Upload-Content-Length": str(size),
    }
    return a.http.post("/files", headers=headers)


def chunk(a: Tenant, where: str, data: bytes, start: int, total: int) -> httpx.Response:
    return a.http.put(where, content=data, headers={"Content-Range": f"bytes {start}-{start + len(data) - 1}/{total}"})


def test_a_small_file_in_one_request(a: Tenant) -> None:
    name = base64.b64encode("été 1.jpg".encode()).decode()
    answer = a.http.post("/files", content=b"abc", headers={"X-SVC-Base64FileName": name, "Content-Type": "image/jpeg"})
    made = answer.json()
    assert (made["fileName"], made["size"], made["fileContentType"]) == ("été 1.jpg", 3, "image/jpeg")
    assert answer.headers["location"] == made["_links"]["self"]["href"]
    assert a.no("POST", "/files", content=b"abc") == (400, "file-name-missing")
    raw = a.http.post("/files", content=b"x", headers={b"X-SVC-FileName": "é.jpg".encode("latin-1")})
    assert raw.json()["fileName"] == "é.jpg"


def test_odd_instances_answer_size_as_text_and_self_as_a_bare_string() -> None:
    with tenant(odd_descriptors=True) as a:
        made = a.http.post("/files", content=b"abc", headers={"X-SVC-FileName": "a.jpg"}).json()
        assert made["size"] == "3"
        assert a.http.get(made["_links"]["self"]).json()["id"] == made["id"]


@pytest.mark.parametrize(("variant", "unit"), [("", 1000), ("binary-units", 1024)])
def test_one_request_takes_no_more_than_its_limit(variant: str, unit: int) -> None:
    with tenant(variant=variant, single_mb=1) as a:
        headers = {"X-SVC-FileName": "a.jpg"}
        assert a.http.post("/files", content=b"x" * (unit * unit), headers=headers).status_code == 201
        assert a.no("POST", "/files", content=b"x" * (unit * unit + 1), headers=headers) == (413, "file-too-large")


def test_a_large_file_comes_in_chunks(a: Tenant) -> None:
    answer = begin(a, 10)
    where = answer.headers["location"]
    assert (answer.status_code, answer.json()["nextExpectedRanges"]) == (201, ["0-"])
    first = chunk(a, where, b"01234", 0, 10)
    assert (first.status_code, first.json()["nextExpectedRanges"]) == (202, ["5-"])
    assert a.get(where)["nextExpectedRanges"] == ["5-"]
    assert a.no("POST", "/medias", {"_links": {"from": {"href": where}}}) == (409, "file-incomplete")
    last = chunk(a, where, b"56789", 5, 10)
    assert last.status_code == 200
    assert not last.json().get("nextExpectedRanges")
    media = a.get(f"/medias/{last_number(a.ok('POST', '/medias', {'_links': {'from': {'href': where}}}))}")
    assert media["checkSums"]["md5"] == hashlib.md5(b"0123456789").hexdigest()


@pytest.mark.parametrize(("start", "total", "length"), [(6, 10, 2), (4, 10, 2), (5, 11, 2), (5, 10, 6)])
def test_a_bad_range_is_refused_and_tells_what_is_expected(a: Tenant, start: int, total: int, length: int) -> None:
    where = begin(a, 10).headers["location"]
    chunk(a, where, b"01234", 0, 10)
    answer = chunk(a, where, b"x" * length, start, total)
    assert (answer.status_code, answer.json()["nextExpectedRanges"]) == (416, ["5-"])
    assert a.no("PUT", where, content=b"x")[0] == 416
    assert chunk(a, where, b"56789", 5, 10).status_code == 200


def test_a_chunk_that_broke_off_leaves_nothing_of_itself(a: Tenant) -> None:
    where = begin(a, 10).headers["location"]
    chunk(a, where, b"012", 0, 10)
    place = urlsplit(where)
    login = base64.b64encode(b"dam-sync:secret-a").decode()
    head = f"PUT {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Basic {login}\r\n"
    head += "Content-Length: 7\r\nContent-Range: bytes 3-9/10\r\n\r\n"
    with socket.create_connection((str(place.hostname), place.port or 0)) as raw:
        raw.sendall(head.encode() + b"345")
        until(a, lambda: a.world.at_once == 1)
        busy = a.no("PUT", where, content=b"3456789", headers={"Content-Range": "bytes 3-9/10"})
        assert busy == (409, "file-busy")
    until(a, lambda: a.world.at_once == 0)
    assert a.get(where)["nextExpectedRanges"] == ["3-"]
    assert chunk(a, where, b"3456789", 3, 10).status_code == 200


def test_files_have_at_most_20_gb_and_chunks_20_mb_on_strict_instances(a: Tenant) -> None:
    assert begin(a, 20 * 10**9).status_code == 201
    assert begin(a, 20 * 10**9 + 1).status_code == 413
    with tenant(variant="small-chunks") as b:
        where = begin(b, 30_000_000).headers["location"]
        assert chunk(b, where, bytes(20_000_001), 0, 30_000_000).status_code == 413
        assert chunk(b, where, bytes(20_000_000), 0, 30_000_000).status_code == 202


def test_descriptors_expire(a: Tenant) -> None:
    where, big = a.upload(), begin(a, 10).headers["location"]
    a.world.advance(3601)
    for one in (where, big):
        assert a.no("GET", one) == (404, "file-not-found")
    assert chunk(a, big, b"01234", 0, 10).status_code == 404
    assert a.no("POST", "/medias", {"_links": {"from": {"href": where}}}) == (404, "file-not-found")


# 10: creation


def test_creation_by_place_of_entry(a: Tenant) -> None:
    source = {"_links": {"from": {"href": a.upload(b"123", "a b.jpg")}}}
    answer = a.ok("POST", f"/folders/{a.folder('2024')}/medias", source)
    draft = a.get(f"/medias/{last_number(answer)}", embeddedFolders="true")
    assert (draft["status"], draft["title"], draft["originalFileName"]) == ("DRAFT", "", "a b.jpg")
    assert draft["_embedded"]["folder"]["title"] == "2024"
    assert draft["checkSums"]["md5"] == hashlib.md5(b"123").hexdigest()
    assert a.get(f"/medias/{last_number(a.ok('POST', '/medias', source))}")["status"] == "IMPORT"
    basket = last_number(a.ok("POST", "/baskets", {"title": "B"}))
    made = last_number(a.ok("POST", f"/baskets/{basket}/medias", source))
    assert a.get(f"/medias/{made}")["status"] == "BASKET"
    assert a.get(f"/medias/{made}")["duplicationStatus"] == "DUPLICATES_FOUND"


def test_creation_rules(a: Tenant) -> None:
    link = {"href": a.upload()}
    film = {"href": f"{a.served.url}/api/dam/forms/2"}
    assert a.no("POST", "/medias", {"_links": {}}) == (400, "media-source-missing")
    assert a.no("POST", "/medias", {"_links": {"from": {"href": "x/files/none"}}}) == (404, "file-not-found")
    assert a.no("POST", "/medias", {"_links": {"from": link, "svc:form": film}}) == (400, "form-type-mismatch")
    assert a.no("POST", "/medias", {"_links": {"svc:form": {"href": "x/forms/9"}}}) == (404, "form-not-found")
    empty = a.get(f"/medias/{last_number(a.ok('POST', '/medias', {'_links': {'svc:form': film}}))}")
    assert (empty["formType"], empty["fileVersionCount"], "fileSize" in empty) == ("VIDEO", 0, False)


def test_the_title_may_be_the_file_name() -> None:
    with tenant(variant="title-from-file") as a:
        assert a.get(f"/medias/{a.create(name='Harbour.v2.jpg')}")["title"] == "Harbour.v2"


def test_xmp_versioning_attaches_unless_forced() -> None:
    data = b'<x:xmpmeta xmpMM:DocumentID="xmp.did:1"/>'
    with tenant(xmp_versioning=True) as a:
        first = a.create(data)
        body = {"_links": {"from": {"href": a.upload(data + b"2", "v2.jpg")}}}
        assert last_number(a.ok("POST", "/medias", body)) == first
        assert a.get(f"/medias/{first}")["fileVersionCount"] == 2
        assert last_number(a.ok("POST", "/medias", body, params={"forceNew": "true"})) != first


def test_a_fresh_draft_shows_in_its_folder_on_some_instances_only() -> None:
    for variant, shown in (("", 0), ("drafts-in-folder", 1)):
        with tenant([photo(1)], variant=variant, lag=30) as a:
            folder = last_number(a.ok("POST", "/folder-tree", {"title": "Staging"}))
            number = a.create(folder=folder)
            assert a.get(f"/folders/{folder}/medias")["totalCount"] == shown
            assert a.search(fq=f"folderId:{folder}")["totalCount"] == 0
            a.world.advance(31)
            assert a.found(fq=f"folderId:{folder}") == [number]


# 12: statuses


def test_publishing_needs_every_mandatory_field(a: Tenant) -> None:
    number = a.create()
    refused = a.publish(number)
    assert (refused.status_code, refused.json()["code"]) == (400, "mandatory-metadata-missing")
    assert a.get(f"/medias/{number}")["status"] == "IMPORT"
    titled(a, number)
    before = a.get(f"/medias/{number}")["updateDate"]
    a.world.advance(5)
    assert a.publish(number).json()["status"] == "PUBLISHED"
    assert a.get(f"/medias/{number}")["updateDate"] > before
    assert a.publish(number, "Archived").json()["status"] == "ARCHIVED"
    assert a.publish(number, "Trash").json()["code"] == "status-transition-forbidden"


def test_the_status_link_wins_over_the_property(a: Tenant) -> None:
    body = a.get(f"/medias/{a.first_id()}")
    assert a.ok("PUT", f"/medias/{body['id']}", {**body, "status": "ARCHIVED"}).json()["status"] == "PUBLISHED"
    del body["_links"]
    assert a.ok("PUT", f"/medias/{body['id']}", {**body, "status": "ARCHIVED"}).json()["status"] == "ARCHIVED"


def test_what_a_put_of_the_media_may_change(a: Tenant) -> None:
    number = a.first_id()
    body = a.get(f"/medias/{number}")
    edited = {**body, "annotation": "OK", "pointOfInterest": {"x": 65.85, "y": 34.93}, "originalFileName": "x.jpg"}
    after = a.ok("PUT", f"/medias/{number}", edited).json()
    assert (after["annotation"], after["pointOfInterest"]) == ("OK", {"x": 65.85, "y": 34.93})
    assert after["originalFileName"] == body["originalFileName"]
    assert a.no("PUT", f"/medias/{number}", {**body, "annotation": "BAD"}) == (400, "media-invalid-value")
    assert a.ok("PUT", f"/medias/{number}", {}).json()["annotation"] == "OK"


def test_a_partial_put_clears_on_other_instances() -> None:
    with tenant([photo(1)], variant="put-clears") as a:
        number = a.first_id()
        a.ok("PUT", f"/medias/{number}", {"annotation": "OK"})
        assert a.ok("PUT", f"/medias/{number}", {}).json()["annotation"] == "NONE"


def test_some_instances_answer_writes_with_nothing() -> None:
    with tenant([photo(1)], variant="silent-writes") as a:
        answer = a.ok("PUT", f"/medias/{a.first_id()}/metadatas/external_key", {"value": "x"})
        assert (answer.status_code, answer.content) == (204, b"")


# 13: metadata


@pytest.mark.parametrize(
    ("field", "value", "read"),
    [
        ("external_key", "xa-1", "xa-1"),
        ("body", "<p>text</p>", "<p>text</p>"),
        ("size_cm", "12.5", 12.5),
        ("size_cm", 3, 3),
        ("released", "true", True),
        ("shot_date", "2025-07-06", "2025-07-05T22:00:00.000Z"),
        ("shot_date", "2025-02-05T23:00:00.000Z", "2025-02-05T23:00:00.000Z"),
        ("expires", "2025-02-06T10:30:00.000Z", "2025-02-06T10:30:00.000Z"),
        ("keywords", ["harbour", "dawn"], ["harbour", "dawn"]),
        ("contact", "a@b.example", "a@b.example"),
        ("site", "https://a.example/b", "https://a.example/b"),
        (
            "where",
            {"latitude": 1.5, "longitude": -2, "address": "x"},
            {"latitude": 1.5, "longitude": -2, "address": "x"},
        ),
        ("uses", [{"medium": "web"}], [{"medium": "web"}]),
    ],
)
def test_values_are_kept_and_cleared(shared: Tenant, field: str, value: Any, read: Any) -> None:
    where = f"/medias/{shared.first_id()}/metadatas/{field}"
    assert shared.ok("PUT", where, {"value": value}).json()["value"] == read
    assert shared.get(where)["value"] == read
    shared.ok("PUT", where, {"value": None})
    assert "value" not in shared.get(where)


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("nothing", "x", "metadata-unknown"),
        ("batch", "x", "metadata-not-editable"),
        ("external_key", 7, "metadata-invalid-value"),
        ("external_key", "x" * 65, "metadata-invalid-value"),
        ("size_cm", "many", "metadata-invalid-value"),
        ("size_cm", True, "metadata-invalid-value"),
        ("released", "yes", "metadata-invalid-value"),
        ("shot_date", "06/02/2025", "metadata-invalid-value"),
        ("expires", "2025-02-06T10:30:00", "metadata-invalid-value"),
        ("country", {"id": 99}, "metadata-invalid-value"),
        ("country", "Germany", "metadata-invalid-value"),
        ("keywords", [1], "metadata-invalid-value"),
        ("places", [{"id": 1}], "metadata-invalid-value"),
        ("places", "London", "metadata-invalid-value"),
        ("credit", [{"id": 1}], "metadata-invalid-value"),
        ("where", {"latitude": 91}, "metadata-invalid-value"),
        ("contact", "nobody", "metadata-invalid-value"),
        ("site", "nowhere", "metadata-invalid-value"),
        ("uses", ["x"], "metadata-invalid-value"),
    ],
)
def test_wrong_values_are_refused(shared: Tenant, field: str, value: Any, code: str) -> None:
    assert shared.no("PUT", f"/medias/{shared.first_id()}/metadatas/{field}", {"value": value}) == (400, code)


def test_terms_and_lists_are_written_by_id(a: Tenant) -> None:
    own = f"/medias/{a.first_id()}/metadatas"
    lookup = a.get("/forms/lookups", forceArrays="true")["_embedded"]["lookup"][0]
    spain = next(one for one in lookup["_embedded"]["value"] if one["title"] == "Spain")
    assert a.ok("PUT", f"{own}/country", {"value": spain}).json()["_embedded"]["value"]["title"] == "Spain"
    hit = a.get("/search/autocomplete", type="thesaurus", q="lond")["_embedded"]["thesaurus"]
    written = a.ok("PUT", f"{own}/places", {"value": [{"id": hit["id"], "title": "ignored"}]}).json()
    assert written["_embedded"]["value"]["title"] == "London"


def test_localized_fields_are_kept_by_language(a: Tenant) -> None:
    where = f"/medias/{a.first_id()}/metadatas/legend"
    a.ok("PUT", where, {"value": "Mer"}, headers={"Content-Language": "fr"})
    assert "value" not in a.get(where)
    french = a.http.get(where, headers={"Accept-Language": "fr"}).json()
    assert french["value"] == "Mer"
    a.ok("PUT", where, {"value": "Sea"})
    assert a.get(where)["value"] == "Sea"
    assert a.no("PUT", where, {"value": "x"}, headers={"Content-Language": "de"}) == (400, "language-not-available")
    a.ok("PUT", where, {"value": None}, headers={"Content-Language": "fr"})
    assert a.get(where)["value"] == "Sea"


# 14: trees


def test_folders_are_made_renamed_ordered_and_removed(a: Tenant) -> None:
    root = last_number(a.ok("POST", "/folder-tree", {"title": "Twice"}))
    assert last_number(a.ok("POST", "/folder-tree", {"title": "Twice"})) != root
    one, two = (last_number(a.ok("POST", f"/folder-tree/{root}/children", {"title": title})) for title in "ab")
    a.ok("PUT", f"/folder-tree/{root}/order-children", {"ids": [two, one]})
    rows = a.get(f"/folder-tree/{root}")["_embedded"]["child"]
    assert [row["id"] for row in rows] == [two, one]
    a.ok("PUT", f"/folders/{one}", {"title": "A", "description": "<p>x</p>"})
    assert a.get(f"/folders/{one}")["title"] == "A"
    assert a.no("DELETE", f"/folder-tree/{root}") == (409, "folder-not-empty")
    a.ok("DELETE", f"/folders/{one}")
    assert a.no("GET", f"/folders/{one}") == (404, "folder-not-found")
    assert a.no("POST", "/folder-tree", {"title": " "}) == (400, "folder-title-missing")


def test_terms_are_made_and_translated(a: Tenant) -> None:
    roots = a.get("/thesaurus-tree", forceArrays="true")["_embedded"]["child"]
    root = next(one["id"] for one in roots if one["title"] == "Places")
    children = f"/thesaurus-tree/{root}/children"
    made = last_number(a.ok("POST", children, {"title": "Espagne"}, headers={"Content-Language": "fr"}))
    whole = a.get(f"/thesauruses/{made}")
    assert whole["titles"] == {"FR": "Espagne"}
    whole["titles"]["EN"], whole["synonyms"]["EN"] = "Spain", ["Iberia"]
    a.ok("PUT", f"/thesauruses/{made}", whole)
    assert a.get(f"/thesauruses/{made}")["title"] == "Spain"
    assert last_number(a.ok("POST", children, {"title": "Espagne"})) != made
    assert a.ok("POST", children, {"title": "x" * 100})
    assert a.no("POST", children, {"title": "x" * 101}) == (400, "thesaurus-title-too-long")
    a.ok("DELETE", f"/thesaurus-tree/{made}")
    england = a.get(f"/thesaurus-tree/{root}")["_embedded"]["child"][0]["id"]
    assert a.no("DELETE", f"/thesaurus-tree/{england}") == (409, "thesaurus-not-empty")


def test_a_term_may_go_with_all_below_it() -> None:
    with tenant([photo(1)], variant="term-cascade") as a:
        hit = a.get("/search/autocomplete", type="thesaurus", q="lond", forceArrays="true")["_embedded"]["thesaurus"][0]
        a.ok("DELETE", f"/thesaurus-tree/{hit['_embedded']['parent'][0]['id']}")
        assert a.no("GET", f"/thesauruses/{hit['id']}") == (404, "thesaurus-not-found")


# memberships


def test_folders_labels_and_links_of_a_media(a: Tenant) -> None:
    number = a.first_id()
    updated = a.get(f"/medias/{number}")["updateDate"]
    archive = a.folder("Archive")
    for _ in range(2):
        assert a.ok("POST", f"/folders/{archive}/medias", {"id": number}).status_code == 201
    assert a.get(f"/medias/{number}/folders")["totalCount"] == 2
    a.ok("DELETE", f"/folders/{archive}/medias/{number}")
    assert a.no("DELETE", f"/folders/{archive}/medias/{number}")[0] == 404
    a.ok("POST", f"/medias/{number}/labels", {"id": 41})
    assert a.no("POST", f"/medias/{number}/labels", {"id": 99}) == (404, "label-not-found")
    a.ok("DELETE", f"/medias/{number}/labels/41")
    links = f"/medias/{number}/media-links/7/medias"
    a.ok("POST", links, {"id": number + 1})
    assert a.get(links)["totalCount"] == 1
    a.ok("DELETE", f"{links}/{number + 1}")
    assert a.get(f"/medias/{number}")["updateDate"] == updated


def test_memberships_move_the_date_on_some_instances() -> None:
    with tenant([photo(1)], memberships_update=True) as a:
        number = a.first_id()
        updated = a.get(f"/medias/{number}")["updateDate"]
        a.ok("POST", f"/medias/{number}/labels", {"id": 41})
        assert a.get(f"/medias/{number}")["updateDate"] > updated


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


def test_caps_of_selections_and_baskets(a: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dam_sync.services.a_hypermedia.emulator.collections.SELECTION_MAX", 1)
    where = a.ok("POST", "/users/2/selections").headers["location"]
    assert a.no("POST", f"{where}/medias-collection", {"ids": a.found()}) == (400, "selection-too-large")
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


# 17: versions, attachments


def test_a_new_version_becomes_the_current_one(a: Tenant) -> None:
    number = a.first_id()
    own = f"/medias/{number}"
    before = a.get(own)
    a.ok("POST", f"{own}/file-versions", {"_links": {"from": {"href": a.upload(b"second", "two.jpg")}}})
    after = a.get(own)
    assert (after["fileVersionCount"], after["originalFileName"], after["title"]) == (2, "two.jpg", before["title"])
    assert after["_links"]["svc:hires"] != before["_links"]["svc:hires"]
    assert after["updateDate"] > before["updateDate"]
    assert len(a.plain.get(before["_links"]["svc:hires"]["href"]).content) == before["fileSize"]
    new, old = a.get(f"{own}/file-versions")["_embedded"]["file-version"]
    assert a.no("DELETE", new["_links"]["self"]["href"]) == (409, "file-version-current")
    a.ok("PUT", old["_links"]["self"]["href"], {"current": True})
    assert a.get(own)["checkSums"] == before["checkSums"]
    a.ok("DELETE", new["_links"]["self"]["href"])
    assert a.get(own)["fileVersionCount"] == 1


def test_a_version_of_another_type_is_refused_or_not(a: Tenant) -> None:
    link = {"_links": {"from": {"href": a.upload(b"%PDF", "a.pdf", "application/pdf")}}}
    assert a.no("POST", f"/medias/{a.first_id()}/file-versions", link) == (400, "form-type-mismatch")
    with tenant([photo(1)], variant="any-version-type") as b:
        link = {"_links": {"from": {"href": b.upload(b"%PDF", "a.pdf", "application/pdf")}}}
        assert b.ok("POST", f"/medias/{b.first_id()}/file-versions", link).status_code == 201


def test_attachments_take_their_bytes_at_a_signed_link(a: Tenant) -> None:
    own = f"/medias/{a.first_id()}/attachments"
    made = a.ok("POST", own, {"fileName": "plan.pdf", "mediaType": "application/pdf", "fileSize": 4}).json()
    assert made["status"] == "PENDING_TO_ONLINE"
    assert a.plain.put(made["_links"]["svc:upload-link"]["href"], content=b"plan").status_code == 200
    read = a.get(own)["_embedded"]["attachment"]
    assert read["status"] == "ONLINE"
    assert a.plain.get(read["_links"]["svc:download-link"]["href"]).content == b"plan"
    a.world.advance(901)
    assert a.plain.put(made["_links"]["svc:upload-link"]["href"], content=b"late").status_code == 403


# 19: trash


def test_trash_restore_and_purge(a: Tenant) -> None:
    number = a.create()
    titled(a, number)
    a.ok("DELETE", f"/medias/{number}")
    assert a.get(f"/medias/{number}")["status"] == "TRASH"
    assert number not in a.found()
    assert a.publish(number).json()["status"] == "PUBLISHED"
    assert number in a.found()
    for _ in range(2):
        a.ok("DELETE", f"/medias/{number}")
    assert a.no("GET", f"/medias/{number}") == (404, "media-not-found")
    assert a.get("/search/trash")["totalCount"] == 0
    assert a.create() > number


def test_the_trash_may_tell_little() -> None:
    with tenant([photo(1, status="trash")], variant="thin-trash") as a:
        assert "trashDate" not in a.get("/search/trash")["_embedded"]["media"]


# 22, 23: faults, variants


def test_a_create_may_be_committed_and_its_answer_lost(a: Tenant) -> None:
    folder, body = a.folder("2024"), {"_links": {"from": {"href": a.upload(b"once")}}}
    a.served.app.faults.add([{"match": "POST /api/dam/folders/*/medias", "do": "reset_after", "times": 1}])
    with pytest.raises(httpx.ReadError):
        a.http.post(f"/folders/{folder}/medias", json=body)
    lost = a.search(f=f"id:[1 TO {HIGH}]", fq=f"folderId:{folder}", sort="id desc", size=1)["_embedded"]["media"][0]
    assert a.get(f"/medias/{lost['id']}")["checkSums"]["md5"] == hashlib.md5(b"once").hexdigest()
    assert a.served.app.faults.unhit() == []


def test_a_descriptor_may_expire_in_mid_upload(a: Tenant) -> None:
    where = begin(a, 10).headers["location"]
    assert chunk(a, where, b"01234", 0, 10).status_code == 202
    a.served.app.faults.add([{"match": "PUT /api/dam/files/*", "do": "play:expire", "times": 1}])
    assert chunk(a, where, b"56789", 5, 10).status_code == 404


def test_a_download_may_break_and_go_on(a: Tenant) -> None:
    media = a.get(f"/medias/{a.first_id()}")
    href = media["_links"]["svc:hires"]["href"]
    a.served.app.faults.add([{"match": "GET /medias/*", "do": "truncate:0.3", "times": 1}])
    with pytest.raises(httpx.RemoteProtocolError):
        a.plain.get(href)
    assert a.plain.get(href, headers={"Range": "bytes=300-"}).status_code == 206


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


def test_equal_seeds_give_equal_addresses() -> None:
    paths = []
    for _ in range(2):
        with tenant([photo(1)]) as a:
            paths.append(a.get(f"/medias/{a.first_id()}")["_links"]["svc:hires"]["href"].rpartition("/")[2])
    assert paths[0] == paths[1]
