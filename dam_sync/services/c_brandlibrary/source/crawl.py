"""Service C as a source: sections, windows of creation inside large ones, deltas by last change, whole assets."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, groupby, repeat

from dam_sync.aio.single_flight import SingleFlight, gather_or_raise
from dam_sync.crawl.partition import ByDate, Partitioner, Whole, window_of
from dam_sync.http.dates import parse_timestamp
from dam_sync.http.interpreting import interpreting_response, interprets_response
from dam_sync.model.asset import Asset, AssetId, Entry, Loss, Revision
from dam_sync.model.connector import Context
from dam_sync.model.errors import InvalidValue, NotFound, OversizedResponse, TruncatedListing
from dam_sync.model.service import Batch, Cursor, Published, Shard, Window
from dam_sync.model.values import Json, instant_text
from dam_sync.model.waits import PROCESSED, sleep_for
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.codec.envelope import document_of, related
from dam_sync.services.c_brandlibrary.codec.fields import PAYLOAD
from dam_sync.services.c_brandlibrary.codec.values import timestamp_text
from dam_sync.services.c_brandlibrary.source.listing import ListingQuery, ids_of
from dam_sync.services.c_brandlibrary.source.open import BrandLibraryOpener
from dam_sync.services.c_brandlibrary.tenant import changed_at, is_fileless

MISSING = frozenset({403, 404})
THIN = "thin"  # whether entries need no assets
FAR = datetime(9000, 1, 1, tzinfo=UTC)  # behind every asset


class BrandLibraryReader(BrandLibraryOpener):
    """Lists and reads assets."""

    clearly = facts.CLEARLY

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._dated = SingleFlight(self._search_dated)
        self._counts: dict[str, dict[str, int] | None] = {}
        self._given: dict[str, set[str]] = {}  # relations that rows of each listing have

    # -- shards ----------------------------------------------------------------------------------------------------

    async def shards(self, window: Window) -> AsyncIterator[Shard]:
        """The newest changes as one shard, if they are few; otherwise the library as one, if within reach; otherwise
        its sections, split by date of creation if large."""
        thin = {THIN: True} if window.ids_only else {}
        if window.since is not None and self._api.options.delta == "updated":
            since = window.since - facts.OVERLAP
            if await self._few(since):
                yield Shard("changes", {"changes": True, **_ends(since, window.until)})
                return
            window = Window(since, window.until)
        else:
            window = Window(ids_only=window.ids_only)
        library = await self._tenant.id()
        if await self._within_reach(library):
            changed = {"payload": await self._tenant.has_payload(), "changed": _ends(window.since, window.until)}
            yield Shard("library", {"library": library, **changed, **_ends(None, None), **thin})
            return
        async with aclosing(self._sections(window)) as shards:
            async for shard in shards:
                yield replace(shard, params={**shard.params, **thin})

    @property
    def _clearly_within_reach(self) -> bool:
        reported = self._tenant.counted
        return reported is not None and reported < self.limits.hits * self.clearly

    async def _within_reach(self, library: str) -> bool:
        """Whether all assets can be listed as one, judged by the library's own count if it is clear."""
        if self._clearly_within_reach:
            return True
        return await self._listing.count(ListingQuery(facts.LIBRARY_ASSETS, (library,))) <= self.limits.hits

    async def _few(self, since: datetime) -> bool:
        """Whether the changes since then are within reach: the sample of the assets that changed last, or the row at
        the reach, is older, or there is none."""
        if self._clearly_within_reach or self._tenant.few_since(since):
            return True
        asked = (
            *(("sort_by", "updated_at"), ("order", "DESC"), ("page", str(self.limits.hits)), ("per", "1")),
            ("fields", "updated_at"),
        )
        document = await self._api.listed(facts.LIBRARY_ASSETS, (await self._tenant.id(),), asked)
        changed = changed_at(document.rows[0]) if document.rows else None
        return (document.total or 0) <= self.limits.hits or (changed is not None and changed < since)

    async def _sections(self, changed: Window) -> AsyncGenerator[Shard, None]:
        found = 0
        library = await self._tenant.id()
        for section in await self._api.everything(facts.SECTIONS, (library,)):
            whole = ListingQuery(facts.SECTION_ASSETS, (section["id"],))
            total = await self._listing.count(whole)
            found += total
            more = {
                "section": section["id"],
                "payload": is_fileless(section),
                "changed": _ends(changed.since, changed.until),
            }
            if total <= self.limits.hits:
                if total:
                    yield Shard(f"section {section['id']}", {**more, **_ends(None, None)}, _expected(total, changed))
                continue
            for shard in await self._cut(whole, total, more):
                yield shard
        await self._refuse_fewer(library, found)

    async def _cut(self, whole: ListingQuery, total: int, more: dict[str, Json]) -> list[Shard]:
        """By date of creation, in days as the service documents them, otherwise in timestamps; each must return
        everything."""
        shown = 0
        for exact in (False, True):
            shards = [shard async for shard in self._pieces(whole, total, exact)]
            shown = sum(shard.expected or 0 for shard in shards)
            if shown >= total:
                name = f"section {whole.ids[0]}"
                return [Shard(f"{name} {each.id}", {**each.params, **more, "exact": exact}) for each in shards]
        raise TruncatedListing(
            f"section {whole.ids[0]} has {total} assets but its search by date of creation returns {shown}",
            operation=facts.SECTION_ASSETS,
            hint="run the same command again; if the error persists, the search index of the service may be damaged",
        )

    def _pieces(self, whole: ListingQuery, total: int, exact: bool) -> AsyncIterator[Shard]:
        """Days, then seconds of a day, then all of a second."""

        async def count(piece: Window) -> int:
            return await self._listing.count(_within(whole, piece, exact)) if piece != Window() else total

        finest: Partitioner = Whole(counted=True)
        until = self._api.clock.now() + facts.AHEAD
        seconds = ByDate(facts.EPOCH, until, facts.TICK, self.limits.hits, then=finest)
        return ByDate(facts.EPOCH, until, facts.DAY, self.limits.hits, then=seconds).shards(Window(), count)

    async def _refuse_fewer(self, library: str, found: int) -> None:
        """The sections together must have as many assets as the library's own list, which is counted last."""
        total = await self._listing.count(ListingQuery(facts.LIBRARY_ASSETS, (library,)))
        if found < total:
            raise TruncatedListing(
                f"the library lists {total} assets, but its sections only {found}",
                operation=facts.SECTION_ASSETS,
                hint="run the same command again while nobody adds assets; or give the key access to every section",
            )

    # -- crawl -----------------------------------------------------------------------------------------------------

    async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncGenerator[Batch, None]:
        """Pages of a shard, with complete assets."""
        batches = self._changes(shard, cursor) if shard.params.get("changes") else self._section(shard, cursor)
        async with aclosing(batches) as found:
            async for batch in found:
                yield batch

    def _listing_of(self, shard: Shard) -> ListingQuery:
        """The listing of a shard of a library or section."""
        section, window = str(shard.params.get("section") or ""), window_of(shard)
        home = (facts.SECTION_ASSETS, section) if section else (facts.LIBRARY_ASSETS, str(shard.params["library"]))
        payload = bool(shard.params.get("payload"))
        wanted = ListingQuery(home[0], (home[1],), payload=payload, size=self.limits.page)
        return wanted if window == Window() else _within(wanted, window, bool(shard.params.get("exact")))

    async def _section(self, shard: Shard, cursor: Cursor | None) -> AsyncGenerator[Batch, None]:
        window, wanted = window_of(shard), self._listing_of(shard)
        changed = window_of(Shard("", shard.params["changed"]))
        thin = shard.params.get(THIN) is True
        counts = None if thin else await self._counted(wanted.operation, wanted.ids[0])
        found = False
        async with aclosing(self._listing.rows(wanted, cursor)) as pages:
            async for rows, behind in pages:
                found = found or bool(rows)
                if behind is None and shard.expected and not found and cursor is None:
                    await self._api.whoami()  # a section that was not empty a moment ago (wire C 11.1)
                kept = _in_order([row for row in rows if _made_in(row, window) and _changed_in(row, changed)])
                given = self._relations(wanted, rows)
                yield Batch(_thin(kept) if thin else await self._entries(kept, counts, given), behind)

    async def _changes(self, shard: Shard, cursor: Cursor | None) -> AsyncGenerator[Batch, None]:
        """Newest change first, until one is too old."""
        window = window_of(shard)
        library = await self._tenant.id()
        size = min(self.limits.page, facts.CHANGED_PAGE)
        wanted = ListingQuery(facts.LIBRARY_ASSETS, (library,), "updated_at", "DESC", size=size)
        wanted = replace(wanted, payload=await self._tenant.has_payload())
        async with aclosing(self._listing.rows(wanted, cursor)) as pages:
            async for rows, behind in pages:
                old = any(not _changed_in(row, Window(window.since)) for row in rows)
                kept = [row for row in rows if _changed_in(row, window)]
                entries = await self._entries(kept, None, self._relations(wanted, rows))
                yield Batch(entries, None if old else behind)
                if old:
                    return

    @interprets_response
    def _relations(self, wanted: ListingQuery, rows: Sequence[Json]) -> frozenset[str]:
        """Names of the relations that rows of such a listing have; it may omit empty ones, or
        return only some of the requested ones (wire C 2, 2.1)."""
        known = self._given.setdefault(wanted.operation, set())
        known.update(name for row in rows for name, found in row["related"].items() if found)
        return frozenset(known)

    async def _entries(
        self, rows: Sequence[Json], counts: dict[str, int] | None, given: frozenset[str]
    ) -> tuple[Entry, ...]:
        """Entries of rows; what disappeared or was refused, or is still being processed, has only an id: it will be
        fetched."""
        if not rows:
            return ()
        context = await self._tenant.decode_context()
        dated = await self._dated.get() if self._listing.dates is False else frozenset[str]()
        lacking = [self._lacks(row, dated, given) for row in rows]
        return tuple(
            await gather_or_raise([self._entry(*each, context, counts) for each in zip(rows, lacking, strict=True)])
        )

    async def _entry(
        self, row: Json, lacks: bool, context: wire.AssetDecodeContext, counts: dict[str, int] | None
    ) -> Entry:
        try:
            if lacks:
                row = await self._row(AssetId(row["id"]))
            known = counts if counts is not None else await self._asset_counts(row) or {}
        except (NotFound, OversizedResponse):
            return Entry(AssetId(row["id"]), Revision(""))
        if not wire.is_settled(row):
            thin = wire.asset_of(row, context, known)
            return Entry(thin.id, thin.revision, thin.changed_at)
        self._keep_links(row, known)
        return wire.entry_of(await self._linked(wire.asset_of(row, context, known)))

    @interprets_response
    def _lacks(self, row: Json, dated: frozenset[str] | None, given: frozenset[str]) -> bool:
        """Whether the row must be read separately: its list had no relations, did not show whether it is approved, or
        had no dates although it has some."""
        if not (wire.is_whole(row, given) and wire.tells_approval(row)):
            return True
        if self._listing.dates is not False:
            return False
        return dated is None or row["id"] in dated or wire.tells_dates(row)

    async def _search_dated(self) -> frozenset[str] | None:
        """Ids of assets with availability dates; None if the search cannot be trusted, so that all are read separately.

        Both halves together must be the whole, because a misread search returns an empty list (wire C 2.4).
        """
        library = await self._tenant.id()
        whole = ListingQuery(facts.LIBRARY_ASSETS, (library,), thin=True, size=facts.LONG_PAGE)
        some = replace(whole, search="(expires_at:*) OR (published_at:*)")
        none = replace(whole, search="(NOT expires_at:*) AND (NOT published_at:*)")
        total, lacking = [await self._listing.count(each) for each in (whole, none)]
        if total - lacking > self.limits.hits:
            return None
        found: set[str] = set()
        async with aclosing(self._listing.rows(some)) as pages:
            async for rows, _ in pages:
                found |= ids_of(rows)
        return frozenset(found) if len(found) + lacking == total else None

    # -- one asset -------------------------------------------------------------------------------------------------

    async def fetch(self, asset: AssetId) -> Asset:
        """The complete asset; waits a while for files still being processed if it is read to be copied. One that is
        refused counts as gone only if the key is valid (wire C 2.3)."""
        row = await self._proven_row(asset)
        if self._api.read_only and not wire.is_settled(row):
            row = await self._settled(asset, row)
        counted = await self._asset_counts(row)
        counts = counted or {}
        self._keep_links(row, counts)
        if not self._api.read_only:
            self._api.just_read.put(asset, row)
        made = wire.asset_of(row, await self._tenant.decode_context(), counts)
        if counted is None and made.versions:  # it may have several versions
            made = replace(made, losses=(*made.losses, Loss("versions", "not counted")))
        return await self._linked(made)

    async def _linked(self, asset: Asset) -> Asset:
        """The asset with its CDN link, if the job requests it. It is requested for single assets only: a pending one
        turns a whole list into an error (wire C 2.2), and one not released yet, or expired, has none (wire C 4)."""
        if not self._api.options.public_links or asset.status == wire.PENDING:
            return asset
        links = await self.public_links(asset.id)
        return replace(asset, source_links=links) if links else asset

    async def public_links(self, asset: AssetId) -> dict[str, str]:
        """The CDN link; none of an asset that is pending, not released yet, or gone (wire C 4)."""
        request = self._api.reading(facts.ASSET, (asset,), (("fields", "cdn_url"),))
        reply = await self._api.client.send(replace(request, accept=MISSING, asset=asset))
        if reply.status in MISSING:
            return {}
        with interpreting_response("the CDN link of an asset"):
            link = document_of(reply.json(), facts.ASSET).single["attributes"].get("cdn_url")
        return {"cdn": str(link)} if link else {}

    async def published(self, asset: AssetId) -> Published:
        """By two calls: the link is asked for alone, see `public_links`. Raises NotFound."""
        found = wire.asset_of(await self._proven_row(asset), await self._tenant.decode_context(), {})
        return Published(found, await self.public_links(asset))

    async def _settled(self, asset: AssetId, row: Json) -> Json:
        until = self._api.clock.monotonic() + facts.PROCESSING_SECONDS
        pauses = chain(facts.READY_WAITS, repeat(facts.READY_WAITS[-1]))
        while not wire.is_settled(row) and (left := until - self._api.clock.monotonic()) > 0:
            await sleep_for(self._api.clock, min(next(pauses), left), PROCESSED, "source")
            row = await self._row(asset)
        return row

    async def _proven_row(self, asset: AssetId) -> Json:
        try:
            return await self._row(asset)
        except NotFound:
            await self._api.prove()
            raise

    async def _row(self, asset: AssetId) -> Json:
        """One asset with everything but its CDN link, which would make the call fail for a pending asset."""
        row = await self._api.one(facts.ASSET, (asset,), _single(payload=False), asset=asset)
        if not wire.is_file(row) and self._listing.payload is not False:
            with suppress(InvalidValue):  # the field of the payload is not documented (wire C 3.1)
                row = await self._api.one(facts.ASSET, (asset,), _single(payload=True), asset=asset)
        return row

    async def _asset_counts(self, row: Json) -> dict[str, int] | None:
        """Version counts of one asset's attachments; None if they are not counted."""
        if not related(row, "attachments"):
            return {}
        if not self._api.options.version_counts:
            return None
        asked = (("fields", "version_count"), ("per", str(facts.RECENT_PAGE)))
        try:
            document = await self._api.listed(facts.ASSET_ATTACHMENTS, (row["id"],), asked)
        except NotFound:
            return None
        return _more_than_one(document.rows)

    async def _counted(self, listing: str, home: str) -> dict[str, int] | None:
        """Version counts of a section or library, by one listing; None if the service has no such list."""
        if not self._api.options.version_counts:
            return {}
        if home not in self._counts:
            of_all = listing == facts.LIBRARY_ASSETS
            operation = facts.LIBRARY_ATTACHMENTS if of_all else facts.SECTION_ATTACHMENTS
            self._counts = {home: await self._count_versions(operation, home)}
        return self._counts[home]

    async def _count_versions(self, operation: str, home: str) -> dict[str, int] | None:
        """None if the list does not count versions, or has fewer rows than its total, because a missing one may have
        several versions."""
        found: dict[str, int] = {}
        seen: set[str] = set()
        number = 1
        while True:
            asked = (("fields", "version_count"), ("page", str(number)), ("per", str(facts.LONG_PAGE)))
            document = await self._api.listed(operation, (home,), asked, accept=MISSING)
            if document.refused or not _are_counted(document.rows):
                return None
            found |= _more_than_one(document.rows)
            before = len(seen)
            seen |= ids_of(document.rows)
            if document.ends(before, len(seen)):
                return found if len(seen) >= (document.total or 0) else None
            number += 1


