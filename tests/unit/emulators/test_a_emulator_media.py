"""The emulated service A: media, renditions, trees and schema as they are read (wire A 12, lines 11, 13 to 15)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from tests.support.services.emulated_a import ASSETS, Tenant, tenant


@pytest.fixture(scope="module")
def a() -> Iterator[Tenant]:
    with tenant(ASSETS) as made:
        yield made


# 11, 13: media


def test_renditions_come_after_a_while_and_the_original_at_once() -> None:
    with tenant() as a:
        media = a.get(f"/medias/{a.create()}")
        assert media["thumbnailGenerationStatus"] == "PENDING"
        assert "preview" not in media["_links"]
        assert a.plain.get(media["_links"]["svc:hires"]["href"]).content == b"bytes"
        link = a.get(f"/medias/{media['id']}/permalinks/original")["_links"]["latest-version"]["href"]
        assert link == media["_links"]["svc:hires"]["href"]
        a.world.advance(2)
        media = a.get(f"/medias/{media['id']}")
        assert media["thumbnailGenerationStatus"] == "GENERATED"
        assert a.plain.get(media["_links"]["preview"]["href"]).status_code == 200


def test_a_whole_media(a: Tenant) -> None:
    number = a.first_id()
    media = a.get(f"/medias/{number}", embedAllMetadata="true", embeddedFolders="true", forceArrays="true")
    assert (media["status"], media["formType"], media["fileVersionCount"]) == ("PUBLISHED", "PICTURE", 2)
    assert (media["fileSize"], media["totalSize"], media["originalFileName"]) == (600, 1100, "new.jpg")
    assert media["attachmentCounts"] == {"online": 1, "offline": 0, "pendingToOnline": 0}
    assert (media["latitude"], media["address"], media["mediaLinkCount"]) == (48.38, "Brest", 1)
    items = {one["id"]: one for one in media["_embedded"]["metadata"]}
    assert items["shot_date"]["value"] == "2025-02-05T23:00:00.000Z"
    assert items["expires"]["value"] == "2026-01-01T10:00:00.000Z"
    assert items["country"]["_embedded"]["value"][0]["title"] == "France"
    assert "value" not in items["places"]
    assert items["places"]["_embedded"]["value"][0]["title"] == "London"
    assert items["credit"]["_embedded"]["value"][0]["title"] == "Doe Jane"
    assert items["uses"]["value"] == [{"medium": "web", "years": 3}]
    assert items["legend"].keys() == {"id", "name", "permission", "_links"}
    assert items["batch"]["permission"] == "READ"
    assert "legend" not in {one["id"] for one in a.get(f"/medias/{number}")["_embedded"]["metadata"]}
    assert {one["title"] for one in media["_embedded"]["folder"]} == {"2024", "Archive"}
    data = a.plain.get(media["_links"]["svc:hires"]["href"]).content
    assert hashlib.md5(data).hexdigest() == media["checkSums"]["md5"]


def test_the_language_served_is_in_a_header(a: Tenant) -> None:
    number = a.first_id()

    def served(header: str) -> tuple[str, str]:
        answer = a.http.get(f"/medias/{number}", headers={"Accept-Language": header})
        return answer.headers["content-language"], answer.json()["title"]

    assert served("fr") == ("fr", "Port à l'aube")
    assert served("de, fr;q=0.5") == ("fr", "Port à l'aube")
    assert served("de") == ("en", "Harbour at dawn")
    assert a.http.get(f"/medias/{number}").headers["content-language"] == "en"


def test_the_parts_of_a_media(a: Tenant) -> None:
    number = a.first_id()
    own = f"/medias/{number}"
    versions = a.get(f"{own}/file-versions", forceArrays="true")["_embedded"]["file-version"]
    assert [(one["versionNumber"], one["current"]) for one in versions] == [(2, True), (1, False)]
    old = a.plain.get(versions[1]["_links"]["svc:hires"]["href"])
    assert hashlib.md5(old.content).hexdigest() == versions[1]["checkSums"]["md5"]
    assert versions[0]["_links"]["svc:hires"] != versions[1]["_links"]["svc:hires"]
    links = a.get(f"{own}/media-links")["_embedded"]["media-link"]
    assert (links["title"], links["mediaCount"]) == ("Views of the object", 1)
    assert a.get(links["_links"]["svc:medias"]["href"])["_embedded"]["media"]["id"] == number + 1
    attachment = a.get(f"{own}/attachments")["_embedded"]["attachment"]
    assert attachment["status"] == "ONLINE"
    assert len(a.plain.get(attachment["_links"]["svc:download-link"]["href"]).content) == 99
    assert a.get(f"{own}/metadatas/external_key")["value"] == "xa-1"
    assert a.get(f"{own}/metadatas")["totalCount"] == 12
    assert a.get(f"{own}/folders")["totalCount"] == 2
    assert a.get(f"{own}/labels")["totalCount"] == 1
    assert a.no("GET", f"{own}/metadatas/none") == (404, "metadata-not-found")


def test_duplicates_are_media_with_the_same_bytes(a: Tenant) -> None:
    second = a.first_id() + 1
    assert a.get(f"/medias/{second}/duplicates")["_embedded"]["media"]["id"] == second + 2
    assert a.get(f"/medias/{second + 1}/duplicates")["totalCount"] == 0


# 14, 15: trees and schema


def test_trees_are_walked_by_their_children(a: Tenant) -> None:
    roots = a.get("/folder-tree", forceArrays="true")
    assert (roots["childrenCount"], "id" in roots, "totalCount" in roots) == (2, False, False)
    press = roots["_embedded"]["child"][0]
    assert (press["title"], press["hasChildren"], press["treeMediaCount"]) == ("Press", True, 2)
    inner = a.get(press["_links"]["self"]["href"], forceArrays="true")["_embedded"]["child"][0]
    assert (inner["title"], inner["hasChildren"]) == ("2024", False)
    assert "_embedded" not in a.get(f"/folder-tree/{inner['id']}")
    terms = a.get("/thesaurus-tree", forceArrays="true")["_embedded"]["child"]
    places = next(one for one in terms if one["title"] == "Places")
    england = a.get(places["_links"]["self"]["href"])["_embedded"]["child"]
    london = a.get(england["_links"]["self"]["href"])["_embedded"]["child"]
    assert "/children/" in london["_links"]["self"]["href"]
    whole = a.get(london["_links"]["svc:thesaurus"]["href"])
    assert whole["titles"] == {"EN": "London", "FR": "Londres"}
    assert whole["synonyms"] == {"EN": ["Londinium"], "FR": []}
    hits = a.get("/search/autocomplete", type="thesaurus", thesaurusId=places["id"], q="lond", forceArrays="true")
    assert hits["_embedded"]["thesaurus"][0]["_embedded"]["parent"][0]["title"] == "England"


def test_the_schema_can_be_read_and_not_written(a: Tenant) -> None:
    forms = a.get("/forms", forceArrays="true")["_embedded"]["form"]
    assert [(one["title"], one["type"]) for one in forms] == [("Photo", "PICTURE"), ("Film", "VIDEO")]
    types = {one["internalName"]: one["type"] for one in forms[0]["_embedded"]["field"]}
    assert types == {
        "title": "TEXT", "external_key": "TEXT", "legend": "TEXT_AREA", "body": "HTML_AREA", "size_cm": "NUMBER",
        "released": "CHECK_BOX", "shot_date": "DATE", "expires": "DATETIME", "country": "SIMPLE_LIST",
        "keywords": "MULTIPLE_LIST", "places": "THESAURUS", "credit": "PERSON_LIST", "where": "GEO",
        "contact": "EMAIL", "site": "URL", "uses": "FIELD_SET", "batch": "TEXT",
    }  # fmt: skip
    country = next(one for one in forms[0]["_embedded"]["field"] if one["internalName"] == "country")
    values = a.get(country["_links"]["svc:lookup"]["href"], forceArrays="true")["_embedded"]["value"]
    assert [one["title"] for one in values] == ["France", "Spain"]
    statuses = a.get("/medias/custom-statuses", forceArrays="true")["_embedded"]["custom-status"]
    assert {one["status"] for one in statuses} == {"IMPORT", "BASKET", "DRAFT", "PUBLISHED", "ARCHIVED", "TRASH"}
    assert [one["title"] for one in statuses if one["status"] == "PUBLISHED"] == ["Internal"]
    for path in ("/forms", "/forms/1", "/forms/1/fields", "/sheet-fields/title", "/medias/labels", "/forms/lookups/1"):
        assert a.no("POST", path, {}) == (405, "method-not-allowed")
    assert a.no("PUT", "/medias/custom-statuses/1", {})[0] == 405
