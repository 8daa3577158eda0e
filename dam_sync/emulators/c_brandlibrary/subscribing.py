"""The calls of the webhooks service, on a base of its own (wire C 9)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from dam_sync.emulators.c_brandlibrary.calls import Call, Reply, attributes_of
from dam_sync.emulators.c_brandlibrary.records import LEVELS, Library, Refusal
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.c_brandlibrary.webhooks import EVENTS, Subscription, Webhooks
from dam_sync.emulators.kit.environment import Json

_LOOPBACK = ("127.0.0.1", "localhost")


class Subscribing:
    """Handlers; a caller sees only subscriptions of their own."""

    def __init__(self, tenant: Tenant, webhooks: Webhooks) -> None:
        self._tenant, self._webhooks = tenant, webhooks

    async def list(self, call: Call) -> Reply:
        """The active ones; without `meta`."""
        found = self._webhooks.subscriptions.values()
        return Reply(json={"data": [_shown(each) for each in found if self._own(each, call)]})

    async def one(self, call: Call) -> Reply:
        """One of them."""
        return Reply(json={"data": _shown(self._find(call))})

    async def add(self, call: Call) -> Reply:
        """A new subscription, one per user, event type and library."""
        sent = await self._attributes(call)
        library = self._library(sent, call)
        for each in self._webhooks.subscriptions.values():
            if self._own(each, call) and (each.event_type, each.library) == (sent.get("event_type"), library.id):
                raise Refusal(409, "Subscription already exists")
        made = self._subscription(sent, library, call)
        self._webhooks.subscriptions[made.id] = made
        return Reply(json={"data": _shown(made)})

    async def delete(self, call: Call) -> Reply:
        """No more deliveries."""
        del self._webhooks.subscriptions[self._find(call).id]
        return Reply(json={})

    async def send(self, call: Call) -> Reply:
        """A generated notification, soon."""
        sent = await self._attributes(call)
        demo = self._subscription(sent, self._library(sent, call), call)
        asset = str(sent.get("asset_key") or self._tenant.names.key())
        self._webhooks.send(demo, self._webhooks.payload(demo, asset, self._tenant.now()))
        return Reply(202, {"message": "Added demo webhook to queue", "status": "ok"})

    async def _attributes(self, call: Call) -> Mapping[str, Json]:
        try:
            return attributes_of(await call.json())
        except Refusal as refusal:
            raise Refusal(400, refusal.message) from None

    def _subscription(self, sent: Mapping[str, Json], library: Library, call: Call) -> Subscription:
        event, url = sent.get("event_type"), sent.get("callback_url")
        if event not in EVENTS:
            raise Refusal(400, "Unknown event type")
        parts = urlsplit(url) if isinstance(url, str) else urlsplit("")
        loopback = parts.hostname in _LOOPBACK and self._tenant.options.insecure_hooks
        if not parts.hostname or (parts.scheme != "https" and not loopback):
            raise Refusal(400, "callback_url must be a public https address")
        return Subscription(self._tenant.names.uuid(), call.caller().id, str(event), library.id, str(url))

    def _library(self, sent: Mapping[str, Json], call: Call) -> Library:
        if self._tenant.tokens.inward(sent.get("resource_type")) != "library":
            raise Refusal(400, "Unknown resource type")
        library = self._tenant.libraries.get(str(sent.get("resource_key")))
        if library is None:
            raise Refusal(404, "Unknown resource")
        self._tenant.check(self._tenant.accounts.level(call.caller(), library), LEVELS[0])
        return library

    def _own(self, each: Subscription, call: Call) -> bool:
        return each.active and each.user == call.caller().id

    def _find(self, call: Call) -> Subscription:
        found = self._webhooks.subscriptions.get(call.id)
        if found is None or not self._own(found, call):
            raise Refusal(404, "Subscription not found")
        return found


def _shown(each: Subscription) -> Json:
    """A subscription as the service shows it, without a type."""
    attributes = {
        "event_type": each.event_type,
        "resource_key": each.library,
        "resource_type": "library",
        "callback_url": each.callback_url,
    }
    return {"id": each.id, "attributes": attributes}
