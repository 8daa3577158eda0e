"""Processes that call one service with one credential, by permits from one database.

`python -m tests.support.lessees` takes an order as a line of JSON, says when it is ready, and begins at a line.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dam_sync.http.client import Client, ClientConfig, Request
from dam_sync.http.rates.shared import CredentialRate
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import DamSyncError
from dam_sync.model.limits import Pace
from dam_sync.model.state_server import StateServer
from dam_sync.store.server.permits import ServerPermits
from tests.support.programs import PIPE, Program

NAME, READ = "tests.support.lessees", ("dam_sync.store.server.permits",)
TICK = 0.02
GET = Request("GET /thing", "GET", "/thing", repeatable=True)


async def call(order: Mapping[str, Any], told: Any) -> dict[str, Any]:
    """Call for so many seconds. Returns the calls that succeeded and the errors of the others."""
    server = StateServer(order["host"], None, "postgres", "postgres", "", "dam_sync_test")
    permits = await ServerPermits.open(server)
    rate = CredentialRate(SYSTEM_CLOCK, permits.credential(order["credential"]))
    pace = Pace(order["rate"], order["at_once"], 1)
    client = Client(
        ClientConfig("x", {"": order["url"]}, None, (), pace, SYSTEM_CLOCK, rate=rate, attempts=1, read_only=True)
    )
    print("ready", flush=True)  # noqa: T201
    await told()
    until = SYSTEM_CLOCK.monotonic() + order["seconds"]
    done, errors = 0, []

    async def work() -> None:
        nonlocal done
        while SYSTEM_CLOCK.monotonic() < until:
            try:
                await client.send(GET)
                done += 1
            except DamSyncError as error:
                errors.append(f"{type(error).__name__}: {error}")

    stalls: list[tuple[float, float]] = []
    watching = asyncio.ensure_future(_watch(stalls))
    await asyncio.gather(*(work() for _ in range(order["tasks"])))
    watching.cancel()
    await client.close()
    await permits.close()
    return {"done": done, "errors": errors, "stalls": stalls}


async def _watch(stalls: list[tuple[float, float]]) -> None:
    """When this process stood still, as its machine had no time for it."""
    while True:
        before = SYSTEM_CLOCK.monotonic()
        await SYSTEM_CLOCK.sleep(TICK)
        if (late := SYSTEM_CLOCK.monotonic() - before - TICK) > TICK:
            stalls.append((SYSTEM_CLOCK.monotonic(), late))


@contextmanager
def lessees(number: int, **order: Any) -> Iterator[list[Program]]:
    """So many processes, which begin together."""
    made = [Program(NAME, typed=PIPE, out=PIPE, err=None, reading=READ) for _ in range(number)]
    try:
        for each in made:
            _tell(each, json.dumps(order))
        for each in made:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        for each in made:
            _tell(each, "go")
        yield made
    finally:
        for each in made:
            each.kill()
            each.communicate()


def result(process: Program) -> dict[str, Any]:
    """What a process returned."""
    told, _ = process.communicate()
    return dict(json.loads(told.splitlines()[-1]))


def _tell(process: Program, line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


async def _main() -> None:
    order = json.loads(sys.stdin.readline())
    print(json.dumps(await call(order, lambda: asyncio.to_thread(sys.stdin.readline))), flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(_main())
