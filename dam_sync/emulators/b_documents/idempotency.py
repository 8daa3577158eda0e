"""Replayable requests: the store behind `Idempotency-Key` (wire B 6.8)."""

from __future__ import annotations

from dataclasses import dataclass

from dam_sync.emulators.b_documents.options import Options
from dam_sync.emulators.kit.environment import Environment

LIFE_S = 24 * 3600.0
Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """A response kept for a replay; None as status: the first request is still running, or died."""

    at: float
    status: int | None = None
    headers: Headers = ()
    body: bytes = b""


class Keys:
    """Keys are global: neither user, address nor body matter."""

    def __init__(self, world: Environment, options: Options) -> None:
        self._world, self._options = world, options
        self._kept: dict[str, Kept] = {}

    def known(self, key: str) -> Kept | None:
        """What is kept under a key, for 24 hours."""
        found = self._kept.get(key)
        if found and self._now() > found.at + LIFE_S:
            del self._kept[key]
            return None
        return found

    def begin(self, key: str) -> None:
        """The first request with this key is in progress."""
        self._kept[key] = Kept(self._now())

    def end(self, key: str, status: int, headers: Headers, body: bytes) -> None:
        """Keep the response; a failure forgets the key, a large answer leaves it as running."""
        if status >= 400:
            self._kept.pop(key, None)
        elif len(body) <= self._options.replay_bytes:
            self._kept[key] = Kept(self._now(), status, headers, body)

    def forget(self, key: str) -> None:
        """As if it had never come."""
        self._kept.pop(key, None)

    def _now(self) -> float:
        return self._world.now().timestamp()
