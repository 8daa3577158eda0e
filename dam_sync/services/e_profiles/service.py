"""Service E, connected: which part answers which question of the contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence

from dam_sync.aio.single_flight import Proven
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Marker, Patch, Placement
from dam_sync.model.audience import Audience
from dam_sync.model.limits import MIB, MeasuredPace
from dam_sync.model.ports import Content, Journal, Stream
from dam_sync.model.schema import Schema
from dam_sync.model.service import (
    Account,
    Batch,
    Calls,
    Change,
    Context,
    Cursor,
    Membership,
    Operation,
    Service,
    Shard,
    Window,
)
from dam_sync.model.values import Term
from dam_sync.services.e_profiles import estimate, facts
from dam_sync.services.e_profiles.api.client import ProfilesApi
from dam_sync.services.e_profiles.api.search import ProfilesSearch
from dam_sync.services.e_profiles.codec.security import UploadPlan
from dam_sync.services.e_profiles.source.crawl import ProfilesCrawl
from dam_sync.services.e_profiles.source.files import ProfilesLinks
from dam_sync.services.e_profiles.target import ProfilesTarget
from dam_sync.services.e_profiles.taxonomy import ProfilesMemberships, ProfilesTaxonomy
from dam_sync.services.e_profiles.tenant import ProfilesTenant
from dam_sync.services.e_profiles.uploads import ProfilesUploads
from dam_sync.transfer.budget import MemoryBudget

MEMORY = 64 * MIB  # for parts in flight, where the process has no budget of its own


class ProfilesService(Service):
    """One tenant of service E. File versions are added only where the option version_policy says they are made."""

    kind = facts.NAME

    def __init__(self, context: Context) -> None:
        self._api = ProfilesApi.open(context)
        self.limits = self._api.limits
        if not self._api.options.versioning:
            self.operations = self.implemented - {Operation.REPLACE}
        search = ProfilesSearch(self._api)
        self._tenant = ProfilesTenant(self._api, search)
        self._links = ProfilesLinks(self._api)
        self._reader = ProfilesCrawl(self._api, search, self._tenant, self._links)
        self._taxonomy = ProfilesTaxonomy(self._api)
        self._members = ProfilesMemberships(search, self._taxonomy)
        self._writer = ProfilesTarget(
            self._api,
            search,
            self._tenant,
            ProfilesUploads(self._api, context.budget or MemoryBudget(MEMORY)),
            Proven(context.clock),
        )

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
        """See `Service.fetch`; two calls."""
        return await self._reader.fetch(asset)

    async def find(self, marker: Marker) -> AssetId | None:
        """See `Service.find`."""
        return await self._writer.find(marker)

    def members(self) -> AsyncIterator[Membership]:
        """See `Service.members`."""
        return self._members.all()

    def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """See `Service.terms`."""
        return self._taxonomy.terms(vocabulary)

    def containers(self) -> AsyncIterator[Placement]:
        """See `Service.containers`."""
        return self._taxonomy.containers()

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """See `Service.create`."""
        return await self._writer.create(draft, content, journal)

    async def update(self, asset: AssetId, patch: Patch) -> None:
        """See `Service.update`; placements are bulk work, see `place`."""
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
        """See `Service.ensure_container`; collections are made private, no call makes others."""
        return await self._taxonomy.ensure_container(kind, path, parent)

    async def place(self, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]) -> None:
        """See `Service.place`."""
        await self._taxonomy.place(container, add, remove)

    def audience(self, draft: Draft) -> Audience:
        """See `Service.audience`."""
        return self._writer.audience(draft)

    def _proofs(self, change: Draft | Patch, plan: UploadPlan | None) -> Counter[str]:
        return estimate.proof_calls(self._writer.proven.new(estimate.forms_of(change, plan)))

    def forecast(self, change: Change, size: int = 0) -> Calls:
        """See `Service.forecast`; a Membership is `place`. Exact once `schema()` was read."""
        match change:
            case Draft():
                plan = self._writer.plan(change)
                return Counter(estimate.draft_calls(change, size, self.limits, plan)) + self._proofs(change, plan)
            case FileRef():
                return estimate.version_calls(size or change.size or 0, self.limits)
            case Patch():
                return Counter(estimate.patch_calls(change)) + self._proofs(change, None)
            case Membership():
                return estimate.place_calls(change)
            case Term():
                return {facts.ADD_TERM: 1}
            case Placement():
                return estimate.container_calls(change)
            case _:
                return {}