def _single(*, payload: bool) -> tuple[tuple[str, str], ...]:
    fields = ",".join((wire.FIELDS, *wire.DATES, *((PAYLOAD,) if payload else ())))
    return (("include", wire.INCLUDE), ("fields", fields))


@interprets_response
def _are_counted(rows: Sequence[Json]) -> bool:
    return all("version_count" in row["attributes"] for row in rows)


@interprets_response
def _more_than_one(rows: Sequence[Json]) -> dict[str, int]:
    return {row["id"]: wire.count_of(row) for row in rows if wire.count_of(row) > 1}


def _ends(since: datetime | None, until: datetime | None) -> dict[str, Json]:
    return {"since": instant_text(since) if since else None, "until": instant_text(until) if until else None}


def _expected(total: int, changed: Window) -> int | None:
    return total if changed == Window() else None


@interprets_response
def _thin(rows: Sequence[Json]) -> tuple[Entry, ...]:
    """Entries of rows that are only counted."""
    return tuple(Entry(AssetId(row["id"]), Revision("")) for row in rows)


def _within(wanted: ListingQuery, piece: Window, exact: bool) -> ListingQuery:
    """Created in the window; ranges include both ends, whole days if the ends are days (wire C 2.2, 2.4)."""
    low, high = piece.since or facts.EPOCH, piece.until or FAR
    if exact or low != _midnight(low) or high != _midnight(high):
        ends = f'"{timestamp_text(low)}" TO "{timestamp_text(high - facts.LAST)}"'
    else:
        ends = f"{low.date().isoformat()} TO {(high - facts.DAY).date().isoformat()}"
    return replace(wanted, search=f"created_at:[{ends}]")


def _midnight(parse_timestamp: datetime) -> datetime:
    return parse_timestamp.replace(hour=0, minute=0, second=0, microsecond=0)


@interprets_response
def _made_in(row: Json, window: Window) -> bool:
    return _in(row, "created_at", window)


@interprets_response
def _in_order(rows: Sequence[Json]) -> list[Json]:
    """Rows of one timestamp may come in another order each time (wire C 2.2), so by id: a plan and a run give names to
    assets in this order."""
    together = groupby(rows, key=lambda row: row["attributes"].get("created_at"))
    return [row for _, some in together for row in sorted(some, key=lambda row: str(row["id"]))]


@interprets_response
def _changed_in(row: Json, window: Window) -> bool:
    return _in(row, "updated_at", window)


@interprets_response
def _in(row: Json, name: str, window: Window) -> bool:
    when = parse_timestamp(row["attributes"].get(name))
    if when is None:
        return True
    return (window.since is None or when >= window.since) and (window.until is None or when < window.until)
