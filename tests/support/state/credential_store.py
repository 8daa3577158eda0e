"""A credential store that outlives the processes of a test."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager


class MemoryCredentialStore:
    """A `CredentialStore` in memory. story: gets what is saved, in order; broken: refuses to save."""

    def __init__(self, story: list[str] | None = None) -> None:
        self.kept: dict[str, str] = {}
        self.story = story if story is not None else []
        self.broken = False
        self._renewals: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def load(self, name: str) -> str | None:
        """See `CredentialStore.load`."""
        return self.kept.get(name)

    async def save(self, name: str, secret: str) -> None:
        """See `CredentialStore.save`."""
        if self.broken:
            raise OSError("no room")
        self.kept[name] = secret
        self.story.append("saved")

    async def change(self, name: str, changed: Callable[[str], str]) -> None:
        """See `CredentialStore.change`."""
        await self.save(name, changed(self.kept.get(name, "")))

    async def names(self, prefix: str) -> list[str]:
        """See `CredentialStore.names`."""
        return [name for name, secret in self.kept.items() if secret and name.startswith(prefix)]

    def renewing(self, name: str) -> AbstractAsyncContextManager[None]:
        """See `CredentialStore.renewing`."""
        return self._renewals[name]
