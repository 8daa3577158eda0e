"""Rotating credentials that processes on several computers share: encrypted, in the database of the state.

The key is derived from the credential in the job file, which is not in the database; a new credential there cannot read
what was stored for an older one. Each secret is also kept in the file that a job without a server uses, first of all:
should the database be lost during a renewal, the token that the service issued is not, and is stored later.

Every call has a connection of its own, because a renewal is rare.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, TypeVar

from cryptography.fernet import Fernet, InvalidToken

from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import StoreUnreachable
from dam_sync.model.state_server import StateServer
from dam_sync.store.base import Storage
from dam_sync.store.credential_store import FileCredentialStore
from dam_sync.store.renewal import take_renewal
from dam_sync.store.server.database import raw_of, translated
from dam_sync.store.server.shared_schema import SCHEMA, SECRET, open_shared
from dam_sync.store.server.threads import PAUSE_SECONDS, ServerConnection

T = TypeVar("T")
TABLE: Final = SECRET.name
UNSTORED: Final = "#not-in-database"  # behind the name of a secret in the file: the database does not have it yet


class ServerCredentialStore:
    """Implements `model.ports.CredentialStore`. scope: the schema of a job, whose names are its own; secret:
    what the key is derived from."""

    def __init__(
        self, server: StateServer, secret: str, local: FileCredentialStore, storage: Storage | None = None
    ) -> None:
        self._server, self._scope = replace(server, schema=SCHEMA), server.schema
        self._secret, self._local = secret, local
        self._patience = (storage or Storage()).patience

    def __repr__(self) -> str:
        return f"ServerCredentialStore({self._server})"

    async def load(self, name: str) -> str | None:
        """See `CredentialStore.load`. Raises StoreUnreachable, and what the file raises."""
        kept = await self._local.load(name)  # reserves space, too
        unstored = await self._local.load(f"{name}{UNSTORED}")
        stored = await self._run(lambda raw: self._value(raw, name))
        if unstored and stored in (None, kept):
            await self._store(name, unstored)
            return unstored
        if unstored:  # it was stored, and another process has renewed it since
            await self._local.save(f"{name}{UNSTORED}", "")
        if stored is not None and stored != kept:
            await self._local.save(name, stored)
        return kept if stored is None else stored

    async def save(self, name: str, secret: str) -> None:
        """See `CredentialStore.save`: on disk here, and in the database."""
        await self._local.save(f"{name}{UNSTORED}", secret)
        await self._store(name, secret)

    async def change(self, name: str, changed: Callable[[str], str]) -> None:
        kept = await self._local.load(name) or ""

        def job(raw: Any) -> str:
            with raw.transaction():
                raw.execute("SELECT pg_advisory_xact_lock(%s)", (self._lock(f"change {name}"),))
                stored = self._value(raw, name)
                secret = changed(kept if stored is None else stored)
                self._put(raw, name, secret)
            return secret

        await self._local.save(name, await asyncio.shield(self._run(job)))

    async def names(self, prefix: str) -> Sequence[str]:
        known = dict.fromkeys(await self._local.names(prefix), True)
        chosen = f"SELECT name, value FROM {TABLE} WHERE scope = %s AND starts_with(name, %s)"
        rows = await self._run(lambda raw: raw.execute(chosen, (self._scope, prefix)).fetchall())
        known |= {name: bool(self._plain(value)) for name, value in rows}
        return [name for name, is_there in known.items() if is_there and not name.endswith(UNSTORED)]

    @asynccontextmanager
    async def renewing(self, name: str) -> AsyncIterator[None]:
        """See `CredentialStore.renewing`. Raises Transient if another process holds it for very long."""
        link = await asyncio.to_thread(self._opened)
        try:
            await take_renewal(lambda: asyncio.to_thread(self._locked, link, name), PAUSE_SECONDS)
            yield
        finally:
            await asyncio.shield(asyncio.to_thread(link.close))  # which ends the lock

    async def _store(self, name: str, secret: str) -> None:
        await asyncio.shield(self._run(lambda raw: self._put(raw, name, secret)))
        await self._local.save(name, secret)
        await self._local.save(f"{name}{UNSTORED}", "")

    async def _run(self, job: Callable[[Any], T]) -> T:
        def run() -> T:
            with self._connected() as link, translated(self._server):
                return job(raw_of(link.connection))

        return await asyncio.to_thread(run)

    def _value(self, raw: Any, name: str) -> str | None:
        chosen = f"SELECT value FROM {TABLE} WHERE scope = %s AND name = %s"
        row = raw.execute(chosen, (self._scope, name)).fetchone()
        return None if row is None else self._plain(row[0])

    def _put(self, raw: Any, name: str, secret: str) -> None:
        value = self._cipher.encrypt(secret.encode()).decode() if secret else ""
        stored = (
            f"INSERT INTO {TABLE} VALUES (%s, %s, %s) ON CONFLICT (scope, name) DO UPDATE SET value = excluded.value"
        )
        raw.execute(stored, (self._scope, name, value))

    def _plain(self, value: str) -> str | None:
        """None if it was stored for another credential."""
        if not value:
            return ""
        with suppress(InvalidToken):
            return self._cipher.decrypt(value.encode()).decode()
        return None

    @cached_property
    def _cipher(self) -> Fernet:
        salt = f"dam-sync credentials {self._scope}".encode()
        key = hashlib.scrypt(self._secret.encode(), salt=salt, n=1 << 14, r=8, p=1, dklen=32)
        return Fernet(base64.urlsafe_b64encode(key))

    def _locked(self, link: ServerConnection, name: str) -> bool:
        with translated(self._server):
            key = self._lock(f"renewal {name}")
            return raw_of(link.connection).execute("SELECT pg_try_advisory_lock(%s)", (key,)).fetchone() == (True,)

    def _lock(self, purpose: str) -> int:
        return self._server.lock_key(f"{purpose} of {self._scope}")

    @contextmanager
    def _connected(self) -> Iterator[ServerConnection]:
        link = self._opened()
        try:
            yield link
        finally:
            link.close()

    def _opened(self) -> ServerConnection:
        """A connection; a brief outage is bridged. Raises StoreUnreachable, ConfigError."""
        until = SYSTEM_CLOCK.monotonic() + self._patience.total_seconds()
        while True:
            try:
                return open_shared(self._server, self._patience)[0]
            except StoreUnreachable:
                if SYSTEM_CLOCK.monotonic() >= until:
                    raise
            SYSTEM_CLOCK.block(PAUSE_SECONDS)
