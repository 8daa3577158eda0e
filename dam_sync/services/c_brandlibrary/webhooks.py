"""Webhooks of service C: one subscription for each kind of event of the library; deliveries carry no signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.http.parsing import parsed
from dam_sync.model.errors import Conflict
from dam_sync.model.values import Json
from dam_sync.model.webhooks import Delivery, Endpoint, Hint, Subscribed
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec.envelope import document_of, made_of
from dam_sync.services.c_brandlibrary.tenant import BrandLibraryBase


@dataclass(frozen=True, slots=True)
class Subscription:
    """One active subscription of the key's user."""

    id: str
    event: str
    url: str


class BrandLibraryWebhooks(BrandLibraryBase):
    """Subscribes to changes of assets; of the user's other subscriptions of the library none is touched."""

    async def subscribe(self, endpoint: Endpoint) -> Subscribed:
        """Three subscriptions. One made for an earlier URL is replaced, because none can be changed (wire C 9)."""
        known, ids, changed = await self._subscriptions(), set(), 0
        for event in facts.EVENTS:
            found = known.get(event)
            if found is not None and found.url != endpoint.url:
                if found.id not in endpoint.known:
                    raise _taken(event)
                await self._end(found.id)
                found = None
            ids.add(found.id if found else await self._begin(event, endpoint))
            changed += found is None
        return Subscribed(frozenset(ids), changed)

    async def unsubscribe(self, endpoint: Endpoint) -> int:
        """Those with its URL, and those made for an earlier one."""
        found = [
            each.id
            for each in (await self._subscriptions()).values()
            if each.url == endpoint.url or each.id in endpoint.known
        ]
        for each in found:
            await self._end(each)
        return len(found)

    async def send_test(self, endpoint: Endpoint) -> bool:
        """A generated notification, which the service queues."""
        body = await self._body(facts.EVENTS[0], endpoint)
        await self._api.write(facts.SEND_TEST, (), body)
        return True

    def hint_of(self, delivery: Delivery, endpoint: Endpoint) -> Hint | None:
        """Whoever knows the URL may have sent it, so it is a hint to read the asset; one of an unknown subscription is
        a test."""
        return _hint(delivery.body, endpoint)

    async def _subscriptions(self) -> Mapping[str, Subscription]:
        """Those of this library by event; there is one of each (wire C 9)."""
        library = await self._tenant.id()
        reply = await self._api.client.send(self._api.reading(facts.SUBSCRIPTIONS))
        rows = document_of(reply.json(), facts.SUBSCRIPTIONS).rows
        found = [_subscription(row) for row in rows if member_text(row["attributes"], "resource_key") == library]
        return {each.event: each for each in found}

    async def _begin(self, event: str, endpoint: Endpoint) -> str:
        body = await self._body(event, endpoint)
        reply = await self._api.write(facts.SUBSCRIBE, (), body, repeatable=True, accept=frozenset({409}))
        if reply.status != 409:
            return str(made_of(reply.json(), facts.SUBSCRIBE)["id"])
        found = (await self._subscriptions()).get(event)  # by our own call before, whose response was lost
        if found is None or found.url != endpoint.url:
            raise _taken(event)
        return found.id

    async def _end(self, subscription: str) -> None:
        await self._api.write(
            facts.UNSUBSCRIBE, (subscription,), repeatable=True, accept=frozenset({404})
        )  # nobody else's business if it is gone already

    async def _body(self, event: str, endpoint: Endpoint) -> Json:
        attributes = {
            "event_type": event,
            "resource_type": self._api.options.library_word,
            "resource_key": await self._tenant.id(),
            "callback_url": endpoint.url,
        }
        return {"data": {"attributes": attributes}}


def _taken(event: str) -> Conflict:
    return Conflict(
        f"the user of this key has another subscription to {event} of this library",
        hint="use a key of another user for this job, or remove the other subscription",
    )


@interprets_response
def _subscription(row: Json) -> Subscription:
    attributes = row["attributes"]
    return Subscription(row["id"], member_text(attributes, "event_type"), member_text(attributes, "callback_url"))


@interprets_response
def _hint(body: bytes, endpoint: Endpoint) -> Hint:
    data = parsed(body)["data"]
    names = [member_text(data["attributes"], name) for name in ("key", "event_type", "event_time")]
    genuine = member_text(data, "webhook_id") in endpoint.known and names[1] in facts.EVENTS
    return Hint(" ".join(names), names[0] if genuine else "")
