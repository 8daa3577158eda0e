"""One call in, one reply out: what goes over the line, what is sent again, what is raised. Both transports."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dam_sync.model.errors import (
    ConfigError,
    ContractBroken,
    Denied,
    IntegrityError,
    InvalidValue,
    NotFound,
    StopRequested,
    Throttled,
    TooLarge,
    Transient,
)
from dam_sync.model.limits import Pace
from dam_sync.net.client import Client, FormPart, Request
from dam_sync.net.failures import Unreached
from tests.support.raw_server import RawServer, Said, Seen, said
from tests.support.stepped_clock import START, SteppedClock
from tests.support.wired import TOKEN, TRANSPORTS, client_of, get, post, wiring_of

Handler = Callable[[Seen], Said]


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def in_turn(*answers: Said) -> Handler:
    """Each answer once, the last for ever."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@asynccontextmanager
async def no_http(words: bytes, linger: float = 0.0) -> AsyncIterator[str]:
    """The address of a server that says these words to whatever comes first, reads on for a while and hangs up."""

    talking: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read(10)
            writer.write(words)
            await writer.drain()
            with suppress(TimeoutError):
                async with asyncio.timeout(linger):
                    while linger and await reader.read(65536):
                        pass
        except OSError:
            pass
        finally:
            writer.close()

    def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talking.add(asyncio.ensure_future(talk(reader, writer)))

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await asyncio.gather(*talking)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


# what goes over the line


async def test_a_call_carries_credential_query_and_json(transport: str) -> None:
    async with (
        RawServer(lambda _: said({"id": 7}, 201, X_Request_Id="abc")) as server,
        client_of(server, transport=transport, headers={"X-Toggle": "on"}) as client,
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


@pytest.mark.parametrize("large", [False, True], ids=["bytes", "streamed"])
async def test_an_empty_header_is_left_out(transport: str, large: bool) -> None:
    """A signed upload link covers its headers: one that was not signed may be refused."""
    body = b"x" * ((2 << 20) if large else 10)
    async with RawServer(lambda _: said({})) as server, client_of(server, transport=transport) as client:
        bare = Request("PUT upload", "PUT", f"{server.url}/up", body=body, headers={"Content-Type": ""})
        await client.send(bare)
        await client.send(replace(bare, headers={}))
        assert [seen.headers.get("content-type") for seen in server.seen] == [None, "application/octet-stream"]
        assert [seen.body for seen in server.seen] == [body, body]


async def test_a_base_may_have_a_path_and_a_second_base_a_name(transport: str) -> None:
    async with RawServer(lambda _: said({})) as one, RawServer(lambda _: said({})) as two:
        bases = {"": f"{one.url}/top/", "tenant": two.url}
        async with client_of(one, bases=bases, transport=transport) as client:
            await client.send(get("/v2/a"))
            await client.send(get("/api/b", base="tenant"))
            await client.send(get(f"{two.url}/c"))
        assert [seen.path for seen in one.seen] == ["/top/v2/a"]
        assert [seen.path for seen in two.seen] == ["/api/b", "/c"]
        assert all("authorization" in seen.headers for seen in two.seen)
        assert sum(client.calls.values()) == 3


async def test_an_address_is_sent_as_it_is(transport: str) -> None:
    target = "/a%2Fb/c%20d?Signature=a%2Fb%2Bc~%3D&name=x%22y%2Cz&plus=1+2"
    async with RawServer(lambda _: Said()) as storage, RawServer(lambda _: Said()) as api:
        async with client_of(api, transport=transport) as client:
            await client.send(get(storage.url + target))
        assert [seen.target for seen in storage.seen] == [target]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "GET"])
async def test_no_body_is_no_body(transport: str, method: str) -> None:
    async with RawServer(lambda _: Said(204)) as server, client_of(server, transport=transport) as client:
        reply = await client.send(Request("x", method, "/x"))
    assert (reply.status, reply.body) == (204, b"")
    (seen,) = server.seen
    assert seen.headers.get("content-length", "0") == "0"
    assert "transfer-encoding" not in seen.headers


