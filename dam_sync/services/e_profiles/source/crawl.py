"""Service E as a source: listings by upload time, whole assets, their versions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime

from dam_sync.aio.task_group import TaskGroup
from dam_sync.crawl.partition import ByDate, Whole, window_of
from dam_sync.http.interpreting import member_text
from dam_sync.model.asset import Asset, AssetId, Entry, Loss
from dam_sync.model.errors import DamSyncError, IntegrityError, NotFound, Rejected, TruncatedListing
from dam_sync.model.service import Batch, Cursor, Published, Shard, Window
from dam_sync.model.values import Json
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.api import query
from dam_sync.services.e_profiles.api.search import refuse_missing
from dam_sync.services.e_profiles.codec import wire
from dam_sync.services.e_profiles.source.files import ProfilesFiles
from dam_sync.services.e_profiles.source.listing import ProfilesListing, Rows, created, in_order

BY_UPLOAD = "by upload"
THIN = "thin"  # whether entries need no assets


class ProfilesCrawl(ProfilesFiles):
    """Lists and reads assets."""

    async def shards(self, window: Window) -> AsyncIterator[Shard]:
        """One listing in order of upload, or slices of upload time small enough for a scroll; a delta likewise."""
        since = window.since - facts.OVERLAP if window.since else None
        changed = query.edited_between(since, window.until)
        thin = {THIN: True} if window.ids_only else {}
        if self.api.options.enumerate == "slices":
            yield Shard(f"by upload {changed}".rstrip(), {"scan": BY_UPLOAD, "query": changed, **thin})
            return
        async with aclosing(self._slices(changed)) as slices:
            async for shard in slices:
                yield replace(shard, params={**shard.params, **thin})

    async def _slices(self, changed: str) -> AsyncGenerator[Shard, None]:
        async def count(piece: Window) -> int:
            return (await self.search.page(_query(changed, piece), limit=1)).total

        until = self.api.clock.now() + facts.AHEAD
        cut = ByDate(facts.EPOCH, until, facts.TICK, self.limits.hits, then=Whole(counted=True), overlap=facts.TICK)
        covered = 0
        async for shard in cut.shards(Window(), count):
            covered += shard.expected or 0
            asked = {**shard.params, "query": _query(changed, window_of(shard))}
            yield Shard(shard.id, asked, shard.expected)
        if covered < (total := await count(Window())):
            raise TruncatedListing(
                f"the service has {total} assets but returns only {covered} by upload time",
                operation=facts.SEARCH,
                hint="run the same command again; the service may lack support for DateAdded in queries",
            )

    async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """Pages in order of upload resume from any cursor; a scroll can only start over."""
        asked, thin = str(shard.params["query"]), shard.params.get(THIN) is True
        if shard.params.get("scan") == BY_UPLOAD:
            async with aclosing(ProfilesListing(self.search, asked).rows(cursor)) as found:
                async for some in found:
                    lean = thin or some.lean
                    plain = None if lean else await self._plain(some)
                    yield Batch(await self._entries(some.rows, plain, thin=lean), some.cursor)
            return
        plain = None if thin else await self._unarchived(asked)
        async with aclosing(self.search.scroll(asked, expand=self.api.options.expand)) as pages:
            async for rows, last in pages:
                yield Batch(await self._entries(in_order(rows), plain, thin=thin), None if last else {"begun": True})

    async def fetch(self, asset: AssetId) -> Asset:
        """The asset, and its versions by a second call if it may have several. Raises NotFound."""
        expand = self.api.options.expand if self.api.read_only else f"{self.api.options.expand},{facts.STATUS}"
        asked = (("expand", expand),)
        request = self.api.reading(facts.ASSET, wire.asset_path(asset), asked, asset=asset)
        row = (await self.api.expanding(request)).json()
        versions, losses = await self._shown_versions(row, asset)
        more = wire.More(versions, await self._documents(asset), await self._is_archived(row), losses)
        self.keep_link(row)
        if not self.api.read_only:
            self.api.just_read.put(asset, row)
        found = wire.asset_of(row, await self.tenant.load(), more)
        return self._as_read(Entry(found.id, found.revision, found.changed_at, found)).asset or found

    async def incomplete(self, assets: Sequence[AssetId], since: datetime) -> frozenset[AssetId]:
        """By a listing of the newest, and one call for each asset that is not in it: the index knows nothing of queued
        uploads (wire E 2.5), nor of the latest."""
        unseen = set(assets)
        if len(unseen) > facts.ASKED_SINGLY:
            asked = query.added_in(since - facts.OVERLAP, None)
            async with aclosing(ProfilesListing(self.search, asked, expand="").rows(None)) as found:
                async for some in found:
                    unseen.difference_update(map(wire.id_of, some.rows))
        return frozenset([asset for asset in assets if asset in unseen and await self._is_incomplete(asset)])

    async def _is_incomplete(self, asset: AssetId) -> bool:
        try:
            row = await self.api.get(facts.ASSET, wire.asset_path(asset), (("expand", facts.STATUS),), asset=asset)
        except NotFound:
            return False
        return not wire.is_trashed(row) and not wire.is_complete(row)

    async def is_trashed(self, asset: AssetId) -> bool:
        """By one call, without versions and documents."""
        return wire.is_trashed(await self.api.get(facts.ASSET, wire.asset_path(asset), asset=asset))

    async def public_links(self, asset: AssetId) -> dict[str, str]:
        """Embed links by rendition (wire E 3.1); none of an asset in the trash. Raises NotFound."""
        row = await self.api.get(facts.ASSET, wire.asset_path(asset), (("expand", facts.EMBEDS),), asset=asset)
        return {} if wire.is_trashed(row) else wire.public_links(row)

    async def published(self, asset: AssetId) -> Published:
        """By one call, and those that say whether it is archived. Raises NotFound."""
        asked = (("expand", facts.EXPAND_LINKS),)
        row = (
            await self.api.expanding(self.api.reading(facts.ASSET, wire.asset_path(asset), asked, asset=asset))
        ).json()
        found = wire.asset_of(row, await self.tenant.load(), wire.More(archived=await self._is_archived(row)))
        return Published(found, {} if wire.is_trashed(row) else found.source_links)

    async def versions(self, asset: AssetId) -> list[Json]:
        """One asset object for each file version (wire E 3.3)."""
        path = wire.asset_path(asset, "versions")
        reply = await self.api.get(facts.VERSIONS, path, (("expand", facts.EXPAND_VERSIONS),), asset=asset)
        try:
            rows = wire.whole_of(reply)
        except IntegrityError as error:
            raise error.within(operation=facts.VERSIONS, asset=asset) from None
        for row in rows:
            self.keep_link(row)
        return rows

    async def _shown_versions(self, row: Json, asset: AssetId) -> tuple[list[Json], tuple[Loss, ...]]:
        """Versions, and what is lost of them: a server from before versions has no such call (wire E 10)."""
        if not wire.needs_versions(row):
            return [], ()
        try:
            return await self.versions(asset), ()
        except NotFound:
            if row.get("version_id"):
                raise
        return [], (Loss("versions", "older ones are not returned by this release"),)

    async def _entries(self, rows: Sequence[Json], plain: frozenset[str] | None, *, thin: bool) -> tuple[Entry, ...]:
        tenant = await self.tenant.load()
        if thin:
            return tuple(wire.entry_of(row, tenant, None) for row in rows)
        completed: dict[AssetId, wire.More | None] = {}

        async def complete(row: Json) -> None:
            identity = wire.id_of(row)
            archived = plain is not None and identity not in plain
            completed[identity] = await self._more(row, archived)

        try:
            async with TaskGroup() as group:
                for row in rows:
                    group.start(complete, row)
        except BaseExceptionGroup as several:
            raise next((each for each in several.exceptions if isinstance(each, DamSyncError)), several) from several
        for row in rows:
            self.keep_link(row)
        return tuple(self._as_read(wire.entry_of(row, tenant, completed[wire.id_of(row)])) for row in rows)

    def _as_read(self, entry: Entry) -> Entry:
        return wire.as_read(entry, self.api.clock.now()) if self.api.read_only else entry

    async def _more(self, row: Json, archived: bool) -> wire.More | None:
        """Versions and documents of one listed asset; none of one in the trash, which is not copied. None of what is
        gone meanwhile, refused or short: it is requested by its id later, for that is its own trouble and not that of
        the listing."""
        identity = wire.id_of(row)
        if wire.is_trashed(row):
            return wire.More(archived=archived)
        try:
            versions = await self.versions(identity) if wire.needs_versions(row) else []
            return wire.More(versions, await self._documents(identity), archived)
        except (Rejected, IntegrityError):
            return None

    async def _documents(self, asset: AssetId) -> list[Json]:
        return await self.read_documents(asset) if self.api.options.attachments else []

    async def _plain(self, some: Rows) -> frozenset[str] | None:
        """Which of these rows a search without archived assets shows, by one call; one more where the border of the
        page parts assets of one second. None if nothing is archived."""
        if not some.rows or not self.api.tells_archived or not await self.tenant.archives():
            return None
        hits = await self.search.page(some.asked, archived=False)
        refuse_missing(hits)
        known = frozenset(wire.id_of(row) for row in hits.rows)
        if hits.total <= len(hits.rows):
            return known
        low, high = created(hits.rows[-1]), created(some.rows[-1])
        if all(wire.id_of(row) in known for row in some.rows if created(row) >= low):
            return known
        return known | (await self._unarchived(query.added_in(low - facts.TICK, high + facts.TICK)) or frozenset())

    async def _unarchived(self, asked: str) -> frozenset[str] | None:
        """Ids that a search without archived assets shows; None if nothing is archived."""
        if not self.api.tells_archived or not await self.tenant.archives():
            return None
        hits = await self.search.page(asked, archived=False)
        refuse_missing(hits)
        if hits.complete:
            return frozenset(wire.id_of(row) for row in hits.rows)
        found: set[str] = set()
        async with aclosing(self.search.scroll(asked, archived=False)) as pages:
            async for rows, _ in pages:
                found.update(wire.id_of(row) for row in rows)
        return frozenset(found)

    async def _is_archived(self, row: Json) -> bool:
        """Asked by the embed id, only where the tenant has archived assets."""
        embed = member_text(row, "external_id")
        if not embed or not self.api.tells_archived or not await self.tenant.archives():
            return False
        asked = query.exactly("embedid", embed)
        if (await self.search.page(asked, limit=1, archived=False)).total:
            return False
        return (await self.search.page(asked, limit=1)).total > 0


def _query(changed: str, piece: Window) -> str:
    return query.joined(changed, query.added_in(piece.since, piece.until))
