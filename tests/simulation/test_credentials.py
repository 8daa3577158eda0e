"""Links to bytes go without our credential, also where the store of a service is at the origin of its API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from tests.support.pairs import KINDS
from tests.support.virtual.moves import Simulation
from tests.support.virtual.reply import Reply
from tests.support.virtual.wire import Network

STORED_ELSEWHERE = frozenset({"b_documents"})  # its files come from its API (wire B 4)
STORE = "/store"


class OneOrigin(Network):
    """Every service has its store below a path of its API. stored: the calls of stores."""

    stored: list[httpx.Request]

    def serve(self, app: Any, number: int) -> str:
        """See `Network.serve`."""
        self.stored = []
        origin = super().serve(app, number)
        app.world.storage_origin = f"{origin}{STORE}"
        return origin

    async def delivered(self, app: ASGIApp, outgoing: httpx.Request) -> Reply:
        """See `Network.delivered`; a service knows the calls of its store by their host."""
        path = outgoing.url.raw_path.decode()
        if not path.startswith(f"{STORE}/"):
            return await super().delivered(app, outgoing)
        self.stored.append(outgoing)
        url = outgoing.url.copy_with(raw_path=path.removeprefix(STORE).encode())
        headers = httpx.Headers(outgoing.headers)
        headers["host"] = f"{outgoing.url.netloc.decode()}{STORE}"
        inner = httpx.Request(
            outgoing.method, url, headers=headers, stream=outgoing.stream, extensions=outgoing.extensions
        )
        return await super().delivered(app, inner)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - STORED_ELSEWHERE))
def test_no_credential_reaches_the_store_of_a_service_at_its_own_origin(tmp_path: Path, kind: str) -> None:
    simulation = Simulation(tmp_path, (kind, kind), network=OneOrigin)
    with simulation.moving() as move:
        move.live()
        assert len([row for row in move.target.assets if row["versions"]]) > 1
        network = move.universe.network
    assert isinstance(network, OneOrigin)
    assert {outgoing.method for outgoing in network.stored} >= {"GET"}
    assert [outgoing.method for outgoing in network.stored if "authorization" in outgoing.headers] == []