async def test_a_streamed_body_has_its_exact_length_and_is_made_anew_for_a_retry(transport: str) -> None:
    made = 0

    async def blocks() -> AsyncIterator[bytes]:
        nonlocal made
        made += 1
        for _ in range(5):
            yield b"x" * 100_000

    async with (
        RawServer(in_turn(said({}, 503), said({}))) as server,
        client_of(server, transport=transport) as client,
    ):
        await client.send(Request("PUT /f", "PUT", "/f", body=blocks, size=500_000, repeatable=True))
    assert made == 2
    assert [len(seen.body) for seen in server.seen] == [500_000, 500_000]
    assert all(seen.headers["content-length"] == "500000" for seen in server.seen)
    assert all("transfer-encoding" not in seen.headers for seen in server.seen)


async def test_a_form_is_streamed_with_its_exact_length(transport: str) -> None:
    async def file() -> AsyncIterator[bytes]:
        for _ in range(4):
            yield b"\x00\xff" * 50_000

    form = (
        FormPart("profile", "images"),
        FormPart("file", file, 'a "é".jpg', "image/jpeg", size=400_000),
        FormPart("meta", b'{"a":1}', content_type="application/json"),
    )
    async with RawServer(lambda _: said({})) as server, client_of(server, transport=transport) as client:
        await client.send(Request("POST /u", "POST", "/u", form=form))
    (seen,) = server.seen
    assert "transfer-encoding" not in seen.headers
    assert int(seen.headers["content-length"]) == len(seen.body) > 400_000
    assert seen.body.count(b"\x00\xff") == 200_000
    assert 'filename="a %22é%22.jpg"'.encode() in seen.body


@pytest.mark.parametrize("given", [[b"short"], [b"much", b"too", b"long"]])
async def test_a_body_of_another_length_than_announced_is_refused(transport: str, given: list[bytes]) -> None:
    async def blocks() -> AsyncIterator[bytes]:
        for block in given:
            yield block

    async with RawServer(lambda _: said({})) as server, client_of(server, transport=transport) as client:
        with pytest.raises(ContractBroken, match="announced"):
            await client.send(Request("PUT /f", "PUT", "/f", body=blocks, size=8, repeatable=True))
    assert len(server.seen) <= 1


async def test_what_the_source_of_a_body_raises_comes_out(transport: str) -> None:
    async def blocks() -> AsyncIterator[bytes]:
        yield b"1234"
        raise IntegrityError("the source changed")

    async with RawServer(lambda _: said({})) as server, client_of(server, transport=transport) as client:
        with pytest.raises(IntegrityError, match="the source changed") as caught:
            await client.send(Request("PUT /f", "PUT", "/f", body=blocks, size=8, repeatable=True))
    assert caught.value.operation == "PUT /f"


async def test_a_refusal_that_comes_before_the_body_is_through_is_heard(transport: str) -> None:
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
        client_of(url, transport=transport, attempts=1) as client,
    ):
        with pytest.raises(TooLarge, match="big"):
            await client.send(Request("PUT /f", "PUT", "/f", body=blocks, size=20_000_000))
        async with asyncio.timeout(5):
            await closed.wait()


async def test_a_header_with_a_line_end_is_refused(transport: str) -> None:
    async with RawServer(lambda _: said({})) as server, client_of(server, transport=transport) as client:
        with pytest.raises(InvalidValue):
            await client.send(get(headers={"X-Name": "a\r\nX-Evil: 1"}))
    assert server.seen == []


async def test_json_that_is_none_is_refused(transport: str) -> None:
    async with RawServer(lambda _: said({})) as server, client_of(server, transport=transport) as client:
        with pytest.raises(InvalidValue):
            await client.send(post(json={"a": float("nan")}))
    assert server.seen == []


async def test_cookies_are_not_kept(transport: str) -> None:
    async with (
        RawServer(lambda _: said({}, Set_Cookie="a=b; Path=/")) as server,
        client_of(server, transport=transport) as client,
    ):
        await client.send(get())
        await client.send(get())
    assert all("cookie" not in seen.headers for seen in server.seen)


