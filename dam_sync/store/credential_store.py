"""Rotating credentials on disk: owner-only, replaced atomically, never in the state.

Using a refresh token invalidates it, so its successor must reach the disk. A renewal loads the old one
first, and loading reserves the space: the file is replaced by a copy, which shows that it can be, and bytes for the
next one are written and flushed beforehand. Saving writes over them, flushes the file, renames it over the old one,
and flushes the folder; only then does `save` return, and only then is the new access token used. A crash or a power
failure leaves the old file or the new one, complete: a next file that is complete but was not renamed yet becomes the
file at the next opening, because the secret in the old one may be used up by then, and an incomplete one is
removed. Between the server's response and the flush nothing can be done:
if power fails just then, and the server refuses the old token, the user has to authorize again.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from dam_sync.model.errors import ConfigError
from dam_sync.store.file.database import NO_LINK, OWNER_FILE, flush_folder, make_file, refuse_link, translate_errors
from dam_sync.store.renewal import take_renewal

CREDENTIALS = "the credentials file"
ROOM = 64 * 1024  # bytes by which a file may grow in one save within the space reserved before
PAUSE_SECONDS = 0.1  # between two looks whether another process has renewed a credential


class FileCredentialStore:
    """Implements `model.ports.CredentialStore` on one small JSON file next to the state."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"FileCredentialStore({str(self.path)!r})"

    async def load(self, name: str) -> str | None:
        """The stored secret, or None; the space for the next save is then reserved on disk.

        Raises ConfigError if others may read the file, if it is damaged, or if it cannot be written again, and
        DiskFull if there is no space: a secret used up now could not be replaced.
        """
        return (await asyncio.to_thread(self._load)).get(name)

    async def save(self, name: str, secret: str) -> None:
        """Durable when this returns; other processes' secrets in the same file are kept. Safe to repeat."""
        await self.change(name, lambda _: secret)

    async def change(self, name: str, changed: Callable[[str], str]) -> None:
        """See `CredentialStore.change`. Space is not reserved before, as `load` does."""
        await asyncio.shield(asyncio.to_thread(self._change, name, changed))

    async def names(self, prefix: str) -> Sequence[str]:
        """Names of stored secrets with this prefix. Raises ConfigError as `load` does."""
        secrets = await asyncio.to_thread(self._read_settled)
        return [name for name, secret in secrets.items() if secret and name.startswith(prefix)]

    @asynccontextmanager
    async def renewing(self, name: str) -> AsyncIterator[None]:
        """See `CredentialStore.renewing`: a locked file beside this one for each name, so that a save need not wait.
        Raises Transient if another process holds it for very long, ConfigError and DiskFull if it cannot be made."""
        lock = self.path.with_name(f"{self.path.name}.{hashlib.sha256(name.encode()).hexdigest()[:8]}.renewal")
        await asyncio.to_thread(make_file, lock, CREDENTIALS)
        with translate_errors(lock, CREDENTIALS):
            handle = os.open(lock, os.O_RDONLY | os.O_NONBLOCK | NO_LINK)

        async def taken() -> bool:
            with translate_errors(lock, CREDENTIALS):
                return _locked(handle)

        try:
            await take_renewal(taken, PAUSE_SECONDS)
            yield
        finally:
            os.close(handle)  # which ends the lock

    def _load(self) -> dict[str, str]:
        secrets = self._read_settled()
        with translate_errors(self.path, CREDENTIALS):
            if not self._has_room():
                with self._alone():
                    self._make_room()
        return secrets

    def _change(self, name: str, changed: Callable[[str], str]) -> None:
        with translate_errors(self.path, CREDENTIALS), self._alone():
            self._settle()
            secrets = self._read()
            secrets[name] = changed(secrets.get(name, ""))
            self._replace(json.dumps(secrets).encode())

    def _read_settled(self) -> dict[str, str]:
        with translate_errors(self.path, CREDENTIALS):
            if self._left():
                with self._alone():
                    self._settle()
        return self._read()

    def _settle(self) -> None:
        """Put the next file of a killed process in its place if it is complete; remove it otherwise. Safe to repeat."""
        if not (left := self._left()):
            return
        if _secrets_in(left) is None:
            self._fresh.unlink()
            return
        self._refuse_readable(self._fresh, self._fresh.stat())
        self._replace(left)

    def _left(self) -> bytes:
        """What a save wrote to the next file and did not rename yet; empty if that is reserved space."""
        refuse_link(self._fresh, CREDENTIALS)
        try:
            handle = os.open(self._fresh, os.O_RDONLY | os.O_NONBLOCK | NO_LINK)
        except FileNotFoundError:
            return b""
        with os.fdopen(handle, "rb") as file:
            self._refuse_foreign(os.fstat(handle))
            return file.read().rstrip(b"\0")

    def _read(self) -> dict[str, str]:
        refuse_link(self.path, CREDENTIALS)
        with translate_errors(self.path, CREDENTIALS):
            if not self.path.exists():
                return {}
            self._refuse_readable(self.path, self.path.stat())
            secrets = _secrets_in(self.path.read_bytes())
        if secrets is not None:
            return secrets
        raise ConfigError(f"the credentials in {self.path} are damaged", hint="remove the file and consent again")

    @property
    def _fresh(self) -> Path:
        """The next file: reserved space, until a save fills it."""
        return self.path.with_name(f"{self.path.name}.new")

    def _has_room(self) -> bool:
        return self._fresh.exists() and self._fresh.stat().st_size >= self._needed() and os.access(self._fresh, os.W_OK)

    def _needed(self) -> int:
        return ROOM + (self.path.stat().st_size if self.path.exists() else 0)

    def _make_room(self) -> None:
        """Raises OSError if the file cannot be replaced, as one that is mounted by itself: a secret that is used up now
        would have no successor."""
        if self.path.exists():
            self._replace(self.path.read_bytes())
        self._write(bytes(self._needed()))

    def _replace(self, data: bytes) -> None:
        """Replace the file atomically."""
        self._write(data)
        os.replace(self._fresh, self.path)
        flush_folder(self.path.parent)

    def _write(self, data: bytes) -> None:
        """Write the next file to disk, over its reserved space, so that it needs no new space."""
        refuse_link(self._fresh, CREDENTIALS)
        handle = os.open(self._fresh, os.O_WRONLY | os.O_CREAT | NO_LINK, OWNER_FILE)
        with os.fdopen(handle, "wb") as out:
            self._refuse_foreign(os.fstat(handle))
            os.fchmod(out.fileno(), OWNER_FILE)
            out.write(data)
            out.truncate()
            out.flush()
            os.fsync(out.fileno())

    def _refuse_readable(self, path: Path, found: os.stat_result) -> None:
        if found.st_mode & 0o077:
            hint = f"renew the credential if they did, then `chmod 600 {path}`"
            raise ConfigError(f"other users may have read the credentials in {path}", hint=hint)

    def _refuse_foreign(self, found: os.stat_result) -> None:
        """In a folder that others can write to, somebody else may have created the next file, or linked one of ours
        there."""
        if found.st_uid != os.getuid() or found.st_nlink > 1 or not stat.S_ISREG(found.st_mode):
            hint = "remove it, and keep the state in a folder that only you can write"
            raise ConfigError(
                f"{self._fresh} was not created by this user alone; no credential is written to it", hint=hint
            )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One writer at a time, across processes."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        make_file(lock, CREDENTIALS)
        with lock.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield


def _locked(handle: int) -> bool:
    """Whether the lock of this file is ours now; it is not waited for."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _secrets_in(text: bytes) -> dict[str, str] | None:
    """The secrets of a file; None if it is damaged."""
    with suppress(ValueError):
        secrets = json.loads(text)
        if isinstance(secrets, dict) and all(isinstance(secret, str) for secret in secrets.values()):
            return secrets
    return None
