"""Service D, connected: which part answers which question of the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import ClassVar

from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Marker, Patch, Placement, Relation
from dam_sync.model.audience import Audience
from dam_sync.model.limits import MeasuredPace
from dam_sync.model.ports import Content, IsReferenced, Journal, Stream
from dam_sync.model.schema import Schema
from dam_sync.model.service import Account, Batch, Calls, Change, Context, Cursor, Membership, Service, Shard, Window
from dam_sync.model.values import Term
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.api import TemplatesApi
from dam_sync.services.d_templates.estimate import TemplatesEstimate
from dam_sync.services.d_templates.source.crawl import TemplatesCrawl
from dam_sync.services.d_templates.source.fetch import TemplatesFetch
from dam_sync.services.d_templates.source.open import TemplatesOpen
from dam_sync.services.d_templates.source.versions import VersionGroups
from dam_sync.services.d_templates.target.create import TemplatesCreate
from dam_sync.services.d_templates.target.find import TemplatesFind
from dam_sync.services.d_templates.target.relate import TemplatesRelate
from dam_sync.services.d_templates.target.update import TemplatesUpdate
from dam_sync.services.d_templates.taxonomy.collections import TemplatesCollections
from dam_sync.services.d_templates.taxonomy.terms import TemplatesTerms
from dam_sync.services.d_templates.tenant import TemplatesTenant
from dam_sync.services.d_templates.uploads.uploader import TemplatesUploader, UploadUrls


class TemplatesService(Service):
    """One instance of service D. An asset is a family of records, named by the file of its first version."""

    kind: ClassVar[str] = facts.NAME

    def __init__(self, context: Context) -> None:
        self._line = line = TemplatesApi.open(context)
        self.limits = line.limits
        self._knowledge = knowledge = TemplatesTenant(line)
        self._families = families = VersionGroups(line)
        self._reader = TemplatesFetch(line, knowledge, families)
        self._opening = TemplatesOpen(line, families)
        self._crawler = TemplatesCrawl(line, knowledge, families, self._reader, self._opening)
        self._finding = TemplatesFind(line, knowledge, families)
        self._taxonomy = TemplatesTerms(line, knowledge)
        self._collections = TemplatesCollections(line, knowledge, families)
        self._relating = TemplatesRelate(line, families)
        uploader = TemplatesUploader(line, families, UploadUrls(line), line.options.sessions, line.options.sessions)
        self._changer = changer = TemplatesUpdate(line, knowledge, families, self._taxonomy)
        self._writer = TemplatesCreate(line, knowledge, families, self._finding, self._taxonomy, uploader, changer)
        self._costs = TemplatesEstimate(line, knowledge, families, self._collections, uploader, changer)

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
        return await self._knowledge.probe()

    async def schema(self) -> Schema:
        """See `Service.schema`."""
        return await self._knowledge.schema()

    def shards(self, window: Window) -> AsyncIterator[Shard]:
        """See `Service.shards`."""
        return self._crawler.shards(window)

    def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """See `Service.crawl`."""
        return self._crawler.crawl(shard, cursor)

    async def open(self, file: FileRef, offset: int = 0) -> Stream:
        """See `Service.open`; one call for each opening."""
        return await self._opening.open(file, offset)

    def opening(self, file: FileRef) -> Calls:
        """See `Service.opening`; a call for fifty files of a listing."""
        return self._opening.foresee(file)

    async def close(self) -> None:
        """See `Service.close`."""
        await self._line.client.close()

    async def fetch(self, asset: AssetId) -> Asset:
        """See `Service.fetch`."""
        return await self._reader.fetch(asset)

    async def find(self, marker: Marker) -> AssetId | None:
        """See `Service.find`."""
        return await self._finding.find(marker)

    async def find_partial(self, marker: Marker, journal: Journal) -> AssetId | None:
        """See `Service.find_partial`."""
        made = await journal.get("record")
        return AssetId(str(made["family"])) if made is not None else await self.find(marker)

    def members(self) -> AsyncIterator[Membership]:
        """See `Service.members`."""
        return self._collections.members()

    def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """See `Service.terms`."""
        return self._taxonomy.terms(vocabulary)

    def containers(self) -> AsyncIterator[Placement]:
        """See `Service.containers`."""
        return self._collections.all()

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """See `Service.create`."""
        return await self._writer.create(draft, content, journal)

    def audience(self, draft: Draft) -> Audience:
        """See `Service.audience`."""
        security = self._knowledge.security.now
        return Audience() if security is None else security.audience(draft, self._knowledge.forms.now)

    async def update(self, asset: AssetId, patch: Patch) -> None:
        """See `Service.update`; placements are bulk work, see `place`."""
        await self._changer.update(asset, patch)

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """See `Service.replace`."""
        await self._writer.replace(asset, content, journal)

    async def remove(self, asset: AssetId) -> None:
        """See `Service.remove`."""
        await self._changer.remove(asset)

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """See `Service.ensure_term`."""
        return await self._taxonomy.ensure_term(vocabulary, term)

    async def ensure_terms(self, vocabulary: str, terms: Sequence[Term]) -> tuple[Term, ...]:
        """See `Service.ensure_terms`."""
        return await self._taxonomy.ensure_terms(vocabulary, terms)

    def forecast_terms(self, terms: Sequence[Term]) -> Calls:
        """See `Service.forecast_terms`."""
        return self._costs.terms(terms)

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        """See `Service.ensure_container`."""
        return await self._collections.ensure(kind, path)

    async def place(self, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]) -> None:
        """See `Service.place`."""
        await self._collections.place(container, add, remove)

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        """See `Service.relate`."""
        await self._relating.relate(asset, relation)

    async def sweep(self, recorded: IsReferenced) -> int:
        """See `Service.sweep`."""
        return await self._writer.uploader.sweep(recorded)

    def forecast(self, change: Change, size: int = 0) -> Calls:
        """See `Service.forecast`; exact once `schema()` was read."""
        return self._costs.forecast(change, size)
