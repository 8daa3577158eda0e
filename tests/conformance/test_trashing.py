"""The contract of a target: a removal is to the trash, and can be undone there."""

from __future__ import annotations

import pytest

from dam_sync.model.asset import AssetId, Draft
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import Rejected
from dam_sync.model.service import Service
from tests.conformance.drafts import (
    one,
    worked,
    writes,
)
from tests.conformance.tenant import Tenant
from tests.support.state.memory_journal import MemoryJournal

pytestmark = pytest.mark.needs(Operation.CREATE)
NOBODY = AssetId("00000000-0000-4000-8000-000000000000")
removes = pytest.mark.needs(Operation.REMOVE)


@removes
async def test_removal_is_to_the_trash_and_never_beyond(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    for _ in range(3):
        await service.remove(identity)
    assert tenant.truth()[identity]["status"] == "trash"
    if "read:trash" not in tenant.absent:
        assert (await service.fetch(identity)).status == "trash"


@removes
async def test_another_process_may_remove_an_asset_again(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    await service.remove(identity)
    await tenant.connect().remove(identity)
    assert tenant.truth()[identity]["status"] == "trash"


@pytest.mark.needs(Operation.REMOVE, Operation.RESTORE)
async def test_what_was_removed_comes_back_as_it_was(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    before = await service.fetch(identity)
    await service.remove(identity)
    for _ in range(2):
        await service.restore(identity, Draft(None, "", status=before.status))
    after = await service.fetch(identity)
    for part in ("filename", "status", "placements", "tags", "relations"):
        assert getattr(after, part) == getattr(before, part), part
    changed = {key for key, value in after.fields.items() if before.fields.get(key) != value}
    assert all(key.endswith("modified") for key in changed), changed
    assert after.fields.keys() == before.fields.keys()
    assert [file.digests for file in after.versions] == [file.digests for file in before.versions]
    with pytest.raises(Rejected):
        await service.restore(NOBODY, Draft(None, "", status=before.status))


@removes
@pytest.mark.parametrize("fault", ["reset_before", "reset_after", "status:503"])
@pytest.mark.needs("network")
async def test_a_removal_whose_response_was_lost_never_purges(tenant: Tenant, service: Service, fault: str) -> None:
    identity = await one(tenant, service)
    other = await one(tenant, service)
    with tenant.costs() as spent:
        await service.remove(other)
    tenant.fail({"match": writes(spent)[0][0], "nth": 1, "do": fault})
    await worked(lambda: service.remove(identity), MemoryJournal())
    await service.remove(identity)
    assert tenant.truth()[identity]["status"] == "trash"


@removes
async def test_what_is_missing_already_needs_no_removal(service: Service) -> None:
    await service.remove(NOBODY)