# what is sent again


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_a_repeatable_call_is_sent_again(transport: str, status: int) -> None:
    async with (
        RawServer(in_turn(said({}, status), said({}, status), said({"ok": 1}))) as server,
        client_of(server, transport=transport) as client,
    ):
        assert (await client.send(get())).json() == {"ok": 1}
    assert len(server.seen) == 3
    assert client.calls == {"GET /v2/thing": 3}


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
async def test_a_write_of_unknown_outcome_is_not_sent_again(transport: str, status: int) -> None:
    async with RawServer(lambda _: said({}, status)) as server, client_of(server, transport=transport) as client:
        with pytest.raises(Transient):
            await client.send(post())
    assert len(server.seen) == 1


async def test_a_write_that_was_too_fast_is_sent_again(transport: str) -> None:
    async with (
        RawServer(in_turn(said({}, 429), said({"id": 1}))) as server,
        client_of(server, transport=transport) as client,
    ):
        assert (await client.send(post())).status == 200
    assert len(server.seen) == 2


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("then", ["close", "reset"])
async def test_a_lost_answer_to_a_write_is_not_sent_again(transport: str, method: str, then: str) -> None:
    lost = Said(silent=True, then=then)
    async with (
        RawServer(in_turn(said({}), lost, said({}))) as server,
        client_of(server, transport=transport) as client,
    ):
        await client.send(get())  # so that the write goes over a kept connection
        with pytest.raises(Transient, match="broke") as caught:
            await client.send(Request("W /x", method, "/x", json={}, repeatable=False))
    assert not isinstance(caught.value, Unreached)
    assert len(server.seen) == 2


@pytest.mark.parametrize("then", ["close", "reset"])
async def test_a_lost_answer_to_a_read_is_asked_again_and_counted(transport: str, then: str) -> None:
    lost = Said(silent=True, then=then)
    async with (
        RawServer(in_turn(said({}), lost, said({"ok": 1}))) as server,
        client_of(server, transport=transport) as client,
    ):
        await client.send(get())
        assert (await client.send(get())).json() == {"ok": 1}
    assert client.calls == {"GET /v2/thing": len(server.seen)} == {"GET /v2/thing": 3}


async def test_a_write_that_never_left_is_sent_again(transport: str) -> None:
    clock = SteppedClock(auto=True)
    async with client_of(f"http://127.0.0.1:{free_port()}", transport=transport, clock=clock, attempts=3) as client:
        with pytest.raises(Transient, match=r"127\.0\.0\.1 refused the connection") as caught:
            await client.send(post())
    assert isinstance(caught.value, Unreached)
    assert "port" in caught.value.hint
    assert len(clock.slept) == 2
    assert client.calls == {"POST /v2/things": 3}


async def test_a_trouble_of_before_does_not_make_a_lost_write_certain(transport: str) -> None:
    """A caller may send while it handles the error of another call: only this call's own causes count."""
    lost = Said(silent=True, then="reset")
    async with (
        RawServer(lambda _: lost) as server,
        client_of(server, transport=transport) as client,
        client_of(f"http://127.0.0.1:{free_port()}", transport=transport, attempts=1) as other,
    ):
        try:
            await other.send(get())
        except Unreached:
            with pytest.raises(Transient, match="broke") as caught:
                await client.send(post())
        try:
            raise ConnectionRefusedError
        except OSError:
            with pytest.raises(Transient, match="broke"):
                await client.send(post())
    assert not isinstance(caught.value, Unreached)
    assert len(server.seen) == 2


async def test_an_unknown_name_is_told_as_one(transport: str) -> None:
    async with client_of("https://no-such-host.invalid", transport=transport, attempts=1) as client:
        with pytest.raises(Transient, match=r"no-such-host\.invalid is not known") as caught:
            await client.send(get())
    assert "DNS" in caught.value.hint
    assert caught.value.exit_code == 5


