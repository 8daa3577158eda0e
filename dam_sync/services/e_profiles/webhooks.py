"""Webhooks of service E: one configuration for each kind of event; deliveries are signed with a key of ours."""

from __future__ import annotations

import hmac
import re

from dam_sync.http.client import Request
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.http.parsing import parsed
from dam_sync.model.errors import ConfigError, ContractBroken, NotFound
from dam_sync.model.values import Json
from dam_sync.model.webhooks import Delivery, Endpoint, Hint, Subscribed
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.codec import wire
from dam_sync.services.e_profiles.tenant import ProfilesPart

_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_PATCHED = ("delivery_enabled", "delivery_url", "secret_key")
_MOST_PAGES = 100


class ProfilesWebhooks(ProfilesPart):
    """Subscribes to changes of assets, and reads deliveries."""

    async def subscribe(self, endpoint: Endpoint) -> Subscribed:
        """One configuration for each kind of event; one that is disabled, not signed or of another URL is changed."""
        if not 0 < len(endpoint.secret) <= facts.SECRET_MOST:
            raise ConfigError(f"`webhooks.secret` has 1 to {facts.SECRET_MOST} characters for this service")
        rows = {member_text(row, "event_type"): row for row in await self._configurations(endpoint)}
        ids, changed = set(), 0
        for event in facts.EVENTS:
            row = rows.get(event)
            if row is None:
                ids.add(await self._add(event, endpoint))
            else:
                ids.add(_id_of(row))
                if _is_current(row, endpoint):
                    continue
                await self._change(_id_of(row), endpoint)
            changed += 1
        return Subscribed(frozenset(ids), changed)

    async def unsubscribe(self, endpoint: Endpoint) -> int:
        """The configurations with its URL, and those made for an earlier one."""
        found = [_id_of(row) for row in await self._configurations(endpoint)]
        for each in found:
            request = Request(facts.DROP_WEBHOOK, "DELETE", _path(each), repeatable=True, accept=frozenset({404}))
            await self.api.client.send(request)
        return len(found)

    async def send_test(self, endpoint: Endpoint) -> bool:
        """A `ping` of one of the configurations."""
        rows = await self._configurations(endpoint)
        if not rows:
            raise NotFound("there is no configuration with this URL", hint="run `watch`, which makes them")
        await self.api.client.send(self.api.reading(facts.PING_WEBHOOK, f"{_path(_id_of(rows[0]))}/ping"))
        return True

    def hint_of(self, delivery: Delivery, endpoint: Endpoint) -> Hint | None:
        """The asset that an event names; a ping names none."""
        options = self.api.options
        given = delivery.headers.get(options.webhook_header.lower(), "")
        if not endpoint.secret or not given.startswith(options.webhook_prefix):
            return None
        expected = hmac.new(endpoint.secret.encode(), delivery.body, options.webhook_digest).hexdigest()
        shown = given.removeprefix(options.webhook_prefix).encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(expected.encode(), shown):
            return None
        return _hint(delivery.body)

    async def _configurations(self, endpoint: Endpoint) -> list[Json]:
        """Those of this endpoint; the URL may be missing in a response (wire E 9)."""
        found: list[Json] = []
        for page in range(_MOST_PAGES):
            size = facts.WEBHOOK_PAGE
            asked = (("limit", str(size)), ("offset", str(page * size)))
            rows = wire.items_of(await self.api.get(facts.WEBHOOKS, facts.WEBHOOKS_PATH, asked))
            found += [row for row in rows if _is_ours(row, endpoint)]
            if len(rows) < size:
                return found
        raise ContractBroken("the list of webhook configurations does not end", operation=facts.WEBHOOKS)

    async def _add(self, event: str, endpoint: Endpoint) -> str:
        body = {"delivery_url": endpoint.url, "event_type": event, "secret_key": endpoint.secret}
        reply = await self.api.write(facts.ADD_WEBHOOK, facts.WEBHOOKS_PATH, body, repeatable=False)
        return member_text(reply.object(), "id", "webhook_configuration_id")

    async def _change(self, configuration: str, endpoint: Endpoint) -> None:
        body = {"delivery_enabled": True, "delivery_url": endpoint.url, "secret_key": endpoint.secret}
        params = (("patch", ",".join(_PATCHED)),)
        request = Request(facts.CHANGE_WEBHOOK, "PUT", _path(configuration), params=params, json=body, repeatable=True)
        await self.api.client.send(request)


def _path(configuration: str) -> str:
    return f"{facts.WEBHOOKS_PATH}/{configuration}"


@interprets_response
def _id_of(row: Json) -> str:
    """Raises ContractBroken for an id that cannot be part of a path."""
    found = member_text(row, "webhook_configuration_id", "id")
    if not _ID.fullmatch(found):
        raise ValueError(f"a configuration has the id {found[:40]!r}")
    return found


@interprets_response
def _is_ours(row: Json, endpoint: Endpoint) -> bool:
    return member_text(row, "delivery_url") == endpoint.url or _id_of(row) in endpoint.known


@interprets_response
def _is_current(row: Json, endpoint: Endpoint) -> bool:
    """Whether nothing has to be changed. The key cannot be read: it was sent together with the URL, which depends on
    it."""
    url = member_text(row, "delivery_url")
    same = url == endpoint.url if url else endpoint.current
    return same and bool(row.get("delivery_enabled", True)) and bool(row.get("signing_enabled", True))


@interprets_response
def _hint(body: bytes) -> Hint:
    event = parsed(body)
    known = member_text(event, "event_type") in facts.EVENTS
    return Hint(member_text(event, "webhook_delivery_id"), member_text(event, "asset_id") if known else "")
