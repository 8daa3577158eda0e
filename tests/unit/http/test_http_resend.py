"""What is sent again and what never is, how long is waited, and what is raised in the end."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dam_sync.http.client import Request
from dam_sync.http.failures import NotSent
from dam_sync.model.errors import ConfigError, Throttled, Transient
from tests.support.network.clients import client_of, get, post
from tests.support.network.raw_server import RawServer, Said, Seen, free_port, in_turn, no_http, said
from tests.support.stepped_clock import START, SteppedClock


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_a_repeatable_call_is_sent_again(status: int) -> None:
    async with (
        RawServer(in_turn(said({}, status), said({}, status), said({"ok": 1}))) as server,
        client_of(server) as client,
    ):
        assert (await client.send(get())).json() == {"ok": 1}
    assert len(server.seen) == 3
    assert client.calls == {"GET /v2/thing": 3}


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
async def test_a_write_of_unknown_outcome_is_not_sent_again(status: int) -> None:
    async with RawServer(lambda _: said({}, status)) as server, client_of(server) as client:
        with pytest.raises(Transient):
            await client.send(post())
    assert len(server.seen) == 1


async def test_a_write_that_was_too_fast_is_sent_again() -> None:
    async with (
        RawServer(in_turn(said({}, 429), said({"id": 1}))) as server,
        client_of(server) as client,
    ):
        assert (await client.send(post())).status == 200
    assert len(server.seen) == 2


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("then", ["close", "reset"])
async def test_a_lost_response_to_a_write_is_not_sent_again(method: str, then: str) -> None:
    lost = Said(silent=True, then=then)
    async with (
        RawServer(in_turn(said({}), lost, said({}))) as server,
        client_of(server) as client,
    ):
        await client.send(get())  # so that the write goes over a kept connection
        with pytest.raises(Transient, match="broke") as caught:
            await client.send(Request("W /x", method, "/x", json={}, repeatable=False))
    assert not isinstance(caught.value, NotSent)
    assert len(server.seen) == 2


@pytest.mark.parametrize("then", ["close", "reset"])
async def test_a_lost_response_to_a_read_is_asked_again_and_counted(then: str) -> None:
    lost = Said(silent=True, then=then)
    async with (
        RawServer(in_turn(said({}), lost, said({"ok": 1}))) as server,
        client_of(server) as client,
    ):
        await client.send(get())
        assert (await client.send(get())).json() == {"ok": 1}
    assert client.calls == {"GET /v2/thing": len(server.seen)} == {"GET /v2/thing": 3}


async def test_a_write_that_never_left_is_sent_again() -> None:
    clock = SteppedClock(auto=True)
    async with client_of(f"http://127.0.0.1:{free_port()}", clock=clock, attempts=3) as client:
        with pytest.raises(Transient, match=r"127\.0\.0\.1 refused the connection") as caught:
            await client.send(post())
    assert isinstance(caught.value, NotSent)
    assert "port" in caught.value.hint
    assert len(clock.slept) == 2
    assert client.calls == {"POST /v2/things": 3}


async def test_a_trouble_of_before_does_not_make_a_lost_write_certain() -> None:
    """A caller may send while it handles the error of another call: only this call's own causes count."""
    lost = Said(silent=True, then="reset")
    async with (
        RawServer(lambda _: lost) as server,
        client_of(server) as client,
        client_of(f"http://127.0.0.1:{free_port()}", attempts=1) as other,
    ):
        try:
            await other.send(get())
        except NotSent:
            with pytest.raises(Transient, match="broke") as caught:
                await client.send(post())
        try:
            raise ConnectionRefusedError
        except OSError:
            with pytest.raises(Transient, match="broke"):
                await client.send(post())
    assert not isinstance(caught.value, NotSent)
    assert len(server.seen) == 2


async def test_an_unknown_host_name_is_reported_as_one() -> None:
    async with client_of("https://no-such-host.invalid", attempts=1) as client:
        with pytest.raises(Transient, match=r"no-such-host\.invalid is not known") as caught:
            await client.send(get())
    assert "DNS" in caught.value.hint
    assert caught.value.exit_code == 5


