"""The contract of public links: they open without a credential, do not expire, and end with their asset."""

from __future__ import annotations

from contextlib import suppress

import pytest

from dam_sync.http.redaction import redact
from dam_sync.model.asset import AssetId
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import Rejected
from dam_sync.model.exposure import audience_of
from dam_sync.model.public_link import is_signed, plain_url
from dam_sync.model.service import Service
from tests.conformance.tenant import Tenant

pytestmark = pytest.mark.needs(Operation.PUBLIC_LINKS)
NOBODY = AssetId("00000000-0000-0000-0000-000000000000")


@pytest.mark.needs("network")
async def test_a_published_asset_has_links_that_last(tenant: Tenant, source: Service) -> None:
    links = await source.public_links(tenant.of_catalogue(1))
    assert links
    for url in links.values():
        assert plain_url(url) == url
        assert not is_signed(url)
        assert redact(url) == url
    assert await tenant.connect(read_only=True).public_links(tenant.of_catalogue(1)) == links


async def test_who_sees_a_published_asset_is_what_a_reading_says(tenant: Tenant, source: Service) -> None:
    for number in (1, 2, 3, 4):
        asset = tenant.of_catalogue(number)
        found, read = await source.published(asset), await source.fetch(asset)
        assert audience_of(found.asset) == audience_of(read)
        assert found.links == await source.public_links(asset)


async def test_an_unknown_asset_has_none(source: Service) -> None:
    with suppress(Rejected):
        assert await source.public_links(NOBODY) == {}


@pytest.mark.needs(Operation.REMOVE)
async def test_what_is_in_the_trash_has_none(tenant: Tenant, service: Service) -> None:
    asset = tenant.of_catalogue(3)
    await service.remove(asset)
    with suppress(Rejected):
        assert await service.public_links(asset) == {}
