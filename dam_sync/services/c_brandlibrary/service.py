"""Service C, connected: which part answers which question of the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from dam_sync.model.asset import Asset, AssetId, FileRef, Placement
from dam_sync.model.schema import Schema
from dam_sync.model.service import (
    Account,
    Batch,
    Calls,
    Context,
    Cursor,
    Membership,
    Service,
    Shard,
    Stream,
    Window,
)
from dam_sync.model.values import Term
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.connection import Line
from dam_sync.services.c_brandlibrary.library import Library
from dam_sync.services.c_brandlibrary.links import Links
from dam_sync.services.c_brandlibrary.listing import Listing
from dam_sync.services.c_brandlibrary.reading import Reader
from dam_sync.services.c_brandlibrary.taxonomy import Taxonomy


class BrandLibraryService(Service):
    """One library of service C. An asset stays in the section and the collection it was made in."""

    kind = facts.NAME

    def __init__(self, context: Context) -> None:
        self._line = Line.open(context)
        self.limits = self._line.limits
        self._library = Library(self._line)
        self._links = Links(self._line)
        listing = Listing(self._line)
        self._reader = Reader(self._line, self._library, listing, self._links)
        self._taxonomy = Taxonomy(self._line, self._library, listing)

    @property
    def calls(self) -> Calls:
        """See `Service.calls`."""
        return self._line.client.calls

    async def probe(self) -> Account:
        """See `Service.probe`."""
        return await self._library.probe()

    async def schema(self) -> Schema:
        """See `Service.schema`."""
        return await self._library.schema()

    def shards(self, window: Window) -> AsyncIterator[Shard]:
        """See `Service.shards`."""
        return self._reader.shards(window)

    def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """See `Service.crawl`."""
        return self._reader.crawl(shard, cursor)

    async def open(self, file: FileRef, offset: int = 0) -> Stream:
        """See `Service.open`."""
        return await self._links.open(file, offset)

    async def close(self) -> None:
        """See `Service.close`."""
        await self._line.client.close()

    async def fetch(self, asset: AssetId) -> Asset:
        """See `Service.fetch`; one call, and one more for an asset with files."""
        return await self._reader.fetch(asset)

    def members(self) -> AsyncIterator[Membership]:
        """See `Service.members`: labels, which assets do not tell."""
        return self._taxonomy.members()

    def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """See `Service.terms`."""
        return self._taxonomy.terms(vocabulary)

    def containers(self) -> AsyncIterator[Placement]:
        """See `Service.containers`."""
        return self._taxonomy.containers()

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """See `Service.ensure_term`."""
        return await self._taxonomy.ensure_term(vocabulary, term)

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        """See `Service.ensure_container`."""
        return await self._taxonomy.ensure_container(kind, path, parent)