async def test_a_certificate_nobody_vouches_for_is_for_the_operator() -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(Path(__file__).parents[2] / "support" / "self_signed.pem")
    async with RawServer(lambda _: said({}), tls=tls) as server, client_of(server) as client:
        with pytest.raises(ConfigError, match=r"no secure connection to 127\.0\.0\.1: self.signed cert") as caught:
            await client.send(get())
    assert "SSL_CERT_FILE" in caught.value.hint
    assert client.calls == {"GET /v2/thing": 1}
    assert server.seen == []


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
async def test_a_file_of_certificates_that_cannot_be_read_is_for_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    path = tmp_path / "authority.pem"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    async with RawServer(lambda _: said({})) as server, client_of(server) as client:
        with pytest.raises(ConfigError, match=r"SSL_CERT_FILE .*authority\.pem', which cannot be read: .") as caught:
            await client.send(get())
    assert "certificate" in caught.value.hint
    assert server.seen == []


async def test_a_folder_of_certificates_that_does_not_exist_is_for_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))
    async with RawServer(lambda _: said({})) as server, client_of(server) as client:
        with pytest.raises(ConfigError, match="SSL_CERT_DIR"):
            await client.send(get())


async def test_a_port_without_tls_is_for_the_operator() -> None:
    async with (
        no_http(b"HTTP/1.1 400 Bad Request\r\n\r\n") as url,
        client_of(url.replace("http:", "https:")) as client,
    ):
        with pytest.raises(ConfigError, match="no secure connection"):
            await client.send(get())


async def test_a_handshake_that_breaks_off_may_go_through_later() -> None:
    async with (
        no_http(b"") as url,
        client_of(url.replace("http:", "https:"), attempts=2) as client,
    ):
        with pytest.raises(NotSent):
            await client.send(post())
    assert client.calls == {"POST /v2/things": 2}


async def test_waits_double_up_to_a_minute() -> None:
    clock = SteppedClock(auto=True, chances=(1.0,))
    async with (
        RawServer(lambda _: said({}, 500)) as server,
        client_of(server, clock=clock, attempts=9) as client,
    ):
        with pytest.raises(Transient):
            await client.send(get())
    assert clock.slept == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    assert len(server.seen) == 9


@pytest.mark.parametrize(
    "value", ["7", (START + timedelta(seconds=7)).astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")]
)
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_obeyed_in_both_forms(status: int, value: str) -> None:
    clock = SteppedClock(auto=True)
    async with (
        RawServer(in_turn(said({}, status, Retry_After=value), said({}))) as server,
        client_of(server, clock=clock) as client,
    ):
        await client.send(get())
    assert clock.monotonic() >= 7.0
    assert clock.monotonic() < 9.0


async def test_a_service_may_say_its_pause_its_own_way() -> None:
    clock = SteppedClock(auto=True)
    reset = (START + timedelta(seconds=4.5)).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def until(headers: object, now: datetime) -> float | None:
        text = headers.get("x-ratelimit-reset")  # type: ignore[attr-defined]
        return (datetime.fromisoformat(text) - now).total_seconds() if text else None

    async with (
        RawServer(in_turn(said({}, 429, X_Ratelimit_Reset=reset), said({}))) as server,
        client_of(server, clock=clock, retry_after=until) as client,
    ):
        await client.send(post())
    assert 4.5 <= clock.monotonic() < 6.0


async def test_the_pause_holds_for_every_call() -> None:
    clock = SteppedClock(auto=True)
    at: list[float] = []
    came = asyncio.Event()

    def handler(_: Seen) -> Said:
        at.append(clock.monotonic())
        came.set()
        return said({}, 429, Retry_After="30") if len(at) == 1 else said({})

    async with RawServer(handler) as server, client_of(server, clock=clock) as client:
        first = asyncio.ensure_future(client.send(get()))
        await came.wait()
        await asyncio.sleep(0.05)
        await client.send(get())
        await first
    assert at[1] >= 30.0


async def test_a_pause_longer_than_anybody_waits_ends_the_call() -> None:
    clock = SteppedClock(auto=True)
    async with (
        RawServer(lambda _: said({}, 429, Retry_After="86400")) as server,
        client_of(server, clock=clock) as client,
    ):
        for _ in range(2):
            with pytest.raises(Throttled) as caught:
                await client.send(get())
            assert caught.value.retry_after == pytest.approx(86400, abs=5)
    assert len(server.seen) == 1


async def test_the_last_error_is_raised() -> None:
    async with (
        RawServer(lambda _: said({"message": "still too fast"}, 429)) as server,
        client_of(server, attempts=3) as client,
    ):
        with pytest.raises(Throttled, match="still too fast") as caught:
            await client.send(get(asset="17"))
    assert len(server.seen) == 3
    assert (caught.value.service, caught.value.operation, caught.value.asset) == ("x_service", "GET /v2/thing", "17")
