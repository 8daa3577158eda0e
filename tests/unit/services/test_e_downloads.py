"""Bytes of files of service E: from any offset, after a link expired, and where they are refused."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from dam_sync.model.errors import (
    Rejected,
    Transient,
)
from dam_sync.model.estimator import Estimator
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connected_e import Open, asset, serving
from tests.support.services.connections import body, entries


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def test_a_web_page_is_not_taken_for_a_document_whose_size_is_unknown(opened: Open) -> None:
    papers = [{"name": "release.pdf", "generate": {"size": 300, "seed": 9}}]
    tenant = opened(asset(1, attachments=papers))
    service = tenant.connect(read_only=True, attachments="on")
    (paper,) = (await service.fetch(tenant.of_catalogue(1))).attachments
    assert paper.size is None
    tenant.faults.add([{"match": "GET /objects*", "do": "html:200", "nth": 1}])
    with pytest.raises(Transient, match="a web page arrived"):
        await body(service, paper)
    assert len(await body(service, paper)) == 300


async def test_bytes_from_any_offset_and_after_the_link_expired(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect(read_only=True)
    (entry,) = await entries(service)
    assert entry.asset is not None
    assert entry.asset.file is not None
    whole = await body(service, entry.asset.file)
    assert hashlib.md5(whole).hexdigest() == tenant.truth()[tenant.of_catalogue(1)]["versions"][0]["digests"]["md5"]
    assert await body(service, entry.asset.file, 700) == whole[700:]
    tenant.world.advance(3 * 24 * 3600)
    with tenant.costs() as spent:
        assert await body(service, entry.asset.file) == whole
    assert spent == {"GET /v2/assets/{id}": 1}
    with tenant.costs() as spent:
        assert await body(tenant.connect(read_only=True), entry.asset.file) == whole
    assert spent == {"GET /v2/assets/{id}": 1}


class UnlinkedTransport(AlteredTransport):
    """The user may not download `photo 1.jpg` (wire E 4)."""

    def altered(self, request: httpx.Request, body: Any) -> Any:
        for row in body.get("items", [body]) if isinstance(body, dict) else []:
            if row.get("filename") == "photo 1.jpg":
                del row["_links"]["download"]
        return body


async def test_a_plan_knows_of_an_original_that_may_not_be_downloaded(opened: Open) -> None:
    tenant = opened(asset(1), asset(2))
    tenant.transport = UnlinkedTransport()
    service = tenant.connect(read_only=True)
    outcomes = {}
    for entry in await entries(service):
        assert entry.asset is not None
        assert entry.asset.file is not None
        outcomes[entry.asset.filename] = entry.asset.file
    assert Estimator(service).open(outcomes["photo 2.jpg"]) == {}
    with pytest.raises(Rejected) as planned:
        Estimator(service).open(outcomes["photo 1.jpg"])
    with pytest.raises(Rejected) as opening:
        await body(service, outcomes["photo 1.jpg"])
    assert planned.value.code == opening.value.code == "no download link"


async def test_the_error_for_a_link_refused_again_and_again_does_not_contain_it(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect(read_only=True)
    (entry,) = await entries(service)
    assert entry.asset is not None
    assert entry.asset.file is not None
    tenant.faults.add([{"match": "GET /*download*", "do": "status:403"}, {"match": "GET /o*", "do": "status:403"}])
    with pytest.raises(Rejected) as refused:
        await body(service, entry.asset.file)
    assert "Signature" not in str(refused.value) + refused.value.hint
    assert refused.value.asset == entry.id
