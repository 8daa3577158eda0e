"""Rotating credentials on disk: owner-only, replaced whole, never in the state."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dam_sync.model.errors import ConfigError
from dam_sync.store.opening import OWNER_FILE, make_file, told

if sys.platform != "win32":
    import fcntl


class FileVault:
    """Implements `model.service.Vault` on one small JSON file beside the state."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"FileVault({str(self.path)!r})"

    async def load(self, name: str) -> str | None:
        """The stored secret, or None. Raises ConfigError when others may read the file, or it is damaged."""
        return (await asyncio.to_thread(self._read)).get(name)

    async def save(self, name: str, secret: str) -> None:
        """Durable when this returns; other processes' secrets in the same file are kept. Safe to repeat."""
        await asyncio.shield(asyncio.to_thread(self._save, name, secret))

    def _save(self, name: str, secret: str) -> None:
        with told(self.path), self._alone():
            secrets = self._read()
            secrets[name] = secret
            self._replace(json.dumps(secrets).encode())

    def _read(self) -> dict[str, str]:
        with told(self.path):
            if not self.path.exists():
                return {}
            if sys.platform != "win32" and self.path.stat().st_mode & 0o077:
                hint = f"renew the credential if they did, then `chmod 600 {self.path}`"
                raise ConfigError(f"others may have read the credentials in {self.path}", hint=hint)
            text = self.path.read_bytes()
        with suppress(ValueError):
            secrets = json.loads(text)
            if isinstance(secrets, dict) and all(isinstance(secret, str) for secret in secrets.values()):
                return secrets
        raise ConfigError(f"the credentials in {self.path} are damaged", hint="remove the file and consent again")

    def _replace(self, data: bytes) -> None:
        """All of the new file or all of the old one, whatever happens."""
        fresh = self.path.with_name(f"{self.path.name}.new")
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_FILE)
        with os.fdopen(handle, "wb") as out:
            os.fchmod(out.fileno(), OWNER_FILE)
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.replace(fresh, self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One writer at a time, also among processes."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        make_file(lock)
        with lock.open("rb") as held:
            if sys.platform != "win32":
                fcntl.flock(held, fcntl.LOCK_EX)
            yield