async def test_a_certificate_nobody_vouches_for_is_for_the_operator(transport: str) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(Path(__file__).parents[1] / "support" / "self_signed.pem")
    async with RawServer(lambda _: said({}), tls=tls) as server, client_of(server, transport=transport) as client:
        with pytest.raises(ConfigError, match=r"no secure connection to 127\.0\.0\.1: self.signed cert") as caught:
            await client.send(get())
    assert "SSL_CERT_FILE" in caught.value.hint
    assert client.calls == {"GET /v2/thing": 1}
    assert server.seen == []


async def test_a_port_without_tls_is_for_the_operator(transport: str) -> None:
    async with (
        no_http(b"HTTP/1.1 400 Bad Request\r\n\r\n") as url,
        client_of(url.replace("http:", "https:"), transport=transport) as client,
    ):
        with pytest.raises(ConfigError, match="no secure connection"):
            await client.send(get())


async def test_a_handshake_that_breaks_off_may_go_through_later(transport: str) -> None:
    async with (
        no_http(b"") as url,
        client_of(url.replace("http:", "https:"), transport=transport, attempts=2) as client,
    ):
        with pytest.raises(Unreached):
            await client.send(post())
    assert client.calls == {"POST /v2/things": 2}


async def test_waits_double_up_to_a_minute(transport: str) -> None:
    clock = SteppedClock(auto=True, chances=(1.0,))
    async with (
        RawServer(lambda _: said({}, 500)) as server,
        client_of(server, transport=transport, clock=clock, attempts=9) as client,
    ):
        with pytest.raises(Transient):
            await client.send(get())
    assert clock.slept == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    assert len(server.seen) == 9


@pytest.mark.parametrize(
    "value", ["7", (START + timedelta(seconds=7)).astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")]
)
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_obeyed_in_both_forms(transport: str, status: int, value: str) -> None:
    clock = SteppedClock(auto=True)
    async with (
        RawServer(in_turn(said({}, status, Retry_After=value), said({}))) as server,
        client_of(server, transport=transport, clock=clock) as client,
    ):
        await client.send(get())
    assert clock.monotonic() >= 7.0
    assert clock.monotonic() < 9.0


async def test_a_service_may_say_its_pause_its_own_way(transport: str) -> None:
    clock = SteppedClock(auto=True)
    reset = (START + timedelta(seconds=4.5)).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def until(headers: object, now: datetime) -> float | None:
        text = headers.get("x-ratelimit-reset")  # type: ignore[attr-defined]
        return (datetime.fromisoformat(text) - now).total_seconds() if text else None

    async with (
        RawServer(in_turn(said({}, 429, X_Ratelimit_Reset=reset), said({}))) as server,
        client_of(server, transport=transport, clock=clock, retry_after=until) as client,
    ):
        await client.send(post())
    assert 4.5 <= clock.monotonic() < 6.0


async def test_the_pause_holds_for_every_call(transport: str) -> None:
    clock = SteppedClock(auto=True)
    at: list[float] = []
    came = asyncio.Event()

    def handler(_: Seen) -> Said:
        at.append(clock.monotonic())
        came.set()
        return said({}, 429, Retry_After="30") if len(at) == 1 else said({})

    async with RawServer(handler) as server, client_of(server, transport=transport, clock=clock) as client:
        first = asyncio.ensure_future(client.send(get()))
        await came.wait()
        await asyncio.sleep(0.05)
        await client.send(get())
        await first
    assert at[1] >= 30.0


async def test_a_pause_longer_than_anybody_waits_ends_the_call(transport: str) -> None:
    clock = SteppedClock(auto=True)
    async with (
        RawServer(lambda _: said({}, 429, Retry_After="86400")) as server,
        client_of(server, transport=transport, clock=clock) as client,
    ):
        for _ in range(2):
            with pytest.raises(Throttled) as caught:
                await client.send(get())
            assert caught.value.retry_after == pytest.approx(86400, abs=5)
    assert len(server.seen) == 1


async def test_the_last_error_is_raised(transport: str) -> None:
    async with (
        RawServer(lambda _: said({"message": "still too fast"}, 429)) as server,
        client_of(server, transport=transport, attempts=3) as client,
    ):
        with pytest.raises(Throttled, match="still too fast") as caught:
            await client.send(get(asset="17"))
    assert len(server.seen) == 3
    assert (caught.value.service, caught.value.operation, caught.value.asset) == ("x_service", "GET /v2/thing", "17")


# answers of all shapes


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Said(200, b"<!DOCTYPE html><title>Login</title>", {"Content-Type": "text/html"}), "an HTML page"),
        (Said(200, b""), "an empty body"),
        (Said(200, b'{"a": 1', {"Content-Type": "application/json"}), "7 bytes beginning"),
        (Said(200, b"\xff\xfe\x00"), "bytes beginning"),
    ],
)
async def test_an_answer_that_is_no_json_is_told(transport: str, answer: Said, words: str) -> None:
    async with RawServer(lambda _: answer) as server, client_of(server, transport=transport) as client:
        with pytest.raises(ContractBroken, match=words) as caught:
            (await client.send(get(asset="9"))).json()
    assert (caught.value.service, caught.value.operation, caught.value.asset) == ("x_service", "GET /v2/thing", "9")
    assert caught.value.hint


