"""A vault for rotated credentials that outlives the processes of a test."""

from __future__ import annotations

from collections.abc import Callable


class MemoryVault:
    """A `Vault`; `story` is told of what is saved, so that the order of things can be seen, and `broken` refuses it."""

    def __init__(self, story: list[str] | None = None) -> None:
        self.kept: dict[str, str] = {}
        self.story = story if story is not None else []
        self.broken = False

    async def load(self, name: str) -> str | None:
        """See `Vault.load`."""
        return self.kept.get(name)

    async def save(self, name: str, secret: str) -> None:
        """See `Vault.save`."""
        if self.broken:
            raise OSError("no room")
        self.kept[name] = secret
        self.story.append("saved")

    async def change(self, name: str, changed: Callable[[str], str]) -> None:
        """See `Vault.change`."""
        await self.save(name, changed(self.kept.get(name, "")))

    async def names(self, prefix: str) -> list[str]:
        """See `Vault.names`."""
        return [name for name, secret in self.kept.items() if secret and name.startswith(prefix)]
