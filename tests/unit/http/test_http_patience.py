"""Patience belongs to the question: attempts share it, and what we wait for by ourselves is not counted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

import pytest

from dam_sync.http.bounds import BLOCK, INTERIM
from dam_sync.http.client import Client
from dam_sync.http.patience import Patience, PatienceOver
from dam_sync.http.retry import READINGS
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import Transient
from dam_sync.model.waits import ASKED, Waits, showing
from tests.support.network.clients import client_of, get, post
from tests.support.network.raw_server import RawServer, Said, Seen, dripping, no_http, said
from tests.support.stepped_clock import SteppedClock

PATIENCE = 0.6
DRIPS = Said(blocks=[b" "] * 400, gap=0.05, headers={"Content-Type": "application/json"})


@pytest.mark.parametrize("response", [Said(pause=30.0), DRIPS])
async def test_a_service_that_drips_or_says_nothing_is_given_up_once(response: Said) -> None:
    async with (
        RawServer(lambda _: response) as server,
        client_of(server, clock=SystemClock(), patience=PATIENCE, attempts=5) as client,
    ):
        began = time.monotonic()
        with pytest.raises(PatienceOver, match=r"127\.0\.0\.1.* did not complete its response within 1 s") as over:
            await client.send(get())
        assert time.monotonic() - began < 20 * PATIENCE, "once, not for each attempt"
        assert len(server.seen) == 1
    assert isinstance(over.value, Transient)
    assert over.value.exit_code == 5
    assert over.value.operation


async def test_attempts_share_what_is_left() -> None:
    """Each of them ends before its own time is over."""
    patience = Patience(0.5)
    for _ in range(2):
        await patience.bounds(asyncio.sleep(0.2), "dam.example")
    with pytest.raises(PatienceOver):
        await patience.bounds(asyncio.sleep(0.2), "dam.example")


async def test_a_service_that_refuses_at_once_and_then_responds_is_waited_for() -> None:
    responses = [said({}, 503), said({"ok": True})]
    async with (
        RawServer(lambda _: responses.pop(0)) as server,
        client_of(server, patience=5.0, attempts=2) as client,
    ):
        assert (await client.send(get())).json() == {"ok": True}


async def test_a_time_out_of_the_response_itself_stays_one() -> None:
    async def raising() -> None:
        raise TimeoutError("of a part")

    with pytest.raises(TimeoutError, match="of a part"):
        await Patience(5.0).bounds(raising(), "dam.example")


async def test_a_call_that_is_known_to_be_slow_may_take_its_time_once_the_service_responds() -> None:
    async def handler(seen: Seen) -> Said:
        await asyncio.sleep(2 * PATIENCE if "slow" in seen.path else 0.0)
        return said({"ok": True})

    async with RawServer(handler) as server, client_of(server, clock=SystemClock(), patience=PATIENCE) as client:
        await client.send(get())
        assert (await client.send(get("/slow", timeout=60.0))).json() == {"ok": True}
        with pytest.raises(PatienceOver):
            await client.send(get("/slow"))
    assert isinstance(client, Client)


@pytest.mark.parametrize("streamed", [True, False])
async def test_attempts_of_an_upload_and_of_a_download_share_the_time_for_a_response(streamed: bool) -> None:
    async def blocks() -> AsyncGenerator[bytes, None]:
        yield bytes(BLOCK)
        yield bytes(BLOCK)

    upload = get("/file", method="PUT", body=blocks, size=2 * BLOCK, repeatable=True, timeout=PATIENCE / 2)
    async with (
        RawServer(lambda _: Said(pause=30.0)) as server,
        client_of(server, patience=PATIENCE, attempts=6) as client,
    ):
        with pytest.raises(PatienceOver):
            await (client.send(upload) if streamed else client.stream(get(timeout=PATIENCE / 2)))
        assert len(server.seen) <= 3


async def test_a_body_that_moves_uses_up_no_patience() -> None:
    async def blocks() -> AsyncGenerator[bytes, None]:
        for _ in range(6):
            await asyncio.sleep(PATIENCE / 4)
            yield bytes(BLOCK)

    async with RawServer(lambda _: said({"ok": True})) as server, client_of(server, patience=PATIENCE) as client:
        await client.send(get("/file", method="PUT", body=blocks, size=6 * BLOCK))
        assert len(server.seen[0].body) == 6 * BLOCK


async def test_a_write_that_gets_a_login_page_is_asked_again_as_often_as_a_read() -> None:
    page = Said(200, b"<!doctype html><html><body>Please sign in</body></html>", {"Content-Type": "text/html"})
    async with RawServer(lambda _: page) as server, client_of(server) as client:
        with pytest.raises(Transient, match="HTML page"):
            await client.send(post(repeatable=True))
        assert len(server.seen) == READINGS


@pytest.mark.parametrize(("number", "fine"), [(INTERIM // 2, True), (20 * INTERIM, False)])
async def test_interim_responses_have_a_bound(number: int, fine: bool) -> None:
    """Each costs processor time, and no timeout ends them while they come."""
    words = b"HTTP/1.1 102 Processing\r\n\r\n" * number + b"HTTP/1.1 204 Done\r\n\r\n"
    async with no_http(words, linger=1.0) as url, client_of(url, attempts=1) as client:
        if fine:
            assert (await client.send(get())).status == 204
        else:
            with pytest.raises(Transient):
                await client.send(get())


async def test_a_download_that_is_only_framed_is_given_up() -> None:
    """An extension of a chunk may go on for ever; the connection is not silent meanwhile."""
    head = b"HTTP/1.1 200 Said\r\nTransfer-Encoding: chunked\r\n\r\n5;a="
    async with dripping(head, b"x" * 100, 0.02) as url, client_of(url, clock=SystemClock()) as client:
        stream = await client.stream(get(timeout=PATIENCE))
        try:
            with pytest.raises(Transient):
                async with asyncio.timeout(20):
                    await anext(aiter(stream))
        finally:
            await stream.aclose()


async def test_what_is_waited_for_is_named_with_its_end() -> None:
    waits, clock = Waits(), SystemClock()
    async with RawServer(lambda _: Said(pause=30.0)) as server:
        with showing(waits):
            async with client_of(server, clock=clock, side="source", patience=PATIENCE) as client:
                task = asyncio.ensure_future(client.send(get("/assets")))
                for _ in range(1_000):
                    await asyncio.sleep(0.01)
                    if server.seen:
                        break
                found = waits.longest(clock.monotonic(), 0.0)
                with pytest.raises(PatienceOver):
                    await task
    assert found is not None
    assert (found.side, found.what) == ("source", "GET /assets")
    assert found.until is not None
    assert found.until - found.since == pytest.approx(PATIENCE, abs=0.1)
    assert waits.longest(clock.monotonic(), 0.0) is None


async def test_a_pause_that_the_service_asks_for_is_named() -> None:
    waits, clock = Waits(), SteppedClock()
    responses = [said({}, 429, retry_after="40"), said({"ok": True})]
    async with RawServer(lambda _: responses.pop(0)) as server:
        with showing(waits):
            async with client_of(server, clock=clock, side="target") as client:
                task = asyncio.ensure_future(client.send(get("/assets")))
                for _ in range(1_000):
                    await asyncio.sleep(0.01)
                    if clock.slept:
                        break
                await clock.advance(10.0)
                found = waits.longest(clock.monotonic())
                await clock.advance(60.0)
                await task
    assert found is not None
    assert found.text(10.0).startswith(f"target: waiting for {ASKED}")
