"""The contract of webhooks: subscriptions are found again, changed and ended; what is not genuine is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dam_sync.model.asset import AssetId
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import ContractBroken
from dam_sync.model.service import Service
from dam_sync.model.webhooks import Delivery, Endpoint
from tests.conformance.tenant import Tenant
from tests.support.services.connections import entries

pytestmark = pytest.mark.needs(Operation.SUBSCRIBE)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HERE = Endpoint("https://hooks.example/webhooks/museum/one", "museum", SECRET)
THERE = replace(HERE, url="https://elsewhere.example/webhooks/museum/two")
NOBODY = "http://127.0.0.1:9/webhooks/museum/one"  # where a test delivery goes


async def test_a_second_subscription_finds_the_first(fresh: Callable[..., Tenant]) -> None:
    tenant = fresh()
    first = await tenant.connect().subscribe(HERE)
    assert first.changed == len(first.ids) >= 1
    again = await tenant.connect().subscribe(HERE)  # as from another state
    assert (again.ids, again.changed) == (first.ids, 0)
    with tenant.costs() as spent:
        same = await tenant.connect().subscribe(replace(HERE, known=first.ids, current=True))
    assert (same.ids, same.changed) == (first.ids, 0)
    assert not [call for call in spent if not call.startswith("GET ") and "token" not in call], spent


async def test_another_url_replaces_the_one_before(fresh: Callable[..., Tenant]) -> None:
    tenant = fresh()
    service = tenant.connect()
    first = await service.subscribe(HERE)
    moved = await service.subscribe(replace(THERE, known=first.ids))
    assert moved.changed == len(moved.ids) == len(first.ids)
    assert (await service.subscribe(replace(THERE, known=moved.ids, current=True))).changed == 0
    assert await service.unsubscribe(HERE) == 0
    assert await service.unsubscribe(replace(THERE, known=moved.ids)) == len(moved.ids)
    assert await service.unsubscribe(replace(THERE, known=moved.ids)) == 0
    assert (await service.subscribe(HERE)).changed == len(first.ids)


async def test_a_source_that_is_only_read_is_not_subscribed_to(fresh: Callable[..., Tenant]) -> None:
    with pytest.raises(ContractBroken, match="opened read-only"):
        await fresh().connect(read_only=True).subscribe(HERE)


async def test_a_test_delivery_is_asked_for(fresh: Callable[..., Tenant]) -> None:
    service = fresh().connect()
    endpoint = replace(HERE, url=NOBODY)
    made = await service.subscribe(endpoint)
    assert isinstance(await service.send_test(replace(endpoint, known=made.ids)), bool)


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{}", b'{"data": 5}', b"\xff", b'{"data": {"attributes": []}}', b"[" * 99_999]
)
@pytest.mark.usefixtures("collected")
async def test_what_is_no_delivery_names_no_asset(service: Service, body: bytes) -> None:
    delivery = Delivery({}, body, datetime(2026, 1, 1, tzinfo=UTC))
    try:
        hint = service.hint_of(delivery, HERE)
    except ContractBroken:
        return
    assert hint is None or not hint.asset


async def test_ids_of_no_asset_are_dropped_or_left_to_the_read(service: Service, tenant: Tenant) -> None:
    asset = (await entries(service))[0].id
    found = await service.hinted(["0" * 24, asset])
    assert asset in found
    assert found <= {asset, AssetId("0" * 24)}
    assert json.dumps(sorted(found))
