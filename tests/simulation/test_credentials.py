"""Links to bytes go without our credential, also where the store of a service is at the origin of its API."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from dam_sync.http.urls import BaseUrls
from tests.support.pairs import KINDS
from tests.support.virtual.moves import Simulation
from tests.support.virtual.wire import VirtualTransport

STORED_ELSEWHERE = frozenset({"b_documents"})  # its files come from its API (wire B 4)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - STORED_ELSEWHERE))
def test_no_credential_reaches_the_store_of_a_service_at_its_own_origin(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[httpx.Request] = []
    opened = VirtualTransport.handle_async_request

    async def noted(wire: VirtualTransport, outgoing: httpx.Request) -> httpx.Response:
        sent.append(outgoing)
        return await opened(wire, outgoing)

    def at_one_origin(addresses: BaseUrls, bases: dict[str, str]) -> None:
        made(addresses, bases)
        for scheme, host, port in list(addresses._origins):
            addresses._origins.add((scheme, host, port + 1))  # where a virtual network has the store of a service

    made = BaseUrls.__init__
    monkeypatch.setattr(BaseUrls, "__init__", at_one_origin)
    monkeypatch.setattr(VirtualTransport, "handle_async_request", noted)
    simulation = Simulation(tmp_path, (kind, kind))
    with simulation.moving() as move:
        stores = {urlsplit(tenant.app.world.storage_origin).port for tenant in (move.source, move.target)}
        move.live()
        assert len([row for row in move.target.assets if row["versions"]]) > 1
    stored = [outgoing for outgoing in sent if outgoing.url.port in stores]
    assert {outgoing.method for outgoing in stored} >= {"GET"}
    assert [outgoing.method for outgoing in stored if "authorization" in outgoing.headers] == []
