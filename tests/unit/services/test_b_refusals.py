"""Service B refuses one document: the others are served."""

from __future__ import annotations

import httpx
import pytest

from dam_sync.model.asset import AssetId, Draft, Marker, Relation
from dam_sync.model.errors import Conflict, Rejected, Unsupported
from dam_sync.services.b_documents.target.create_once import asset_name
from tests.conformance.catalogue import LINK
from tests.conformance.tenant import Tenant, content
from tests.support.services.connections import entries
from tests.support.state.memory_journal import MemoryJournal

KIND = "b_documents"


def draft(key: str) -> Draft:
    return Draft(
        Marker("lib:srckey", key), f"{key}.jpg", profile="Photo", fields={"lib:srckey": key, "lib:title": "New"}
    )


async def made(tenant: Tenant, key: str) -> AssetId:
    service = tenant.connect()
    async with content(tenant, f"{key}.jpg", seed=key) as (given, _):
        identity = await service.create(draft(key), given, MemoryJournal())
    await service.end_shared()
    return identity


async def test_a_batch_that_may_not_be_dropped_ends_by_itself(tenant: Tenant) -> None:
    tenant.fail({"match": "DELETE /api/v1/upload/*", "nth": 1, "do": "status:403"})
    identity = await made(tenant, "kept")
    assert [row["id"] for row in tenant.marked("kept")] == [identity]


async def test_a_document_that_takes_no_attachment_is_refused_alone(tenant: Tenant) -> None:
    """Its lock is somebody else's (wire B 7.3)."""
    service = tenant.connect()
    tenant.fail({"match": "POST *Blob.AttachOnDocument", "nth": 1, "do": "status:403"})
    async with content(tenant, "plan.pdf") as (given, _):
        with pytest.raises(Rejected) as refused:
            await service.attach(tenant.of_catalogue(2), given, MemoryJournal())
    assert "lock" in refused.value.hint


async def test_a_server_without_relations_refuses_them_alone(tenant: Tenant) -> None:
    service = tenant.connect()
    tenant.fail({"match": "POST *Document.AddRelation", "every": 1, "do": "status:405"})
    with tenant.costs() as spent:
        for each in (3, 4):
            with pytest.raises(Unsupported) as refused:
                await service.relate(tenant.of_catalogue(2), Relation(LINK, tenant.of_catalogue(each)))
            assert "option `relations`" in refused.value.hint
    assert spent["POST /api/v1/automation/Document.AddRelation"] == 1


async def test_a_hidden_document_under_our_name_is_a_conflict_and_leaves_no_twin(
    tenant: Tenant, raw: httpx.AsyncClient
) -> None:
    """What has our name may not be read by us (wire B 7.3)."""
    body = {"entity-type": "document", "type": "File", "name": asset_name("taken"), "properties": {"dc:title": "x"}}
    (await raw.post("/path/default-domain/workspaces", json=body)).raise_for_status()
    before = set(tenant.truth())
    tenant.fail({"match": f"GET *{asset_name('taken')}", "every": 1, "do": "status:403"})
    with pytest.raises(Conflict, match="another document already has"):
        await made(tenant, "taken")
    assert set(tenant.truth()) == before


@pytest.mark.parametrize(
    ("status", "losses"),
    [
        pytest.param(404, [], id="not found once: read again"),
        pytest.param(403, ["cannot be read"], id="not permitted: a loss"),
    ],
)
async def test_relations_that_are_refused_once(tenant: Tenant, status: int, losses: list[str]) -> None:
    service = tenant.connect(read_only=True, options={"relations": LINK})
    tenant.fail({"match": "POST *Document.GetLinkedDocuments", "nth": 1, "do": f"status:{status}"})
    found = [entry.asset for entry in await entries(service) if entry.asset is not None]
    assert len(found) == len(tenant.truth())
    assert [loss.rule for asset in found for loss in asset.losses if loss.path == "relations"] == losses
