"""The emulated service A: entry, hypermedia, search, reading (wire A 12, lines 1 to 8, 11, 13 to 15, 18, 20, 21)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.emulated_a import HIGH, Tenant, photo, tenant

ASSETS = [
    photo(
        1,
        fields={
            "title": {"texts": {"en": "Harbour at dawn", "fr": "Port à l'aube"}},
            "external_key": "xa-1",
            "shot_date": {"date": "2025-02-06"},
            "expires": {"instant": "2026-01-01T10:00:00Z"},
            "country": {"id": "fr", "label": "France"},
            "keywords": ["harbour", "dawn"],
            "places": [{"id": "2", "label": "London"}],
            "credit": [{"person": "Doe Jane", "id": ""}],
            "where": {"latitude": 48.38, "longitude": -4.49, "address": "Brest"},
            "size_cm": 12.5,
            "released": True,
            "uses": [{"row": {"medium": "web", "years": 3}}],
        },
        placements=[
            {"kind": "folder", "path": ["Press", "2024"]},
            {"kind": "folder", "path": ["Archive"]},
            {"kind": "label", "path": ["Highlight"]},
        ],
        versions=[
            {"name": "old.jpg", "generate": {"size": 500, "seed": 1}},
            {"name": "new.jpg", "generate": {"size": 600, "seed": 2}},
        ],
        relations=[{"kind": "Views of the object", "target": "2"}],
        attachments=[{"name": "plan.pdf", "generate": {"size": 99, "seed": 3}}],
    ),
    photo(2),
    photo(3, status="draft"),
    photo(4, status="archived", versions=[{"name": "same.jpg", "generate": {"size": 1002, "seed": 2}}]),
    photo(5, status="trash"),
    photo(6, substatus="Internal"),
]


@pytest.fixture(scope="module")
def a() -> Iterator[Tenant]:
    with tenant(ASSETS) as made:
        yield made


def token(key: str = "sharedkey123", algorithm: str = "HS256", **claims: object) -> str:
    def part(data: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")

    head = f"{part({'alg': algorithm, 'typ': 'JWT'})}.{part(claims)}"
    made_with = {"HS384": hashlib.sha384, "HS512": hashlib.sha512}.get(algorithm, hashlib.sha256)
    signature = hmac.new(key.encode(), head.encode(), made_with).digest()
    return f"{head}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


# 1: entry and authentication


def test_the_root_needs_no_credentials_and_tells_the_release(a: Tenant) -> None:
    answer = a.plain.get(f"{a.served.url}/api")
    assert answer.json()["release"] == "4.124.0"
    assert answer.json()["_links"]["svc:dam"]["href"] == f"{a.served.url}/api/dam"
    assert answer.headers["content-type"].replace(" ", "") == "application/hal+json;version=1;charset=UTF-8"


def test_without_credentials_everything_below_is_refused(a: Tenant) -> None:
    for path in ("/api/dam", "/api/dam/medias/1", "/download-express?mid=1"):
        answer = a.plain.get(a.served.url + path)
        assert answer.status_code == 401
        assert answer.json()["code"] == "security-notAuthorized"


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_signed_tokens(a: Tenant, algorithm: str) -> None:
    now = a.world.now().timestamp()
    claims: dict[str, Any] = {"client_id": "demo-instance-id", "login": "dam-sync", "iat": now, "exp": now + 300}

    def tried(key: str = "sharedkey123", alg: str = algorithm, **changed: object) -> int:
        headers = {"Authorization": f"Bearer {token(key, alg, **{**claims, **changed})}"}
        return a.plain.get(f"{a.served.url}/api/dam", headers=headers).status_code

    assert tried() == 200
    assert tried(iat=now + 50) == 200
    refused = [
        tried(key="other"),
        tried(alg="none"),
        tried(alg="RS256"),
        tried(exp=now - 1),
        tried(iat=now + 120),
        tried(login="nobody"),
        tried(client_id="else"),
        tried(exp=None),
    ]
    assert refused == [401] * 8


def test_basic_credentials_and_scheme_are_checked(a: Tenant) -> None:
    def tried(header: str) -> int:
        return a.plain.get(f"{a.served.url}/api/dam", headers={"Authorization": header}).status_code

    assert tried("Basic " + base64.b64encode(b"dam-sync:secret-a").decode()) == 200
    wrong = [tried("Basic " + base64.b64encode(b"dam-sync:x").decode()), tried("Basic %%"), tried("Digest x")]
    assert [*wrong, tried("Bearer a.b.c")] == [401] * 4


def test_identity_provider_tokens_where_switched_on() -> None:
    with tenant(oidc=True) as a:
        realm = a.plain.get(f"{a.served.url}/api/public/iam-configuration").json()
        where = f"{realm['url']}/realms/{realm['realm']}/protocol/openid-connect/token"
        form = {"grant_type": "client_credentials", "client_id": "client-1", "client_secret": "client-secret-1"}
        issued = a.plain.post(where, data=form).json()
        headers = {"Authorization": f"Bearer {issued['access_token']}"}
        assert a.plain.get(f"{a.served.url}/api/dam", headers=headers).status_code == 200
        a.world.advance(issued["expires_in"] + 1)
        assert a.plain.get(f"{a.served.url}/api/dam", headers=headers).status_code == 401
        assert a.plain.post(where, data={**form, "client_secret": "x"}).status_code == 401


def test_an_account_awaiting_validation_and_a_forbidden_interface() -> None:
    user = {"login": "new", "password": "p", "active": False}
    with tenant(users=[user], interfaces=["ui-1"]) as a:
        answer = a.plain.get(f"{a.served.url}/api/dam", auth=("new", "p"))
        assert (answer.status_code, answer.json()["code"]) == (401, "error.account.to_be_validated")
        assert a.http.get("", headers={"X-SVC-CLIENT-ID": "ui-1"}).status_code == 200
        assert a.no("GET", "", headers={"X-SVC-CLIENT-ID": "ui-2"}) == (401, "user-access-forbidden-for-ui")


# 2, 3: tokens and envelopes


def test_relations_and_headers_take_the_prefix_of_the_deployment() -> None:
    with tenant([photo(1)], prefix="acme", header_prefix="X-ACME-") as a:
        body = a.get(f"/medias/{a.first_id()}")
        assert "acme:form" in body["_links"]
        assert body["_links"]["curies"][0]["name"] == "acme"
        assert a.no("POST", "/files", headers={"X-SVC-FileName": "a.jpg"}) == (400, "file-name-missing")
        made = a.http.post("/files", content=b"x", headers={"X-ACME-FileName": "a.jpg", "Content-Type": "image/jpeg"})
        body = {"_links": {"from": {"href": made.headers["location"]}, "acme:form": {"href": "x/api/dam/forms/1"}}}
        assert a.ok("POST", "/medias", body).status_code == 201


def test_one_embedded_item_is_an_object_unless_forced(a: Tenant) -> None:
    number = a.first_id()
    single = a.get(f"/medias/{number}", embeddedFolders="true")["_embedded"]
    forced = a.get(f"/medias/{number}", embeddedFolders="true", forceArrays="true")["_embedded"]
    assert isinstance(single["label"], dict)
    assert single["label"] == forced["label"][0]
    assert isinstance(single["folder"], list)
    assert isinstance(single["importUser"], dict)
    assert isinstance(forced["importUser"], list)
    assert "facet" not in a.search(f="external_key:nothing").get("_embedded", {})
    assert "media" not in a.search(f="external_key:nothing").get("_embedded", {})


def test_links_are_absolute_and_odd_instances_double_the_slash() -> None:
    with tenant([photo(1)], odd_hrefs=True) as a:
        item = a.search()["_embedded"]["media"][0]
        assert item["_links"]["self"]["href"].startswith(f"{a.served.url}//api/dam/medias/")
        assert a.http.get(item["_links"]["self"]["href"]).status_code == 200


def test_only_version_one_is_spoken(a: Tenant) -> None:
    assert a.http.get("", headers={"Accept": "application/hal+json;version=1"}).status_code == 200
    assert a.no("GET", "", headers={"Accept": "application/hal+json;version=2"})[0] == 406


# 4: releases


def test_older_releases_lack_what_came_later() -> None:
    with tenant([photo(1)], release="4.15.9") as a:
        assert a.plain.get(f"{a.served.url}/api").json()["release"] == "4.15.9"
        body = a.get("/search/media", **{"forceArrays": "true", "facet-fields": "[]"})
        assert isinstance(body["_embedded"]["media"], dict)
        assert "facet" in body["_embedded"]
        now = a.world.now().timestamp()
        jwt = token(client_id="demo-instance-id", login="dam-sync", iat=now, exp=now + 60)
        headers = {"Authorization": f"Bearer {jwt}"}
        assert a.plain.get(f"{a.served.url}/api/dam", headers=headers).status_code == 401
        for path in ("/sheet-fields", "/users", "/bulk-jobs", "/boards", "/scripts", "/forms/1/extensions"):
            assert a.no("GET", path)[0] == 404
        made = a.upload()
        assert a.no("POST", "/folders/434/medias", {"_links": {"from": {"href": made}}})[0] == 404
        media = body["_embedded"]["media"]["id"]
        assert a.ok("POST", "/folders/434/medias", {"id": media}).status_code == 201
        chunked = {"X-SVC-FileName": "a", "X-SVC-Upload-Content-Length": "10", "Content-Length": "0"}
        assert "nextExpectedRanges" not in a.http.post("/files", headers=chunked).json()


# 5, 6: search


def test_light_items_carry_ten_properties_and_no_more(a: Tenant) -> None:
    item = a.search(sort="id", size=1)["_embedded"]["media"][0]
    assert set(item) == {
        "id", "title", "statusUpdateDate", "permission", "mediaType", "fileSize", "fileSizeString", "updateDate",
        "duplicationStatus", "thumbnailGenerationStatus", "_links",
    }  # fmt: skip
    assert set(item["_links"]) == {"self", "svc:small", "preview", "svc:whr", "svc:custom-status"}


def test_every_media_but_the_trashed_is_found_in_order_of_id(a: Tenant) -> None:
    ids = a.found(f=f"id:[1 TO {HIGH}]", sort="id")
    assert len(ids) == 5
    assert ids == sorted(ids)
    assert a.found(f=f"id:[{ids[1] + 1} TO {HIGH}]", sort="id", size=2) == ids[2:4]
    assert a.found(f=f"id:[{ids[0]} TO {ids[1]}]", sort="id desc") == ids[1::-1]
    assert a.search()["totalCount"] == 5


@pytest.mark.parametrize(
    ("condition", "places"),
    [
        ('external_key:"xa-1"', [1]),
        ("external_key:xa-1", [1]),
        ("external_key:xa*", [1]),
        ("title:harbour", [1]),
        ("title:pict*", [2, 3, 4, 6]),
        ("title.FR:port", [1]),
        ("title.FR:harbour", []),
        ('title:"at dawn"', []),
        ('title:"harbour at dawn"', [1]),
        ("title:-harbour", [2, 3, 4, 6]),
        ("-title:harbour", [2, 3, 4, 6]),
        ("title:(harbour OR nothing)", [1]),
        ("keywords:dawn", [1]),
        ("originalFileName:new.jpg", [1]),
        ("importDate:[2024-03-03 TO 2024-03-04]", [2, 3]),
        ("importDate:[2024-03-03T10:00:00Z TO 2024-03-04T09:59:59Z]", [2]),
        ("importDate:[1709632800000 TO *]", [4, 6]),
        ("size_cm:[12 TO 13]", [1]),
        ("fileSize:[1002 TO 1003]", [2, 3, 4]),
        ("metamodelId:1", [1, 2, 3, 4, 6]),
        ("tagsInMedia:40", [1]),
        ("country:France", [1]),
        ("released:true", [1]),
        ("nothing_like_it:1", []),
    ],
)
def test_conditions(a: Tenant, condition: str, places: list[int]) -> None:
    first = a.first_id()
    assert [number - first + 1 for number in a.found(f=condition, sort="id")] == places


def test_conditions_and_scopes_combine_by_and(a: Tenant) -> None:
    assert len(a.found(f=["title:picture", "id:[1 TO *]"])) == 4
    press, year = a.folder("Press"), a.folder("2024")
    assert a.found(fq=f"folderId:{press}", sort="id") == a.found(fq=f"folderId:{year} subtree", sort="id")
    assert len(a.found(fq=f"folderId:{press}")) == 2
    assert len(a.found(fq=[f"folderId:{press}", f"folderId:{a.folder('Archive')}"])) == 1
    assert len(a.found(fq="folderPath:/Press")) == 2
    assert len(a.found(fq="labelId:(40,41)")) == 1
    status = a.status("Internal")["href"].rpartition("/")[2]
    assert len(a.found(fq=f"customStatusId:{status}")) == len(a.found(f=f"subStatusId:{status}")) == 3
    root = a.get("/forms/1")["_embedded"]["field"]
    thesaurus = next(one for one in root if one["internalName"] == "places")["_links"]["svc:thesaurus"]["href"]
    assert len(a.found(fq=f"thesaurus:places:{thesaurus.rpartition('/')[2]}")) == 1
    assert len(a.found(fq="facet:formType:PICTURE")) == 5
    assert len(a.found(fq="associations:(8802)")) == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("harbour", 1),
        ("harbour picture", 5),
        ("+picture -2", 3),
        ('"at dawn"', 1),
        ("picture AND 2", 1),
        ("title:harbour OR (picture AND 3)", 2),
        ("NOT harbour", 4),
        ("Londres", 1),
        ("har*", 1),
        ("title:(dawn OR 2)", 2),
        ("picture -(2 OR 3)", 2),
    ],
)
def test_full_text(a: Tenant, text: str, count: int) -> None:
    assert a.search(q=text)["totalCount"] == count


def test_word_matching_is_the_other_reading_of_a_phrase() -> None:
    with tenant(ASSETS[:2], variant="word-match") as a:
        assert len(a.found(f='title:"at dawn"')) == 1


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"f": "title:a:b"}, "query-syntax"),
        ({"f": "importDate:[soon TO later]"}, "query-syntax"),
        ({"f": "title"}, "query-syntax"),
        ({"q": "(a"}, "query-syntax"),
        ({"sort": "id upwards"}, "query-syntax"),
        ({"size": "0"}, "parameter-invalid"),
        ({"facet-values-number": "151"}, "facet-values-too-many"),
        ({"fq": ["basketId:1", "workflowId:2"]}, "search-filters-combined"),
        ({"fq": "associations:(" + ",".join(map(str, range(1001))) + ")"}, "too-many-ids"),
        ({"fields": "id,_links{self"}, "fields-syntax"),
    ],
)
def test_wrong_queries(a: Tenant, query: dict[str, Any], code: str) -> None:
    assert a.no("GET", "/search/media", params=query) == (400, code)


def test_pages_clamp_link_and_stop_at_the_window() -> None:
    with tenant([photo(number) for number in range(1, 61)], window=40, page_max=20) as a:
        page = a.search(sort="id", size=500)
        assert len(page["_embedded"]["media"]) == 20
        assert "size=20" in page["_links"]["self"]["href"]
        assert page["totalCount"] == 60
        assert "page=2" in page["_links"]["last"]["href"]
        second = a.http.get(page["_links"]["next"]["href"]).json()
        assert set(second["_links"]) == {"self", "curies", "first", "previous"}
        assert a.no("GET", "/search/media", params={"sort": "id", "size": 20, "page": 3}) == (
            400,
            "search-window-exceeded",
        )


def test_partial_answers(a: Tenant) -> None:
    fields = "id,_links{self},_embedded{metadata.byId(external_key,title)},_embedded{label.byId(40)}"
    item = a.search(sort="id", size=1, fields=fields)["_embedded"]["media"][0]
    assert set(item) == {"id", "_links", "_embedded"}
    assert set(item["_links"]) == {"self"}
    assert [one["id"] for one in item["_embedded"]["metadata"]] == ["title", "external_key"]
    assert item["_embedded"]["label"][0]["title"] == "Highlight"
    assert a.get(f"/medias/{item['id']}", fields="checkSums{md5}") == {
        "checkSums": {"md5": a.get(f"/medias/{item['id']}")["checkSums"]["md5"]}
    }


@pytest.mark.parametrize("rich", [False, True])
def test_whether_a_search_reaches_the_whole_media(rich: bool) -> None:
    with tenant([photo(1)], rich_search=rich) as a:
        item = a.search(fields="id,checkSums,originalFileName,_embedded{folder}")["_embedded"]["media"][0]
        assert ("checkSums" in item, "_embedded" in item) == (rich, rich)


def test_facets_can_be_had_and_suppressed(a: Tenant) -> None:
    facets = a.get("/search/media", forceArrays="true")["_embedded"]["facet"]
    assert facets[0]["_embedded"]["value"] == [{"id": "PICTURE", "title": "Picture", "count": 5}]
    assert "facet" not in a.search()["_embedded"]


def test_the_trash_has_its_own_search(a: Tenant) -> None:
    item = a.get("/search/trash", forceArrays="true")["_embedded"]["media"][0]
    assert item["status"] == "TRASH"
    assert "trashDate" in item
    assert a.get(f"/medias/{item['id']}")["status"] == "TRASH"


def test_advanced_search_finds_what_is_empty_and_expires() -> None:
    with tenant([photo(1), photo(2, imported_at=None)]) as a:
        body = {"criterias": [{"field": "importDate", "modifier": "EMPTY"}]}
        made = a.ok("POST", "/search/advanced", body)
        where = f"{made.headers['location']}/media"
        assert a.get(where)["totalCount"] == 1
        a.world.advance(3601)
        assert a.no("GET", where)[0] == 404


# 7, 8


def test_the_plain_listing_shows_published_media_and_nothing_above_its_limit() -> None:
    with tenant(ASSETS) as a:
        assert a.get("/medias")["totalCount"] == 3
    with tenant(ASSETS, medias_limit=2) as a:
        assert a.get("/medias")["totalCount"] == 0


def test_search_lags_and_reading_does_not() -> None:
    with tenant([photo(1)], lag=30) as a:
        number = a.create()
        assert a.get(f"/medias/{number}")["id"] == number
        assert number not in a.found()
        a.world.advance(31)
        assert number in a.found()


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


def test_the_language_served_is_told(a: Tenant) -> None:
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


# 18, 20, 21


def test_express_download_gives_the_file_without_ranges(a: Tenant) -> None:
    number = a.first_id()
    where = f"{a.served.url}/download-express"
    whole = a.http.get(where, params={"mid": number}, headers={"Range": "bytes=0-9"})
    assert (whole.status_code, len(whole.content)) == (200, 600)
    assert "new.jpg" in whole.headers["content-disposition"]
    several = a.http.get(where, params={"mid": [number, number + 1]})
    assert several.content[:2] == b"PK"
    assert a.http.get(where, params={"mid": 1}).status_code == 404
    static = a.get(f"/medias/{number}")["_links"]["svc:hires"]["href"]
    part = a.plain.get(static, headers={"Range": "bytes=590-"})
    assert (part.status_code, len(part.content)) == (206, 10)
    assert a.http.get(static).status_code == 400


USERS = [
    {"login": "press", "password": "p", "permission": "READ", "download": "BD", "folders": ["/Press"]},
    {"login": "none", "password": "p", "permission": "WRITE", "download": "NONE"},
]


def test_users_see_their_folders_and_their_rights() -> None:
    with tenant(ASSETS, users=USERS) as a, httpx.Client(base_url=f"{a.served.url}/api/dam", auth=("press", "p")) as b:
        ids = a.found(sort="id")
        found = b.get("/search/media", params={"sort": "id", "forceArrays": "true"}).json()["_embedded"]["media"]
        assert [one["id"] for one in found] == [ids[0], ids[2]]
        assert {one["permission"] for one in found} == {"READ"}
        assert b.get(f"/medias/{ids[1]}").status_code == 404
        media = b.get(f"/medias/{ids[0]}").json()
        assert {one["permission"] for one in media["_embedded"]["metadata"]} == {"READ"}
        assert "svc:hires" not in media["_links"]
        assert b.put(f"/medias/{ids[0]}/metadatas/external_key", json={"value": "x"}).status_code == 403
        low = b.get(f"{a.served.url}/download-express", params={"mid": ids[0]})
        assert hashlib.md5(low.content).hexdigest() != media["checkSums"]["md5"]
        assert b.get("/folder-tree").json()["childrenCount"] == 1
        assert b.delete(f"/medias/{ids[0]}").status_code == 403
        none = b.get(f"{a.served.url}/download-express", params={"mid": ids[0]}, auth=("none", "p"))
        assert (none.status_code, none.json()["code"]) == (403, "media-operation-forbidden")


def test_errors_have_the_documented_body(a: Tenant) -> None:
    assert a.no("GET", "/medias/1") == (404, "media-not-found")
    assert a.no("GET", "/elsewhere") == (404, "not-found")
    assert a.no("PATCH", "/medias/1") == (405, "method-not-allowed")
    assert a.no("PUT", "/folders/434", content=b"x", headers={"Content-Type": "text/plain"})[0] == 415


def test_the_description_lists_the_operations(a: Tenant) -> None:
    answer = a.plain.get(f"{a.served.url}/api/doc/swagger.json").json()
    assert answer["swaggerVersion"] == "1.2"
    assert any(one["path"] == "/api/dam/medias/{id}" for one in answer["apis"])


def test_the_ground_truth_tells_what_was_loaded(a: Tenant) -> None:
    rows = [json.loads(line) for line in a.plain.get(f"{a.served.url}/_emulator/assets").text.splitlines()]
    assert [row["catalogue_id"] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    first = rows[0]
    assert first["fields"]["shot_date"] == {"date": "2025-02-06"}
    assert first["fields"]["title"]["texts"]["fr"] == "Port à l'aube"
    assert first["fields"]["places"][0]["path"] == ["England", "London"]
    assert [one["size"] for one in first["versions"]] == [500, 600]
    data = a.plain.get(a.get(f"/medias/{first['id']}")["_links"]["svc:hires"]["href"]).content
    assert first["versions"][1]["digests"]["sha256"] == hashlib.sha256(data).hexdigest()
    assert {"kind": "label", "path": ["Highlight"], "id": "40"} in first["placements"]
    assert rows[4]["status"] == "trash"
    assert rows[5]["substatus"] == "Internal"
