"""Service B, connected: which part answers which question of the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator

from dam_sync.model.asset import Asset, AssetId, FileRef, Placement
from dam_sync.model.schema import Schema
from dam_sync.model.service import Account, Batch, Calls, Context, Cursor, Service, Shard, Stream, Window
from dam_sync.model.values import Term
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.connection import Line
from dam_sync.services.b_documents.containers import Containers
from dam_sync.services.b_documents.files import Files
from dam_sync.services.b_documents.making import Making
from dam_sync.services.b_documents.reading import Reader
from dam_sync.services.b_documents.searching import Search
from dam_sync.services.b_documents.taxonomy import Taxonomy
from dam_sync.services.b_documents.tenancy import Tenancy


class DocumentsService(Service):
    """One server of service B."""

    kind = facts.NAME

    def __init__(self, context: Context) -> None:
        self._line = Line.open(context)
        self.limits = self._line.limits
        search = Search(self._line)
        self._tenancy = Tenancy(self._line, search)
        self._taxonomy = Taxonomy(self._line, self._tenancy)
        making = Making(self._line, self._tenancy)
        self._containers = Containers(self._line, search, self._tenancy, making)
        self._reader = Reader(self._line, search, self._tenancy, self._taxonomy, self._containers)
        self._files = Files(self._line, self._tenancy)

    @property
    def calls(self) -> Calls:
        """See `Service.calls`."""
        return self._line.client.calls

    async def probe(self) -> Account:
        """See `Service.probe`."""
        return await self._tenancy.probe()

    async def schema(self) -> Schema:
        """See `Service.schema`."""
        return await self._tenancy.schema()

    def shards(self, window: Window) -> AsyncIterator[Shard]:
        """See `Service.shards`; a window is told by a thin sweep of everything."""
        return self._reader.shards(window)

    def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """See `Service.crawl`."""
        return self._reader.crawl(shard, cursor)

    async def open(self, file: FileRef, offset: int = 0) -> Stream:
        """See `Service.open`."""
        return await self._files.open(file, offset)

    async def close(self) -> None:
        """See `Service.close`."""
        await self._line.client.close()

    async def fetch(self, asset: AssetId) -> Asset:
        """See `Service.fetch`; two calls where it has versions."""
        return await self._reader.fetch(asset)

    def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """See `Service.terms`."""
        return self._taxonomy.terms(vocabulary)

    def containers(self) -> AsyncIterator[Placement]:
        """See `Service.containers`."""
        return self._containers.all()
