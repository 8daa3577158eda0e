"""A listing that knows how many rows it has is checked against that number: a row that is held back is missed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import Any

import httpx
import pytest

from dam_sync.model.errors import TruncatedListing
from dam_sync.model.values import Json
from tests.conformance.tenant import Tenant
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connections import EVERYTHING

TOTAL = re.compile(r"total|count", re.IGNORECASE)


class Holding(AlteredTransport):
    """Holds back the last row of the first page of a listing, as often as that page is requested."""

    def __init__(self, network: httpx.AsyncBaseTransport | None, ids: Set[str]) -> None:
        super().__init__(network)
        self.ids = ids
        self.first: tuple[str, str, bytes] | None = None
        self.held = 0
        self.counted = False

    def altered(self, request: httpx.Request, body: Json) -> Json:
        asked = request.method, str(request.url), request.content
        rows = max(self._listings(body), key=len, default=[])
        if rows and self.first in (None, asked):
            self.first = asked
            self.held += 1
            self.counted |= any(count >= len(rows) for count in _totals(body))
            rows.pop()
        return body

    def _listings(self, part: Json) -> Iterator[list[Json]]:
        """The lists in a response of which every row names an asset."""
        if isinstance(part, list) and all(isinstance(row, dict) and self.ids & set(_scalars(row)) for row in part):
            yield part
        for each in _members(part):
            yield from self._listings(each)


def _members(part: Json) -> list[Any]:
    return list(part.values()) if isinstance(part, dict) else part if isinstance(part, list) else []


def _scalars(part: Json) -> Iterator[str]:
    for each in _members(part):
        yield from _scalars(each) if isinstance(each, dict | list) else (str(each),)


def _totals(part: Json) -> Iterator[int]:
    """Numbers of rows that a response states, but for those inside of rows."""
    if isinstance(part, dict):
        yield from (each for key, each in part.items() if TOTAL.search(key) and isinstance(each, int))
        for each in part.values():
            yield from _totals(each)


@pytest.mark.needs("network")
async def test_a_row_that_a_service_withholds_is_noticed(tenant: Tenant) -> None:
    """The listing ends as TruncatedListing, or was read again until every asset was listed."""
    source = tenant.connect()
    await source.probe()
    there = {
        str(entry.id)
        async for shard in source.shards(EVERYTHING)
        async for batch in source.crawl(shard, None)
        for entry in batch.entries
    }
    shards = [shard async for shard in source.shards(EVERYTHING)]
    network = tenant.transport
    tenant.transport = holding = Holding(network, there)
    try:
        holed = tenant.connect()
    finally:
        tenant.transport = network
    told: set[str] = set()
    try:
        for shard in shards:
            holding.first = None
            async for batch in holed.crawl(shard, None):
                told |= {str(entry.id) for entry in batch.entries}
    except TruncatedListing:
        told = there
    assert told == there or not holding.counted
    assert holding.held
