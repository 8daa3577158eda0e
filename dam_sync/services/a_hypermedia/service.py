"""Service A, a hypermedia DAM: which part answers which question."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import ClassVar
from urllib.parse import urlsplit

from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Marker, Patch, Placement, Relation
from dam_sync.model.audience import Audience
from dam_sync.model.limits import Limits, MeasuredPace
from dam_sync.model.ports import Content, Journal, Stream
from dam_sync.model.schema import Schema
from dam_sync.model.service import Account, Batch, Calls, Context, Cursor, Membership, Operation, Service, Shard, Window
from dam_sync.model.values import Term
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.client import client_of
from dam_sync.services.a_hypermedia.api.connection import HypermediaApi
from dam_sync.services.a_hypermedia.api.search import MediaSearch
from dam_sync.services.a_hypermedia.estimate import HypermediaEstimate
from dam_sync.services.a_hypermedia.options import options_of
from dam_sync.services.a_hypermedia.source.baskets import Baskets
from dam_sync.services.a_hypermedia.source.bulk_read import BulkReader
from dam_sync.services.a_hypermedia.source.crawl import MediaCrawler
from dam_sync.services.a_hypermedia.source.fetch import MediaReader
from dam_sync.services.a_hypermedia.source.open import MediaOpener
from dam_sync.services.a_hypermedia.target.create import MediaCreator, audience_of
from dam_sync.services.a_hypermedia.target.find import MediaFinder
from dam_sync.services.a_hypermedia.target.proofs import Proofs
from dam_sync.services.a_hypermedia.target.relate import MediaRelations
from dam_sync.services.a_hypermedia.target.update import MediaUpdater
from dam_sync.services.a_hypermedia.taxonomy import HypermediaTaxonomy
from dam_sync.services.a_hypermedia.tenant import HypermediaTenant
from dam_sync.services.a_hypermedia.uploads import HypermediaUploads


class HypermediaService(Service):
    """One instance of service A."""

    kind: ClassVar[str] = facts.NAME

    def __init__(self, context: Context) -> None:
        client = client_of(context)
        options = options_of(context.options)
        self._client = client
        self._host = urlsplit(context.base_url).netloc
        self.limits: Limits = replace(facts.LIMITS, lag=options.lag)
        self._api = api = HypermediaApi(
            client, context.base_url, options.rels, context.clock, signed=context.auth.get("flow") == "signed_token"
        )
        self._tenant = tenant = HypermediaTenant(api, options.locale_options, options.link_types)
        self._reader = MediaReader(api, tenant, options.public_links)
        self._media_search = MediaSearch(api)
        bulk = BulkReader(api, tenant, self._reader, self._media_search)
        self._crawling = MediaCrawler(api, tenant, self._media_search, bulk, options.keyset)
        self._opening = MediaOpener(api, self._reader)
        proofs = Proofs(context.clock, options.bulk)
        self._taxonomy = HypermediaTaxonomy(api, tenant, proofs)
        uploads = HypermediaUploads(api, context.budget)
        self._updater = MediaUpdater(api, tenant, uploads, proofs)
        self._finder = MediaFinder(api, tenant, options.staging, options.lag)
        self._creating = MediaCreator(api, tenant, uploads, self._updater, proofs)
        self._relating = MediaRelations(api, self._reader, options.link_types, proofs)
        self._baskets = Baskets(api)
        self._read_only, self._reads_baskets = context.read_only, options.baskets
        if not options.baskets:
            self.operations = self.operations - {Operation.MEMBERS}
        self._costs = HypermediaEstimate(api, tenant, self._finder, proofs)

    @property
    def calls(self) -> Calls:
        """See `Service.calls`."""
        return self._client.calls

    @property
    def measured_pace(self) -> MeasuredPace:
        """See `Service.measured_pace`."""
        return self._client.measured_pace

    async def probe(self) -> Account:
        """Both entry points, the own user and a count; 401 is Denied (spec 000, Authentication 2)."""
        entry = await self._api.entry.get()
        user, notes = await self._api.user()
        if not entry.has(facts.CHUNKS):
            most = facts.ONE_REQUEST_BYTES
            self.limits = replace(self.limits, parts=None, single_bytes=most, largest_bytes=most)
            notes = (*notes, "this release is older than 4.31.0 and takes no chunks: files above 50 MB are parked")
        if self._read_only and not self._reads_baskets:
            notes = (*notes, *await self._baskets.notes())
        return Account(
            tenant=self._host,
            user=user,
            release=".".join(map(str, entry.release)),
            total=await self._media_search.count([]),
            clock_skew=entry.skew,
            notes=notes,
        )

    async def schema(self) -> Schema:
        """See `Service.schema`."""
        return await self._tenant.schema()

    def shards(self, window: Window) -> AsyncIterator[Shard]:
        """See `Service.shards`; wire A 2.4, 2.6."""
        return self._crawling.shards(window)

    def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """See `Service.crawl`."""
        return self._crawling.crawl(shard, cursor)

    async def open(self, file: FileRef, offset: int = 0) -> Stream:
        """See `Service.open`."""
        return await self._opening.open(file, offset)

    async def close(self) -> None:
        """See `Service.close`."""
        await self._client.close()

    async def fetch(self, asset: AssetId) -> Asset:
        """See `Service.fetch`."""
        return await self._reader.fetch(asset)

    async def find(self, marker: Marker) -> AssetId | None:
        """See `Service.find`."""
        return await self._finder.find(marker)

    async def find_partial(self, marker: Marker, journal: Journal) -> AssetId | None:
        """See `Service.find_partial`; between its create and its mark nothing but the step tells of it."""
        made = await journal.get("create")
        return AssetId(str(made["id"])) if made is not None else await self.find(marker)

    def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """See `Service.terms`."""
        return self._taxonomy.terms(vocabulary)

    def members(self) -> AsyncIterator[Membership]:
        """See `Service.members`: baskets, where the job asks for them."""
        return self._baskets.members()

    async def containers(self) -> AsyncIterator[Placement]:
        """See `Service.containers`: folders, then labels."""
        for place in await self._tenant.containers():
            yield place

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """See `Service.create`."""
        return await self._creating.create(draft, content, journal, self._finder)

    def audience(self, draft: Draft) -> Audience:
        """See `Service.audience`. Rights of folders are not told (wire A 5.1), so the status is all there is."""
        return audience_of(draft, self._tenant.statuses.now or {})

    async def update(self, asset: AssetId, patch: Patch) -> None:
        """See `Service.update`."""
        await self._updater.update(asset, patch)

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """See `Service.replace`."""
        await self._updater.replace(asset, content, journal)

    async def remove(self, asset: AssetId) -> None:
        """See `Service.remove`."""
        await self._updater.remove(asset)

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """See `Service.ensure_term`."""
        return await self._taxonomy.ensure_term(vocabulary, term)

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        """See `Service.ensure_container`."""
        return await self._taxonomy.ensure_container(kind, path, parent)

    async def attach(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """See `Service.attach`."""
        await self._relating.attach(asset, content, journal)

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        """See `Service.relate`."""
        await self._relating.relate(asset, relation)

    def forecast(
        self, change: Draft | Patch | FileRef | Term | Placement | Membership | Relation, size: int = 0
    ) -> Calls:
        """See `Service.forecast`; needs `schema()` to have been read."""
        return self._costs.forecast(change, size)
