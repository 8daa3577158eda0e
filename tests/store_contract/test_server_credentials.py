"""Rotating credentials in the database: one renewal for all processes, nothing readable, nothing lost in an outage."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from dam_sync.http.auth.base import RotatingToken
from dam_sync.http.messages import Request, Response
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import StoreUnreachable
from dam_sync.model.state_server import StateServer
from dam_sync.store.base import Storage
from dam_sync.store.credential_store import FileCredentialStore
from dam_sync.store.server.credentials import ServerCredentialStore
from dam_sync.store.server.shared_schema import SCHEMA
from tests.support.state.postgres import CuttingProxy, execute, started

HASTY = Storage(patience=timedelta(seconds=0.5))
NAME = "tokens"


@pytest.fixture
def job() -> StateServer:
    """The schema of a new job."""
    return replace(started(), schema=f"dam_sync_{SYSTEM_CLOCK.token()}")


@pytest.fixture
def proxy(job: StateServer) -> Iterator[CuttingProxy]:
    """In front of the server."""
    with closing(CuttingProxy(job)) as made:
        yield made


def store_of(server: StateServer, folder: Path, host: str = "one", secret: str = "given") -> ServerCredentialStore:
    return ServerCredentialStore(server, secret, FileCredentialStore(folder / host / "job.vault"), HASTY)


class TokenServer:
    """Accepts each refresh token once, as it says so in its contract; `refused` counts those that were used before."""

    def __init__(self) -> None:
        self.issued, self.refused = 0, 0
        self.valid = "refresh-0"

    async def exchange(self, request: Request) -> Response:
        given = json.loads(request.body or b"{}")["refresh_token"]
        await asyncio.sleep(0.02)
        if given != self.valid:
            self.refused += 1
            return Response(400, {}, b'{"error": "invalid_grant"}', "x", request.operation, "", None)
        self.issued += 1
        self.valid = f"refresh-{self.issued}"
        data = {"access_token": f"access-{self.issued}", "refresh_token": self.valid, "expires_in": 3600}
        headers = {"content-type": "application/json"}
        return Response(200, headers, json.dumps(data).encode(), "x", request.operation, "", None)


def token_of(store: ServerCredentialStore, service: TokenServer) -> RotatingToken:
    token = RotatingToken("https://x.example/token", "client", "secret", "refresh-0", store, NAME, SYSTEM_CLOCK)
    token.attach(service.exchange)
    return token


async def test_processes_on_several_hosts_renew_once(job: StateServer, tmp_path: Path) -> None:
    service = TokenServer()
    tokens = [token_of(store_of(job, tmp_path, f"host{number}"), service) for number in range(4)]
    first = await asyncio.gather(*(each.headers() for each in tokens))
    assert service.issued == 1
    assert len({json.dumps(dict(each)) for each in first}) == 1
    await asyncio.gather(
        *(each.renew(seen) for each, seen in zip(tokens, first, strict=True))
    )  # all were refused (401)
    second = await asyncio.gather(*(each.headers() for each in tokens))
    assert (service.issued, service.refused) == (2, 0)
    assert len({json.dumps(dict(each)) for each in second}) == 1
    assert second[0] != first[0]


async def test_secrets_are_shared_and_nobody_reads_them_in_the_database(job: StateServer, tmp_path: Path) -> None:
    one, two = store_of(job, tmp_path), store_of(job, tmp_path, "two")
    await one.save(NAME, "refresh-secret")
    assert await two.load(NAME) == "refresh-secret"
    assert await FileCredentialStore(tmp_path / "two" / "job.vault").load(NAME) == "refresh-secret"
    await asyncio.gather(*(each.change("links", lambda text: f"{text}x") for each in (one, two) for _ in range(3)))
    assert await one.load("links") == "xxxxxx"
    assert await two.names("li") == ["links"]
    await one.save("links", "")
    assert await two.names("") == [NAME]
    rows = execute(started(), f"SELECT value FROM {SCHEMA}.secret WHERE scope = '{job.schema}'")
    assert rows
    assert not any("refresh-secret" in value or "xxx" in value for (value,) in rows)
    assert await store_of(job, tmp_path, "three", secret="another consent").load(NAME) is None


async def test_what_a_file_keeps_is_taken_over(job: StateServer, tmp_path: Path) -> None:
    file = FileCredentialStore(tmp_path / "one" / "job.vault")
    await file.save(NAME, "before")
    assert await store_of(job, tmp_path).load(NAME) == "before"


async def test_a_token_that_the_database_did_not_take_is_stored_later(
    job: StateServer, proxy: CuttingProxy, tmp_path: Path
) -> None:
    behind = store_of(proxy.server, tmp_path)
    await behind.save(NAME, "first")
    proxy.refuse()
    with pytest.raises(StoreUnreachable):
        await behind.save(NAME, "second")
    assert await store_of(job, tmp_path, "two").load(NAME) == "first"
    assert await store_of(job, tmp_path).load(NAME) == "second"
    assert await store_of(job, tmp_path, "two").load(NAME) == "second"


async def test_a_token_that_others_renewed_since_is_not_put_back(job: StateServer, tmp_path: Path) -> None:
    one, two = store_of(job, tmp_path), store_of(job, tmp_path, "two")
    await one.save(NAME, "first")
    await two.save(NAME, "third")
    file = FileCredentialStore(tmp_path / "one" / "job.vault")
    await file.save(f"{NAME}#not-in-database", "second")  # the response to its commit was lost
    assert await one.load(NAME) == "third"
    assert await two.load(NAME) == "third"


async def test_a_renewal_ends_with_its_process(job: StateServer, tmp_path: Path) -> None:
    one, two = store_of(job, tmp_path), store_of(job, tmp_path, "two")
    order: list[str] = []

    @asynccontextmanager
    async def held(store: ServerCredentialStore, name: str) -> AsyncIterator[None]:
        async with store.renewing(NAME):
            order.append(f"{name} begins")
            yield
            order.append(f"{name} ends")

    async def second() -> None:
        async with held(two, "two"):
            pass

    async with held(one, "one"):
        waiting = asyncio.ensure_future(second())
        await asyncio.sleep(0.5)
    await waiting
    assert order == ["one begins", "one ends", "two begins", "two ends"]
    with pytest.raises(RuntimeError, match="died"):
        async with held(one, "one"):
            raise RuntimeError("died")
    await second()
