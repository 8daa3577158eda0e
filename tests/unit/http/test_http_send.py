"""One call in, one reply out: what goes over the line, what is not sent at all, many at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import structlog

from dam_sync.http.client import Client, FormPart, Request
from dam_sync.model.errors import ContractBroken, IntegrityError, InvalidValue, StopRequested, TooLarge
from dam_sync.model.limits import Pace
from tests.support.network.clients import TOKEN, client_of, get, post, wiring_of
from tests.support.network.raw_server import RawServer, Said, Seen, in_turn, no_http, said


async def test_a_call_carries_credential_query_and_json() -> None:
    async with (
        RawServer(lambda _: said({"id": 7}, 201, X_Request_Id="abc")) as server,
        client_of(server, headers={"X-Toggle": "on"}) as client,
    ):
        reply = await client.send(post(params=[("q", "a b&c"), ("q", "é")], json={"name": "é"}))
    assert (reply.status, reply.json(), reply.headers["x-request-id"]) == (201, {"id": 7}, "abc")
    (seen,) = server.seen
    assert seen.target == "/v2/things?q=a%20b%26c&q=%C3%A9"
    assert seen.headers["authorization"] == f"Bearer {TOKEN}"
    assert seen.headers["x-toggle"] == "on"
    assert seen.headers["content-type"] == "application/json"
    assert json.loads(seen.body) == {"name": "é"}
    assert client.calls == {"POST /v2/things": 1}
    assert client.storage_calls == 0


async def test_each_attempt_is_logged_with_its_seconds_its_asset_and_an_id() -> None:
    answers = in_turn(said({}, 503, X_Request_Id="first"), said({}, X_Correlation_Id="second"))
    with structlog.testing.capture_logs() as logged:
        async with RawServer(answers) as server, client_of(server) as client:
            await client.send(Request("PUT /v2/a/{id}", "PUT", "/v2/a/7", json={}, repeatable=True, asset="7"))
    calls = [event for event in logged if event["event"] == "call.sent"]
    assert [(each["call"], each["asset"], each["status"], each["request_id"]) for each in calls] == [
        (1, "7", 503, "first"),
        (2, "7", 200, "second"),
    ]
    assert all(0 <= each["seconds"] < 60 for each in calls)


async def test_an_attempt_without_a_response_is_logged() -> None:
    with structlog.testing.capture_logs() as logged:
        async with RawServer(in_turn(Said(silent=True, then="reset"), said({}))) as server, client_of(server) as client:
            await client.send(get("/v2/a"))
    failed = [event for event in logged if event["event"] == "call.failed"]
    assert [(each["call"], bool(each["problem"]), "asset" in each) for each in failed] == [(1, True, False)]


@pytest.mark.parametrize("large", [False, True], ids=["bytes", "streamed"])
async def test_an_empty_header_is_left_out(large: bool) -> None:
    """A signed upload link covers its headers: one that was not signed may be refused."""
    body = b"x" * ((2 << 20) if large else 10)
    async with RawServer(lambda _: said({})) as server, client_of(server) as client:
        bare = Request("PUT upload", "PUT", f"{server.url}/up", body=body, headers={"Content-Type": ""})
        await client.send(bare)
        await client.send(replace(bare, headers={}))
        assert [seen.headers.get("content-type") for seen in server.seen] == [None, "application/octet-stream"]
        assert [seen.body for seen in server.seen] == [body, body]


async def test_a_base_may_have_a_path_and_a_second_base_a_name() -> None:
    async with RawServer(lambda _: said({})) as one, RawServer(lambda _: said({})) as two:
        bases = {"": f"{one.url}/top/", "tenant": two.url}
        async with client_of(one, bases=bases) as client:
            await client.send(get("/v2/a"))
            await client.send(get("/api/b", base="tenant"))
            await client.send(get(f"{two.url}/c"))
        assert [seen.path for seen in one.seen] == ["/top/v2/a"]
        assert [seen.path for seen in two.seen] == ["/api/b", "/c"]
        assert all("authorization" in seen.headers for seen in two.seen)
        assert sum(client.calls.values()) == 3


async def test_a_url_is_sent_as_it_is() -> None:
    target = "/a%2Fb/c%20d?Signature=a%2Fb%2Bc~%3D&name=x%22y%2Cz&plus=1+2"
    async with RawServer(lambda _: Said()) as storage, RawServer(lambda _: Said()) as api:
        async with client_of(api) as client:
            await client.send(get(storage.url + target))
        assert [seen.target for seen in storage.seen] == [target]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "GET"])
async def test_no_body_is_no_body(method: str) -> None:
    async with RawServer(lambda _: Said(204)) as server, client_of(server) as client:
        reply = await client.send(Request("x", method, "/x"))
    assert (reply.status, reply.body) == (204, b"")
    (seen,) = server.seen
    assert seen.headers.get("content-length", "0") == "0"
    assert "transfer-encoding" not in seen.headers


async def test_a_streamed_body_has_its_exact_length_and_is_read_again_for_a_retry() -> None:
    made = 0

    async def blocks() -> AsyncIterator[bytes]:
        nonlocal made
        made += 1
        for _ in range(5):
            yield b"x" * 100_000

    async with (
        RawServer(in_turn(said({}, 503), said({}))) as server,
        client_of(server) as client,
    ):
        await client.send(Request("PUT /f", "PUT", "/f", body=blocks, size=500_000, repeatable=True))
    assert made == 2
    assert [len(seen.body) for seen in server.seen] == [500_000, 500_000]
    assert all(seen.headers["content-length"] == "500000" for seen in server.seen)
    assert all("transfer-encoding" not in seen.headers for seen in server.seen)


async def test_a_form_is_streamed_with_its_exact_length() -> None:
    async def file() -> AsyncIterator[bytes]:
        for _ in range(4):
            yield b"\x00\xff" * 50_000

    form = (
        FormPart("profile", "images"),
        FormPart("file", file, 'a "é".jpg', "image/jpeg", size=400_000),
        FormPart("meta", b'{"a":1}', content_type="application/json"),
    )
    async with RawServer(lambda _: said({})) as server, client_of(server) as client:
        await client.send(Request("POST /u", "POST", "/u", form=form))
    (seen,) = server.seen
    assert "transfer-encoding" not in seen.headers
    assert int(seen.headers["content-length"]) == len(seen.body) > 400_000
    assert seen.body.count(b"\x00\xff") == 200_000
    assert 'filename="a %22é%22.jpg"'.encode() in seen.body


@pytest.mark.parametrize("given", [[b"short"], [b"much", b"too", b"long"]])
async def test_a_body_of_another_length_than_announced_is_refused(given: list[bytes]) -> None:
    async def blocks() -> AsyncIterator[bytes]:
        for block in given:
            yield block

    async with RawServer(lambda _: said({})) as server, client_of(server) as client:
        with pytest.raises(ContractBroken, match="announced"):
            await client.send(Request("PUT /f", "PUT", "/f", body=blocks, size=8, repeatable=True))
    assert len(server.seen) <= 1


async def test_what_the_source_of_a_body_raises_comes_out() -> None:
    async def blocks() -> AsyncIterator[bytes]:
        yield b"1234"
        raise IntegrityError("the source changed")

    async with RawServer(lambda _: said({})) as server, client_of(server) as client:
        with pytest.raises(IntegrityError, match="the source changed") as caught:
            await client.send(Request("PUT /f", "PUT", "/f", body=blocks, size=8, repeatable=True))
    assert caught.value.operation == "PUT /f"


async def test_a_refusal_that_comes_before_the_body_is_through_is_heard() -> None:
    closed = asyncio.Event()
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"

    async def blocks() -> AsyncIterator[bytes]:
        try:
            for _ in range(200):
                yield b"x" * 100_000
        finally:
            closed.set()

    async with (
        no_http(refusal, linger=0.3) as url,
        client_of(url, attempts=1) as client,
    ):
        with pytest.raises(TooLarge, match="big"):
            await client.send(Request("PUT /f", "PUT", "/f", body=blocks, size=20_000_000))
        async with asyncio.timeout(5):
            await closed.wait()


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(get(headers={"X-Name": "a\r\nX-Evil: 1"}), id="header with a line end"),
        pytest.param(post(json={"a": float("nan")}), id="number that JSON lacks"),
    ],
)
async def test_a_request_with_an_invalid_value_is_not_sent(request_: Request) -> None:
    async with RawServer(lambda _: said({})) as server, client_of(server) as client:
        with pytest.raises(InvalidValue):
            await client.send(request_)
    assert server.seen == []


async def test_cookies_are_not_stored() -> None:
    async with (
        RawServer(lambda _: said({}, Set_Cookie="a=b; Path=/")) as server,
        client_of(server) as client,
    ):
        await client.send(get())
        await client.send(get())
    assert all("cookie" not in seen.headers for seen in server.seen)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_read_only_client_writes_nothing(method: str) -> None:
    async with (
        RawServer(lambda _: said({})) as server,
        client_of(server, read_only=True) as client,
    ):
        with pytest.raises(ContractBroken, match="read-only"):
            await client.send(Request("W /x", method, "/x"))
        await client.send(Request("POST /search", "POST", "/search", json={}, reads=True))
        await client.send(get())
    assert [seen.path for seen in server.seen] == ["/search", "/v2/thing"]


async def test_the_call_that_would_be_one_too_many_is_not_sent() -> None:
    async with (
        RawServer(lambda _: said({})) as server,
        client_of(server, max_calls=10) as client,
    ):
        outcomes = await asyncio.gather(*(client.send(get()) for _ in range(30)), return_exceptions=True)
    assert len(server.seen) == 10 == sum(client.calls.values())
    stopped = [outcome for outcome in outcomes if isinstance(outcome, StopRequested)]
    assert len(stopped) == 20
    assert stopped[0].exit_code == 8


async def test_retries_count_against_the_limit_of_calls() -> None:
    async with (
        RawServer(lambda _: said({}, 500)) as server,
        client_of(server, max_calls=3) as client,
    ):
        with pytest.raises(StopRequested):
            await client.send(get())
    assert len(server.seen) == 3


async def test_calls_at_once_are_as_many_as_allowed() -> None:
    async with (
        RawServer(lambda _: Said(pause=0.02)) as server,
        client_of(server, pace=Pace(None, 3, 1)) as client,
    ):
        await asyncio.gather(*(client.send(get()) for _ in range(12)))
    assert server.most_under_way == 3


async def test_retries_of_many_calls_at_once_do_not_mix() -> None:
    tries: dict[str, int] = {}

    def handler(seen: Seen) -> Said:
        tries[seen.path] = tries.get(seen.path, 0) + 1
        wanted = int(seen.path.rpartition("/")[2]) % 4 + 1
        return said({"path": seen.path}) if tries[seen.path] == wanted else said({}, 502)

    async with RawServer(handler) as server, client_of(server) as client:
        replies = await asyncio.gather(*(client.send(get(f"/t/{n}")) for n in range(40)))
    assert [reply.json()["path"] for reply in replies] == [f"/t/{n}" for n in range(40)]
    assert all(tries[f"/t/{n}"] == n % 4 + 1 for n in range(40))
    assert len(server.seen) == sum(client.calls.values())


async def test_cancellation_passes() -> None:
    came = asyncio.Event()

    def handler(_: Seen) -> Said:
        came.set()
        return Said(pause=5.0)

    async with (
        RawServer(handler) as server,
        client_of(server, pace=Pace(None, 1, 1)) as client,
    ):
        calls = [asyncio.ensure_future(client.send(get())) for _ in range(3)]
        await came.wait()
        for call in calls:
            call.cancel()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)


async def test_nothing_secret_in_texts_and_reprs() -> None:
    wiring = wiring_of("https://dam.example", headers={"X-Api-Key": "hidden-value"})
    request = Request(
        "POST x",
        "POST",
        headers={"X-Key": "hidden-value"},
        json={"password": "hidden-value"},
        path="https://cdn.example/x?Signature=hidden-value",
    )
    shown = repr(wiring) + repr(Client(wiring)) + repr(request)
    assert TOKEN not in shown
    assert "hidden-value" not in shown
