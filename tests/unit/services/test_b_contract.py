"""Service B: what its contract allows a client to send, and what a client has to survive, line by line."""

from __future__ import annotations

import httpx

from tests.conformance.tenant import Tenant
from tests.support.altered import AlteredTransport

KIND = "b_documents"
OPERATIONS = "/api/v1/automation/"


class Recording(AlteredTransport):
    """Keeps which operations were run."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[str] = []

    def sent(self, request: httpx.Request) -> httpx.Request:
        if request.url.path.startswith(OPERATIONS):
            self.operations.append(request.url.path.removeprefix(OPERATIONS))
        return request


async def test_members_are_added_by_the_documented_operation(tenant: Tenant) -> None:
    """`Document.AddToCollection` adds, `Collection.RemoveFromCollection` removes (wire B 6.5)."""
    tenant.transport = recorded = Recording()
    service = tenant.connect()
    place = await service.ensure_container("collection", ("Set",))
    recorded.operations.clear()
    await service.place(place, [tenant.of_catalogue(2)], [])
    await service.place(place, [], [tenant.of_catalogue(2)])
    assert recorded.operations == ["Document.AddToCollection", "Collection.RemoveFromCollection"]
