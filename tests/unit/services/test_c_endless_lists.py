"""Lists of service C that have no end: the same page again, more and more rows, labels in a circle."""

from __future__ import annotations

import httpx
import pytest

from dam_sync.model.errors import ContractBroken, TruncatedListing
from dam_sync.model.service import Window
from dam_sync.model.values import Json
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.tenant import Start
from tests.support.network.altered_transport import AlteredTransport

KIND = "c_brandlibrary"


class FirstPageForEver(AlteredTransport):
    """Every page of a list of assets is the first one, and no response says how many there are."""

    def __init__(self, network: httpx.AsyncBaseTransport) -> None:
        super().__init__(network)
        self.first: Json = None
        self.repeated = 0

    def altered(self, request: httpx.Request, body: Json) -> Json:
        params = request.url.params
        if "include" not in params or params.get("per") != "10" or params.get("sort_by") != "created_at":
            return body
        if params["page"] == "1":
            self.first = body
        else:
            self.repeated += 1
        assert self.repeated < 50, "it is read again and again"
        return {key: part for key, part in self.first.items() if key != "meta"}


async def test_a_list_that_has_the_same_page_for_ever_is_noticed(start: Start) -> None:
    tenant = start([*SCHEMA, *(asset(number) for number in range(1, 41))])
    tenant.transport = network = FirstPageForEver(tenant.transport)
    service = tenant.connect(read_only=True, options={"page": 10})
    shards = [shard async for shard in service.shards(Window())]
    with pytest.raises(TruncatedListing, match="12 pages in a row without a new asset"):
        async for _ in service.crawl(shards[0], None):
            pass
    assert network.repeated


class SectionsWithoutEnd(AlteredTransport):
    """Each page of the list of sections has another section with a name of 20 MB."""

    pages = 0

    def instead(self, request: httpx.Request) -> Json:
        if not request.url.path.endswith("/sections"):
            return None
        self.pages += 1
        row = {"id": f"s{self.pages}", "type": "section", "attributes": {"name": f"{self.pages}" + "x" * 20_000_000}}
        return {"data": [row], "meta": {"next_page": self.pages + 1}}


async def test_a_list_of_sections_without_end_does_not_fill_the_memory(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1)])
    tenant.transport = network = SectionsWithoutEnd(tenant.transport)
    service = tenant.connect(read_only=True)
    with pytest.raises(ContractBroken, match="a list has more than"):
        [each async for each in service.containers()]
    assert network.pages < 20


class LabelsInACircle(AlteredTransport):
    """Each of many labels is the parent of the next one, the last one of the first."""

    def instead(self, request: httpx.Request) -> Json:
        if not request.url.path.endswith("/labels"):
            return None
        ids = [f"l{number}" for number in range(2000)]
        rows = [
            {"id": own, "type": "label", "attributes": {"name": own, "path": [parent, own]}}
            for own, parent in zip(ids, [ids[-1], *ids], strict=False)
        ]
        return {"data": rows, "meta": {"total_count": len(rows)}}


async def test_labels_that_are_each_others_parents_are_at_the_top(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1)])
    tenant.transport = LabelsInACircle(tenant.transport)
    service = tenant.connect(read_only=True)
    paths = [each.path async for each in service.containers() if each.kind == "label"]
    assert len(paths) == 2000
    assert max(map(len, paths)) == 1
