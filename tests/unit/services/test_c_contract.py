"""Service C: what its contract allows a client to send, and what a client has to survive, line by line."""

from __future__ import annotations

from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.tenant import Start
from tests.support.connected import entries

KIND = "c_brandlibrary"


async def test_pages_follow_next_page_where_they_are_shorter_than_asked_for(start: Start) -> None:
    """`next_page` is preferred to what the total says (wire C 2); each asset is listed by one order alone."""
    tenant = start([*SCHEMA, *(asset(number) for number in range(1, 31))], variant="short_pages")
    service = tenant.connect(read_only=True, options={"version_counts": "off"})
    with tenant.costs() as spent:
        found = [entry.id for entry in await entries(service)]
    assert sorted(found) == sorted(tenant.truth())
    assert spent["GET /api/v4/libraries/{id}/assets"] <= 7
