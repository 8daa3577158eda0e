"""Clients for the tests of the network: wiring with sensible defaults."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dam_sync.http.auth.base import Bearer
from dam_sync.http.client import Client, ClientConfig, Request
from dam_sync.model.limits import Pace
from tests.support.network.raw_server import RawServer
from tests.support.stepped_clock import SteppedClock

TOKEN = "token-9f8e7d6c5b4a"


def wiring_of(server: RawServer | str, **changes: Any) -> ClientConfig:
    """Wiring to one server; time jumps, so that waits between attempts cost none."""
    url = server if isinstance(server, str) else server.url
    given: dict[str, Any] = {
        "service": "x_service",
        "bases": {"": url},
        "auth": Bearer(TOKEN),
        "rules": (),
        "pace": Pace(None, 16, 4),
        "clock": SteppedClock(auto=True),
    }
    return ClientConfig(**{**given, **changes})


@asynccontextmanager
async def client_of(server: RawServer | str, **changes: Any) -> AsyncIterator[Client]:
    """A client that is closed at the end."""
    client = Client(wiring_of(server, **changes))
    try:
        yield client
    finally:
        await client.close()


def get(path: str = "/v2/thing", **changes: Any) -> Request:
    """A GET, with its path as operation."""
    return Request(**{"operation": f"GET {path.partition('?')[0]}", "method": "GET", "path": path, **changes})


def post(path: str = "/v2/things", **changes: Any) -> Request:
    """A POST that may not be repeated."""
    return Request(**{"operation": f"POST {path}", "method": "POST", "path": path, "json": {"a": 1}, **changes})
