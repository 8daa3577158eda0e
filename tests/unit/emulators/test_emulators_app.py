"""The kit over real sockets: routing, counting, faults that really happen, the storage host, control routes."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dam_sync.emulators.kit.app import Application, application
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import Blob, Held, ObjectStore
from dam_sync.emulators.kit.serve import Served, serve_in_thread


def toy(rate: float | None = None) -> Application:
    """A service with a counter that POST moves."""
    world = Environment(seed=5)
    objects = ObjectStore(world)
    state = {"made": 0}

    async def read(request: Request) -> Response:
        return JSONResponse({"id": request.path_params["id"], "made": state["made"], "filler": "x" * 500})

    async def make(request: Request) -> Response:
        state["made"] += 1
        return JSONResponse(state, 201)

    routes = [Route("/things/{id:int}", read), Route("/things", make, methods=["POST"])]
    return application(routes, world, Faults(), objects, dump=lambda: [{"id": "1"}, {"id": "2"}], rate=rate)


@pytest.fixture
def served() -> Iterator[Served]:
    with serve_in_thread(toy) as served:
        yield served


@pytest.fixture
def http(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, verify=False) as client:
        yield client


def fault(served: Served, do: str, match: str = "*", **line: int) -> None:
    served.app.faults.add([{"match": match, "do": do, **line}])


def test_routing_and_counting_by_template(served: Served, http: httpx.Client) -> None:
    assert http.get("/things/7").json()["id"] == 7
    assert http.get(f"{served.url}//things/8").json()["id"] == 8
    refused = http.delete("/things/7")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
    assert http.get("/nothing").status_code == 404
    calls = http.get("/_emulator/calls").json()
    assert calls["api"] == {"GET /things/{id}": 2, "DELETE /things/{id}": 1, "GET (unknown path)": 1}
    assert calls["refused"] == {"404": 1, "405": 1}
    assert http.post("/_emulator/reset-calls").status_code == 204
    assert http.get("/_emulator/calls").json()["api"] == {}


@pytest.mark.parametrize(("kind", "made"), [("reset_before", 0), ("reset_after", 1)])
def test_a_reset_comes_before_or_after_the_work(served: Served, http: httpx.Client, kind: str, made: int) -> None:
    fault(served, kind, "POST /things", times=1)
    with pytest.raises(httpx.ReadError):
        http.post("/things")
    assert http.get("/things/1").json()["made"] == made
    assert served.app.faults.unhit() == []


def test_a_request_that_arrives_twice_does_its_work_twice(served: Served, http: httpx.Client) -> None:
    fault(served, "twice", "POST /things", times=1)
    assert http.post("/things").is_success
    assert http.get("/things/1").json()["made"] == 2


def test_a_reset_is_seen_on_the_wire(served: Served) -> None:
    fault(served, "reset_before")
    place = urlsplit(served.url)
    with socket.create_connection((str(place.hostname), place.port or 0)) as raw:
        raw.sendall(b"GET /things/1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            raw.recv(100)


def test_truncation_sends_a_part_and_breaks(served: Served, http: httpx.Client) -> None:
    fault(served, "truncate:0.5")
    received: list[bytes] = []
    with http.stream("GET", "/things/1") as answer:
        length = int(answer.headers["content-length"])
        with pytest.raises(httpx.RemoteProtocolError):
            received.extend(answer.iter_raw())
    assert len(b"".join(received)) == length // 2


@pytest.mark.parametrize(
    ("do", "status", "kind", "length"),
    [
        ("status:503", 503, "application/json", None),
        ("html:502", 502, "text/html", None),
        ("empty", 200, None, 0),
        ("wrong_length:0.25", 200, "application/json", 132),
        ("garble", 200, "application/json", 529),
    ],
)
def test_malformed_responses(
    served: Served, http: httpx.Client, do: str, status: int, kind: str | None, length: int | None
) -> None:
    fault(served, do, "GET *", times=1)
    answer = http.get("/things/1")
    assert answer.status_code == status
    assert (answer.headers.get("content-type") or "").startswith(kind or "")
    assert length is None or len(answer.content) == length
    if do not in ("status:503",):
        with pytest.raises(ValueError):
            answer.json()
    assert http.get("/things/1").json()["id"] == 1


def test_throttling_says_when_to_come_again(served: Served, http: httpx.Client) -> None:
    fault(served, "throttle:7", times=1)
    answer = http.get("/things/1")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
    assert served.app.world.refused["429"] == 1


def test_the_clock_can_be_moved_by_a_fault_and_by_a_call(served: Served, http: httpx.Client) -> None:
    first = http.get("/_emulator/clock").json()["now"]
    http.post("/_emulator/clock", json={"advance": 86400})
    second = http.get("/_emulator/clock").json()["now"]
    fault(served, "advance:86400", times=1)
    http.get("/things/1")
    third = http.get("/_emulator/clock").json()["now"]
    assert first[:10] < second[:10] < third[:10]


def test_faults_by_the_control_route(served: Served, http: httpx.Client) -> None:
    answer = http.post("/_emulator/faults", json=[{"match": "GET /things/*", "do": "status:500", "nth": 2}])
    assert answer.json()["unhit"] == ["GET /things/* status:500"]
    assert [http.get("/things/1").status_code for _ in range(3)] == [200, 500, 200]
    assert http.get("/_emulator/faults").json()["hits"][0]["hits"] == 1
    assert http.post("/_emulator/faults", json=[{"match": "*", "do": "melt"}]).status_code == 400
    http.delete("/_emulator/faults")
    assert http.get("/_emulator/faults").json() == {"hits": [], "unhit": []}


def test_the_ground_truth_comes_as_lines(http: httpx.Client) -> None:
    lines = http.get("/_emulator/assets").text.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["1", "2"]


def test_the_rate_limit_returns_429_and_is_counted() -> None:
    with serve_in_thread(lambda: toy(rate=5)) as served, httpx.Client(base_url=served.url, verify=False) as http:
        statuses = [http.get("/things/1").status_code for _ in range(9)]
        assert statuses[:5] == [200] * 5
        assert 429 in statuses
        served.app.world.advance(2)
        assert http.get("/things/1").status_code == 200


def blob_link(served: Served, ttl: float = 60) -> tuple[Blob, str]:
    blob = served.app.objects.generated(300_000, 3)
    return blob, served.app.objects.sign(blob, ttl, "été 1.jpg", "image/jpeg")


def test_a_signed_link_gives_ranges_until_it_expires(served: Served) -> None:
    blob, link = blob_link(served)
    assert link.startswith(served.storage_url)
    with httpx.Client(verify=False) as http:
        whole = http.get(link)
        assert whole.content == blob.read()
        assert whole.headers["content-type"] == "image/jpeg"
        assert "%C3%A9t%C3%A9%201.jpg" in whole.headers["content-disposition"]
        part = http.get(link, headers={"Range": "bytes=100-199"})
        assert (part.status_code, part.content) == (206, blob.read(100, 200))
        assert part.headers["content-range"] == "bytes 100-199/300000"
        beyond = http.get(link, headers={"Range": "bytes=300000-"})
        assert (beyond.status_code, beyond.headers["content-range"]) == (416, "bytes */300000")
        stale = http.get(link, headers={"Range": "bytes=0-9", "If-Range": '"other"'})
        assert (stale.status_code, len(stale.content)) == (200, 300_000)
        head = http.head(link)
        assert (head.headers["content-length"], head.content) == ("300000", b"")
        served.app.world.advance(61)
        assert http.get(link).status_code == 403
        assert "<Code>AccessDenied</Code>" in http.get(link).text


def test_the_storage_host_refuses_credentials_and_forged_links(served: Served) -> None:
    _, link = blob_link(served)
    with httpx.Client(verify=False) as http:
        assert http.get(link, headers={"Authorization": "Bearer x"}).status_code == 400
        assert http.get(link, headers={"Cookie": "a=b"}).status_code == 400
        other = re.sub("(?<=Signature=).", lambda digit: "1" if digit[0] == "0" else "0", link)
        assert http.get(other).status_code == 403
        assert http.get(f"{served.storage_url}/objects/none/none").status_code == 403
        assert http.get(f"{served.storage_url}/elsewhere").status_code == 404
    assert served.app.world.storage_calls == 5
    assert not served.app.world.api_calls


def test_public_urls_live_as_long_as_they_resolve(served: Served) -> None:
    blob = served.app.objects.generated(10, 1)
    served.app.objects.resolve = lambda path: Held(blob) if path == "/pub/été.jpg" else None
    with httpx.Client(base_url=served.storage_url, verify=False) as http:
        assert http.get("/pub/été.jpg").content == blob.read()
        assert http.get("/pub/other.jpg").status_code == 404


def test_bytes_can_be_put_to_a_signed_link(served: Served) -> None:
    came: list[Blob] = []
    link = served.app.objects.sign_upload(60, came.append, limit=10)
    with httpx.Client(verify=False) as http:
        assert http.put(link, content=b"0123456789").status_code == 200
        assert http.put(link, content=b"0123456789x").status_code == 400
        assert http.get(link).status_code == 404
        served.app.world.advance(61)
        assert http.put(link, content=b"late").status_code == 403
    assert [blob.read() for blob in came] == [b"0123456789"]


def test_faults_strike_the_storage_host_too(served: Served) -> None:
    _, link = blob_link(served)
    fault(served, "truncate:0.5", "GET /objects/*", times=1)
    with httpx.Client(verify=False) as http:
        with pytest.raises(httpx.RemoteProtocolError):
            http.get(link)
        assert len(http.get(link).content) == 300_000


async def test_in_process_a_reset_is_an_error_of_the_connection() -> None:
    app = toy()
    app.faults.add([{"match": "*", "do": "reset_after", "times": 1}])
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url=app.world.api_origin) as http:
        with pytest.raises(ConnectionResetError):
            await http.get("/things/1")
        assert (await http.get("/things/1")).status_code == 200


def test_responses_carry_the_date_of_the_virtual_world(served: Served, http: httpx.Client) -> None:
    before = http.get("/things/1").headers["date"]
    served.app.world.advance(400 * 86400)
    assert http.get("/things/1").headers["date"][12:16] > before[12:16]


FOREIGN = [
    {"Host": "evil.example"},
    {"Host": "127.0.0.1.evil.example:80"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:3000"},
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/_emulator/clock"), ("GET", "/_emulator/assets"), ("GET", "/things/1")]
)
def test_a_foreign_page_is_refused(
    served: Served, http: httpx.Client, method: str, path: str, headers: dict[str, str]
) -> None:
    before = http.get("/_emulator/calls").json()
    answer = http.request(method, path, headers=headers, json={"advance": 86400} if method == "POST" else None)
    assert answer.status_code == 403
    assert http.get("/_emulator/calls").json() == before


def test_a_foreign_page_is_refused_by_the_store_of_files(served: Served) -> None:
    blob = served.app.objects.generated(10, "a")
    link = served.app.objects.sign(blob, 60)
    with httpx.Client(verify=False) as client:
        assert client.get(link, headers={"Origin": "https://evil.example"}).status_code == 403
        assert client.get(link, headers={"Host": "evil.example"}).status_code == 403
        assert client.get(link).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_that_hides_where_it_comes_from_reaches_no_control_route(http: httpx.Client, site: str) -> None:
    assert http.get("/_emulator/assets", headers={"Sec-Fetch-Site": site}).status_code == 403
    assert http.get("/things/1", headers={"Sec-Fetch-Site": site}).status_code == 200


def test_requests_from_own_pages_and_by_other_names_of_this_host_are_let_in(served: Served, http: httpx.Client) -> None:
    port = urlsplit(served.url).port
    for headers in ({"Origin": served.url}, {"Host": f"localhost:{port}"}, {"Sec-Fetch-Site": "none"}):
        assert http.get("/_emulator/clock", headers=headers).status_code == 200
