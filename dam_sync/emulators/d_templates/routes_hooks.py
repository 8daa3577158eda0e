"""Handlers of webhook endpoints (wire D 9.1)."""

from __future__ import annotations

from dam_sync.emulators.d_templates.calls import Call, Reply
from dam_sync.emulators.d_templates.records import failed, refused
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.d_templates.webhooks import ENDPOINTS_MOST, EVENTS, Endpoint
from dam_sync.emulators.kit.environment import Json


class HookCalls:
    """`/webhooks`."""

    def __init__(self, tenant: Tenant) -> None:
        self._hooks = tenant.webhooks

    def add(self, call: Call) -> Reply:
        """`POST /webhooks/endpoint`: an array of 1 to 50."""
        rows = call.array()
        if not 1 <= len(rows) <= ENDPOINTS_MOST or not all(isinstance(row, dict) for row in rows):
            raise failed(400, "The body must have 1 to 50 items")
        made = [{"id": self._hooks.add(row).id} for row in rows]
        return Reply(200, made[0] if len(made) == 1 else made)

    def every(self, call: Call) -> Reply:
        """`GET /webhooks/endpoint/list`."""
        return Reply(200, [_shown(each) for each in self._hooks.endpoints.values()])

    def one(self, call: Call) -> Reply:
        """`GET /webhooks/endpoint/{id}`."""
        return Reply(200, _shown(self._find(call)))

    def change(self, call: Call) -> Reply:
        """`PATCH /webhooks/endpoint/{id}`."""
        self._hooks.change(self._find(call), call.json())
        return Reply(204)

    def drop(self, call: Call) -> Reply:
        """`DELETE /webhooks/endpoint/{id}`."""
        del self._hooks.endpoints[self._find(call).id]
        return Reply(204)

    def oauth(self, call: Call) -> Reply:
        """`PUT` and `DELETE /webhooks/endpoint/oauth/{id}`."""
        self._find(call).oauth = call.json() or None
        return Reply(204)

    def types(self, call: Call) -> Reply:
        """`GET /webhooks/event-type/list`."""
        return Reply(200, [{"name": name, "description": name, "createdDate": "2024-05-09"} for name in EVENTS])

    def _find(self, call: Call) -> Endpoint:
        found = self._hooks.endpoints.get(call.id)
        if found is None:
            raise refused(404, "Endpoint not found")
        return found


def _shown(endpoint: Endpoint) -> Json:
    return {
        "id": endpoint.id,
        "description": endpoint.description,
        "disabled": endpoint.disabled,
        "url": endpoint.url,
        "eventTypes": list(endpoint.events),
        "rateLimit": endpoint.rate,
    }
