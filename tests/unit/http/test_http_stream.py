"""Bytes on the line, redirects, and what may go to whom."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from dam_sync.http.client import Client, Request
from dam_sync.http.error_rules import ErrorRule
from dam_sync.http.rates.limiters import AdaptiveRateLimiter
from dam_sync.http.rates.shared import CredentialRate
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import (
    ConfigError,
    ContractBroken,
    Denied,
    IntegrityError,
    NotFound,
    OtherVersion,
    Rejected,
    StoreUnreachable,
    Throttled,
    Transient,
)
from dam_sync.model.limits import Pace
from dam_sync.model.validator import NO_VALIDATOR, Validator
from tests.support.network.clients import client_of, get, post, wiring_of
from tests.support.network.raw_server import RawServer, Said, Seen, said
from tests.support.stepped_clock import SteppedClock

DATA = bytes(range(256)) * 4096  # 1 MiB
SIGNED = "?Expires=1767225600&Signature=9f8e7d6c5b4a39281706"


def file_server(data: bytes = DATA) -> Callable[[Seen], Said]:
    """A server that knows ranges."""

    def handler(seen: Seen) -> Said:
        wanted = seen.headers.get("range")
        if wanted is None:
            return Said(200, data, {"Content-Type": "image/jpeg; x=y"})
        start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        if start >= len(data):
            return Said(416, b"", {"Content-Range": f"bytes */{len(data)}"})
        return Said(206, data[start:], {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"})

    return handler


async def all_of(client: Client, request: Request, offset: int = 0) -> bytes:
    stream = await client.stream(request, offset)
    try:
        return b"".join([block async for block in stream])
    finally:
        await stream.aclose()


# bytes


async def test_the_whole_file() -> None:
    async with RawServer(file_server()) as server, client_of(server) as client:
        stream = await client.stream(get("/f"))
        assert (stream.start, stream.total, stream.status, stream.media_type) == (0, len(DATA), 200, "image/jpeg")
        assert b"".join([block async for block in stream]) == DATA
        await stream.aclose()
        await stream.aclose()
    (seen,) = server.seen
    assert seen.headers["accept-encoding"] == "identity"
    assert "range" not in seen.headers
    assert "1048576" in repr(stream)


async def test_from_an_offset_on() -> None:
    async with RawServer(file_server()) as server, client_of(server) as client:
        stream = await client.stream(get("/f"), 1_000_000)
        assert (stream.start, stream.total) == (1_000_000, len(DATA))
        assert b"".join([block async for block in stream]) == DATA[1_000_000:]
    assert server.seen[0].headers["range"] == "bytes=1000000-"


async def test_a_server_without_ranges_starts_at_byte_zero() -> None:
    async with RawServer(lambda _: Said(200, DATA)) as server, client_of(server) as client:
        stream = await client.stream(get("/f"), 1000)
        assert (stream.start, stream.total) == (0, len(DATA))
        assert b"".join([block async for block in stream]) == DATA


OTHER = "requested bytes from 50 on"


@pytest.mark.parametrize(
    ("shown", "size", "offset", "words"),
    [
        pytest.param("bytes 0-99/1000", 100, 50, OTHER, id="from the beginning"),
        pytest.param("bytes 51-149/1000", 100, 50, OTHER, id="one byte later"),
        pytest.param("bytes */1000", 100, 50, OTHER, id="no bytes"),
        pytest.param("items 50-149/1000", 100, 50, OTHER, id="other unit"),
        pytest.param("", 100, 50, OTHER, id="no header"),
        pytest.param("bytes 50-49x/1000", 100, 50, OTHER, id="malformed"),
        pytest.param("bytes 50-149/1000", 100, 0, "requested bytes from 0 on", id="not requested"),
        pytest.param("bytes 50-149/1000", 90, 50, "90 bytes", id="other length than the body"),
    ],
)
async def test_a_range_that_was_not_requested_breaks_the_contract(
    shown: str, size: int, offset: int, words: str
) -> None:
    answer = Said(206, b"x" * size, {"Content-Range": shown} if shown else {})
    async with RawServer(lambda _: answer) as server, client_of(server) as client:
        with pytest.raises(ContractBroken, match=words):
            await client.stream(get("/f"), offset)


async def test_a_range_of_unknown_total() -> None:
    answer = Said(206, b"x" * 100, {"Content-Range": "bytes 50-149/*"})
    async with RawServer(lambda _: answer) as server, client_of(server) as client:
        stream = await client.stream(get("/f"), 50)
        assert (stream.start, stream.total) == (50, None)
        await stream.aclose()


async def test_the_end_of_a_file_is_an_empty_rest_and_beyond_it_is_an_error() -> None:
    async with RawServer(file_server(b"12345")) as server, client_of(server) as client:
        stream = await client.stream(get("/f"), 5)
        assert (stream.start, stream.total) == (5, 5)
        assert [block async for block in stream] == []
        with pytest.raises(IntegrityError, match="has 5 now"):
            await client.stream(get("/f"), 6)


async def test_a_length_that_no_header_states_is_not_known() -> None:
    answer = Said(200, DATA, length=None)
    async with RawServer(lambda _: answer) as server, client_of(server) as client:
        stream = await client.stream(get("/f"))
        assert stream.total is None
        assert b"".join([block async for block in stream]) == DATA


@pytest.mark.parametrize("then", ["close", "reset"])
async def test_a_break_in_the_middle_is_transient(then: str) -> None:
    answer = Said(200, blocks=[DATA[:1000]], length=len(DATA), then=then, gap=0.05)
    async with RawServer(lambda _: answer) as server, client_of(server) as client:
        stream = await client.stream(get("/f", asset="5"))
        with pytest.raises(Transient, match="broke while responding") as caught:
            await _taken(stream)
        await stream.aclose()
    assert (caught.value.service, caught.value.operation, caught.value.asset) == ("x_service", "GET /f", "5")


async def test_a_body_that_stops_coming_is_transient() -> None:
    answer = Said(200, blocks=[DATA[:1000], b"x"], length=len(DATA), gap=3.0)
    async with RawServer(lambda _: answer) as server, client_of(server) as client:
        stream = await client.stream(get("/f", timeout=0.2))
        with pytest.raises(Transient, match="in time"):
            await _taken(stream)
        await stream.aclose()


async def test_a_slow_body_that_keeps_coming_is_not_cut_off() -> None:
    answer = Said(200, blocks=[b"x" * 1000] * 25, gap=0.1)  # a busy host may hold one up for a second
    async with RawServer(lambda _: answer) as server, client_of(server) as client:
        assert len(await all_of(client, get("/f", timeout=2.0))) == 25_000


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_a_file_that_comes_compressed_has_two_readings(coding: str, pack: Callable[[bytes], bytes]) -> None:
    sent = pack(DATA)
    answer = Said(200, sent, {"Content-Encoding": coding})
    async with RawServer(lambda _: answer) as server, client_of(server) as client:
        stream = await client.stream(get("/f"))
        assert (stream.codings, stream.total) == ((coding,), len(sent))
        assert b"".join([block async for block in stream]) == sent
        stream = await client.stream(get("/f"))
        stream.decode()
        assert stream.total is None
        assert b"".join([block async for block in stream]) == DATA


@pytest.mark.parametrize("coding", ["gzip", "br", "gzip, gzip"])
async def test_a_body_that_its_coding_does_not_explain_cannot_be_decoded(coding: str) -> None:
    answer = Said(200, DATA, {"Content-Encoding": coding})
    async with RawServer(lambda _: answer) as server, client_of(server) as client:
        stream = await client.stream(get("/f"))
        stream.decode()
        with pytest.raises(IntegrityError):
            await _taken(stream)
        await stream.aclose()


async def test_a_download_left_in_the_middle_releases_its_connection() -> None:
    async with (
        RawServer(lambda _: Said(200, DATA * 8)) as server,
        client_of(server, pace=Pace(None, 1, 1)) as client,
    ):
        for _ in range(3):
            stream = await client.stream(get("/f"))
            async for _block in stream:
                break
            await stream.aclose()
        assert len(await all_of(client, get("/f"))) == 8 * len(DATA)


async def test_a_refused_download_is_reported_by_the_error_rules() -> None:
    rules = (ErrorRule(403, NotFound, operation="GET /f", hint="renew the link"),)
    body = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"
    async with (
        RawServer(lambda _: Said(403, body)) as server,
        client_of(server, rules=rules) as client,
    ):
        with pytest.raises(NotFound, match="Request has expired") as caught:
            await client.stream(get("/f"))
    assert (caught.value.code, caught.value.hint) == ("AccessDenied", "renew the link")


async def test_opening_a_download_is_tried_again() -> None:
    left = [Said(500), Said(429, b"", {"Retry-After": "3"})]
    async with (
        RawServer(lambda seen: left.pop(0) if left else file_server()(seen)) as server,
        client_of(server) as client,
    ):
        assert await all_of(client, get("/f"), 10) == DATA[10:]
    assert len(server.seen) == 3


async def test_bandwidth_is_limited_in_both_directions() -> None:
    clock = SteppedClock(auto=True)

    async def blocks() -> object:
        for _ in range(16):
            yield b"x" * 65536

    async with (
        RawServer(file_server()) as server,
        client_of(server, clock=clock, bandwidth=len(DATA) / 10) as client,
    ):
        await all_of(client, get("/f"))
        await client.send(Request("PUT /u", "PUT", "/u", body=blocks, size=len(DATA)))  # type: ignore[arg-type]
        await client.send(Request("PUT /u", "PUT", "/u", body=DATA))
        await all_of(client, get("/f"))
    assert 40 <= clock.monotonic() + 10 <= 70  # the last block is paid for by whoever comes next


# lanes


async def test_storage_sees_no_credential_and_counts_apart() -> None:
    async with RawServer(file_server()) as api, RawServer(file_server()) as storage:
        async with client_of(api, headers={"X-Toggle": "on"}) as client:
            await all_of(client, get(storage.url + "/f" + SIGNED, operation="GET the file"))
            await client.send(Request("PUT part", "PUT", storage.url + "/p" + SIGNED, body=b"abc"))
        assert client.calls == {}
        assert client.storage_calls == 2
        for seen in storage.seen:
            assert not {"authorization", "cookie", "x-toggle"} & set(seen.headers)
        assert storage.seen[0].target.endswith(SIGNED)


async def test_storage_is_not_paced_and_not_limited() -> None:
    clock = SteppedClock(auto=True)
    async with RawServer(file_server()) as api, RawServer(lambda _: Said()) as storage:
        async with client_of(api, pace=Pace(0.01, 1, 4), max_calls=0, clock=clock) as client:
            await asyncio.gather(*(client.send(get(storage.url)) for _ in range(20)))
        assert clock.slept == []
        assert storage.most_under_way <= 4


async def test_errors_of_signed_links_name_the_host_alone() -> None:
    async with RawServer(lambda _: said({})) as api, RawServer(lambda _: Said(403)) as storage:
        async with client_of(api, attempts=1) as client:
            link = f"{storage.url}/secret-path{SIGNED}"
            with pytest.raises(Denied, match=r"a signed link on host 127\.0\.0\.1 returned 403") as refused:
                await client.stream(Request("GET the file", "GET", link))
        await storage.__aexit__()
        async with client_of(api, attempts=1) as client:
            with pytest.raises(Transient) as broken:
                await client.stream(Request("GET the file", "GET", link))
    for caught in (refused, broken):
        chain = "".join(map(repr, (caught.value, caught.value.__cause__, caught.value.as_json())))
        assert "secret-path" not in chain
        assert "Signature" not in chain


async def test_a_resting_download_holds_nobody_up() -> None:
    async with (
        RawServer(file_server(DATA * 8)) as api,
        RawServer(file_server(DATA * 8)) as storage,
        client_of(api, pace=Pace(None, 1, 1)) as client,
    ):
        resting = [await client.stream(get(storage.url + "/f", operation="GET f")) for _ in range(3)]
        resting += [await client.stream(get("/f"))]
        for stream in resting:
            await anext(aiter(stream))
        async with asyncio.timeout(5):
            assert len(await all_of(client, get("/f"))) == 8 * len(DATA)
        for stream in resting:
            await stream.aclose()


# redirects


async def test_a_redirect_to_storage_carries_nothing_of_ours() -> None:
    async with RawServer(file_server()) as storage:
        moved = Said(302, b"", {"Location": f"{storage.url}/f{SIGNED}", "Set-Cookie": "session=1"})
        async with RawServer(lambda _: moved) as api, client_of(api) as client:
            request = get("/f", headers={"X-Own": "1", "Cookie": "a=b", "If-Range": '"e"'})
            assert await all_of(client, request, 1000) == DATA[1000:]
        assert client.calls == {"GET /f": 1}
        assert client.storage_calls == 1
        (seen,) = storage.seen
        assert not {"authorization", "cookie", "x-own"} & set(seen.headers)
        assert (seen.headers["range"], seen.headers["if-range"]) == ("bytes=1000-", '"e"')
        assert seen.headers["accept-encoding"] == "identity"
        assert seen.target == "/f" + SIGNED


async def test_a_redirect_at_home_keeps_the_credential() -> None:
    def handler(seen: Seen) -> Said:
        return Said(307, b"", {"Location": "/g?x=1"}) if seen.path == "/a/f" else said({"ok": 1})

    async with RawServer(handler) as api, client_of(api) as client:
        assert (await client.send(get("/a/f", headers={"X-Own": "1"}))).json() == {"ok": 1}
    assert [seen.target for seen in api.seen] == ["/a/f", "/g?x=1"]
    assert all("authorization" in seen.headers and "x-own" in seen.headers for seen in api.seen)
    assert client.calls == {"GET /a/f": 2}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_end_some_time(status: int) -> None:
    async with (
        RawServer(lambda _: Said(status, b"", {"Location": "/again"})) as api,
        client_of(api) as client,
    ):
        with pytest.raises(ContractBroken, match="more than 5 redirects"):
            await client.stream(get("/f"))
    assert len(api.seen) == 6


async def test_a_write_is_not_redirected() -> None:
    moved = Said(308, b"", {"Location": "/elsewhere", "Range": "bytes=0-9"})
    async with RawServer(lambda _: moved) as api, client_of(api) as client:
        with pytest.raises(ContractBroken, match="308"):
            await client.send(post())
        reply = await client.send(Request("PUT /s", "PUT", "/s", body=b"x", accept=frozenset({308})))
    assert (reply.status, reply.headers["range"]) == (308, "bytes=0-9")
    assert len(api.seen) == 2


@pytest.mark.parametrize(
    "location", ["http://dam.example/f", "http://203.0.113.7/f?Signature=abc", "http://localhost.example/f"]
)
async def test_a_redirect_to_plain_http_elsewhere_is_refused(location: str) -> None:
    async with (
        RawServer(lambda _: Said(302, b"", {"Location": location})) as api,
        client_of(api) as client,
    ):
        with pytest.raises(ContractBroken, match="plain http") as caught:
            await client.stream(get("/f"))
        with pytest.raises(Rejected, match="plain http"):
            await client.stream(get("/f", asset="7"))
    assert "Signature" not in str(caught.value)


@pytest.mark.parametrize("location", ["ftp://dam.example/f", "file:///etc/passwd", "https://user:pass@dam.example/f"])
async def test_a_redirect_to_something_else_is_refused(location: str) -> None:
    async with (
        RawServer(lambda _: Said(302, b"", {"Location": location})) as api,
        client_of(api) as client,
    ):
        with pytest.raises(ContractBroken):
            await client.stream(get("/f"))
    assert len(api.seen) == 1


# URLs


@pytest.mark.parametrize("base", ["http://dam.example", "http://192.0.2.1:8080", "http://127.0.0.1.dam.example"])
def test_plain_http_is_refused_off_this_host(base: str) -> None:
    with pytest.raises(ConfigError, match="plain http") as caught:
        Client(wiring_of(base))
    assert (caught.value.exit_code, caught.value.hint) == (2, "use https")


@pytest.mark.parametrize("base", ["http://127.0.0.1:1", "http://localhost", "http://[::1]:80", "https://dam.example/x"])
def test_plain_http_is_fine_on_this_host(base: str) -> None:
    Client(wiring_of(base))


@pytest.mark.parametrize("base", ["", "dam.example", "ftp://dam.example", "https://", "https://u:p@dam.example"])
def test_what_is_no_url_is_refused(base: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Client(wiring_of(base))
    assert caught.value.hint
    assert "u:p" not in str(caught.value)


async def test_an_absolute_url_in_plain_http_is_refused() -> None:
    async with client_of("https://dam.example") as client:
        with pytest.raises(ContractBroken, match=r"plain http to cdn\.example"):
            await client.send(get("http://cdn.example/f", operation="GET f"))
        with pytest.raises(Rejected, match=r"plain http to cdn\.example"):
            await client.send(get("http://cdn.example/f", operation="GET f", asset="7"))
        with pytest.raises(ConfigError, match="no URL named"):
            await client.send(get("/f", base="tenant"))
    assert client.storage_calls == 0


async def test_too_fast_at_storage_does_not_slow_the_api_down() -> None:
    clock = SteppedClock(auto=True)
    async with RawServer(lambda _: said({})) as api, RawServer(lambda _: Said(429)) as storage:
        async with client_of(api, clock=clock, attempts=1) as client:
            with pytest.raises(Throttled):
                await client.send(get(storage.url, operation="GET f"))
            slept = len(clock.slept)
            await client.send(get())
        assert len(clock.slept) == slept


async def _taken(stream: object) -> int:
    size = 0
    async for block in stream:  # type: ignore[attr-defined]
        size += len(block)
    return size


async def test_a_response_is_closed_if_the_shared_rate_cannot_be_reached() -> None:
    """Nobody else could: the stream is not returned."""

    class Body(httpx.AsyncByteStream):
        closed = 0

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield DATA

        async def aclose(self) -> None:
            self.closed += 1

    class Limiter(AdaptiveRateLimiter):
        has_news = True

        async def publish(self) -> None:
            raise StoreUnreachable("the database of the state cannot be reached")

    class Rate(CredentialRate):
        def limiter(self, per_second: float | None) -> AdaptiveRateLimiter:
            limiter = Limiter(per_second, SYSTEM_CLOCK)
            limiter.has_news = True
            return limiter

    body = Body()
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=body))
    async with client_of("http://127.0.0.1:1", transport=transport, rate=Rate(SYSTEM_CLOCK)) as client:
        with pytest.raises(StoreUnreachable):
            await client.stream(get("/f"))
    assert body.closed == 1


# versions


@pytest.mark.parametrize(
    ("validator", "said"),
    [
        (Validator('"a"'), '"a"'),
        (Validator(modified="Sun, 29 Nov 2026 10:00:00 GMT", dated=True), "Sun, 29 Nov 2026 10:00:00 GMT"),
        (Validator(weak='W/"a"'), None),
        (NO_VALIDATOR, None),
    ],
)
async def test_the_rest_is_asked_for_if_it_is_the_same_version(validator: Validator, said: str | None) -> None:
    """Also where a link leads on to the storage."""

    def handler(seen: Seen) -> Said:
        if seen.path == "/f":
            return Said(302, b"", {"Location": "/g"})
        if "range" not in seen.headers:
            return Said(200, DATA)
        return Said(206, DATA[9:], {"Content-Range": f"bytes 9-{len(DATA) - 1}/{len(DATA)}", "ETag": 'W/"b"'})

    async with RawServer(handler) as server, client_of(server) as client:
        stream = await client.stream(get("/f"), 9, validator)
        assert stream.validator == Validator(weak='W/"b"')
        await stream.aclose()
        assert [(seen.headers["range"], seen.headers.get("if-range")) for seen in server.seen] == [
            ("bytes=9-", said)
        ] * 2
        stream = await client.stream(get("/f"), 0, validator)
        await stream.aclose()
    assert "if-range" not in server.seen[-1].headers


async def test_a_file_that_is_shorter_than_what_was_read_is_another_version() -> None:
    async with RawServer(file_server(b"short")) as server, client_of(server) as client:
        with pytest.raises(OtherVersion, match="the file has 5 now"):
            await client.stream(get("/f"), 6)
