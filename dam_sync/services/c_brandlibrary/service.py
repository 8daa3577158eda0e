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
from dam_sync.services.c_brandlibrary.api import BrandLibraryApi
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.estimate import BrandLibraryEstimate
from dam_sync.services.c_brandlibrary.source.crawl import BrandLibraryReader
from dam_sync.services.c_brandlibrary.source.listing import BrandLibraryListing
from dam_sync.services.c_brandlibrary.source.missing import ExistenceCheck
from dam_sync.services.c_brandlibrary.source.open import DownloadLinks
from dam_sync.services.c_brandlibrary.target.create import BrandLibraryCreator
from dam_sync.services.c_brandlibrary.target.find import BrandLibraryFinder
from dam_sync.services.c_brandlibrary.target.plan import ValuePlanner
from dam_sync.services.c_brandlibrary.target.update import BrandLibraryUpdater
from dam_sync.services.c_brandlibrary.target.values import FieldValueWriter
from dam_sync.services.c_brandlibrary.taxonomy import BrandLibraryTaxonomy
from dam_sync.services.c_brandlibrary.tenant import BrandLibraryTenant
from dam_sync.services.c_brandlibrary.uploads import BrandLibraryUploads
from dam_sync.transfer.budget import MemoryBudget

MEMORY = 64 * MIB  # for ranges in flight, where the process has no budget of its own


class BrandLibraryService(Service):
    """One library of service C. An asset stays in the section and the collection it was made in."""

    kind = facts.NAME

    def __init__(self, context: Context) -> None:
        self._api = BrandLibraryApi.open(context)
        pace = self._api.limits.pace
        self.limits = replace(self._api.limits, pace=replace(pace, at_once=self._api.made_at_once))
        self._tenant = BrandLibraryTenant(self._api)
        self._links = DownloadLinks(self._api)
        listing = BrandLibraryListing(self._api)
        self._reader = BrandLibraryReader(self._api, self._tenant, listing, self._links)
        self._presence = ExistenceCheck(self._api, self._tenant, listing, self._reader)
        self._taxonomy = BrandLibraryTaxonomy(self._api, self._tenant, listing)
        self._finder = BrandLibraryFinder(self._api, self._tenant)
        proven = Proven(context.clock)
        self._costs = BrandLibraryEstimate(self._api, self._tenant, self._taxonomy, proven)
        planner = ValuePlanner(self._tenant)
        uploads = BrandLibraryUploads(self._api, context.budget or MemoryBudget(MEMORY), context.vault)
        values = FieldValueWriter(self._api, self._tenant, self._finder)
        self._creator = BrandLibraryCreator(self._api, planner, self._taxonomy, uploads, self._finder, values, proven)
        self._changer = BrandLibraryUpdater(self._api, planner, uploads, self._finder, values)

    @property
    def calls(self) -> Calls:
        """See `Service.calls`."""
        return self._api.client.calls

    @property
    def measured_pace(self) -> MeasuredPace:
        """See `Service.measured_pace`."""
        return self._api.client.measured_pace

    async def probe(self) -> Account:
        """See `Service.probe`."""
        return await self._tenant.probe()

    async def schema(self) -> Schema:
        """See `Service.schema`."""
        return await self._tenant.schema()

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
        await self._api.client.close()

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
        return await self._creator.uploads.sweep(recorded)

    def forecast(self, change: Change, size: int = 0) -> Calls:
        """See `Service.forecast`. Exact once `schema()` was read, but for patches, whose calls depend on the values
        there are, and for files the service is slow to look at."""
        return self._costs.forecast(change, size)
