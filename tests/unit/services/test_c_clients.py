"""Service C as other people's clients and published schemas know it: names in changes, plain errors, tags returned."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import AssetId, Patch
from dam_sync.model.errors import NotFound, Rejected
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.tenant import Start, content
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connections import entries
from tests.support.state.memory_journal import MemoryJournal
from tests.unit.services.test_c_service import draft, made

KIND = "c_brandlibrary"


class Recording(AlteredTransport):
    """Keeps what changes of assets send."""

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[dict[str, Any]] = []

    def sent(self, request: httpx.Request) -> httpx.Request:
        if request.method == "PUT" and re.fullmatch("/api/v4/assets/[^/]+", request.url.path):
            self.changes.append(json.loads(request.content)["data"]["attributes"])
        return request


async def test_the_name_is_sent_with_each_change_where_it_is_known(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1)])
    tenant.transport = recorded = Recording()
    service = tenant.connect()
    await service.schema()
    identity = await made(tenant, service, draft("m-1", status="published"))
    await service.update(identity, Patch(fields={"description": "d", "note": "n"}))
    await service.update(identity, Patch(fields={"name": "Other"}))
    async with content(tenant, "more.jpg", seed="more") as (given, _):
        await service.attach(identity, given, MemoryJournal())
    assert [change["name"] for change in recorded.changes] == ["m-1.jpg", "m-1.jpg", "Other", "Other"]


async def test_a_change_that_is_refused_without_the_name_is_sent_with_it(start: Start) -> None:
    """The next ones are sent with it at once."""
    tenant = start([*SCHEMA, asset(1)], variant="name_on_put")
    tenant.transport = recorded = Recording()
    service = tenant.connect()
    for status in ("pending", "published"):
        await service.update(tenant.of_catalogue(1), Patch(status=status))
        assert tenant.truth()[tenant.of_catalogue(1)]["status"] == status
    named = ["approved", "name"]
    assert [sorted(change) for change in recorded.changes] == [["approved"], named, named]


async def test_an_error_that_is_a_plain_text_is_reported(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1)], variant="plain_errors")
    with pytest.raises(NotFound, match="returned 404 Not Found: Record not found") as error:
        await tenant.connect().fetch(AssetId("4kq7wn2vhx9rbt6cmz3fjp8d"))
    assert '"' not in error.value.message


@pytest.mark.parametrize("answer", ["odd:2", "odd"])
async def test_tags_that_the_response_lacks_are_missing(start: Start, answer: str) -> None:
    tenant = start([*SCHEMA, asset(1)])
    service = tenant.connect()
    await service.schema()
    tenant.fail({"match": "POST /api/v4/assets/*/tags", "do": answer})
    with pytest.raises(Rejected, match="tags"):
        await made(tenant, service, draft("m-1", tags=frozenset({"sea", "dawn"})))


async def test_assets_of_one_timestamp_are_listed_in_one_order(start: Start) -> None:
    """A plan gives names to assets in this order, and a run the same ones (wire C 2.2)."""
    rows = [asset(number, imported_at="2024-03-01T00:00:00Z") for number in range(1, 21)]
    tenant = start([*SCHEMA, *rows], variant="shuffled")
    first, second = [[entry.id for entry in await entries(tenant.connect(read_only=True))] for _ in range(2)]
    assert first == second
    assert len(first) == len(rows)
