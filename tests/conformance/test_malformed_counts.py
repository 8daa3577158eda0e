"""A service that says something else than numbers where it counts: an error of the contract or a note, never a bug."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from dam_sync.model.errors import DamSyncError, InternalError
from dam_sync.model.values import Json
from tests.conformance.catalogue import library
from tests.conformance.tenant import Tenant
from tests.support.network.altered_transport import AlteredTransport
from tests.support.pairs import EVERYTHING

STRANGE: tuple[Json, ...] = (None, "x", [], {}, -1, 1.5, True, ["x"], {"x": 1}, 10**30)
ROUNDS = 150 if EVERYTHING else 6


class Strange(AlteredTransport):
    """One node of one response is replaced, once it is armed. altered_one: whether that came about."""

    def __init__(self, network: httpx.AsyncBaseTransport | None, chance: random.Random) -> None:
        super().__init__(network)
        self.chance, self.left, self.altered_one = chance, -1, False

    def altered(self, request: httpx.Request, body: Json) -> Json:
        self.left -= 1
        if self.left != 0:
            return body
        nodes = list(_nodes(body))
        if nodes:
            holder, key = self.chance.choice(nodes)
            holder[key] = self.chance.choice(STRANGE)
            self.altered_one = True
        return body


def _nodes(body: Any) -> Iterator[tuple[Any, Any]]:
    keys = body if isinstance(body, dict) else range(len(body)) if isinstance(body, list) else ()
    for key in keys:
        yield body, key
        yield from _nodes(body[key])


@pytest.mark.needs("counts")
@pytest.mark.calls(40_000)
async def test_no_response_to_a_count_is_a_bug_of_ours(start: Callable[..., Tenant]) -> None:
    tenant, chance, altered = start(library()), random.Random(5), 0
    nearby = tenant.transport
    for number in range(ROUNDS):
        tenant.transport = strange = Strange(nearby, chance)
        service = tenant.connect(read_only=True)
        await service.probe()
        fields = tuple((await service.schema()).fields)[:6]
        strange.left = 1 + (number // 2 % 20 if number % 2 else 0)  # some services count by one call
        try:
            counts = await service.counts(fields)
        except InternalError as error:
            pytest.fail(f"round {number}: {error} from {error.__cause__!r}")
        except DamSyncError:
            counts = None
        altered += strange.altered_one
        assert counts is None or all(isinstance(each, int) for each in counts.not_moved.values())
        await service.close()
        tenant.connected.remove(service)
    tenant.transport = nearby
    assert altered > ROUNDS / 3
