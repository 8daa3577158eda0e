"""Service B as a source: documents by ascending ids, whole or as thin rows, their versions and relations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from itertools import pairwise

from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import Asset, AssetId, Entry, Loss, Placement, Relation, Revision
from dam_sync.model.connector import Context
from dam_sync.model.errors import NotFound, Rejected
from dam_sync.model.service import Batch, Cursor, Published, Shard, Window
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.client import MEMBER, WHOLE
from dam_sync.services.b_documents.api.search import one_of, quoted, select
from dam_sync.services.b_documents.codec import wire
from dam_sync.services.b_documents.codec.fields import needed
from dam_sync.services.b_documents.source.files import DocumentsFiles
from dam_sync.services.b_documents.source.publications import DocumentsPublications
from dam_sync.services.b_documents.taxonomy.containers import DocumentsContainers
from dam_sync.services.b_documents.taxonomy.terms import DocumentsTerms

DOWNLOADS = "/nxfile/"  # wire B 1.1: the servlet's part of every permanent download URL


class DocumentsCrawl(DocumentsFiles, DocumentsContainers, DocumentsTerms):
    """Lists and reads assets."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._publications = DocumentsPublications(self.search)

    async def shards(self, window: Window) -> AsyncIterator[Shard]:
        """The whole library, in ranges of ids if it is large; a window lists all of it by id only (wire B 2.6)."""
        thin = window.ids_only or window.since is not None
        if window.since is not None:
            yield Shard("all", {"thin": thin, "from": "", "to": ""})
            return
        total = await self.search.count(select(await self.tenant.assets()))
        if total is not None and total <= (self.limits.split or 0):
            yield Shard("all", {"thin": thin, "from": "", "to": ""}, total)
            return
        borders = ["", *facts.RANGES, ""]
        for low, high in pairwise(borders):
            yield Shard(f"from-{low or 'start'}", {"thin": thin, "from": low, "to": high})

    async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """List by ascending ids, so that added and deleted rows do not move others; resumable from every cursor."""
        assets = await self.tenant.assets()
        low, high = str(shard.params.get("from") or ""), str(shard.params.get("to") or "")
        since = f"ecm:uuid >= {quoted(low)}" if low else ""
        until = f"ecm:uuid < {quoted(high)}" if high else ""
        thin = shard.params.get("thin") is True
        headers = MEMBER if thin else WHOLE
        pages = self.search.listing(lambda after: select(assets, since, until, after), headers, cursor)
        async with aclosing(pages):
            async for rows, behind in pages:
                ours = [row for row in rows if wire.is_asset(row)]
                yield Batch(await self._thin(ours) if thin else await self._whole(ours), behind)

    async def fetch(self, asset: AssetId) -> Asset:
        """One document with its versions, with a second call if it has any. Raises NotFound."""
        row = await self._row(asset)
        return (await self._assets([row]))[0]

    async def is_trashed(self, asset: AssetId) -> bool:
        """By one call, without versions."""
        return wire.is_trashed(await self._row(asset))

    async def _row(self, asset: AssetId) -> Json:
        """The document, which a write that follows does not read again."""
        row = await self.api.document(asset)
        if not self.api.read_only:
            self.api.just_read.put(asset, row)
        return row

    async def public_links(self, asset: AssetId) -> dict[str, str]:
        """The permanent URL of the main file; the server decides who may open it (wire B 3). Raises NotFound."""
        row = await self.api.document(asset)
        return {} if row.get("isTrashed") else _addresses(row)

    async def published(self, asset: AssetId) -> Published:
        """By the same call. Raises NotFound."""
        row, options = await self.api.document(asset), self.api.options
        rights = wire.rights_of(row, options, (await self.tenant.user.get()).name)
        found = Asset(asset, Revision(""), status=wire.status_of(row, options), rights=rights)
        return Published(found, {} if row.get("isTrashed") else _addresses(row))

    async def _thin(self, rows: Sequence[Json]) -> tuple[Entry, ...]:
        collections = await self._collections_of(rows)
        return tuple(
            [wire.entry_of(row, await self.folder_of(row), mark=await self._mark_of(row, collections)) for row in rows]
        )

    async def _whole(self, rows: Sequence[Json]) -> tuple[Entry, ...]:
        """Those of a page that was too large to be read have no asset."""
        if any(map(wire.is_lean, rows)):
            return await self._thin(rows)
        pairs = zip(rows, await self._assets(rows), strict=True)
        return tuple([wire.entry_of(row, await self.folder_of(row), asset) for row, asset in pairs])

    async def _collections_of(self, rows: Sequence[Json]) -> Mapping[str, Placement]:
        joined = {uid for row in rows for uid in wire.collection_ids(row)}
        return await self.read_collections(joined) if joined else {}

    async def _mark_of(self, row: Json, collections: Mapping[str, Placement]) -> str:
        return wire.mark_of(row, collections, await self.inherited_in(row))

    async def _assets(self, rows: Sequence[Json]) -> list[Asset]:
        server, options = await self.tenant.server.get(), self.api.options
        rows = await gather_or_raise([self.api.with_rights(row) for row in rows])
        user = (await self.tenant.user.get()).name
        versions = await self.versions([row for row in rows if wire.may_have_versions(row)])
        used = {key for row in rows for key, value in (row.get("properties") or {}).items() if value}
        terms = await self.stored_terms(needed(server, used))
        collections = await self._collections_of(rows)
        related = (
            await gather_or_raise([self._relations(wire.uid_of(row)) for row in rows]) if options.relations else ()
        )
        published = await self._publications.of([wire.uid_of(row) for row in rows]) if options.sections else {}
        found = []
        for number, row in enumerate(rows):
            around = wire.Around(
                versions=versions.get(wire.uid_of(row), ()),
                folder=await self.folder_of(row),
                folder_id=member_text(row, "parentRef"),
                collections=collections,
                relations=related[number][0] if related else frozenset(),
                losses=related[number][1] if related else (),
                terms=terms,
                user=user,
                mark=await self._mark_of(row, collections),
            )
            asset = wire.asset_of(row, server, options, around)
            places = asset.placements | published.get(asset.id, frozenset())
            links = _addresses(row) if options.public_links else {}
            found.append(replace(asset, placements=places, source_links=links))
        return found

    async def versions(self, rows: Sequence[Json]) -> Mapping[str, list[Json]]:
        """The versions of these documents, oldest first; versions are never in a folder, so they are queried by their
        document (wire B 2.5)."""
        found: dict[str, list[Json]] = {}
        ids = [wire.uid_of(row) for row in rows]
        for start in range(0, len(ids), facts.VERSIONS_ASKED):
            some = one_of("ecm:versionVersionableId", ids[start : start + facts.VERSIONS_ASKED])
            for row in await self.search.everything(partial(_versions_of, some), {"properties": "*"}):
                found.setdefault(member_text(row, "versionableId"), []).append(row)
        for several in found.values():
            several.sort(key=wire.version_number)
        return found

    async def _relations(self, asset: AssetId) -> tuple[frozenset[Relation], tuple[Loss, ...]]:
        """Its outgoing relations; kinds refused for this document are reported as losses."""
        found: set[Relation] = set()
        losses: list[Loss] = []
        for kind in self.api.options.relations:
            try:
                found.update(Relation(kind, target) for target in await self._related(asset, kind))
            except Rejected as refused:
                losses.append(Loss("relations", "cannot be read", f"{kind}: {refused.message}"))
        return frozenset(found), tuple(losses)

    async def _related(self, asset: AssetId, kind: str) -> list[AssetId]:
        """Requested again after a 404, because the document was just read."""
        try:
            return await self.api.related(asset, kind)
        except NotFound:
            return await self.api.related(asset, kind)


def _versions_of(some: str, after: str) -> str:
    return select("ecm:isVersion = 1", some, after)


@interprets_response
def _addresses(row: Json) -> dict[str, str]:
    """The permanent URL of the main file: the server's own, without the
    token that only keeps caches fresh. `data` may be a signed link to a storage, which expires (wire B 3)."""
    blob = (row.get("properties") or {}).get(wire.CONTENT)
    urls = (
        [str(blob.get(name) or "").partition("?")[0] for name in ("blobUrl", "data")] if isinstance(blob, dict) else []
    )
    lasting = [link for link in urls if DOWNLOADS in link]
    return {"file": lasting[0]} if lasting else {}
