"""Webhook subscriptions, and deliveries as they really travel (wire C 9)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime

from dam_sync.emulators.c_brandlibrary.records import Asset
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.posting import status_of

EVENTS = ("asset.create", "asset.update", "asset.delete")
RETRIES = 15
_LONGEST_WAIT = 5.0
_SECONDS = 10


@dataclass(slots=True)
class Subscription:
    """One event type of one library, asked for by one user."""

    id: str
    user: str
    event_type: str
    library: str
    callback_url: str
    active: bool = True


class Webhooks:
    """The subscriptions; `fire` is what the tenant calls. Deliveries need a running event loop, and are noted in
    `deliveries` with how each ended."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self.subscriptions: dict[str, Subscription] = {}
        self.deliveries: list[dict[str, Json]] = []
        self._held: tuple[Subscription, Json] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def fire(self, event: str, asset: Asset, at: int) -> None:
        """Tell everybody who asked, unless the user has lost the library."""
        for each in list(self.subscriptions.values()):
            if each.active and each.event_type == event and each.library == asset.library:
                user = self._tenant.accounts.users.get(each.user)
                if self._tenant.accounts.level(user, self._tenant.libraries[each.library]) < 0:
                    each.active = False
                else:
                    self.send(each, self.payload(each, asset.id, at))

    def payload(self, subscription: Subscription, asset: str, at: int) -> Json:
        """The body of a delivery: `event_time` without a zone, `webhook_id` next to the attributes."""
        moment = datetime.fromtimestamp(at / 1000, UTC)
        attributes = {
            "key": asset,
            "event_time": f"{moment:%Y-%m-%d %H:%M:%S.%f}",
            "event_type": subscription.event_type,
            f"{self._tenant.tokens.own('library')}_key": subscription.library,
            "organization_key": self._tenant.organization.id,
        }
        return {"data": {"attributes": attributes, "webhook_id": subscription.id}}

    def send(self, subscription: Subscription, body: Json) -> None:
        """Deliver in the manner that the options ask for."""
        mode = self._tenant.options.deliveries
        if mode == "reorder" and self._held is None:
            self._held = (subscription, body)
            return
        self._post(subscription, body)
        if mode == "duplicate":
            self._post(subscription, body)
        if self._held is not None:
            held, self._held = self._held, None
            self._post(*held)

    def _post(self, subscription: Subscription, body: Json) -> None:
        try:
            task = asyncio.get_running_loop().create_task(self._deliver(subscription, body))
        except RuntimeError:
            return  # nobody is served: there is nobody to tell
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, subscription: Subscription, body: Json) -> None:
        """At first, then up to 15 times more with growing waits; then the subscription is inactive."""
        note: dict[str, Json] = {"webhook_id": subscription.id, "body": body, "tries": 0, "arrived": False}
        self.deliveries.append(note)
        for number in range(RETRIES + 1):
            note["tries"] = number + 1
            self._tenant.world.event("delivery", webhook=subscription.id, tries=number + 1)
            if await asyncio.to_thread(_sent, subscription.callback_url, json.dumps(body).encode()):
                note["arrived"] = True
                return
            await self._tenant.world.sleep(min(_LONGEST_WAIT, self._tenant.options.retry_base * 2**number))
        subscription.active = False


def _sent(url: str, body: bytes) -> bool:
    status = status_of(url, {"Content-Type": "application/json"}, body, _SECONDS)
    return status is not None and 200 <= status < 300
