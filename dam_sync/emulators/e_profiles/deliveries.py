"""Webhook deliveries as they really travel: one after another, or lost, doubled, out of order when asked for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator

from dam_sync.emulators.e_profiles.webhooks import Delivery, Webhooks
from dam_sync.emulators.kit.posting import status_of

_SECONDS = 10


class Post:
    """Takes deliveries and posts them next to the calls; never again when one fails (wire E 9: retries not shown).

    duplicate: each twice. reorder: every two in reverse. drop: every second one is lost.
    """

    def __init__(self, webhooks: Webhooks, mode: str) -> None:
        self._webhooks = webhooks
        self._mode = mode
        self._waiting: deque[Delivery] = deque()
        self._held: Delivery | None = None
        self._count = 0
        self._task: asyncio.Task[None] | None = None

    def take(self, delivery: Delivery) -> None:
        """One more to post; needs a running event loop."""
        self._waiting.extend(self._played(delivery))
        if self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._drain())

    def _played(self, delivery: Delivery) -> Iterator[Delivery]:
        self._count += 1
        if self._mode == "reorder" and self._held is None:
            self._held = delivery
            return
        if self._mode == "drop" and self._count % 2 == 0:
            return
        yield delivery
        if self._mode == "duplicate":
            yield delivery
        if self._held is not None:
            yield self._held
            self._held = None

    async def _drain(self) -> None:
        while self._waiting:
            delivery = self._waiting.popleft()
            if await asyncio.to_thread(_sent, delivery):
                self._webhooks.arrived(delivery.configuration)


def _sent(delivery: Delivery) -> bool:
    status = status_of(delivery.url, delivery.headers, delivery.body, _SECONDS)
    return status is not None and 200 <= status < 300
