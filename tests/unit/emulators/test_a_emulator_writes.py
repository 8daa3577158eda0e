"""The emulated service A: creation, statuses, metadata, trees, memberships, trash (wire A 12, lines 10 to 14, 19)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.services.emulated_a import Tenant, last_number, photo, tenant


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


# 10: creation


def test_creation_by_folder_of_entry(a: Tenant) -> None:
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


def test_a_new_draft_shows_in_its_folder_on_some_instances_only() -> None:
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


def test_some_instances_return_nothing_for_writes() -> None:
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
def test_values_are_stored_and_cleared(shared: Tenant, field: str, value: Any, read: Any) -> None:
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


def test_localized_fields_are_stored_by_language(a: Tenant) -> None:
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


def test_the_trash_may_leave_out_its_date() -> None:
    with tenant([photo(1, status="trash")], variant="thin-trash") as a:
        assert "trashDate" not in a.get("/search/trash")["_embedded"]["media"]
