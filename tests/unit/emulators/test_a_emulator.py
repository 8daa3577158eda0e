"""The emulated service A: entry, tokens, hypermedia, releases, rights, errors (wire A 12, lines 1 to 4, 18, 20, 21)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.services.emulated_a import ASSETS, Tenant, photo, tenant


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


def test_the_root_needs_no_credentials_and_shows_the_release(a: Tenant) -> None:
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
    for accept, status in (("application/hal+json;version=1", 406), ("image/*", 200), ("text/html, */*;q=0.1", 200)):
        assert a.http.get(where, params={"mid": number}, headers={"Accept": accept}).status_code == status
    static = a.get(f"/medias/{number}")["_links"]["svc:hires"]["href"]
    part = a.plain.get(static, headers={"Range": "bytes=590-"})
    assert (part.status_code, len(part.content)) == (206, 10)
    assert a.http.get(static).status_code == 400


USERS = [
    {"login": "press", "password": "p", "permission": "READ", "download": "BD", "folders": ["/Press"]},
    {"login": "none", "password": "p", "permission": "WRITE", "download": "NONE"},
]


def test_users_see_their_folders_and_their_rights() -> None:
    with (
        tenant(ASSETS, users=USERS) as a,
        httpx.Client(base_url=f"{a.served.url}/api/dam", auth=("press", "p"), verify=False) as b,
    ):
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


def test_the_ground_truth_has_what_was_loaded(a: Tenant) -> None:
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