async def test_a_page_instead_of_json_is_asked_for_again(transport: str) -> None:
    page = Said(200, b"<html>busy</html>", {"Content-Type": "text/html"})
    async with (
        RawServer(in_turn(page, said({"ok": 1}))) as server,
        client_of(server, transport=transport) as client,
    ):
        assert (await client.send(get())).json() == {"ok": 1}
    assert len(server.seen) == 2


async def test_a_truncated_answer_is_asked_for_again(transport: str) -> None:
    cut = Said(200, b'{"ok": ', length=100, then="close")
    async with (
        RawServer(in_turn(cut, said({"ok": 1}))) as server,
        client_of(server, transport=transport) as client,
    ):
        assert (await client.send(get())).json() == {"ok": 1}
    assert len(server.seen) == 2


async def test_a_truncated_answer_to_a_write_is_transient(transport: str) -> None:
    cut = Said(201, b'{"ok": ', length=100, then="close")
    async with RawServer(lambda _: cut) as server, client_of(server, transport=transport) as client:
        with pytest.raises(Transient, match="broke while it answered"):
            await client.send(post())
    assert len(server.seen) == 1


async def test_a_compressed_answer_is_read(transport: str) -> None:
    packed = Said(200, gzip.compress(b'{"ok": 1}'), {"Content-Encoding": "gzip", "Content-Type": "application/json"})
    async with RawServer(lambda _: packed) as server, client_of(server, transport=transport) as client:
        assert (await client.send(get())).json() == {"ok": 1}


async def test_what_is_no_http_is_told(transport: str) -> None:
    async with (
        no_http(b"220 mail.example ESMTP ready\r\n\r\n") as url,
        client_of(url, transport=transport, attempts=1) as client,
    ):
        with pytest.raises(Transient, match="broke before it answered"):
            await client.send(get())


async def test_a_service_that_does_not_answer_in_time(transport: str) -> None:
    async with (
        RawServer(lambda _: Said(pause=5.0)) as server,
        client_of(server, transport=transport, attempts=1) as client,
    ):
        with pytest.raises(Transient, match="in time"):
            await client.send(get(timeout=0.2))


async def test_a_body_that_drips_is_not_waited_for(transport: str) -> None:
    drip = Said(blocks=[b"x"] * 50, gap=0.1)
    async with RawServer(lambda _: drip) as server, client_of(server, transport=transport, attempts=1) as client:
        with pytest.raises(Transient, match="in time"):
            await client.send(get(timeout=0.4))


async def test_a_refusal_is_an_error_and_an_accepted_status_a_reply(transport: str) -> None:
    async with (
        RawServer(lambda _: said({"error_description": "no such thing"}, 404)) as server,
        client_of(server, transport=transport) as client,
    ):
        with pytest.raises(NotFound, match="404 Not Found: no such thing"):
            await client.send(get())
        assert (await client.send(get(accept=frozenset({404})))).status == 404
    assert len(server.seen) == 2


