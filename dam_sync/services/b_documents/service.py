"""Service B, connected: which part answers which question of the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Marker, Patch, Placement, Relation
from dam_sync.model.audience import Audience
from dam_sync.model.limits import MIB, MeasuredPace
from dam_sync.model.ports import Content, Journal, Stream
from dam_sync.model.schema import Schema
from dam_sync.model.service import Account, Batch, Calls, Change, Context, Cursor, Operation, Service, Shard, Window
from dam_sync.model.values import Term
from dam_sync.services.b_documents import estimate, facts
from dam_sync.services.b_documents.api.client import DocumentsApi
from dam_sync.services.b_documents.api.search import DocumentsSearch
from dam_sync.services.b_documents.codec.fields import ServerSchema
from dam_sync.services.b_documents.source.crawl import DocumentsCrawl
from dam_sync.services.b_documents.source.files import DocumentsFiles
from dam_sync.services.b_documents.source.publications import DocumentsPublications
from dam_sync.services.b_documents.target.create import DocumentsCreate
from dam_sync.services.b_documents.target.create_once import CreateOnce
from dam_sync.services.b_documents.target.permissions import DocumentsPermissions
from dam_sync.services.b_documents.target.update import DocumentsUpdate
from dam_sync.services.b_documents.taxonomy.containers import DocumentsContainers
from dam_sync.services.b_documents.taxonomy.terms import DocumentsTerms
from dam_sync.services.b_documents.tenant import DocumentsTenant
from dam_sync.services.b_documents.uploads import DocumentsUploads
from dam_sync.transfer.budget import MemoryBudget

MEMORY = 64 * MIB  # for chunks in flight, where the process has no budget of its own


class DocumentsService(Service):
    """One server of service B."""

    kind = facts.NAME

    def __init__(self, context: Context) -> None:
        self._api = DocumentsApi.open(context)
        self.limits = self._api.limits
        search = DocumentsSearch(self._api)
        self._tenant = DocumentsTenant(self._api, search)
        self._taxonomy = DocumentsTerms(self._api, self._tenant)
        creates = CreateOnce(self._api, self._tenant)
        permissions = DocumentsPermissions(self._api, self._tenant)
        self._containers = DocumentsContainers(self._api, search, self._tenant, creates, permissions)
        publications = DocumentsPublications(search)
        self._reader = DocumentsCrawl(self._api, search, self._tenant, self._taxonomy, self._containers, publications)
        self._files = DocumentsFiles(self._api, self._tenant)
        uploads = DocumentsUploads(self._api, context.budget or MemoryBudget(MEMORY))
        self._writer = DocumentsUpdate(
            self._api, self._tenant, self._taxonomy, self._containers, self._reader, uploads, permissions
        )
        self._creator = DocumentsCreate(
            self._api, search, self._tenant, self._taxonomy, self._containers, creates, uploads, self._writer
        )
        if not self._api.options.relations:
            self.operations = self.implemented - {Operation.RELATE}

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
        """See `Service.shards`; a window is told by a thin sweep of everything."""
        return self._reader.shards(window)

    def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """See `Service.crawl`."""
        return self._reader.crawl(shard, cursor)

    async def open(self, file: FileRef, offset: int = 0) -> Stream:
        """See `Service.open`."""
        return await self._files.open(file, offset)

    def opening(self, file: FileRef) -> Calls:
        """See `Service.opening`."""
        return self._files.opening(file)

    async def close(self) -> None:
        """See `Service.close`."""
        await self._api.client.close()

    async def fetch(self, asset: AssetId) -> Asset:
        """See `Service.fetch`; two calls where it has versions."""
        return await self._reader.fetch(asset)

    def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """See `Service.terms`."""
        return self._taxonomy.terms(vocabulary)

    def containers(self) -> AsyncIterator[Placement]:
        """See `Service.containers`."""
        return self._containers.all()

    async def find(self, marker: Marker) -> AssetId | None:
        """See `Service.find`; the repository is never behind, so there is no lag to wait out."""
        return await self._creator.find(marker)

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """See `Service.create`."""
        return await self._creator.create(draft, content, journal)

    async def unknown_groups(self, names: frozenset[str]) -> frozenset[str]:
        """See `Service.unknown_groups`; one call for a group, two for a user or a stranger."""
        return await self._tenant.unknown_groups(names)

    async def update(self, asset: AssetId, patch: Patch) -> None:
        """See `Service.update`; folders are moved here, collections are bulk work."""
        await self._writer.update(asset, patch)

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """See `Service.replace`."""
        await self._writer.replace(asset, content, journal)

    async def remove(self, asset: AssetId) -> None:
        """See `Service.remove`."""
        await self._writer.remove(asset)

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """See `Service.ensure_term`."""
        return await self._taxonomy.ensure_term(vocabulary, term)

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        """See `Service.ensure_container`."""
        return await self._containers.ensure(kind, path, parent)

    async def place(self, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]) -> None:
        """See `Service.place`; a folder takes assets over from where they are, and gives none away."""
        await self._containers.place(container, add, remove)

    async def attach(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """See `Service.attach`."""
        await self._writer.attach(asset, content, journal)

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        """See `Service.relate`; for the kinds that the option names."""
        await self._writer.relate(asset, relation)

    def forecast(self, change: Change, size: int = 0) -> Calls:
        """See `Service.forecast`; exact once `schema()` and `containers()` were read."""
        user = self._tenant.user.now
        known = estimate.Known(
            self._tenant.server.now or ServerSchema(), self._api.options, user is None or user.administrator
        )
        folders = self._containers.foreseen(home=estimate.needs_home(change), closed=estimate.needs_closed(change))
        return +(estimate.calls_of(change, size, known) + folders)

    def audience(self, draft: Draft) -> Audience:
        """See `Service.audience`; neither states nor dates hide a document (wire B 6.5), and a folder's own rights are
        not known here."""
        if draft.closed:
            return Audience(hidden="closed")
        groups = draft.rights.groups
        return Audience(groups=None if not groups or groups & self._api.options.everybody else groups)
