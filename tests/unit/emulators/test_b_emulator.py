"""The emulated service B against its wire contract, by plain HTTP: entry, documents, searches."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dam_sync.emulators.b_documents.options import options_of
from tests.support.services.emulated_b import API, AUTH, EVERYTHING, Open, Platform, platforms
from tests.support.stepped_clock import NOW

ALL = "SELECT * FROM Document"
ASSETS = f"{ALL} WHERE ecm:primaryType = 'Photo' AND ecm:isVersion = 0"


@pytest.fixture
def opened() -> Iterator[Open]:
    with platforms() as made:
        yield made


@pytest.fixture(scope="module")
def read() -> Iterator[Platform]:
    """One that is only read."""
    platform = Platform()
    yield platform
    platform.close()


# -- entry -------------------------------------------------------------------------------------------------------------


def test_unknown_options_are_refused() -> None:
    for wrong in ({"no": 1}, {"variant": "third"}, {"digest": "CRC"}):
        with pytest.raises(ValueError):
            options_of(wrong)
    assert options_of({"variant": "second"}).plays >= {"lenient_body", "whole_path"}


def test_every_url_reaches_the_same_document(read: Platform) -> None:
    uid = read.named(2)
    for head in (API, "/site/api/v1", f"{API}/repo/default", "/site/api/v1/repo/default"):
        assert read.http.get(f"{head}/id/{uid}").json()["uid"] == uid
    assert read.http.get(f"{API}/repo/other/id/{uid}").status_code == 404
    assert read.http.get(f"{API}/id/{uid}", headers={"X-NXRepository": "other"}).status_code == 404
    for head in ("/site/automation", f"{API}/automation"):
        assert read.http.post(f"{head}/Log", json={"params": {"message": "x"}}).status_code == 204


def test_a_context_path(opened: Open) -> None:
    platform = opened(app_path="app")
    assert platform.http.get(f"{API}/me").status_code == 404
    assert platform.http.get(f"/app{API}/me").status_code == 200
    assert platform.http.get("/app/site/automation/login").status_code == 405
    doc = platform.http.get(f"/app{API}/id/{platform.named(2)}", headers=EVERYTHING).json()
    assert doc["properties"]["file:content"]["data"].startswith(f"{platform.served.url}/app/nxfile/default/")


@pytest.mark.parametrize("auth", [("Administrator", "no"), ("Administrator", ""), ("nobody", "x"), None])
def test_wrong_credentials_are_401_without_json(read: Platform, auth: Any) -> None:
    with read.client(auth=auth) as client:
        answer = client.get(f"{API}/me")
        assert answer.status_code == 401
        assert "html" in answer.headers["content-type"]
        assert answer.headers["www-authenticate"].startswith("Basic")
        quiet = client.get(f"{API}/me", headers={"Cookie": "a=b"})
        assert (quiet.status_code, "www-authenticate" in quiet.headers) == (401, False)


def test_a_login_token(opened: Open) -> None:
    platform = opened()
    ask = {"applicationName": "dam_sync", "deviceId": "h", "permission": "rw"}
    made = platform.http.get("/authentication/token", params=ask)
    assert (made.status_code, made.headers["content-type"]) == (201, "text/plain")
    assert platform.http.get("/authentication/token", params=ask).text == made.text
    for missing in ask:
        less = {key: value for key, value in ask.items() if key != missing}
        assert platform.http.get("/authentication/token", params=less).status_code == 400
    with platform.client() as client:
        token = {"X-Authentication-Token": made.text}
        assert client.get("/authentication/token", params=ask).status_code == 401
        assert client.get(f"{API}/me", headers=token).json()["id"] == "Administrator"
        assert client.get(f"{API}/me", params={"token": made.text}).status_code == 200
        platform.advance(10**8)
        assert client.get(f"{API}/me", headers=token).status_code == 200
        assert platform.http.get("/authentication/token", params={**ask, "revoke": "true"}).status_code == 202
        assert platform.http.get("/authentication/token", params={**ask, "revoke": "true"}).status_code == 400
        assert client.get(f"{API}/me", headers=token).status_code == 401


def signed(key: str = "shared-secret-b", algorithm: str = "HS512", **claims: Any) -> str:
    head = {"alg": algorithm, "typ": "JWT"}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (head, claims)]
    digest = hmac.new(key.encode(), b".".join(parts), hashlib.sha512).digest()
    return b".".join([*parts, base64.urlsafe_b64encode(digest).rstrip(b"=")]).decode()


def test_a_signed_token(read: Platform) -> None:
    later, before = NOW.timestamp() + 9e9, NOW.timestamp() - 9
    good = [{"sub": "Administrator"}, {"sub": "Administrator", "exp": later, "aud": "api/v1/"}]
    bad = [{"sub": "nobody"}, {"sub": "Administrator", "exp": before}, {"sub": "Administrator", "aud": "api/v2/"}]
    with read.client() as client:
        for claims in good:
            assert client.get(f"{API}/me", headers={"Authorization": f"Bearer {signed(**claims)}"}).status_code == 200
        for claims in bad:
            assert client.get(f"{API}/me", headers={"Authorization": f"Bearer {signed(**claims)}"}).status_code == 401
        for token in (signed("other", sub="Administrator"), signed(algorithm="HS256", sub="Administrator"), "a.b.c"):
            assert client.get(f"{API}/me", headers={"Authorization": f"Bearer {token}"}).status_code == 401


CLIENT = {"client_id": "dam-sync", "client_secret": "client-secret-b"}


def test_one_oauth_token_for_a_client_and_a_user(opened: Open) -> None:
    platform = opened()
    ask = {**CLIENT, "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}
    ask["assertion"] = signed(sub="Administrator")
    with platform.client() as client:
        first = client.post("/oauth2/token", data=ask).json()
        assert (len(first["access_token"]), len(first["refresh_token"]), first["expires_in"]) == (32, 64, 3599)
        platform.advance(600)
        again = client.post("/oauth2/token", params=ask).json()
        assert (again["access_token"], again["expires_in"]) == (first["access_token"], 2999)
        refresh = {**CLIENT, "grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
        second = client.post("/oauth2/token", data=refresh).json()
        assert second["access_token"] != first["access_token"]
        lost = client.post("/oauth2/token", data=refresh)
        assert (lost.status_code, lost.json()["error"]) == (400, "invalid_grant")
        bearer = {"Authorization": f"Bearer {second['access_token']}"}
        assert client.get(f"{API}/me", headers={"Authorization": f"Bearer {first['access_token']}"}).status_code == 401
        assert client.get(f"{API}/me", headers=bearer).status_code == 200
        assert client.get(f"{API}/me", params={"access_token": second["access_token"]}).status_code == 200
        platform.advance(3600)
        assert client.get(f"{API}/me", headers=bearer).status_code == 401


def test_client_credentials_come_without_a_refresh_token(opened: Open) -> None:
    ask = {**CLIENT, "grant_type": "client_credentials"}
    with opened().client() as client:
        assert "refresh_token" not in client.post("/oauth2/token", data=ask).json()
        assert client.get("/oauth2/token").status_code == 405
        for wrong in ({"client_secret": "x"}, {"client_id": "nobody"}, {"client_id": ""}, {"grant_type": "x"}):
            assert client.post("/oauth2/token", data={**ask, **wrong}).status_code == 400
    with opened(variant="older").client() as client:
        assert client.post("/oauth2/token", data=ask).json()["error"] == "unsupported_grant_type"


def test_a_code_is_spent_once_and_dies_after_ten_minutes(opened: Open) -> None:
    platform = opened()
    challenge = base64.urlsafe_b64encode(hashlib.sha256(b"verifier").digest()).rstrip(b"=").decode()
    ask = {"response_type": "code", "client_id": "dam-sync", "redirect_uri": "http://localhost:8765/cb", "state": "s",
           "code_challenge": challenge, "code_challenge_method": "S256"}  # fmt: skip

    def code() -> str:
        where = platform.http.get("/oauth2/authorize", params=ask).headers["location"]
        facts = parse_qs(urlsplit(where).query)
        assert facts["state"] == ["s"]
        assert len(facts["code"][0]) == 10
        return facts["code"][0]

    spend = {**CLIENT, "grant_type": "authorization_code", "redirect_uri": ask["redirect_uri"]}
    with platform.client() as client:
        good = {**spend, "code": code(), "code_verifier": "verifier"}
        assert client.post("/oauth2/token", data=good).status_code == 200
        assert client.post("/oauth2/token", data=good).status_code == 400
        assert client.post("/oauth2/token", data={**spend, "code": code(), "code_verifier": "x"}).status_code == 400
        old = {**spend, "code": code(), "code_verifier": "verifier"}
        platform.advance(601)
        assert client.post("/oauth2/token", data=old).status_code == 400
    assert platform.http.get("/oauth2/authorize", params={**ask, "redirect_uri": "http://evil/cb"}).status_code == 400
    page = platform.http.get("/oauth2/authorize", params={**ask, "client_id": "public-client"})
    assert (page.status_code, "html" in page.headers["content-type"]) == (200, True)


def test_what_the_server_says_of_itself(read: Platform, opened: Open) -> None:
    assert read.get("/capabilities")["server"]["distributionVersion"] == "2025.10"
    assert read.http.get("/json/cmis").json()["default"]["productVersion"] == "2025.10"
    assert read.http.get("/runningstatus").status_code == 200
    assert read.operate("login")["isAdministrator"] is True
    opened(variant="ancient").get("/capabilities", 404)


def test_nxfile_leads_a_stranger_to_the_login_page(read: Platform, opened: Open) -> None:
    with read.client() as client:
        answer = client.get(f"/nxfile/default/{read.named(2)}/file:content/a.jpg")
        assert (answer.status_code, "html" in answer.headers["content-type"]) == (401, True)
    other = opened(variant="login_redirect")
    with other.client() as client:
        assert client.get(f"/nxfile/default/{other.named(2)}").status_code == 302


# -- documents ---------------------------------------------------------------------------------------------------------


def test_no_properties_without_the_header(read: Platform) -> None:
    uid = read.named(1)
    assert "properties" not in read.get(f"/id/{uid}")
    for name in ("properties", "X-NXproperties", "X-NXDocumentProperties", "x-nxproperties"):
        keys = read.get(f"/id/{uid}", headers={name: "dublincore"})["properties"]
        assert {key.partition(":")[0] for key in keys} == {"dc"}
    assert "file:content" in read.get(f"/id/{uid}", properties="*")["properties"]


def test_conditional_keys(read: Platform) -> None:
    live = read.doc(read.named(1))
    assert {"lockOwner", "versionableId", "isLatestVersion", "proxyTargetId"}.isdisjoint(live)
    assert live["versionLabel"] == "0.2"
    assert "versionLabel" not in read.get(f"/id/{live['uid']}")
    old, new = read.operate("Document.GetVersions", f"doc:{live['uid']}")["entries"]
    assert (old["isLatestVersion"], new["isLatestVersion"]) == (False, True)
    assert (old["versionableId"], old["parentRef"], old["path"]) == (live["uid"], None, live["path"])


def test_blobs_and_dates_as_they_are_written(read: Platform) -> None:
    doc, row = read.doc(read.named(1)), read.true(read.named(1))
    blob = doc["properties"]["file:content"]
    assert blob["length"] == str(row["versions"][-1]["size"])
    assert (blob["digestAlgorithm"], blob["digest"]) == ("MD5", row["versions"][-1]["digests"]["md5"])
    assert blob["blobUrl"].endswith(f"?changeToken={doc['changeToken']}")
    assert doc["properties"]["lib:shot"] == "2025-02-06T00:00:00.000Z"
    assert doc["properties"]["lib:subject"] == ["1/2", "4"]
    assert doc["properties"]["dc:expired"] == "2050-01-01T00:00:00.000Z"
    assert doc["properties"]["nxtag:tags"][0] == {"label": "sea", "username": "Administrator"}


def test_enrichers(read: Platform) -> None:
    names = "acls,tags,collections,renditions,thumbnail,breadcrumb,children,permissions,audit,nothing"
    found = read.doc(read.named(1), **{"enrichers-document": names})["contextParameters"]
    assert set(found) == set(names.split(",")) - {"nothing"}
    assert [each["name"] for each in found["acls"]] == ["local", "inherited"]
    assert found["acls"][0]["aces"][0]["username"] == "staff"
    assert found["tags"] == ["sea", "été"]
    assert [each["title"] for each in found["collections"]] == ["Highlight"]
    assert "ace" in read.get(f"/id/{read.named(1)}/@acl")["acl"][0]


def test_unknown_documents_schemas_and_directories(read: Platform) -> None:
    assert read.get("/id/none", 404)["message"] == "none"
    assert read.get("/path/none/such", 404)["message"] == "/none/such"
    for path in ("/config/schemas/none", "/config/types/none", "/config/facets/none"):
        assert read.get(path, 204) is None
    read.get("/directory/none", 404)
    html = read.http.get(f"{API}/id/none", headers={"Accept": "text/html"})
    assert (html.status_code, "html" in html.headers["content-type"]) == (404, True)


def test_the_schema_with_its_constraints(read: Platform, opened: Open) -> None:
    plain = read.get("/config/schemas/library")
    assert (plain["prefix"], plain["@prefix"], plain["fields"]["keywords"]) == ("lib", "lib", "string[]")
    assert plain["fields"]["spot"]["type"] == "complex"
    ruled = read.get("/config/schemas/library", headers={"fetch.schema": "fields"})["fields"]
    assert [rule["name"] for rule in ruled["title"]["constraints"]] == ["NotNullConstraint", "LengthConstraint"]
    resolver = ruled["subject"]["itemConstraints"][0]
    assert resolver["parameters"] == {"directory": "subjects", "parentField": "parent", "separator": "/"}
    types = read.get("/config/types")
    assert types["doctypes"]["Photo"]["parent"] == "Picture"
    assert types["doctypes"]["Document"]["parent"] == "None!!!"
    assert types["schemas"]["dublincore"]["@prefix"] == "dc"
    rows = [
        {"record": "vocabulary", "key": "v"}, {"record": "term", "vocabulary": "v", "id": "a", "labels": {"en": "A"}},
        {"record": "term", "vocabulary": "v", "id": "b", "labels": {"en": "B"}},
        {"record": "field", "key": "f", "kind": "term", "vocabulary": "v", "native": "ENUM"},
    ]  # fmt: skip
    for variant, values in (("", "[a, b]"), ("second", ["a", "b"])):
        fields = opened(*rows, variant=variant).get("/config/schemas/library", headers={"fetch-schema": "fields"})
        assert fields["fields"]["f"]["constraints"][0]["parameters"]["Values"] == values


def test_children_hide_and_count_badly(read: Platform) -> None:
    found = read.get("/path/default-domain/workspaces/Press/2024/@children")
    assert [entry["title"] for entry in found["entries"]] == [f"photo {n}.jpg" for n in (1, 2, 3, 4, 5, 7, 8)]
    small = read.get("/path/default-domain/workspaces/Press/2024/@children", pageSize="3")
    assert (small["resultsCount"], len(small["entries"]), small["isNextPageAvailable"]) == (-2, 3, True)
    assert [entry["name"] if "name" in entry else entry["title"] for entry in read.get("/path//@children")["entries"]]


# -- searching ---------------------------------------------------------------------------------------------------------


def test_pages_lie_quietly(opened: Open) -> None:
    platform = opened(max_page_size=4)
    every = set(platform.uids(f"{ALL} ORDER BY ecm:uuid", pageSize="4"))
    assert len(every) == 4
    page = platform.search(ALL)
    assert (len(page["entries"]), page["pageSize"], page["maxPageSize"]) == (4, 0, 4)
    assert (page["numberOfPages"], page["isNextPageAvailable"]) == (1, False)
    total = page["resultsCount"]
    assert total > 12
    big = platform.search(f"{ALL} ORDER BY ecm:uuid", pageSize="6", currentPageIndex="1")
    assert (len(big["entries"]), big["currentPageOffset"]) == (4, 6)
    seen = {uid for n in range(9) for uid in platform.uids(f"{ALL} ORDER BY ecm:uuid", pageSize="6",
                                                           currentPageIndex=str(n))}  # fmt: skip
    assert len(seen) < total


def test_the_page_size_is_1000_at_most(opened: Open) -> None:
    platform = opened(*({"record": "container", "kind": "folder", "path": [f"f{n}"]} for n in range(1100)))
    page = platform.search("SELECT * FROM Workspace WHERE dc:title LIKE 'f%'", pageSize="2000")
    assert (len(page["entries"]), page["isNextPageAvailable"], page["resultsCount"]) == (1000, False, 1100)


def test_offset_wins_and_counts_may_be_unknown(read: Platform) -> None:
    ordered = f"{ASSETS} ORDER BY ecm:uuid"
    every = read.uids(ordered)
    assert read.uids(ordered, pageSize="3", offset="1", currentPageIndex="5") == every[1:4]
    page = read.search(ordered, pageSize="3", maxResults="5")
    assert (page["resultsCount"], page["numberOfPages"], page["isNextPageAvailable"]) == (-2, 0, True)
    assert read.search(ordered, pageSize="3", maxResults="50")["resultsCount"] == len(every)


def test_without_an_order_pages_are_shuffled(read: Platform) -> None:
    assert len({tuple(read.uids(ASSETS)) for _ in range(5)}) > 1


def test_a_key_set_finds_everything_once(read: Platform) -> None:
    last, seen = "", list[str]()
    for _ in range(20):
        more = f" AND ecm:uuid > '{last}'" if last else ""
        found = read.uids(f"{ASSETS}{more} ORDER BY ecm:uuid ASC", pageSize="3")
        if not found:
            break
        seen, last = seen + found, found[-1]
    assert len(seen) == len(set(seen)) == 8


def test_sort_order_is_descending_unless_asc(read: Platform) -> None:
    up = read.uids(ASSETS, sortBy="dc:created", sortOrder="asc")
    for order in ({}, {"sortOrder": "DESC"}, {"sortOrder": "up"}):
        assert read.uids(ASSETS, sortBy="dc:created", **order) == up[::-1]


@pytest.mark.parametrize(
    ("where", "numbers"),
    [
        ("lib:rating = 12.5", "1"),
        ("lib:rating BETWEEN 3 AND 5", "345"),
        ("lib:subject = '4'", "1"),
        ("lib:subject <> '4' AND lib:rating < 4", "23"),
        ("lib:keywords/* IN ('dawn', 'x')", "1"),
        ("lib:title LIKE 'Photo _'", "234567"),
        ("lib:title ILIKE 'PHOTO%'", "234567"),
        ("lib:title LIKE 'Photo\\_'", ""),
        ("NOT (lib:rating IS NULL) AND ecm:isTrashed = 1", "6"),
        ("lib:srckey IS NULL", "8"),
        ("lib:note = \"12.50\"", "1"),
        ("file:content/length = 1003", "3"),
        ("file:content/name = 'photo 4.jpg'", "4"),
        ("nxtag:tags/*/label = 'sea'", "1"),
        ("ecm:tag = 'sea'", "1"),
        ("ecm:mixinType = 'CollectionMember'", "1"),
        ("ecm:currentLifeCycleState = 'obsolete'", "7"),
        ("ecm:path STARTSWITH '/default-domain/workspaces/Press' AND lib:rating IN (2, 3)", "23"),
        ("ecm:acl/*1/principal = 'staff'", "1"),
        ("dc:created >= TIMESTAMP '2024-03-01 18:00:00' AND ecm:isTrashed = 0", "78"),
        ("dc:created < DATE '2024-03-01'", ""),
        ("dc:modified < NOW('-P1D') AND lib:rating = 5", "5"),
        ("lib:cleared = 1", "1"),
        ("ecm:fulltext = 'harbour'", "1"),
    ],
)  # fmt: skip
def test_queries(read: Platform, where: str, numbers: str) -> None:
    ids = {row["id"]: row["catalogue_id"] for row in read.truth()}
    found = read.uids(f"{ASSETS} AND {where} ORDER BY dc:created")
    assert "".join(ids[uid] for uid in found) == numbers


@pytest.mark.parametrize(
    "query",
    [
        "SELECT", "SELECT * FROM Document WHERE", f"{ALL} WHERE dc:title ~ 'x'", f"{ALL} WHERE dc:title = 'x",
        f"{ALL} WHERE no:such = 1", f"{ALL} WHERE ecm:none = 1", f"{ALL} WHERE ecm:path LIKE '/x%'",
        f"{ALL} WHERE dc:created > TIMESTAMP 'soon'", f"{ALL} WHERE lib:rating = 'x'", f"{ALL} ORDER dc:title",
    ],
)  # fmt: skip
def test_bad_queries_are_400(read: Platform, query: str) -> None:
    read.get("/search/lang/NXQL/execute", 400, query=query)
    assert read.get("/search/lang/SQL/execute", 400, query=ALL)["message"] == "invalid query language"


def test_parameters_slip_into_the_query(read: Platform) -> None:
    assert len(read.uids(f"{ASSETS} AND lib:note = ?", queryParams="12.50")) == 1
    assert len(read.uids(f"{ASSETS} AND lib:note = :wanted", wanted="12.50")) == 1
    read.get("/search/lang/NXQL/execute", 400, query=f"{ASSETS} AND lib:note = '12.50'", note="x")


def test_versions_are_under_nothing_in_the_repository(read: Platform, opened: Open) -> None:
    under = f"{ALL} WHERE ecm:path STARTSWITH '/default-domain' AND ecm:isVersion = 1"
    assert read.uids(under) == []
    assert len(read.uids(f"{ALL} WHERE ecm:versionVersionableId = '{read.named(1)}'")) == 2
    assert len(opened(variant="index").uids(under)) == 2


def test_an_index_lags_and_serves_what_was_deleted(opened: Open) -> None:
    platform = opened(variant="index", lag=5.0)
    query = f"{ALL} WHERE lib:note = 'new' ORDER BY ecm:uuid"
    platform.create("one", lib__note="new")
    assert platform.uids(query) == []
    platform.create("two", lib__note="new", headers={"nx-es-sync": "true"})
    assert len(platform.uids(query)) == 1
    platform.advance(6)
    one, two = platform.uids(query)
    platform.http.delete(f"{API}/id/{one}")
    page = platform.search(query)
    assert (page["resultsCount"], [entry["uid"] for entry in page["entries"]]) == (2, [two])
    platform.operate("Search.WaitForIndexing", timeoutSecond=60, refresh=True)
    assert platform.uids(query) == [two]
    assert platform.operate("Repository.Query", query=query)["resultsCount"] == 1


def test_an_index_has_a_window(opened: Open) -> None:
    platform = opened(variant="index", window=6)
    page = platform.search(f"{ASSETS} ORDER BY ecm:uuid", pageSize="2", offset="0")
    assert (page["resultsCountLimit"], page["isNextPageAvailable"], page["resultsCount"]) == (6, True, 8)
    assert platform.search(f"{ASSETS} ORDER BY ecm:uuid", pageSize="2", offset="4")["isNextPageAvailable"] is False
    platform.get("/search/lang/NXQL/execute", 500, query=ASSETS, pageSize="2", offset="5")
    assert options_of({"variant": "index"}).window == 10_000


def test_rows_without_documents(read: Platform, opened: Open) -> None:
    query = "SELECT ecm:uuid, dc:created FROM Photo WHERE lib:rating = 3"
    (row,) = read.operate("Repository.ResultSetQuery", query=query)["entries"]
    assert row == {"ecm:uuid": read.named(3), "dc:created": 1709305200000}
    (row,) = opened(variant="index").operate("Repository.ResultSetQuery", query=query)["entries"]
    assert row["dc:created"] == "2024-03-01T15:00:00.000Z"


def test_what_one_may_not_see_is_403_and_not_found_by_searching(opened: Open) -> None:
    users = [{"name": "eve", "password": "p", "groups": ["members"]}, {"name": "sam", "password": "p", "groups": []}]
    platform = opened(users=users)
    with platform.client(auth=("sam", "p")) as sam, platform.client(auth=("eve", "p")) as eve:
        for client, status, count in ((sam, 403, 0), (eve, 200, 7)):  # the first asset is the staff's
            assert client.get(f"{API}/id/{platform.named(2)}").status_code == status
            found = client.get(f"{API}/search/execute", params={"query": ASSETS}).json()
            assert found["resultsCount"] == count
        assert eve.put(f"{API}/id/{platform.named(2)}", json={"entity-type": "document"}).status_code == 403
        hidden = eve.post(f"{API}/automation/Audit.QueryWithPageProvider", json={"params": {}})
        assert (hidden.status_code, hidden.content) == (404, b"")
    assert AUTH[0] == platform.get("/me")["id"]


def test_an_oauth_client_is_registered_as_an_entry(opened: Open) -> None:
    platform = opened()
    facts = {"name": "N", "clientId": "mine", "clientSecret": "s", "redirectURIs": "http://localhost/cb",
             "autoGrant": True, "enabled": True}  # fmt: skip
    body = {"entity-type": "directoryEntry", "directoryName": "oauth2Clients", "properties": facts}
    answers = [platform.http.post(f"{API}/directory/oauth2Clients", json=body).status_code for _ in range(2)]
    assert answers == [201, 409]
    ask = {"response_type": "code", "client_id": "mine"}
    assert (
        platform.http.get("/oauth2/authorize", params=ask).headers["location"].startswith("http://localhost/cb?code=")
    )
