"""The emulated service D and who may call it: keys, sessions, OAuth, permissions. Numbers are those of wire D 12."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.services.emulated_d import EVERY, KEY, LIMITED, OWNER, Api, asset_row, library, schema_rows, served

HOUR = 3600
DAY = 86_400


@pytest.fixture(scope="module")
def tenant() -> Iterator[Api]:
    with served(library()) as api:
        yield api


@pytest.fixture
def api(tenant: Api) -> Iterator[Api]:
    made = Api(tenant.served)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("headers", "status", "message"),
    [
        pytest.param({}, 403, "Forbidden", id="no key"),
        pytest.param({"X-API-Key": "other"}, 403, "Forbidden", id="unknown key"),
        pytest.param(KEY, 401, "Unauthorized", id="no token"),
        pytest.param({**KEY, "Authorization": "eyJ.no.good"}, 401, "Unauthorized", id="wrong token"),
    ],
)
def test_1_a_request_without_its_key_or_token_is_refused(
    api: Api, headers: dict[str, str], status: int, message: str
) -> None:
    answer = api.bare.get(f"{api.served.url}/v1/user", headers=headers)
    assert (answer.status_code, answer.json()) == (status, {"message": message})


def test_1_a_token_lives_for_one_hour(api: Api) -> None:
    expires = api.session["session"]["expireEpoch"] / 1000
    assert expires - api.world.now().timestamp() == pytest.approx(HOUR, abs=2)
    api.world.advance(HOUR - 5)
    assert api.get("/user")["emailId"].startswith("svc-migration")
    api.world.advance(10)
    assert api.refused("GET", "/user") == (401, {"message": "Unauthorized"})


def test_1_refreshing_works_after_the_hour_and_for_thirty_days_of_the_login(api: Api) -> None:
    api.world.advance(29 * DAY)
    fresh = api.post("/auth/token", {"session": api.session["session"]})
    assert fresh["session"]["refreshToken"] == api.session["session"]["refreshToken"]
    api.use(fresh)
    assert api.get("/user")["status"] == "enabled"
    api.world.advance(DAY)  # refreshing has not moved the end of the thirty days
    assert api.refused("POST", "/auth/token", {"session": fresh["session"]})[0] == 401


def test_1_expiring_ends_all_three_tokens(api: Api) -> None:
    body = {**api.session}
    assert api.refused("DELETE", "/auth/token", {**body, "clientId": ""}) == (502, {"message": "Internal server error"})
    wrong = {**body, "session": {**body["session"], "authorization": "eyJ"}}
    assert api.refused("DELETE", "/auth/token", wrong)[1]["message"] == "Failed to Expire Session and Logout 1"
    ended = api.http.request("DELETE", "/auth/token", json=body).json()
    assert ended["session"]["authorization"] == ended["session"]["accessToken"] == ""
    assert api.refused("GET", "/user")[0] == 401
    assert api.refused("POST", "/auth/token", {"session": body["session"]})[0] == 401


def test_1_a_bad_token_request_is_refused_with_its_message(api: Api) -> None:
    cases = [
        ({}, 400, "Invalid Authentication Parameters"),
        ({"username": OWNER[0]}, 401, "Missing required parameter PASSWORD"),
        ({"username": OWNER[0], "password": "no"}, 401, "Incorrect username or password."),
        ({"session": {"accessToken": "a", "refreshToken": "b"}}, 401, "Incorrect username or password."),
    ]
    for body, status, message in cases:
        assert api.refused("POST", "/auth/token", body) == (status, {"status": "error", "message": message})


def test_1_the_token_is_taken_raw_and_with_bearer(api: Api) -> None:
    raw = api.session["session"]["authorization"]
    api.http.headers["Authorization"] = f"Bearer {raw}"
    assert api.get("/user")["userId"]


def test_1_a_refresh_may_return_no_refresh_token() -> None:
    with served(schema_rows(), variant="refresh_blank") as api:
        fresh = api.post("/auth/token", {"session": api.session["session"]})
        assert fresh["session"]["refreshToken"] == ""
        again = {**fresh["session"], "refreshToken": api.session["session"]["refreshToken"]}
        assert api.post("/auth/token", {"session": again})["session"]["accessToken"]


def test_the_access_token_may_be_needed() -> None:
    with served(schema_rows(), variant="access_token") as api:
        assert api.get("/user")
        del api.http.headers["AccessToken"]
        assert api.refused("GET", "/user")[0] == 401


def test_oauth_code_and_refresh(api: Api) -> None:
    base, client = f"{api.served.url}/v2/oauth", {"client_id": "client-1", "client_secret": "client-secret-1"}
    query = {"response_type": "code", "client_id": "client-1", "redirect_uri": "https://a.test/back", "state": "s1"}
    assert api.bare.get(f"{base}/authorize", params=query).status_code == 403
    back = api.bare.get(f"{base}/authorize", params=query, headers=dict(api.http.headers)).headers["location"]
    (code,) = parse_qs(urlsplit(back).query)["code"]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": "https://a.test/back"}
    refused = api.bare.post(f"{base}/token", data=form)
    assert refused.status_code == 403
    assert refused.text.startswith("<html>")
    granted = api.bare.post(f"{base}/token", data={**form, **client}).json()
    assert granted["expires_in"] == HOUR
    bearer = {"Authorization": f"Bearer {granted['access_token']}"}
    assert api.bare.get(f"{api.served.url}/v1/user", headers=bearer).status_code == 200
    assert api.bare.post(f"{base}/token", data={**form, **client}).status_code == 400  # a code works once
    again = {"grant_type": "refresh_token", "refresh_token": granted["refresh_token"], **client}
    assert api.bare.post(f"{base}/token", data=again).json()["token_type"] == "Bearer"


def test_impersonation_cannot_be_refreshed(api: Api) -> None:
    assert api.post("/auth/impersonate", {"username": LIMITED[0]})["session"]["refreshToken"] == ""


def test_14_a_user_sees_only_what_the_security_templates_show() -> None:
    inner = asset_row(2, rights={"groups": ["Inner Circle"]})
    with served([*schema_rows(), asset_row(1, fields={"title": "x", "secret": "s"}), inner]) as api:
        small = Api(api.served, LIMITED)
        assert (api.scan()["totalCount"], small.scan()["totalCount"]) == (2, 1)
        hidden = api.named("photo-2.jpg")["objectId"]
        assert small.refused("GET", f"/asset/{hidden}") == (403, {"message": "Asset not found"})
        seen = small.named("photo-1.jpg")
        secret = api.attributes()["secret"]["id"]
        assert secret not in {entry["metadataDefinitionId"] for entry in seen["metadata"]}
        assert "secret" not in seen["metadataDenormalized"]
        assert api.named("photo-1.jpg")["metadataDenormalized"]["secret"] == "s"
        for method, path, body in (
            ("PATCH", "", {"metadata": []}),
            ("POST", "/delete", {"action": "delete"}),
            ("POST", "/link", {"secondaryIds": [{"id": seen["objectId"], "linkType": "child"}]}),
            ("POST", "/version/promote", None),
        ):
            assert small.refused(method, f"/asset/{seen['objectId']}{path}", body)[0] == 403
        assert small.refused("GET", f"/metadata/template/{seen['metadataTemplateId']}")[0] == 403
        small.close()


def test_28_rate_headers_are_on_every_response(api: Api) -> None:
    for answer in (api.http.get("/user"), api.bare.get(f"{api.served.url}/v1/user")):
        assert (answer.headers["x-ratelimit-limit"], answer.headers["x-ratelimit-reset"]) == ("60000", "60")


@pytest.mark.parametrize("told", [True, False])
def test_28_a_limit_passed_is_429(told: bool) -> None:
    with served(schema_rows(), rate=2, retry_after=told) as api:
        answers = [api.http.get("/user") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 429, 429]  # the sign-in was a call, too
        assert ("retry-after" in answers[-1].headers) is told
        api.world.advance(1.01)
        assert api.http.get("/user").status_code == 200


def test_22_an_absent_route_is_the_gateways_403(api: Api) -> None:
    told = (403, {"message": "Missing Authentication Token"})
    assert api.refused("GET", "/nothing/here") == told
    assert api.refused("PUT", "/asset") == told
    assert api.refused("GET", f"/asset/{api.named('photo-1.jpg')['objectId']}/history")[0] == 403


def test_22_an_older_server_lacks_the_newer_calls() -> None:
    with served(library(1), variant="older") as api:
        one = api.named("photo-1.jpg")["objectId"]
        for method, path in (("GET", "/metadata/attributes"), ("POST", "/search"), ("GET", f"/assets/asset/{one}")):
            assert api.refused(method, path) == (403, {"message": "Missing Authentication Token"})


def test_22_what_the_backend_cannot_parse_is_502(api: Api) -> None:
    answer = api.http.post("/asset/expose", content=b"{not json")
    assert (answer.status_code, answer.json()) == (502, {"message": "Internal server error"})


def test_the_deprecated_base_wants_a_client_id(api: Api) -> None:
    base = f"{api.served.url}/content-store-v1"
    body = {"username": OWNER[0], "password": OWNER[1]}
    assert api.bare.post(f"{base}/auth/token", json=body, headers=KEY).status_code == 400
    assert api.bare.post(f"{base}/auth/token", json={**body, "clientId": "5d64"}, headers=KEY).status_code == 200
    assert api.bare.get(f"{base}/user", headers=dict(api.http.headers)).status_code == 200


def test_user_lists_and_bulk_groups(api: Api) -> None:
    listed = api.get("/users", limit=1)
    assert listed["hitCount"] >= 2
    assert len(listed["results"]) == 1
    assert api.refused("GET", "/users?limit=101")[0] == 400
    names = [f"group {n}" for n in range(50)]
    assert api.refused("POST", "/security/user-groups/bulk", {"groupNames": [*names, "one more"]})[0] == 400
    before = len(api.get("/security/groups")["securityGroups"])
    twice = api.refused("POST", "/security/user-groups/bulk", {"groupNames": ["a", "b", "a"]})
    assert twice[0] == 400
    assert len(api.get("/security/groups")["securityGroups"]) == before  # all or none
    assert len(api.post("/security/user-groups/bulk", {"groupNames": names})) == 50


def test_16_purging_is_the_administrators_alone(api: Api) -> None:
    made = api.uploaded("gone.jpg")
    purge = f"{api.served.url}/_emulator/purge"
    assert api.bare.post(purge, json={"id": made["objectId"]}).status_code == 403  # not in the recycle bin
    api.post(f"/asset/{made['objectId']}/delete", {"action": "delete", "deleteType": "full"})
    assert api.bare.post(purge, json={"id": made["objectId"]}).status_code == 204
    assert api.refused("GET", f"/asset/{made['objectId']}") == (403, {"message": "Asset not found"})
    api.world.advance(5)
    assert made["objectId"] not in {row["objectId"] for row in api.scan(**EVERY)["result"]}


def test_27_latencies_are_those_of_the_contract() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with served(schema_rows(), latency=0.5) as api:
        api.world.clock.sleep = sleep  # type: ignore[method-assign]
        api.made()
        assert slept[-1] == pytest.approx(0.55)  # half of a create's 1.1 s
