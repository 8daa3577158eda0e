"""Service C, connected: which part answers which question of the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime

from dam_sync.aio.single_flight import Proven
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Marker, Patch, Placement
from dam_sync.model.audience import Audience
from dam_sync.model.limits import MIB, MeasuredPace
from dam_sync.model.ports import Content, IsReferenced, Journal, Stream
from dam_sync.model.schema import Schema
from dam_sync.model.service import Account, Batch, Calls, Change, Context, Cursor, Membership, Service, Shard, Window
from dam_sync.model.values import Term
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.api import Line
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.estimate import Costs
from dam_sync.services.c_brandlibrary.source.crawl import Reader
from dam_sync.services.c_brandlibrary.source.listing import Listing
from dam_sync.services.c_brandlibrary.source.missing import Presence
from dam_sync.services.c_brandlibrary.source.open import Links
from dam_sync.services.c_brandlibrary.target.create import Creator
from dam_sync.services.c_brandlibrary.target.find import Finder
from dam_sync.services.c_brandlibrary.target.plan import Planner
from dam_sync.services.c_brandlibrary.target.update import Changer
from dam_sync.services.c_brandlibrary.target.values import Values
from dam_sync.services.c_brandlibrary.taxonomy import Taxonomy
from dam_sync.services.c_brandlibrary.tenant import Library
from dam_sync.services.c_brandlibrary.uploads import Uploader
from dam_sync.transfer.budget import MemoryBudget

MEMORY = 64 * MIB  # for ranges in flight, where the process has no budget of its own


class BrandLibraryService(Service):
    """One library of service C. An asset stays in the section and the collection it was made in."""

    kind = facts.NAME

    def __init__(self, context: Context) -> None:
        self._line = Line.open(context)
        pace = self._line.limits.pace
        self.limits = replace(self._line.limits, pace=replace(pace, at_once=self._line.made_at_once))
        self._library = Library(self._line)
        self._links = Links(self._line)
        listing = Listing(self._line)
        self._reader = Reader(self._line, self._library, listing, self._links)
        self._presence = Presence(self._line, self._library, listing, self._reader)
        self._taxonomy = Taxonomy(self._line, self._library, listing)
        self._finder = Finder(self._line, self._library)
        proven = Proven(context.clock)
        self._costs = Costs(self._line, self._library, self._taxonomy, proven)
        planner = Planner(self._library)
        uploader = Uploader(self._line, context.budget or MemoryBudget(MEMORY), context.vault)
        values = Values(self._line, self._library, self._finder)
        self._creator = Creator(self._line, planner, self._taxonomy, uploader, self._finder, values, proven)
        self._changer = Changer(self._line, planner, uploader, self._finder, values)

    @property
    def calls(self) -> Calls:
        """See `Service.calls`."""
        return self._line.client.calls

    @property
    def measured_pace(self) -> MeasuredPace:
        """See `Service.measured_pace`."""
        return self._line.client.measured_pace

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

    async def missing(self, assets: Sequence[AssetId], since: datetime) -> frozenset[AssetId]:
        """See `Service.missing`; listings of ids alone, and one call for each asset that these do not show."""
        return await self._presence.missing(assets, since)

    async def find(self, marker: Marker) -> AssetId | None:
        """See `Service.find`; an asset that the service deleted as a duplicate is not found."""
        return await self._finder.find(marker)

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

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """See `Service.create`."""
        return await self._creator.create(draft, content, journal)

    def audience(self, draft: Draft) -> Audience:
        """See `Service.audience`."""
        return wire.audience_of(draft)

    async def update(self, asset: AssetId, patch: Patch) -> None:
        """See `Service.update`; an asset stays in its section and collection."""
        await self._changer.update(asset, patch)

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """See `Service.replace`; returns once the service has looked at the new file."""
        await self._changer.replace(asset, content, journal)

    async def remove(self, asset: AssetId) -> None:
        """See `Service.remove`; an administrator can bring it back."""
        await self._changer.remove(asset)

    async def attach(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """See `Service.attach`."""
        await self._changer.attach(asset, content, journal)

    async def sweep(self, recorded: IsReferenced) -> int:
        """See `Service.sweep`."""
        return await self._creator.uploader.sweep(recorded)

    def forecast(self, change: Change, size: int = 0) -> Calls:
        """See `Service.forecast`. Exact once `schema()` was read, but for patches, whose calls depend on the values
        there are, and for files the service is slow to look at."""
        return self._costs.forecast(change, size)
