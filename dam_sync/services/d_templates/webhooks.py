"""Webhooks of service D: one endpoint for all kinds of events; deliveries are signed as Standard Webhooks."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import ClassVar

from standardwebhooks import Webhook

from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.http.parsing import parsed
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import ConfigError, NotFound, Rejected
from dam_sync.model.values import Json
from dam_sync.model.webhooks import Delivery, Endpoint, Hint, Subscribed
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.wire import listed
from dam_sync.services.d_templates.tenant import TemplatesPart

_SECRET = re.compile(r"whsec_[A-Za-z0-9+/]+={0,2}")
_TIMESTAMP = re.compile(r"[1-9][0-9]{0,10}")
_LONGEST_ID = 200


class TemplatesWebhooks(TemplatesPart):
    """Subscribes to changes of assets, and reads deliveries."""

    keyed_endpoints: ClassVar[bool] = False

    async def subscribe(self, endpoint: Endpoint) -> Subscribed:
        """One endpoint with our URL; a disabled one is enabled again."""
        wanted = await self._events()
        body = {"description": f"dam-sync {endpoint.name}", "eventTypes": wanted, "url": endpoint.url}
        rows = await self._endpoints(endpoint)
        changed = 0
        if not rows:
            reply = await self.api.write(facts.ADD_ENDPOINT, "", [body], again=False)
            ids = {_made(reply.json())}
            changed = 1
        else:
            ids = {member_text(row, "id") for row in rows}
            for row in rows:
                if not _same(row, body):
                    enabled = {"disabled": False} if row.get("disabled") else {}  # no field of a new one (wire D 9.1)
                    await self.api.write(facts.CHANGE_ENDPOINT, member_text(row, "id"), {**body, **enabled})
                    changed += 1
        if not _SECRET.fullmatch(endpoint.secret):
            raise ConfigError(
                "the endpoint exists, but its deliveries are refused: `webhooks.secret` is not its signing secret",
                hint="copy the secret (whsec_…) from the administration interface of the service",
            )
        return Subscribed(frozenset(ids), changed)

    async def unsubscribe(self, endpoint: Endpoint) -> int:
        """The endpoint with its URL, and what was made for an earlier one."""
        rows = await self._endpoints(endpoint)
        for row in rows:
            request = self.api.request(
                facts.DROP_ENDPOINT, member_text(row, "id"), repeatable=True, accept=frozenset({404})
            )
            await self.api.send(request)
        return len(rows)

    def hint_of(self, delivery: Delivery, endpoint: Endpoint) -> Hint | None:
        """The record that an event names; events that concern no asset name none."""
        if not is_genuine(delivery, endpoint.secret):
            return None
        return Hint(delivery.headers["webhook-id"], _named(delivery.body))

    async def hinted(self, names: Sequence[str]) -> frozenset[AssetId]:
        """The assets that these records are versions of; one call for each."""
        found = await gather_or_raise([self._owner(name) for name in names])
        return frozenset(asset for asset in found if asset is not None)

    async def _owner(self, record: str) -> AssetId | None:
        try:
            return (await self.version_groups.owner(record))[0]
        except (NotFound, Rejected):
            return None

    async def _events(self) -> list[str]:
        """The kinds of events that this service has of those that show changes of assets."""
        known = {member_text(row, "name") for row in listed(await self.api.ask(facts.EVENT_TYPES), "types")}
        return sorted(known & facts.EVENTS)

    async def _endpoints(self, endpoint: Endpoint) -> list[Json]:
        rows = listed(await self.api.ask(facts.ENDPOINTS), "endpoints")
        return [
            row for row in rows if member_text(row, "url") == endpoint.url or member_text(row, "id") in endpoint.known
        ]


def is_genuine(delivery: Delivery, secret: str) -> bool:
    """Whether it is signed with this secret, and was sent within the tolerance (wire D 9.2). The library computes the
    signature; its own check goes by another clock and takes several spellings of one signature."""
    headers = delivery.headers
    identity, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (_SECRET.fullmatch(secret) and identity.isascii() and 0 < len(identity) <= _LONGEST_ID):
        return False
    if not _TIMESTAMP.fullmatch(timestamp):
        return False
    if abs(delivery.at.timestamp() - int(timestamp)) > facts.WEBHOOK_TOLERANCE.total_seconds():
        return False
    try:
        expected = Webhook(secret).sign(identity, datetime.fromtimestamp(int(timestamp), UTC), delivery.body.decode())
    except ValueError:  # a body that is not text, a secret that is not base64
        return False
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected.encode(), each.encode("utf-8", "surrogateescape")) for each in given)


@interprets_response
def _named(body: bytes) -> str:
    event = parsed(body)
    return member_text(event.get("asset"), "id") if member_text(event, "eventType") in facts.EVENTS else ""


@interprets_response
def _made(reply: Json) -> str:
    """The id of the one endpoint that was created, alone or in an array (wire D 9.1)."""
    return str((reply[0] if isinstance(reply, list) else reply)["id"])


@interprets_response
def _same(row: Json, body: Mapping[str, Json]) -> bool:
    same_events = sorted(row.get("eventTypes") or ()) == body["eventTypes"]
    return same_events and row.get("url") == body["url"] and not row.get("disabled")
