"""The Python interface to one service: connect to it, describe it, read its assets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from collections.abc import Mapping as Dictionary
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from dam_sync.aio.closing import closing
from dam_sync.api.resolved_auth import resolved_auth
from dam_sync.config.job import side_of_code
from dam_sync.config.side import options_of
from dam_sync.model.asset import Asset, Entry
from dam_sync.model.clock import SYSTEM_CLOCK, Clock
from dam_sync.model.connector import Connector, Context
from dam_sync.model.errors import NotFound
from dam_sync.model.ports import Transport
from dam_sync.model.probed import Account
from dam_sync.model.schema import Schema
from dam_sync.model.service import TRASH, Service, Window
from dam_sync.services import discover
from dam_sync.store.credential_store import FileCredentialStore


class ConnectedService:
    """A service opened for reading; it is never written to. It is open inside the block of `connect`."""

    def __init__(self, kind: str, service: Service) -> None:
        self.kind = kind
        self._service = service
        self._account: Account | None = None

    async def probe(self) -> Account:
        """The tenant, the user, the release and the number of assets that the credential sees. Raises Denied."""
        self._account = await self._service.probe()
        return self._account

    async def schema(self) -> Schema:
        """The fields and vocabularies of the tenant."""
        if self._account is None:
            await self.probe()
        return await self._service.schema()

    async def assets(self, *, changed_since: datetime | None = None) -> AsyncIterator[Asset]:
        """The assets of the library, or those changed since; what is in the trash is left out.

        An asset that changes meanwhile may be returned twice. Wrap it in `contextlib.aclosing` to leave the loop early.
        """
        await self.schema()
        async with closing(self._service.shards(Window(since=changed_since))) as shards:
            async for shard in shards:
                async with closing(self._service.crawl(shard, None)) as batches:
                    async for batch in batches:
                        for entry in batch.entries:
                            asset = await self._asset(entry)
                            if asset is not None and asset.status != TRASH:
                                yield asset

    async def _asset(self, entry: Entry) -> Asset | None:
        """The asset of an entry; some listings return only ids."""
        if entry.asset is not None or entry.deleted:
            return entry.asset
        try:
            return await self._service.fetch(entry.id)
        except NotFound:  # deleted after it was listed
            return None


@asynccontextmanager
async def connect(
    kind: str,
    *,
    base_url: str = "",
    auth: Dictionary[str, str] | None = None,
    tenant_url: str = "",
    options: Dictionary[str, Any] | None = None,
    credentials: Path | None = None,
    clock: Clock = SYSTEM_CLOCK,
    transport: Transport | None = None,
    connectors: Dictionary[str, Connector] | None = None,
) -> AsyncIterator[ConnectedService]:
    """Open a service for reading. The arguments are those of a side of a job file; a secret in `auth` is a value or a
    reference such as `${env:NAME}`. credentials: the file in which tokens are kept that a service renews. clock,
    transport, connectors: see `RunOptions`.

    Raises ConfigError with everything that is wrong; `probe` makes the first call.
    """
    known = connectors or discover()
    given = {"base_url": base_url, "tenant_url": tenant_url, "auth": auth, "options": options}
    side = side_of_code({"kind": kind, **{key: value for key, value in given.items() if value}}, known)
    connector = known[kind]
    context = Context(
        base_url=side.base_url,
        tenant_url=side.tenant_url,
        auth=await resolved_auth(connector, side.auth),
        options=options_of(connector, side.options),
        clock=clock,
        transport=transport,
        credentials=FileCredentialStore(credentials) if credentials is not None else None,
        read_only=True,
    )
    service = connector.connect(context)
    try:
        yield ConnectedService(kind, service)
    finally:
        await service.close()
