"""Servers that mean harm, or are broken as if they did: what they send costs bounded memory and time, and ends in an
error of ours."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from dataclasses import replace

import pytest

from dam_sync.http import bounds
from dam_sync.http.auth.base import refusal_text
from dam_sync.http.client import Client, Request
from dam_sync.http.error_rules import explanation
from dam_sync.http.transport import NetworkTransport
from dam_sync.http.urls import can_be_given, can_reach
from dam_sync.model.errors import (
    ContractBroken,
    DamSyncError,
    Denied,
    IntegrityError,
    Rejected,
    Transient,
)
from tests.support.network.clients import client_of, get
from tests.support.network.raw_server import RawServer, Said, Seen, dripping, said
from tests.support.network.resolver import Resolver

MIB = 1024 * 1024
ODD_ADDRESSES = [
    "http://[",
    "/\x01",
    "https://dam.example/\x7f",
    "https://dam.example/" + "x" * 70_000,
    "https://xn--/",
]


async def peak_of(server: RawServer, call: Callable[[Client], object]) -> int:
    """Most memory that Python held during a call, which ends by an error of ours."""
    async with client_of(server, attempts=1) as client:
        tracemalloc.start()
        try:
            with pytest.raises(DamSyncError):
                await call(client)  # type: ignore[misc]
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def bomb(size: int, times: int) -> bytes:
    body = b" " * size
    for _ in range(times):
        body = gzip.compress(body, mtime=0)
    return body


# bodies that grow


@pytest.mark.parametrize("status", [200, 403])
@pytest.mark.parametrize("times", [1, 2, 3])
async def test_a_compressed_body_never_takes_more_memory_than_a_response_may(times: int, status: int) -> None:
    answer = Said(status, bomb(150 * MIB, times), {"Content-Encoding": ", ".join(["gzip"] * times)})
    async with RawServer(lambda _: answer) as server:
        peak = await peak_of(server, lambda client: client.send(get()))
    assert peak < 2.5 * bounds.LARGEST_REPLY


@pytest.mark.parametrize("times", [1, 3])
async def test_a_compressed_download_is_decoded_in_little_memory_or_refused(times: int) -> None:
    answer = Said(200, bomb(100 * MIB, times), {"Content-Encoding": ", ".join(["gzip"] * times)})
    async with RawServer(lambda _: answer) as server, client_of(server, attempts=1) as client:
        tracemalloc.start()
        try:
            stream = await client.stream(get())
            stream.decode()
            with nullcontext() if times == 1 else pytest.raises(IntegrityError):
                assert sum([len(block) async for block in stream]) == 100 * MIB
            await stream.aclose()
            assert tracemalloc.get_traced_memory()[1] < 8 * MIB
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    ("coding", "body", "words"),
    [
        pytest.param("gzip, gzip", bomb(100, 2), "compressed 2 times", id="coded twice"),
        pytest.param("gzip", gzip.compress(b"x" * 1000, mtime=0)[:-20], "Undecodable", id="truncated gzip"),
        pytest.param("gzip", b"no gzip", "Undecodable", id="no gzip"),
        pytest.param("deflate", b"\xff" * 20, "Undecodable", id="no deflate"),
        pytest.param("br", b"abc", "Undecodable", id="unknown coding"),
        pytest.param("gzip", gzip.compress(b"", mtime=0) * 20_000, "Undecodable", id="empty members"),
    ],
)
async def test_a_body_that_cannot_be_decoded_breaks_the_contract(coding: str, body: bytes, words: str) -> None:
    answer = Said(200, body, {"Content-Encoding": coding})
    async with RawServer(lambda _: answer) as server, client_of(server, attempts=1) as client:
        with pytest.raises(ContractBroken, match=words):
            await client.send(get())


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(b'{"ok":', mtime=0) + gzip.compress(b" 1}", mtime=0)),
        ("x-gzip", gzip.compress(b'{"ok": 1}', mtime=0)),
        ("deflate", zlib.compress(b'{"ok": 1}')),
        ("deflate", zlib.compress(b'{"ok": 1}', wbits=-15)),
        ("identity", b'{"ok": 1}'),
        ("gzip", gzip.compress(b'{"ok": 1' + b" " * 600_000 + b"}", mtime=0)),
    ],
)
async def test_one_coding_is_read(coding: str, body: bytes) -> None:
    answer = Said(200, body, {"Content-Encoding": coding, "Content-Type": "application/json"})
    async with RawServer(lambda _: answer) as server, client_of(server) as client:
        assert (await client.send(get())).json() == {"ok": 1}


async def test_a_refusal_is_understood_by_its_status_whatever_its_body_is() -> None:
    for headers, body in (
        ({"Content-Encoding": "gzip"}, b"no gzip"),
        ({"Content-Encoding": "gzip, gzip"}, b"x"),
        ({}, b"x" * (3 * MIB)),
    ):
        answer = Said(403, body, headers)
        async with RawServer(lambda _, a=answer: a) as server, client_of(server) as client:
            with pytest.raises(Denied, match="403"):
                await client.send(get())


async def read_json(client: Client) -> object:
    return (await client.send(get())).json()


async def test_more_values_than_any_listing_has_are_not_read() -> None:
    body = b"[" + b"[]," * 4_000_000 + b"[]]"
    answer = Said(200, body, {"Content-Type": "application/json"})
    async with RawServer(lambda _: answer) as server:
        peak = await peak_of(server, read_json)
    assert peak < 4 * len(body)


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.usefixtures("collected")
async def test_json_nested_too_deeply_is_an_error_of_ours(status: int) -> None:
    answer = Said(status, b"[" * 200_000 + b"]" * 200_000, {"Content-Type": "application/json"})
    async with RawServer(lambda _: answer) as server, client_of(server) as client:
        with pytest.raises(DamSyncError):
            (await client.send(get())).json()


async def test_text_that_is_no_unicode_is_mended_at_the_door() -> None:
    bodies = [rb'{"title": "a\ud800b", "\uDFFF": ["\ud83d\ude00", "\\ud800"]}', b'{"title": "a\xed\xa0\x80b"}']
    async with (
        RawServer(lambda seen: Said(200, bodies[int(seen.path[1:])])) as server,
        client_of(server) as client,
    ):
        first = (await client.send(get("/0"))).json()
        second = (await client.send(get("/1"))).json()
    assert first == {"title": "a\ufffdb", "\ufffd": ["😀", "\\ud800"]}
    assert second == {"title": "a\ufffdb"}
    json.dumps([first, second], ensure_ascii=False).encode()


# bodies that take long to look at


@pytest.mark.parametrize(
    ("headers", "piece"),
    [
        ({"content-type": "text/html"}, b"<title>"),
        ({"content-type": "text/html"}, b"<title"),
        ({}, b"<Message>"),
        ({}, b"a.b-"),
        ({}, b"?"),
    ],
)
def test_the_explanation_of_a_long_error_page_takes_no_longer_than_its_beginning(
    headers: dict[str, str], piece: bytes
) -> None:
    began = time.process_time()
    message, _ = explanation(headers, b"<html>" + piece * (4 * MIB // len(piece)))
    refusal_text("refused", 400, message)
    assert time.process_time() - began < 2  # it took hours


def test_a_long_code_is_cut_before_it_is_looked_at() -> None:
    began = time.process_time()
    body = json.dumps({"code": "a.b-" * 15_000}).encode()
    message, code = explanation({}, body)
    assert len(refusal_text("refused", 400, message)) <= 300
    assert len(code) <= bounds.EXPLAINED
    assert time.process_time() - began < 2


def test_titles_and_messages_are_still_found() -> None:
    page = b"<!DOCTYPE html><html><TITLE lang='en'>Log\n in</TITLE>"
    assert explanation({"content-type": "text/html"}, page)[0] == "an HTML page, “Log in”"
    assert explanation({}, b"<Error><Code>No</Code><Message>Not\nso</Message></Error>") == ("Not so", "No")
    assert explanation({}, b"<Error><Code>No</Code>") == ("", "No")


# responses that take long to come


@pytest.mark.parametrize("dripped", [b"HTTP/1.1 100 Continue\r\n\r\n", b"X-Slow: 1\r\n", b"x"])
async def test_a_head_that_drips_ends_some_time(dripped: bytes) -> None:
    first = b"" if b"100" in dripped else b"HTTP/1.1 200 OK\r\n"
    async with dripping(first, dripped, 0.1) as url, client_of(url, attempts=1, connect_seconds=0.2) as client:
        async with asyncio.timeout(20):
            with pytest.raises(Transient, match="in time"):
                await client.send(get(timeout=0.5))


async def test_a_download_that_drips_ends_some_time() -> None:
    answer = Said(200, blocks=[b"x"] * 1000, gap=0.05)
    async with RawServer(lambda _: answer) as server, client_of(server, attempts=1) as client:
        stream = await client.stream(get(timeout=0.5))
        async with asyncio.timeout(20):
            with pytest.raises(Transient, match="too slowly"):
                async for _ in stream:
                    pass
        await stream.aclose()


async def test_a_download_that_nobody_reads_for_a_while_is_not_slow() -> None:
    answer = Said(200, b"x" * (4 * MIB))
    async with RawServer(lambda _: answer) as server, client_of(server, attempts=1) as client:
        stream = await client.stream(get(timeout=0.3))
        size = 0
        async for block in stream:
            size += len(block)
            if size < MIB:
                await asyncio.sleep(0.4)
        await stream.aclose()
    assert size == 4 * MIB


async def test_an_upload_may_take_longer_than_a_response() -> None:
    async def blocks() -> object:
        for _ in range(25):  # a busy host may hold one up for a second
            await asyncio.sleep(0.1)
            yield b"x" * 1000

    async with (
        RawServer(lambda _: said({"ok": 1})) as server,
        client_of(server, attempts=1) as client,
    ):
        request = Request("PUT /u", "PUT", "/u", body=blocks, size=25_000, timeout=2.0)  # type: ignore[arg-type]
        assert (await client.send(request)).json() == {"ok": 1}


# URLs and headers that are none


@pytest.mark.parametrize("address", [*ODD_ADDRESSES, "https://dam.example/\ud800", "https://a\ud800.example/"])
@pytest.mark.parametrize("asset", ["", "7"])
async def test_a_link_that_is_none_is_an_error_of_ours(address: str, asset: str) -> None:
    if not address.startswith("http"):
        address = f"https://dam.example{address}"
    async with RawServer(lambda _: said({})) as server, client_of(server) as client:
        with pytest.raises(Rejected if asset else ContractBroken):
            await client.stream(get(address, operation="GET the file", asset=asset))


@pytest.mark.parametrize("location", ODD_ADDRESSES)
async def test_a_redirect_to_nowhere_is_an_error_of_ours(location: str) -> None:
    moved = Said(302, b"", {"Location": location[:60_000]})
    async with RawServer(lambda _: moved) as server, client_of(server, attempts=1) as client:
        with pytest.raises((ContractBroken, Transient)):
            await client.send(get())


async def test_an_id_that_is_no_text_is_an_error_of_ours() -> None:
    async with RawServer(lambda _: said({})) as server, client_of(server) as client:
        with pytest.raises(DamSyncError):
            await client.send(get("/v2/\ud800"))
        with pytest.raises(DamSyncError):
            await client.send(get("/v2", params=[("q", "\ud800")]))


@pytest.mark.parametrize("status", [206, 416])
async def test_a_range_of_5000_digits_is_an_error_of_ours(status: int) -> None:
    shown = f"bytes 0-{'9' * 5000}/*" if status == 206 else f"bytes */{'9' * 5000}"
    answer = Said(status, b"x", {"Content-Range": shown})
    async with RawServer(lambda _: answer) as server, client_of(server) as client:
        for offset in (0, 10):
            with pytest.raises((ContractBroken, Rejected)):
                await client.stream(get(), offset)


# where links may lead


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.9",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0.0.0.0",
        "localhost",
        "localhost.",
        "[::1]",
        "[::ffff:10.0.0.1]",
        "[fe80::1]",
        "[fd00::1]",
        "192.0.0.192",
        "[::a00:1]",
        "[::127.0.0.1]",
        "[64:ff9b:1::a00:1]",
        "dam.localdomain",
        "dam.home",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a00:1::]",
        "224.0.0.1",
        "intranet",
        "printer.local",
    ],
)
@pytest.mark.parametrize("scheme", ["https", "http"])
async def test_a_public_service_does_not_lead_into_a_private_network(scheme: str, host: str) -> None:
    async with client_of("https://dam.example") as client:
        with pytest.raises(Rejected):
            await client.stream(get(f"{scheme}://{host}/f", operation="GET the file", asset="7"))
        assert client.storage_calls == 0


@pytest.mark.parametrize(
    ("base", "host"), [("https://10.1.2.3", "10.0.0.1"), ("https://dam.local", "10.0.0.1"), ("https://dam", "store")]
)
async def test_a_private_service_may_lead_into_its_network(base: str, host: str) -> None:
    async with client_of(base, attempts=1) as client:
        address = client._base_urls.of(get(f"https://{host}/f", operation="GET the file"))
    assert address.host == host


async def test_a_private_service_does_not_lead_to_this_host() -> None:
    async with client_of("https://10.1.2.3") as client:
        for host in ("127.0.0.1", "169.254.169.254", "localhost"):
            with pytest.raises(ContractBroken, match=r"private network|plain http"):
                await client.send(get(f"https://{host}/f", operation="GET the file"))


# credentials


@pytest.mark.parametrize("parameter", ["Signature", "sig", "X-Amz-Signature", "X-Goog-Signature"])
async def test_a_signed_link_at_the_own_origin_goes_without_our_credential(parameter: str) -> None:
    def handler(seen: Seen) -> Said:
        if seen.path == "/moved":
            return Said(302, b"", {"Location": f"/f?{parameter}=abc"})
        return said({"ok": 1})

    async with RawServer(handler) as server, client_of(server, headers={"X-Own": "1"}) as client:
        await client.send(get(f"{server.url}/f?a=b&{parameter}=abc", operation="GET the file"))
        await client.send(get("/moved"))
        assert client.calls == {"GET /moved": 1}
    for seen in server.seen:
        assert ("authorization" in seen.headers) == (seen.path == "/moved")
        assert ("x-own" in seen.headers) == (seen.path == "/moved")


async def test_a_request_without_credential_stays_without_it_wherever_it_leads() -> None:
    def handler(seen: Seen) -> Said:
        return Said(302, b"", {"Location": "/g"}) if seen.path == "/f" else said({"ok": 1})

    async with RawServer(handler) as server, client_of(server, headers={"X-Own": "1"}) as client:
        await client.send(get(f"{server.url}/f", operation="GET the file", bare=True))
        assert client.calls == {}
        assert client.storage_calls == 2
    assert [seen.path for seen in server.seen] == ["/f", "/g"]
    assert not any({"authorization", "x-own"} & set(seen.headers) for seen in server.seen)


async def test_a_link_for_others_is_refused_as_our_own_download_would_be() -> None:
    async with client_of("https://dam.example") as client:
        for url in (
            "https://10.0.0.1/f",
            "https://127.0.0.1/f",
            "http://files.example/f",
            "https://u:p@files.example/f",
        ):
            with pytest.raises(Rejected):
                await client.link_for_others(get(url, operation="GET the file", asset="7", bare=True))


@pytest.fixture
async def public() -> AsyncIterator[NetworkTransport]:
    """A network in which every name leads to the internet."""
    transport = NetworkTransport(resolver=Resolver("93.184.216.34"))
    yield transport
    await transport.aclose()


@pytest.mark.parametrize(("headers", "possible"), [("host", True), ("host;x-amz-meta-id", False), ("Host%3Bx", False)])
async def test_a_link_for_others_needs_no_header(public: NetworkTransport, headers: str, possible: bool) -> None:
    url = f"https://files.example/f?X-Amz-SignedHeaders={headers}&X-Amz-Signature=x"
    async with client_of("https://dam.example", transport=public) as client:
        link = get(url, operation="GET the file", bare=True)
        assert bool(await client.link_for_others(link)) is possible
        assert not await client.link_for_others(replace(link, headers={"X-Key": "k"}))


async def test_a_link_for_others_needs_no_credential(public: NetworkTransport) -> None:
    signed = "https://files.example/f?Signature=x"
    async with client_of("https://dam.example", transport=public) as client:
        assert await client.link_for_others(get(signed, operation="GET the file", bare=True)) == signed
        assert await client.link_for_others(get("https://dam.example/f", operation="GET the file")) == ""


@pytest.mark.parametrize(
    ("base", "url", "possible"),
    [
        ("https://api.example.com", "https://files.example.com/f", True),
        ("https://api.example.com", "https://10.0.0.1/f", False),
        ("https://api.example.com", "https://dam.local/f", False),
        ("https://api.example.com", "http://127.0.0.1/f", False),
        ("https://10.0.0.2", "https://10.0.0.1/f", True),
        ("https://10.0.0.2", "https://files.example.com/f", True),
        ("http://127.0.0.1:1", "http://127.0.0.1:2/f", True),
        ("https://api.example.com", "file:///etc/passwd", False),
        ("https://api.example.com", "", False),
        ("file:///srv/library", "https://files.example.com/f", False),
    ],
)
def test_which_urls_a_service_can_reach(base: str, url: str, possible: bool) -> None:
    assert can_reach(base, url) is possible


@pytest.mark.parametrize(
    "url",
    [
        "https://169.254.169.254\\.files.example.com/f",
        "https://１６９.254.169.254/f",
        "https://①⑥⑨.254.169.254/f",
        "https://dam.ｌocal/f",
        "https://dam.lo\u2064cal/f",
        "https://%31%36%39.254.169.254/f",
        "https://files.example.com;10.0.0.1/f",
        "https://files.example.com:443\\@10.0.0.1/f",
        "https://10.0.0.1/f",
        "https://",
    ],
)
def test_a_service_is_given_no_url_of_which_programs_read_different_hosts(url: str) -> None:
    assert not can_be_given("https://api.example.com", url)


@pytest.mark.parametrize(
    "host", ["files_2.example.com:8443", "[2a00:1450:4001:81b::200e]:443", "xn--bcher-kva.example."]
)
def test_a_service_is_given_other_urls(host: str) -> None:
    for end in ("", "/f", "?f"):
        assert can_be_given("https://api.example.com", f"https://{host}{end}")
