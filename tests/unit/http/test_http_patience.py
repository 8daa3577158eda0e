"""Patience belongs to the question: attempts share it, and what we wait for by ourselves is not counted."""

from __future__ import annotations

import asyncio
import time

import pytest

from dam_sync.http.client import Client
from dam_sync.http.patience import Patience, PatienceOver
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import Transient
from tests.support.network.clients import client_of, get
from tests.support.network.raw_server import RawServer, Said, Seen, said

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
