"""Webhook endpoints and the messages they are owed (wire D 9)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from dam_sync.emulators.d_templates.options import Options
from dam_sync.emulators.d_templates.records import User, failed, long_instant
from dam_sync.emulators.kit.environment import Environment, Json

EVENTS = (
    *(f"asset.{verb}" for verb in ("created", "deleted", "downloaded", "shared", "purged", "restored")),
    *(f"asset.{verb}" for verb in ("metadata.updated", "renditions.created", "security.updated")),
    *(f"collection.{verb}" for verb in ("created", "updated", "deleted", "shared", "downloaded")),
    *(f"collection.{verb}.updated" for verb in ("assets", "metadata", "security")),
    *(f"relationship.{verb}" for verb in ("created", "updated", "deleted")),
    *("user.created", "user.updated", "version.created", "version.promoted"),
)
ENDPOINTS_MOST = 50
DESCRIPTION = (5, 100)
RETRIES = (0.0, 5.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0, 36_000.0)
DISABLED_AFTER = 5 * 86_400


@dataclass(slots=True)
class Endpoint:
    """A subscription to event types; `failing` since when deliveries fail, in epoch seconds."""

    id: str
    description: str
    events: tuple[str, ...]
    url: str
    rate: int = 200
    disabled: bool = False
    failing: float | None = None
    oauth: Json = None


@dataclass(slots=True, eq=False)
class Message:
    """One message to one endpoint; its id is the same on every try."""

    id: str
    endpoint: str
    body: bytes
    due: float
    tries: int = 0
    sending: bool = False


@dataclass(slots=True)
class Webhooks:
    """The endpoints; `post(url, headers, body, done)` carries a message, and tells `done` whether it was taken."""

    world: Environment
    options: Options
    new_id: Callable[[], str]
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    post: Callable[[str, Mapping[str, str], bytes, Callable[[bool], None]], None] | None = None
    waiting: deque[Message] = field(default_factory=deque)

    def add(self, sent: Mapping[str, Json]) -> Endpoint:
        """One more endpoint. Raises Refusal 400."""
        made = Endpoint(f"ep_{self.new_id()}", "", (), "")
        self.change(made, {"description": "", "eventTypes": (), "url": "", **sent})
        self.endpoints[made.id] = made
        return made

    def change(self, found: Endpoint, sent: Mapping[str, Json]) -> None:
        """Change what is sent. Raises Refusal 400."""
        text = str(sent.get("description", found.description))
        events = tuple(sent.get("eventTypes", found.events))
        url = str(sent.get("url", found.url))
        if not DESCRIPTION[0] <= len(text) <= DESCRIPTION[1]:
            raise failed(400, "description must have 5 to 100 characters")
        if not events or any(each not in EVENTS for each in events):
            raise failed(400, "eventTypes is not valid")
        if not url.startswith(("https://", "http://127.0.0.1")):
            raise failed(400, "url is not valid")
        found.description, found.events, found.url = text, events, url
        found.rate = int(sent.get("rateLimit", found.rate))
        found.disabled = bool(sent.get("disabled", found.disabled))

    def fire(self, event: str, user: User, facts: Mapping[str, Json]) -> None:
        """Tell every endpoint that wants this event."""
        if not self.endpoints:
            return
        long = {"firstName": user.first, "lastName": user.last} if "late_events" in self.options.plays else {}
        now = self.world.now().timestamp()
        delivery = {
            "eventType": event,
            "event": {
                "id": f"{event.replace('.', '-')}-{self.new_id()}",
                "time": long_instant(int(now * 1000)),
                "user": {"id": user.id, **long},
            },
            **facts,
        }
        body = json.dumps(delivery, separators=(",", ":")).encode()
        for each in self.endpoints.values():
            if event in each.events and not each.disabled:
                self._enqueue(each, body, now)

    def _enqueue(self, endpoint: Endpoint, body: bytes, now: float) -> None:
        message = Message(f"msg_{self.new_id()}", endpoint.id, body, now)
        match self.options.deliveries:
            case "duplicate":
                self.waiting.extend((message, Message(message.id, endpoint.id, body, now)))
            case "reorder":
                self.waiting.appendleft(message)
            case "drop" if len(self.waiting) % 2:
                return
            case _:
                self.waiting.append(message)

    def settle(self, now: float) -> None:
        """Send what is due."""
        if self.post is None:
            return
        for message in list(self.waiting):  # a copy: deliveries end in threads of their own
            if message.due > now or message.sending:
                continue
            endpoint = self.endpoints.get(message.endpoint)
            if endpoint is None or endpoint.disabled:
                self._forget(message)
                continue
            message.sending = True
            self.post(endpoint.url, self._headers(message, now), message.body, self._done(message))

    def _headers(self, message: Message, now: float) -> Mapping[str, str]:
        return signed(self.options.webhook_secret, message.id, int(now), message.body)

    def _done(self, message: Message) -> Callable[[bool], None]:
        def done(taken: bool) -> None:
            message.sending = False
            endpoint = self.endpoints.get(message.endpoint)
            if taken or endpoint is None:
                if endpoint is not None:
                    endpoint.failing = None
                self._forget(message)
                return
            self._failed(message, endpoint)

        return done

    def _failed(self, message: Message, endpoint: Endpoint) -> None:
        now = self.world.now().timestamp()
        endpoint.failing = now if endpoint.failing is None else endpoint.failing
        if now - endpoint.failing >= DISABLED_AFTER:
            endpoint.disabled = True
        if message.tries >= len(RETRIES):
            self.world.event("message.attempt.exhausted", message=message.id)
            self._forget(message)
            return
        message.due = now + RETRIES[message.tries]
        message.tries += 1

    def _forget(self, message: Message) -> None:
        with suppress(ValueError):
            self.waiting.remove(message)


def signed(secret: str, message: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers of a message (wire D 9.2)."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{message}.{timestamp}.".encode() + body
    signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return {
        "content-type": "application/json",
        "webhook-id": message,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{signature}",
    }