# what is not sent at all


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_read_only_client_writes_nothing(transport: str, method: str) -> None:
    async with (
        RawServer(lambda _: said({})) as server,
        client_of(server, transport=transport, read_only=True) as client,
    ):
        with pytest.raises(ContractBroken, match="read-only"):
            await client.send(Request("W /x", method, "/x"))
        await client.send(Request("POST /search", "POST", "/search", json={}, reads=True))
        await client.send(get())
    assert [seen.path for seen in server.seen] == ["/search", "/v2/thing"]


async def test_the_call_that_would_be_one_too_many_is_not_sent(transport: str) -> None:
    async with (
        RawServer(lambda _: said({})) as server,
        client_of(server, transport=transport, max_calls=10) as client,
    ):
        outcomes = await asyncio.gather(*(client.send(get()) for _ in range(30)), return_exceptions=True)
    assert len(server.seen) == 10 == sum(client.calls.values())
    stopped = [outcome for outcome in outcomes if isinstance(outcome, StopRequested)]
    assert len(stopped) == 20
    assert stopped[0].exit_code == 8


async def test_retries_count_against_the_limit_of_calls(transport: str) -> None:
    async with (
        RawServer(lambda _: said({}, 500)) as server,
        client_of(server, transport=transport, max_calls=3) as client,
    ):
        with pytest.raises(StopRequested):
            await client.send(get())
    assert len(server.seen) == 3


# many at once


async def test_calls_at_once_are_as_many_as_allowed(transport: str) -> None:
    async with (
        RawServer(lambda _: Said(pause=0.02)) as server,
        client_of(server, transport=transport, pace=Pace(None, 3, 1)) as client,
    ):
        await asyncio.gather(*(client.send(get()) for _ in range(12)))
    assert server.most_under_way == 3


async def test_retries_of_many_calls_at_once_do_not_mix(transport: str) -> None:
    tries: dict[str, int] = {}

    def handler(seen: Seen) -> Said:
        tries[seen.path] = tries.get(seen.path, 0) + 1
        wanted = int(seen.path.rpartition("/")[2]) % 4 + 1
        return said({"path": seen.path}) if tries[seen.path] == wanted else said({}, 502)

    async with RawServer(handler) as server, client_of(server, transport=transport) as client:
        replies = await asyncio.gather(*(client.send(get(f"/t/{n}")) for n in range(40)))
    assert [reply.json()["path"] for reply in replies] == [f"/t/{n}" for n in range(40)]
    assert all(tries[f"/t/{n}"] == n % 4 + 1 for n in range(40))
    assert len(server.seen) == sum(client.calls.values())


async def test_cancellation_passes(transport: str) -> None:
    came = asyncio.Event()

    def handler(_: Seen) -> Said:
        came.set()
        return Said(pause=5.0)

    async with (
        RawServer(handler) as server,
        client_of(server, transport=transport, pace=Pace(None, 1, 1)) as client,
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


async def test_a_server_that_repeats_the_credential_is_not_quoted(transport: str) -> None:
    def handler(seen: Seen) -> Said:
        return said({"message": f"bad header {seen.headers['authorization']}"}, 403)

    async with RawServer(handler) as server, client_of(server, transport=transport) as client:
        with pytest.raises(Denied) as caught:
            await client.send(get())
    assert TOKEN not in str(caught.value)
    assert TOKEN not in str(caught.value.as_json())


async def test_a_page_for_people_is_no_answer_to_a_write(transport: str) -> None:
    page = Said(200, b"<!DOCTYPE html><title>Login</title>", {"Content-Type": "text/html"})
    async with RawServer(lambda _: page) as server, client_of(server, transport=transport) as client:
        with pytest.raises(ContractBroken, match="an HTML page") as caught:
            await client.send(post())
    assert "proxy" in caught.value.hint
