"""Responses of all shapes: what is taken, what is requested again, what is reported."""

from __future__ import annotations

import gzip

import pytest

from dam_sync.http.client import Request
from dam_sync.model.errors import ContractBroken, Denied, NotFound, Transient
from tests.support.network.clients import TOKEN, client_of, get, post
from tests.support.network.raw_server import RawServer, Said, Seen, in_turn, no_http, said


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Said(200, b"<!DOCTYPE html><title>Login</title>", {"Content-Type": "text/html"}), "an HTML page"),
        (Said(200, b""), "an empty body"),
        (Said(200, b'{"a": 1', {"Content-Type": "application/json"}), "7 bytes beginning"),
        (Said(200, b"\xff\xfe\x00"), "bytes beginning"),
    ],
)
async def test_a_response_that_is_no_json_is_reported(answer: Said, words: str) -> None:
    async with RawServer(lambda _: answer) as server, client_of(server) as client:
        with pytest.raises(ContractBroken, match=words) as caught:
            (await client.send(get(asset="9"))).json()
    assert (caught.value.service, caught.value.operation, caught.value.asset) == ("x_service", "GET /v2/thing", "9")
    assert caught.value.hint


PAGE = Said(200, b"<html>busy</html>", {"Content-Type": "text/html"})
CUT = Said(200, b'{"ok": ', length=100, then="close")
EMPTY = Said(200, b"", {"Content-Type": "application/octet-stream"})


@pytest.mark.parametrize(
    ("before", "request_"),
    [
        pytest.param([PAGE], get(), id="page"),
        pytest.param([EMPTY], get(), id="empty body"),
        pytest.param(
            [said({}, 503), said({}, 503), PAGE, PAGE], get(), id="pages after other failures"
        ),  # ended the run
        pytest.param([CUT], get(), id="truncated"),
        pytest.param([PAGE], post(repeatable=True), id="write that may be repeated"),
    ],
)
async def test_a_response_that_cannot_be_read_is_requested_again(before: list[Said], request_: Request) -> None:
    async with RawServer(in_turn(*before, said({"ok": 1}))) as server, client_of(server) as client:
        assert (await client.send(request_)).json() == {"ok": 1}
    assert len(server.seen) == len(before) + 1


async def test_pages_are_asked_for_three_times() -> None:
    page = Said(200, b"<html>busy</html>", {"Content-Type": "text/html"})
    async with RawServer(in_turn(said({}, 503), *[page] * 9)) as server, client_of(server) as client:
        with pytest.raises(ContractBroken, match="an HTML page"):
            (await client.send(get())).json()
    assert len(server.seen) == 4


async def test_a_truncated_response_to_a_write_is_transient() -> None:
    cut = Said(201, b'{"ok": ', length=100, then="close")
    async with RawServer(lambda _: cut) as server, client_of(server) as client:
        with pytest.raises(Transient, match="broke while responding"):
            await client.send(post())
    assert len(server.seen) == 1


async def test_a_compressed_response_is_read() -> None:
    packed = Said(200, gzip.compress(b'{"ok": 1}'), {"Content-Encoding": "gzip", "Content-Type": "application/json"})
    async with RawServer(lambda _: packed) as server, client_of(server) as client:
        assert (await client.send(get())).json() == {"ok": 1}


async def test_what_is_no_http_is_reported() -> None:
    async with (
        no_http(b"220 mail.example ESMTP ready\r\n\r\n") as url,
        client_of(url, attempts=1) as client,
    ):
        with pytest.raises(Transient, match="broke before responding"):
            await client.send(get())


@pytest.mark.parametrize(
    ("slow", "timeout"),
    [
        pytest.param(Said(pause=5.0), 0.2, id="no response"),
        pytest.param(Said(blocks=[b"x"] * 50, gap=0.1), 0.4, id="body that drips"),
    ],
)
async def test_a_response_that_is_not_complete_in_time_is_not_waited_for(slow: Said, timeout: float) -> None:
    async with RawServer(lambda _: slow) as server, client_of(server, attempts=1) as client:
        with pytest.raises(Transient, match="in time"):
            await client.send(get(timeout=timeout))


async def test_a_refusal_is_an_error_and_an_accepted_status_a_reply() -> None:
    async with (
        RawServer(lambda _: said({"error_description": "no such thing"}, 404)) as server,
        client_of(server) as client,
    ):
        with pytest.raises(NotFound, match="404 Not Found: no such thing"):
            await client.send(get())
        assert (await client.send(get(accept=frozenset({404})))).status == 404
    assert len(server.seen) == 2


async def test_a_server_that_repeats_the_credential_is_not_quoted() -> None:
    def handler(seen: Seen) -> Said:
        return said({"message": f"bad header {seen.headers['authorization']}"}, 403)

    async with RawServer(handler) as server, client_of(server) as client:
        with pytest.raises(Denied) as caught:
            await client.send(get())
    assert TOKEN not in str(caught.value)
    assert TOKEN not in str(caught.value.as_json())


async def test_a_page_for_people_is_no_response_to_a_write() -> None:
    page = Said(200, b"<!DOCTYPE html><title>Login</title>", {"Content-Type": "text/html"})
    async with RawServer(lambda _: page) as server, client_of(server) as client:
        with pytest.raises(Transient, match="an HTML page") as caught:
            await client.send(post())
    assert "proxy" in caught.value.hint
    assert len(server.seen) == 1


@pytest.mark.parametrize("body", [b'{"id": "1', b"", b"\xff\xfe{"])
async def test_a_response_to_a_write_that_cannot_be_read_leaves_its_outcome_unknown(body: bytes) -> None:
    """It ended the run, as if the service had changed."""
    garbled = Said(200, body, {"Content-Type": "application/json"})
    async with RawServer(lambda _: garbled) as server, client_of(server) as client:
        reply = await client.send(post(asset="9"))
        with pytest.raises(Transient, match="where JSON was expected") as caught:
            reply.object()
    assert (caught.value.operation, caught.value.asset) == ("POST /v2/things", "9")
    assert len(server.seen) == 1


async def test_an_empty_response_to_a_write_is_one_whatever_its_type_says() -> None:
    """Void calls respond so (wire E 1.5)."""
    empty = Said(200, b"", {"Content-Type": "text/html;charset=utf-8"})
    async with RawServer(lambda _: empty) as server, client_of(server) as client:
        assert (await client.send(post())).body == b""
