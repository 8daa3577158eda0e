"""Rotating credentials, kept apart from the state in a file only its owner can read."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from dam_sync.model.errors import ConfigError


@dataclass(frozen=True, slots=True)
class FileVault:
    """See `model.service.Vault`; every save replaces the file in one durable move."""

    path: Path

    async def load(self, name: str) -> str | None:
        """The stored secret, or None. Raises ConfigError for a file that is damaged."""
        return (await anyio.to_thread.run_sync(self._read)).get(name)

    async def save(self, name: str, secret: str) -> None:
        """Durable when this returns."""
        await anyio.to_thread.run_sync(self._write, name, secret)

    def _read(self) -> dict[str, str]:
        try:
            found: dict[str, str] = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            hint = "rename it and give the job a fresh refresh token"
            raise ConfigError(f"the vault {self.path} is damaged", hint=hint) from error
        return found

    def _write(self, name: str, secret: str) -> None:
        kept = {**self._read(), name: secret}
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self.path.with_suffix(self.path.suffix + ".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            json.dump(kept, out)
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
