"""Service A: who sees a media at the source, who would see a draft, and how one is made that nobody sees."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import Draft, Patch
from dam_sync.model.audience import Audience, Restriction, RestrictionKind
from dam_sync.model.capabilities import Feature
from dam_sync.model.errors import Rejected
from dam_sync.model.estimator import Estimator
from dam_sync.model.values import Json
from tests.support.services.connected_a import Open, Tenant, asset, draft_for, serving
from tests.support.services.connections import EVERYTHING, Bytes, alike
from tests.support.state.memory_journal import MemoryJournal

TRAP = {"record": "status", "name": "Draft", "status": "published"}  # a title that says less than its base status


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


def seen(tenant: Tenant) -> Any:
    """What the emulator says that outsiders see, and saw in the meantime."""
    return httpx.get(f"{tenant.served.url}/_emulator/audience", verify=False).json()


@pytest.mark.parametrize("level", ["BD", "NONE"])
async def test_a_download_level_below_hd_is_a_restriction(opened: Open, level: str) -> None:
    tenant = opened(asset(1, rights={"restrictions": [{"kind": "download", "detail": level}]}), asset(2))
    service = tenant.connect(read_only=True)
    found = {(await service.fetch(identity)).rights.restrictions for identity in tenant.truth()}
    assert found == {frozenset(), frozenset({Restriction(RestrictionKind.DOWNLOAD, f"download level {level}")})}


async def test_a_rich_search_returns_the_same_audience(opened: Open) -> None:
    tenant = opened(
        asset(1), asset(2, rights={"restrictions": [{"kind": "download", "detail": "BD"}]}), rich_search=True
    )
    service = tenant.connect(read_only=True)
    found = [
        entry.asset
        async for shard in service.shards(EVERYTHING)
        async for batch in service.crawl(shard, None)
        for entry in batch.entries
    ]
    assert sorted(len(one.rights.restrictions) for one in found if one) == [0, 1]


@pytest.mark.parametrize(
    ("status", "hidden"),
    [("published", False), ("Internal", False), ("Draft", True), ("draft", True), ("archived", True), ("", True)],
)
async def test_a_draft_is_seen_as_its_base_status_says(opened: Open, status: str, hidden: bool) -> None:
    service = opened(TRAP, asset(1)).connect()
    await service.schema()
    found = service.audience(Draft(None, "x.jpg", status=status))
    assert bool(found.hidden) is hidden
    assert replace(found, hidden="") == Audience()
    assert service.audience(Draft(None, "x.jpg", status=status, closed=True)).hidden


@pytest.mark.parametrize("bulk", ["auto", "off"])
async def test_a_closed_draft_is_seen_by_nobody_until_it_is_opened(opened: Open, bulk: str) -> None:
    tenant = opened(TRAP, asset(1))
    service = tenant.connect(bulk=bulk)
    assert (await service.schema()).capabilities.writes(Feature.CLOSED)
    before = seen(tenant)
    more = {"rating": 3, "cleared": True, "keywords": ("sea",), "legend": "Light"}
    draft = replace(await draft_for(service, **more), closed=True)
    told = Estimator(service).write(draft, 90)
    with tenant.costs() as spent:
        made = await service.create(draft, Bytes("m.jpg", b"m" * 90), MemoryJournal())
    assert alike(spent) == alike(told)
    assert seen(tenant) == before
    assert (await service.fetch(made)).status == "draft"
    opening = Patch(fields={"rating": 4}, status="published", closed=False)
    told = Estimator(service).write(opening)
    with tenant.costs() as spent:
        await service.update(made, opening)
    assert alike(spent) == alike(told)
    assert made in seen(tenant)["now"]
    closing = Patch(fields={"rating": 5}, status="published", closed=True)
    told = Estimator(service).write(closing)
    with tenant.costs() as spent:
        await service.update(made, closing)
    assert alike(spent) == alike(told)
    assert seen(tenant)["now"] == before["now"]
    assert (await service.fetch(made)).fields["rating"] == 5


async def test_a_media_is_hidden_before_anything_else_is_written(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    (made,) = tenant.truth()
    tenant.faults.add([{"match": "PUT /api/dam/medias/*/metadatas/rating", "do": "status:400"}])
    with pytest.raises(Rejected):
        await service.update(made, Patch(fields={"rating": 5}, closed=True))
    assert made not in seen(tenant)["now"]


def publish(tenant: Tenant, media: str) -> None:
    """What an administrator would do."""
    with httpx.Client(base_url=f"{tenant.served.url}/api/dam", auth=("dam-sync", "secret-a"), verify=False) as admin:
        admin.put(f"{media}/metadatas/title", json={"value": "x"}).raise_for_status()
        rows = admin.get("/medias/custom-statuses", params={"forceArrays": "true"}).json()
        links = {row["title"]: row["_links"]["self"] for row in rows["_embedded"]["custom-status"]}
        body = admin.get(media).json()
        body["_links"]["svc:custom-status"] = links["Internal"]
        admin.put(media, json=body).raise_for_status()


class PublishedAtOnce(MemoryJournal):
    """As in an instance that publishes what is made: the media is published as soon as it is there."""

    tenant: Tenant

    async def run(self, name: str, call: Any, **more: Any) -> Json:
        known = name in self.done
        result = await super().run(name, call, **more)
        if name == "create" and not known:
            publish(self.tenant, f"/medias/{result['id']}")
        return result


@pytest.mark.parametrize("draft", [{"closed": True}, {"status": "archived"}, {"status": ""}])
async def test_an_instance_that_publishes_at_once_gets_nothing_that_must_be_hidden(opened: Open, draft: Any) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    await service.schema()
    before = seen(tenant)["now"]
    for key in ("m-1", "m-2"):
        journal = PublishedAtOnce()
        journal.tenant = tenant
        with pytest.raises(Rejected, match="publishes"):
            await service.create(
                replace(await draft_for(service, key), **draft), Bytes(f"{key}.jpg", b"m" * 90), journal
            )
    assert seen(tenant)["now"] == before
    assert len(tenant.truth()) == 2, "the second one was made though the first one showed what would come of it"
