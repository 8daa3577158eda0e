"""Ids in both spellings that live side by side, and slugs (wire C 1, 5.2)."""

from __future__ import annotations

import re
import unicodedata
import uuid

from dam_sync.emulators.kit.environment import Environment

_NEW = "0123456789bcdfghjklmnpqrstvwxz"
_OLD = "0123456789abcdefghijklmnopqrstuvwxyz"
_SLUG = re.compile(r"[A-Za-z0-9_-]+")


class Names:
    """Makes ids from a world's chance."""

    def __init__(self, world: Environment) -> None:
        self._rng = world.rng

    def key(self) -> str:
        """An opaque id: one in four in the older spelling."""
        if self._rng.random() < 0.25:
            return "-".join("".join(self._rng.choices(_OLD, k=6)) for _ in range(3))
        return "".join(self._rng.choices(_NEW, k=self._rng.randint(20, 24)))

    def uuid(self) -> str:
        """An id of a webhook."""
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))


def is_slug(text: object) -> bool:
    """Letters, digits, `-` and `_`."""
    return isinstance(text, str) and _SLUG.fullmatch(text) is not None


def slug_of(name: str) -> str:
    """The slug that the service makes of a name."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9_]+", "-", plain).strip("-") or "untitled"
